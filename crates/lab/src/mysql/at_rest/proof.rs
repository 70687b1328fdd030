//! Proof that a server encrypts on the disk what its arm says, and nothing else.

use ciphertax_model::AtRest;
use ciphertax_records::{Proof, Witness};

use super::canary::{OnDisk, SCHEMA, look_at_the_disk};
use super::file_kind::FileKind;
use super::session::Asked;
use super::witness::{objection, words_of_server};
use crate::catalogue::{MySqlVariant, ServerFamily};
use crate::error::{Error, Result};
use crate::proof::{ProofError, proof};
use crate::server::PrivateServer;

/// What the disk of an arm was proved to hold.
#[derive(Debug, Clone)]
pub struct ProvedAtRest {
    /// The evidence: the server's own word, and what a search found.
    pub proofs: Vec<Proof>,
    /// Kinds of files that are not encrypted: in these rows stay readable.
    pub readable: Vec<FileKind>,
    /// Kinds of files that are encrypted, in which no row can be read.
    pub hidden: Vec<FileKind>,
}

/// Proves what a server of MySQL's family encrypts at rest: by its own word, and by a canary that is searched for in all its
/// files. The server must have been started with [`DISK_PROOF_OPTIONS`](super::DISK_PROOF_OPTIONS) and a binary log, and is
/// good for nothing else then; the one that is measured differs from it in nothing but memory.
///
/// # Errors
/// Names the arm, and the files that contradict it, or what kept them from being searched.
pub fn prove_at_rest(arm: &str, server: &PrivateServer) -> std::result::Result<ProvedAtRest, ProofError> {
    let no_session = |error: Error| ProofError::NoSession {
        arm: arm.to_owned(),
        problem: error.to_string(),
    };
    let disproved = |problem: String| ProofError::Disproved {
        arm: arm.to_owned(),
        problem,
    };
    let ServerFamily::MySql(variant) = &server.entry().family else {
        return Err(disproved(format!(
            "{} encrypts nothing at rest by itself",
            server.entry().name
        )));
    };
    let at_rest = server.at_rest();
    let on_disk = look_at_the_disk(server).map_err(no_session)?;
    let words = ask(server, variant, &at_rest).map_err(no_session)?;
    let words = words.map_err(disproved)?;
    contradiction(variant, &at_rest, &on_disk).map_or(Ok(()), |problem| Err(disproved(problem)))?;
    let (hidden, readable): (Vec<FileKind>, Vec<FileKind>) = on_disk
        .kinds
        .keys()
        .partition(|kind| kind.is_hidden(variant, &at_rest));
    let on_disk = proof(
        Witness::Disk,
        "a canary lies on the disk in plaintext where the arm says so, and nowhere else",
        &format!(
            "{} bytes were searched; it can be read in: {}; not encrypted are: {}; encrypted are: {}",
            on_disk.bytes,
            list(&on_disk.readable().collect::<Vec<_>>()),
            list(&readable),
            list(&hidden)
        ),
    );
    Ok(ProvedAtRest {
        proofs: vec![words, on_disk],
        readable,
        hidden,
    })
}

fn ask(
    server: &PrivateServer,
    variant: &MySqlVariant,
    at_rest: &AtRest,
) -> Result<std::result::Result<Proof, String>> {
    let asked = Asked {
        server: server.entry().name,
        // It was asked for the canary there.
        socket: server.socket().unwrap_or(server.folder()),
        account: server.default_account(),
    };
    let words = asked.run(async |_, session| words_of_server(session, variant, SCHEMA).await)?;
    Ok(match objection(variant, at_rest, &words) {
        Some(problem) => Err(problem),
        None => Ok(proof(
            Witness::Server,
            "encrypts on the disk what the arm says",
            &words.join(", "),
        )),
    })
}

/// The kinds of files that are not as the arm says.
fn contradiction(variant: &MySqlVariant, at_rest: &AtRest, on_disk: &OnDisk) -> Option<String> {
    let wrong = |is_wrong: &dyn Fn(FileKind, bool) -> bool| {
        let kinds = on_disk.kinds.iter().map(|(kind, readable)| (*kind, *readable));
        let wrong = kinds.filter(|(kind, readable)| is_wrong(*kind, *readable));
        let kinds: Vec<FileKind> = wrong.map(|(kind, _)| kind).collect();
        (!kinds.is_empty()).then(|| list(&kinds))
    };
    if let Some(kinds) = wrong(&|kind, readable| readable && kind.is_hidden(variant, at_rest)) {
        return Some(format!(
            "a canary can be read on the disk, in {kinds}, which should be encrypted"
        ));
    }
    let kinds = wrong(&|kind, readable| !readable && kind.is_open(variant, at_rest))?;
    Some(format!(
        "a canary cannot be read on the disk in {kinds}, which should be in plaintext"
    ))
}

fn list(kinds: &[FileKind]) -> String {
    let names: Vec<String> = kinds.iter().map(ToString::to_string).collect();
    match names.is_empty() {
        true => "none".into(),
        false => names.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::catalogue::MYSQL;
    use crate::mysql::testing::variants;

    /// A disk with these kinds of files, of which the canary can be read in those that are true.
    fn on_disk(kinds: &[(FileKind, bool)]) -> OnDisk {
        OnDisk {
            kinds: BTreeMap::from_iter(kinds.iter().copied()),
            bytes: 1,
        }
    }

    #[test]
    fn a_disk_that_is_not_as_the_arm_says_is_named() {
        let (_, variant) = variants().find(|(entry, _)| *entry == &MYSQL).unwrap();
        let tables = AtRest {
            tables: true,
            ..AtRest::default()
        };
        let good = [(FileKind::Table, false), (FileKind::RedoLog, true)];
        assert_eq!(contradiction(&variant, &tables, &on_disk(&good)), None);
        let leak = contradiction(&variant, &tables, &on_disk(&[(FileKind::Table, true)])).unwrap();
        assert!(leak.contains("can be read on the disk, in tables"), "{leak}");
        let secret = contradiction(&variant, &tables, &on_disk(&[(FileKind::RedoLog, false)])).unwrap();
        assert!(
            secret.contains("cannot be read on the disk in redo log"),
            "{secret}"
        );
    }
}

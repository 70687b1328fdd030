//! What is to be played, on which servers, and that a run that goes on has the same.

use ciphertax_base::Secret;
use ciphertax_lab::catalogue;
use ciphertax_model::{Study, removed};
use ciphertax_records::{Head, RecordError, RunFolder, Tool};
use ciphertax_wire::Target;

use crate::error::{Result, RunError};
use crate::ranks::Ranks;

pub(crate) use ciphertax_lab::catalogue::Entry;

/// What is to be played.
#[derive(Clone)]
pub struct Plan {
    /// The study.
    pub study: Study,
    /// The user's own server; `None` for private ones.
    pub target: Option<Target>,
    /// The account whose results the user's own server encrypts; `None` where it encrypts none.
    pub encdb: Option<EncdbAccount>,
    /// The load generators that make the load together; `None` for this one alone.
    pub ranks: Option<Ranks>,
    /// True if no wrong password proves the logins on the user's own server.
    pub no_wrong_logins: bool,
    /// Seed of the order of the slices.
    pub seed: u64,
    /// Who measures.
    pub tool: Tool,
    /// The command that repeats it, without passwords.
    pub command: String,
}

/// An account of a PolarDB-X or RDS whose results the server encrypts, while the URL's account has full access.
#[derive(Clone)]
pub struct EncdbAccount {
    /// Its name.
    pub user: String,
    /// Its password; empty for none.
    pub password: Secret,
}

/// The catalogue's entry of this name.
pub(crate) fn entry(name: &str) -> Result<&'static Entry> {
    let known = || catalogue::CATALOGUE.map(|entry| entry.name).join(", ");
    catalogue::find(name).ok_or_else(|| RunError::UnknownServer {
        name: name.to_owned(),
        instead: removed(name).unwrap_or_else(|| format!("there are {}", known())),
    })
}

/// Makes sure that the slices of a run are of the same servers and sessions, also when it goes on later.
pub(crate) fn refuse_other_servers(folder: &RunFolder, before: &Head, now: &Head) -> Result<()> {
    let before = words(before);
    let changed = words(now).into_iter().find(|line| !before.contains(line));
    match changed {
        None => Ok(()),
        Some(changed) => Err(not_resumable(
            folder,
            format!("it was measured elsewhere or otherwise, now there is {changed}; begin a new run"),
        )),
    }
}

/// A run that cannot go on, and why.
pub(crate) fn not_resumable(folder: &RunFolder, problem: String) -> RunError {
    RunError::Record(RecordError::NotResumable {
        folder: folder.path().to_owned(),
        problem,
    })
}

/// What must stay the same of servers and arms, so that samples of different days can be averaged.
fn words(head: &Head) -> Vec<String> {
    let servers = head.servers.iter().map(|server| {
        let settings: Vec<String> = server
            .settings
            .iter()
            .map(|(name, value)| format!("{name} = {value}"))
            .collect();
        format!(
            "{}: {} {} with {}, {}, its CPU {}",
            server.name,
            server.product,
            server.version,
            server.tls_library,
            settings.join(", "),
            match server.cpu_unread {
                None => "measured",
                Some(_) => "not measured",
            }
        )
    });
    let sessions = head.arms.iter().flat_map(|arm| {
        arm.sessions.iter().map(|session| {
            let tls = session.facts.tls.as_ref().map(|tls| {
                let (version, cipher, key) = (&tls.version, &tls.cipher, &tls.certificate.key);
                format!("{version}, {cipher}, {}, {key}", tls.group)
            });
            format!(
                "{} with {} on {}",
                arm.name,
                [
                    tls.unwrap_or_else(|| "no TLS".into()),
                    session.facts.authentication.method.clone()
                ]
                .join(", "),
                session.server
            )
        })
    });
    servers.chain(sessions).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_of_a_former_release_is_refused_with_what_to_use_instead() {
        let error = entry("tidb").unwrap_err().to_string();
        assert_eq!(
            error,
            "there is no server \"tidb\" in the catalogue; tidb was removed: give the URL of a TiDB of your own"
        );
    }
}

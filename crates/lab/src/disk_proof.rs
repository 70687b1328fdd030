//! Proof of what can be read on the disk by whoever takes it away, by a canary, whichever family a server is of.

use ciphertax_base::Proof;
use ciphertax_model::Storage;
use ciphertax_records::Readability;

use crate::catalogue::ServerFamily;
use crate::mysql::at_rest as mysql;
use crate::proof::{ProofError, ProvedAtRest};
use crate::server::{PrivateServer, PrivateServerBuilder};
use crate::sqlite::{self, ProvedFile};

/// The server to be made for [`prove`]: with so little memory that all it writes reaches the disk, and else as it is.
#[must_use]
pub fn to_be_searched(builder: PrivateServerBuilder) -> PrivateServerBuilder {
    match builder.entry().family {
        ServerFamily::MySql(_) => mysql::DISK_PROOF_OPTIONS
            .into_iter()
            .fold(builder, PrivateServerBuilder::option),
        ServerFamily::MongoDb | ServerFamily::PostgreSql(_) | ServerFamily::Sqlite => builder,
    }
}

/// Proves what an arm's servers encrypt on the disk, and what stays readable there, by one that was made
/// [to be searched](to_be_searched), which is good for nothing else then.
///
/// # Errors
/// Names the arm, and the files that contradict it, or what kept them from being searched.
pub fn prove(arm: &str, server: &PrivateServer) -> Result<ProvedAtRest, ProofError> {
    let proved = match (&server.entry().family, server.file_system()) {
        // What it has on the disk's own file system is in its files, each of which is looked into.
        (ServerFamily::MySql(_), None) => mysql::prove_at_rest(server),
        (ServerFamily::MySql(_), Some(file_system)) => {
            server.file_system_proof().and_then(|mut proved| {
                let mut own = mysql::prove_at_rest(server)?;
                if file_system.kind().is_encrypted() {
                    // They were looked into as the server sees them; on the disk they are what is proved above.
                    for files in &mut own.disk.files {
                        files.readability = Readability::Encrypted;
                    }
                }
                proved.proofs.extend(own.proofs);
                proved.disk.searched_bytes += own.disk.searched_bytes;
                proved.disk.files.extend(own.disk.files);
                Ok(proved)
            })
        }
        (ServerFamily::Sqlite, _) => {
            let ProvedFile { proved, disk } = file_of(arm, server)?;
            let proofs = proved.proofs;
            Ok(ProvedAtRest { proofs, disk })
        }
        (ServerFamily::MongoDb | ServerFamily::PostgreSql(_), _) => server.file_system_proof(),
    };
    proved.map_err(|objection| objection.of(arm))
}

/// Proves the same of the server that is measured, as far as that leaves it as it was.
///
/// # Errors
/// As [`prove`].
pub fn prove_measured(arm: &str, server: &PrivateServer) -> Result<Vec<Proof>, ProofError> {
    let own = || mysql::prove_measured_at_rest(server);
    let of_file_system = || Ok(server.file_system_proof()?.proofs);
    let proved = match (&server.entry().family, server.file_system()) {
        (ServerFamily::MySql(_), None) => own(),
        (ServerFamily::MySql(_), Some(_)) => {
            of_file_system().and_then(|proofs| Ok([proofs, own()?].concat()))
        }
        (ServerFamily::Sqlite, _) => return Ok(file_of(arm, server)?.proved.proofs),
        (ServerFamily::MongoDb | ServerFamily::PostgreSql(_), _) => of_file_system(),
    };
    proved.map_err(|objection| objection.of(arm))
}

/// Of a file another one is searched that lies beside it.
fn file_of(arm: &str, server: &PrivateServer) -> Result<ProvedFile, ProofError> {
    sqlite::prove(arm, &sqlite::options(server, &Storage::default()))
}

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
    match (&server.entry().family, server.file_system()) {
        // What it has on the disk's own file system is in its files, each of which is looked into.
        (ServerFamily::MySql(_), None) => mysql::prove_at_rest(arm, server),
        (ServerFamily::MySql(_), Some(file_system)) => {
            let mut proved = server.prove_file_system(arm)?;
            let mut own = mysql::prove_at_rest(arm, server)?;
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
        }
        (ServerFamily::Sqlite, _) => {
            let ProvedFile { proved, disk } = file_of(arm, server)?;
            let proofs = proved.proofs;
            Ok(ProvedAtRest { proofs, disk })
        }
        (ServerFamily::MongoDb | ServerFamily::PostgreSql(_), _) => server.prove_file_system(arm),
    }
}

/// Proves the same of the server that is measured, as far as that leaves it as it was.
///
/// # Errors
/// As [`prove`].
pub fn prove_measured(arm: &str, server: &PrivateServer) -> Result<Vec<Proof>, ProofError> {
    match (&server.entry().family, server.file_system()) {
        (ServerFamily::MySql(_), None) => mysql::prove_measured_at_rest(arm, server),
        (ServerFamily::MySql(_), Some(_)) => {
            let mut proofs = server.prove_file_system(arm)?.proofs;
            proofs.extend(mysql::prove_measured_at_rest(arm, server)?);
            Ok(proofs)
        }
        (ServerFamily::Sqlite, _) => Ok(file_of(arm, server)?.proved.proofs),
        (ServerFamily::MongoDb | ServerFamily::PostgreSql(_), _) => Ok(server.prove_file_system(arm)?.proofs),
    }
}

/// Of a file another one is searched that lies beside it.
fn file_of(arm: &str, server: &PrivateServer) -> Result<ProvedFile, ProofError> {
    sqlite::prove(arm, &sqlite::options(server, &Storage::default()))
}

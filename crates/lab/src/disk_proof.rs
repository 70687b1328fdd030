//! Proof on the disk of what a private server encrypts at rest, whichever family it is of.

use ciphertax_model::Storage;
use ciphertax_records::Proof;

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
    match server.entry().family {
        ServerFamily::MySql(_) => mysql::prove_at_rest(arm, server),
        ServerFamily::Sqlite => {
            let ProvedFile { proved, disk } = file_of(arm, server)?;
            let proofs = proved.proofs;
            Ok(ProvedAtRest { proofs, disk })
        }
        ServerFamily::MongoDb | ServerFamily::PostgreSql(_) => Err(without_canary(arm, server)),
    }
}

/// Proves the same of the server that is measured, as far as that leaves it as it was.
///
/// # Errors
/// As [`prove`].
pub fn prove_measured(arm: &str, server: &PrivateServer) -> Result<Vec<Proof>, ProofError> {
    match server.entry().family {
        ServerFamily::MySql(_) => mysql::prove_measured_at_rest(arm, server),
        ServerFamily::Sqlite => Ok(file_of(arm, server)?.proved.proofs),
        ServerFamily::MongoDb | ServerFamily::PostgreSql(_) => Err(without_canary(arm, server)),
    }
}

/// Of a file another one is searched that lies beside it.
fn file_of(arm: &str, server: &PrivateServer) -> Result<ProvedFile, ProofError> {
    sqlite::prove(arm, &sqlite::options(server, &Storage::default()))
}

fn without_canary(arm: &str, server: &PrivateServer) -> ProofError {
    ProofError::NoSession {
        arm: arm.to_owned(),
        problem: format!("there is no canary for the disk of {}", server.entry().name),
    }
}

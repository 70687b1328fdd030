//! Proof of what can be read on the disk by whoever takes it away, by a canary, whichever family a server is of.

use ciphertax_base::Proof;

use crate::proof::{ProofError, ProvedAtRest};
use crate::server::family::family;
use crate::server::{PrivateServer, PrivateServerBuilder};

/// The server to be made for [`prove`]: with so little memory that all it writes reaches the disk, and else as it is.
pub fn to_be_searched(builder: PrivateServerBuilder) -> PrivateServerBuilder {
    let options = family(builder.entry()).disk_proof_options();
    options
        .iter()
        .copied()
        .fold(builder, PrivateServerBuilder::option)
}

/// Proves what an arm's servers encrypt on the disk, and what stays readable there, by one that was made
/// [to be searched](to_be_searched), which is good for nothing else then.
///
/// # Errors
/// Names the arm, and the files that contradict it, or what kept them from being searched.
pub fn prove(arm: &str, server: &PrivateServer) -> Result<ProvedAtRest, ProofError> {
    let proved = family(server.entry()).prove_disk(server);
    proved.map_err(|objection| objection.of(arm))
}

/// Proves the same of the server that is measured, as far as that leaves it as it was.
///
/// # Errors
/// As [`prove`].
pub fn prove_measured(arm: &str, server: &PrivateServer) -> Result<Vec<Proof>, ProofError> {
    let proved = family(server.entry()).prove_measured_disk(server);
    proved.map_err(|objection| objection.of(arm))
}

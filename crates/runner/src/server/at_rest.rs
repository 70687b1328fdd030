//! Proof on the disk of what servers encrypt, before anything is measured on them.

use ciphertax_lab::{PrivateServer, ProvedAtRest, disk_proof};
use ciphertax_model::{Arm, AtRest, ServerSpec};

use super::group::GroupServer;
use super::private::BESIDE_DATA_MB;
use crate::database::Database;
use crate::error::Result;
use crate::groups::Group;
use crate::servers_to_play::entry;

/// What was proved on the disk of servers with one spec. Of those that are alike one is searched, and all are asked.
pub(crate) struct AtRestProofs<'a> {
    spec: &'a ServerSpec,
    /// Whether any arm that is measured on them is about that. Columns are proved by whoever asks for them.
    are_wanted: bool,
    proved: Vec<(AtRest, ProvedAtRest)>,
}

impl<'a> AtRestProofs<'a> {
    /// Of the servers of these arms, on which nothing is proved yet.
    pub(crate) fn of(arms: &[&Arm], spec: &'a ServerSpec) -> Self {
        Self {
            spec,
            are_wanted: arms.iter().any(|arm| !arm.at_rest.beside_columns().is_default()),
            proved: Vec::new(),
        }
    }

    /// Proves the server of a group, a plain one the same way; `begin` hears whose it is before something is started.
    pub(crate) fn prove<D: Database>(
        &mut self,
        group: &Group<'_>,
        server: &mut GroupServer<D>,
        begin: &mut dyn FnMut(&Arm) -> Result<()>,
    ) -> Result<()> {
        let (Some(arm), true) = (group.arms.first(), self.are_wanted) else {
            return Ok(());
        };
        begin(arm)?;
        let at_rest = group.needs.at_rest;
        let known = self.proved.iter().position(|(proved, _)| *proved == at_rest);
        let known = match known {
            Some(known) => known,
            None => {
                self.proved.push((at_rest, search(arm, self.spec, at_rest)?));
                self.proved.len() - 1
            }
        };
        server.prove_at_rest(arm, &self.proved[known].1)
    }
}

/// Searches the disk of a server that writes as those of an arm do, and has so little memory that all of it reaches the disk.
/// It is gone then.
fn search(arm: &Arm, spec: &ServerSpec, at_rest: AtRest) -> Result<ProvedAtRest> {
    let like_it = PrivateServer::builder(entry(&spec.server)?)
        .without_tls()
        .storage(spec.storage)
        .at_rest(at_rest);
    let like_it = match at_rest.file_system {
        Some(_) => like_it.disk_mb(BESIDE_DATA_MB),
        None => like_it,
    };
    let server = disk_proof::to_be_searched(like_it).start()?;
    let proved = disk_proof::prove(&arm.name, &server);
    let stopped = server.stop();
    let proved = proved?;
    stopped?;
    Ok(proved)
}

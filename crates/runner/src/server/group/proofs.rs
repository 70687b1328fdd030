//! What is proved of arms and of the server that they are measured on.

use ciphertax_base::Witness;
use ciphertax_columns::MasterKey;
use ciphertax_lab::{ProvedAtRest, cluster_proof, disk_proof};
use ciphertax_model::{Arm, ColumnFunctions, ServerSpec, Study};
use ciphertax_records::SessionRecord;
use ciphertax_wire::Expectation;

use super::GroupServer;
use crate::database::{Conditions, Database};
use crate::error::Result;

/// An arm that is what it says.
pub(crate) struct ProvedArm<D: Database> {
    pub(crate) access: D::Access,
    pub(crate) expectation: Expectation,
    pub(crate) session: SessionRecord,
}

impl<D: Database> GroupServer<D> {
    /// Proves what it encrypts on the disk. `like_it` is what was proved of a server like it, which says what stays readable.
    pub(crate) fn prove_at_rest(&mut self, arm: &Arm, like_it: &ProvedAtRest) -> Result<()> {
        let Some(private) = &mut self.private else {
            return Ok(());
        };
        let mut proofs = disk_proof::prove_measured(&arm.name, &private.server)?;
        proofs.extend(like_it.proofs.iter().cloned());
        private.proved_at_rest = Some(ProvedAtRest {
            proofs,
            disk: like_it.disk.clone(),
        });
        Ok(())
    }

    /// Proves an arm, and its tunnel before it, and tells how it is reached; `key` is that of its cells.
    pub(crate) fn prove(&mut self, arm: &Arm, key: Option<&MasterKey>) -> Result<ProvedArm<D>> {
        let reached = self.arm(arm)?;
        let unknown_client = match D::CERTIFICATE {
            Some(method) if arm.authentication.method == Some(method) => {
                self.route.trust.policy_of_unknown_client(arm)?
            }
            _ => None,
        };
        let unknown_client =
            unknown_client.map(|policy| reached.options_by(Some(&policy), &self.database, arm));
        let conditions = Conditions {
            is_private: self.is_private(),
            columns: arm.columns.as_ref(),
            measured: &self.route.measured,
            pooler: self.route.proxies.pooler(arm),
            column_relay: self.route.proxies.column_relay(arm),
            unknown_client: unknown_client.transpose()?,
            wrong_logins: &self.wrong_logins,
        };
        let expectation = D::expectation(arm, &reached.login);
        let options = reached.options(&self.database, arm)?;
        let mut proved = self
            .database
            .prove(&self.control, &arm.name, &options, &expectation, conditions)?;
        let at_rest = self.prove_stored(arm, key)?;
        let at_rest_proofs = at_rest.iter().flat_map(|at_rest| at_rest.proofs.iter().cloned());
        proved.proofs.extend(at_rest_proofs);
        proved.proofs.extend(self.try_probe(arm)?);
        if let Some(private) = self
            .private
            .as_ref()
            .filter(|private| private.cluster_tls_differs)
        {
            let proof = cluster_proof::prove(&arm.name, &private.server, arm.cluster_tls)?;
            proved.proofs.push(proof);
        }
        if let Some(through) = &self.processes.through {
            for proof in proved
                .proofs
                .iter_mut()
                .filter(|proof| proof.witness == Witness::Wire)
            {
                proof.evidence += &format!("; as far as {through}, not behind it");
            }
        }
        if let Some(tunnel) = self.route.proxies.tunnel(arm) {
            proved.proofs.extend(tunnel.prove(D::canary(&options))?);
        }
        Ok(ProvedArm {
            expectation: proved.expectation.clone(),
            access: self
                .database
                .access(arm, options, proved.expectation, &self.route.measured),
            session: SessionRecord {
                server_id: self.first_record.id.clone(),
                beside_id: None,
                server: self.first_record.name.clone(),
                beside: None,
                proofs: proved.proofs,
                unproved: proved.unproved,
                disk: at_rest.map(|proved| proved.disk),
                facts: proved.facts,
            },
        })
    }

    /// What private servers were proved to keep of columns, of an arm's cells, and of files.
    fn prove_stored(&self, arm: &Arm, key: Option<&MasterKey>) -> Result<Option<ProvedAtRest>> {
        let Some(private) = &self.private else {
            return Ok(None);
        };
        let (control, server) = (&self.control, &private.server);
        let columns = D::prove_columns(
            control,
            private.columns.as_ref(),
            private.functions_beside,
            server,
        )?;
        let cells = self.database.prove_cells(control, arm, key, server)?;
        let proved = [columns, cells, private.proved_at_rest.clone()];
        Ok(proved.into_iter().flatten().reduce(|mut all, more| {
            all.proofs.extend(more.proofs);
            all.disk.searched_bytes += more.disk.searched_bytes;
            all.disk.files.extend(more.disk.files);
            all
        }))
    }
}

/// The arms that are measured on such servers.
pub(super) fn arms_on<'a>(study: &'a Study, spec: &ServerSpec) -> impl Iterator<Item = &'a Arm> {
    let cells = study.cells.iter().filter(|cell| study.server_spec(cell) == *spec);
    cells.flat_map(|cell| study.arms_of(cell))
}

/// By which functions an arm has columns encrypted that is measured on such servers: databases have functions of their own.
pub(super) fn functions_beside(study: &Study, spec: &ServerSpec) -> Option<ColumnFunctions> {
    arms_on(study, spec).find_map(|arm| arm.at_rest.columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_searched_for_what_arms_of_its_own_cells_encrypt() {
        let study = Study::from_toml(
            "name = \"s\"\nquestion = \"?\"\ntime_s = 60\n\
             arm = [{ name = \"plain\", transport = \"plain\" },\
             { name = \"aes\", transport = \"plain\", at_rest = { columns = \"aes_encrypt\" } },\
             { name = \"pgcrypto\", transport = \"plain\", at_rest = { columns = \"pgcrypto\" } }]\n\
             cell = [{ name = \"m\", workload = \"ycsb_c\", arms = [\"plain\", \"aes\"], load = { connections = 1 } },\
             { name = \"p\", server = \"postgresql\", workload = \"ycsb_c\", \
              arms = [\"plain\", \"pgcrypto\"], load = { connections = 1 } }]\n",
        )
        .unwrap();
        let found: Vec<_> = study
            .cells
            .iter()
            .map(|cell| functions_beside(&study, &study.server_spec(cell)))
            .collect();
        assert_eq!(
            found,
            [Some(ColumnFunctions::AesEncrypt), Some(ColumnFunctions::Pgcrypto)]
        );
    }
}

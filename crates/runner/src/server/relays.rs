//! Poolers and relays before a private server.

use std::collections::BTreeMap;

use ciphertax_columns::MasterKey;
use ciphertax_lab::column_relay::{self, EncryptedColumns, RunningColumnRelay};
use ciphertax_lab::pooler::{self, RunningPooler};
use ciphertax_lab::{PrivateServer, RunningLink};
use ciphertax_model::tpcc::COLUMNS;
use ciphertax_model::{
    Arm, ColumnEncryption, ColumnFeature, ColumnSelection, Decrypt, Pooler, Study, Transport,
};
use ciphertax_observe::{Meter, ProcessMeter, ProcessTree};
use ciphertax_supervise::GuardProgram;

use crate::error::RunError;

/// The poolers that arms go through, one for each kind and each way that its clients come.
pub(super) struct Poolers(Vec<MeteredPooler>);

struct MeteredPooler {
    kind: (Pooler, Transport),
    pooler: RunningPooler,
    /// What its processes use.
    meter: ProcessTree,
}

impl Poolers {
    /// None.
    pub(super) fn none() -> Self {
        Self(Vec::new())
    }

    /// Starts them before a server, on its side of a link.
    ///
    /// # Errors
    /// When one is not available, cannot do what its arms ask, or does not start.
    pub(super) fn start<'a>(
        arms: impl Iterator<Item = &'a Arm>,
        clients: u32,
        server: &PrivateServer,
        link: Option<&RunningLink>,
        guard: &GuardProgram,
    ) -> Result<Self, RunError> {
        let mut poolers: Vec<MeteredPooler> = Vec::new();
        for kind in arms.filter_map(kind_of) {
            if poolers.iter().any(|other| other.kind == kind) {
                continue;
            }
            let pooler = pooler::start(kind.0, kind.1, clients, server, link, guard)?;
            let meter = ProcessTree::open(&[pooler.pid()])?;
            poolers.push(MeteredPooler { kind, pooler, meter });
        }
        Ok(Self(poolers))
    }

    /// The one that an arm goes through; `None` for an arm without a pooler.
    pub(super) fn of(&self, arm: &Arm) -> Option<&RunningPooler> {
        Some(&self.metered(arm)?.pooler)
    }

    /// Reads what an arm's pooler uses.
    pub(super) fn meter_of(&self, arm: &Arm) -> Option<&dyn Meter> {
        Some(&self.metered(arm)?.meter)
    }

    /// What they were started with, for the record, by their own names.
    pub(super) fn settings(&self) -> BTreeMap<String, String> {
        let of_each = self.0.iter().flat_map(|running| {
            let (kind, transport) = running.kind;
            let facts = running.pooler.facts().into_iter();
            facts.map(move |(name, value)| (format!("{kind}, clients {transport}: {name}"), value))
        });
        of_each.collect()
    }

    /// Ends them.
    pub(super) fn stop(self) -> ciphertax_lab::Result<()> {
        let stopped = self.0.into_iter().map(|running| running.pooler.stop());
        stopped.fold(Ok(()), Result::and)
    }

    fn metered(&self, arm: &Arm) -> Option<&MeteredPooler> {
        let kind = kind_of(arm)?;
        self.0.iter().find(|running| running.kind == kind)
    }
}

fn kind_of(arm: &Arm) -> Option<(Pooler, Transport)> {
    Some((arm.pooler?, arm.transport))
}

/// The relays that arms go through where any arm of the study has cells encrypted in results: one for each policy, and one that
/// passes everything on for the others, so that all pay for a relay.
pub(super) struct ColumnRelays(Vec<MeteredRelay>);

struct MeteredRelay {
    /// `None` for the one that passes everything on.
    policy: Option<ColumnEncryption>,
    relay: RunningColumnRelay,
    /// What its one process uses.
    meter: ProcessMeter,
}

impl ColumnRelays {
    /// None.
    pub(super) fn none() -> Self {
        Self(Vec::new())
    }

    /// Starts them before a server, on its side of a link.
    ///
    /// # Errors
    /// When one cannot be started, or the server is none of MySQL's family.
    pub(super) fn start<'a>(
        study: &Study,
        arms: impl Iterator<Item = &'a Arm>,
        server: &PrivateServer,
        link: Option<&RunningLink>,
        key: Option<&MasterKey>,
        guard: &GuardProgram,
    ) -> Result<Self, RunError> {
        let mut relays = Self::none();
        if !study.arms.iter().any(encrypts_results) {
            return Ok(relays);
        }
        for policy in arms.map(policy_of) {
            if relays.0.iter().any(|other| other.policy == policy) {
                continue;
            }
            let encrypts = policy.as_ref().zip(key).map(|(policy, key)| EncryptedColumns {
                encryption: policy.clone(),
                columns: names(&policy.columns, study),
                key: key.clone(),
            });
            let relay = column_relay::start(encrypts, server, link, guard)?;
            let meter = ProcessMeter::open(relay.process.pid)?;
            relays.0.push(MeteredRelay { policy, relay, meter });
        }
        Ok(relays)
    }

    /// The one that an arm goes through; `None` where no arm of the study has cells encrypted in results.
    pub(super) fn of(&self, arm: &Arm) -> Option<&RunningColumnRelay> {
        Some(&self.metered(arm)?.relay)
    }

    /// Reads what an arm's relay uses.
    pub(super) fn meter_of(&self, arm: &Arm) -> Option<&dyn Meter> {
        Some(&self.metered(arm)?.meter)
    }

    /// What they were started with, for the record.
    pub(super) fn settings(&self) -> BTreeMap<String, String> {
        let of_each = self.0.iter().flat_map(|running| {
            let name = match &running.policy {
                None => "column relay".to_owned(),
                Some(policy) => format!("column relay, {policy}"),
            };
            let facts = running.relay.facts.iter();
            facts.map(move |(fact, value)| (format!("{name}: {fact}"), value.clone()))
        });
        of_each.collect()
    }

    /// Ends them.
    pub(super) fn stop(self) -> ciphertax_lab::Result<()> {
        let stopped = self.0.into_iter().map(|running| running.relay.process.stop());
        stopped.fold(Ok(()), Result::and)
    }

    fn metered(&self, arm: &Arm) -> Option<&MeteredRelay> {
        let policy = policy_of(arm);
        self.0.iter().find(|running| running.policy == policy)
    }
}

/// True if an arm has cells encrypted in results.
pub(crate) fn encrypts_results(arm: &Arm) -> bool {
    policy_of(arm).is_some()
}

/// What is encrypted for an arm on the server's side: the client alone knows which cells it decrypts.
fn policy_of(arm: &Arm) -> Option<ColumnEncryption> {
    let columns = arm.columns.clone()?;
    (columns.feature == ColumnFeature::InResults).then(|| ColumnEncryption {
        decrypt: Decrypt::default(),
        ..columns
    })
}

/// The columns of a selection, each with its table before it: of TPC-C's tables, and of YCSB's where it is all.
fn names(selection: &ColumnSelection, study: &Study) -> Vec<String> {
    if let ColumnSelection::Named(names) = selection {
        return names.clone();
    }
    let of_tpcc = COLUMNS.iter().filter(|column| column.is_in(selection));
    let mut names: Vec<String> = of_tpcc
        .map(|column| format!("{}.{}", column.table, column.column))
        .collect();
    if *selection == ColumnSelection::All {
        names.extend((0..study.ycsb.field_count).map(|field| format!("usertable.field{field}")));
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn study(arms: &str) -> Study {
        Study::from_toml(&format!(
            "name = \"s\"\nquestion = \"?\"\ntime_s = 60\narm = [{{ name = \"plain\", transport = \"plain\" }}, {arms}]\n\
             cell = [{{ name = \"c\", workload = \"tpcc\", load = {{ connections = 1, batch = 100 }} }}]\n"
        ))
        .unwrap()
    }

    #[test]
    fn arms_with_the_same_policy_share_a_relay_whatever_they_decrypt() {
        let study = study(
            "{ name = \"all\", transport = \"plain\", columns = { feature = \"in_results\", columns = \"all\" } },\
             { name = \"read\", transport = \"plain\", columns = { feature = \"in_results\", columns = \"all\", decrypt = \"read\" } },\
             { name = \"half\", transport = \"plain\", columns = { feature = \"in_results\", columns = \"half\" } }",
        );
        let policies: Vec<_> = study.arms.iter().map(policy_of).collect();
        assert_eq!(policies[0], None);
        assert_eq!(policies[1], policies[2]);
        assert_ne!(policies[1], policies[3]);
        assert!(study.arms.iter().any(encrypts_results));
    }

    #[test]
    fn what_is_stored_encrypted_needs_no_relay() {
        let study = study(
            "{ name = \"stored\", transport = \"plain\", columns = { feature = \"stored\", columns = \"payload\" } }",
        );
        assert!(!study.arms.iter().any(encrypts_results));
    }

    #[test]
    fn a_selection_names_its_columns_with_their_tables() {
        let study = study("{ name = \"x\", transport = \"plain\" }");
        let names = |selection| names(&selection, &study);
        assert_eq!(names(ColumnSelection::None), Vec::<String>::new());
        assert_eq!(names(ColumnSelection::Keys).len(), 19);
        assert_eq!(names(ColumnSelection::Half).len(), 46);
        let all = names(ColumnSelection::All);
        assert!(all.contains(&"customer.c_last".into()) && all.contains(&"usertable.field9".into()));
        let named = vec!["stock.s_data".to_owned(), "field0".to_owned()];
        assert_eq!(names(ColumnSelection::Named(named.clone())), named);
    }
}

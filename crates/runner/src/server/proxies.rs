//! What arms go through before a private server: tunnels, poolers, and relays that encrypt cells.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use ciphertax_columns::MasterKey;
use ciphertax_lab::column_relay::{self, EncryptedColumns, RunningColumnRelay};
use ciphertax_lab::pooler::{self, RunningPooler};
use ciphertax_lab::tunnel::{self, RunningTunnel};
use ciphertax_lab::{PrivateServer, RunningLink};
use ciphertax_model::tpcc::COLUMNS;
use ciphertax_model::{
    Arm, ColumnEncryption, ColumnFeature, ColumnSelection, Decrypt, Pooler, Study, Transport, Tunnel,
};
use ciphertax_observe::{Meter, ProcessMeter, ProcessTree};
use ciphertax_records::VoidReason;
use ciphertax_supervise::GuardProgram;

use super::measured::ProxyMeters;
use crate::connections::needed_of;
use crate::error::Result;

/// What runs for arms of one kind, and what reads its processes.
struct Metered<K, P, M = ProcessMeter> {
    kind: K,
    program: P,
    meter: M,
}

/// What arms go through before a server.
#[derive(Default)]
pub(super) struct Proxies {
    tunnels: Vec<Metered<Tunnel, RunningTunnel, ProcessTree>>,
    /// One for each kind and each way that its clients come.
    poolers: Vec<Metered<(Pooler, Transport), RunningPooler, ProcessTree>>,
    /// Where any arm of the study has cells encrypted in results: one for each policy, and one that passes everything on for the
    /// others, so that all pay for a relay.
    column_relays: Vec<Metered<Option<ColumnEncryption>, RunningColumnRelay>>,
}

impl Proxies {
    /// Starts what these arms need before a server, on its side of a link.
    pub(super) fn start(
        study: &Study,
        arms: &[&Arm],
        server: &PrivateServer,
        link: Option<&RunningLink>,
        key: Option<&MasterKey>,
        guard: &GuardProgram,
    ) -> Result<Self> {
        let mut proxies = Self::default();
        let kinds: BTreeSet<Tunnel> = arms.iter().filter_map(|arm| arm.tunnel).collect();
        for kind in kinds {
            let program = tunnel::start(kind, server.addresses()[0], link, guard)?;
            let pids: Vec<u32> = program.processes().iter().map(|process| process.pid).collect();
            proxies.tunnels.push(Metered {
                kind,
                meter: ProcessTree::open(&pids)?,
                program,
            });
        }
        for arm in arms {
            if let (Some(kind), None) = (pooler_of(arm), proxies.pooler(arm)) {
                let clients = needed_of(study, |_, other| pooler_of(other) == Some(kind));
                let program = pooler::start(
                    kind.0,
                    kind.1,
                    u32::try_from(clients).unwrap_or(u32::MAX),
                    server,
                    link,
                    guard,
                )?;
                proxies.poolers.push(Metered {
                    kind,
                    meter: ProcessTree::open(&[program.pid()])?,
                    program,
                });
            }
        }
        if !study.arms.iter().any(encrypts_results) {
            return Ok(proxies);
        }
        for kind in arms.iter().map(|arm| policy_of(arm)) {
            if of_kind(&proxies.column_relays, &kind).is_some() {
                continue;
            }
            let encrypts = kind.as_ref().zip(key).map(|(policy, key)| EncryptedColumns {
                encryption: policy.clone(),
                columns: names(&policy.columns, study),
                key: key.clone(),
            });
            let program = column_relay::start(encrypts, server, link, guard)?;
            proxies.column_relays.push(Metered {
                kind,
                meter: ProcessMeter::open(program.process.pid)?,
                program,
            });
        }
        Ok(proxies)
    }

    pub(super) fn tunnel(&mut self, arm: &Arm) -> Option<&mut RunningTunnel> {
        let mut tunnels = self.tunnels.iter_mut();
        let tunnel = tunnels.find(|tunnel| Some(tunnel.kind) == arm.tunnel)?;
        Some(&mut tunnel.program)
    }

    pub(super) fn pooler(&self, arm: &Arm) -> Option<&RunningPooler> {
        Some(&of_kind(&self.poolers, &pooler_of(arm)?)?.program)
    }

    /// The relay that an arm goes through; `None` where no arm of the study has cells encrypted in results.
    pub(super) fn column_relay(&self, arm: &Arm) -> Option<&RunningColumnRelay> {
        Some(&of_kind(&self.column_relays, &policy_of(arm))?.program)
    }

    pub(super) fn address_for(&self, arm: &Arm) -> Option<SocketAddr> {
        let tunnel = || Some(of_kind(&self.tunnels, &arm.tunnel?)?.program.address());
        let pooler = || self.pooler(arm).map(RunningPooler::address);
        let relay = self.column_relay(arm).map(|relay| relay.address);
        relay.or_else(pooler).or_else(tunnel)
    }

    /// What reads those that an arm goes through.
    pub(super) fn meters(&self, arm: &Arm) -> ProxyMeters<'_> {
        let tunnel = arm.tunnel.and_then(|kind| of_kind(&self.tunnels, &kind));
        let pooler = pooler_of(arm).and_then(|kind| of_kind(&self.poolers, &kind));
        let relay = of_kind(&self.column_relays, &policy_of(arm));
        ProxyMeters {
            tunnel: tunnel.map(|tunnel| &tunnel.meter as &dyn Meter),
            pooler: pooler.map(|pooler| &pooler.meter as &dyn Meter),
            column_relay: relay.map(|relay| &relay.meter as &dyn Meter),
        }
    }

    /// That the pooler or the relay of an arm is gone, with its last words.
    pub(super) fn death(&self, arm: &Arm) -> Option<VoidReason> {
        let pooler = self.pooler(arm).and_then(RunningPooler::death);
        let relay = || self.column_relay(arm).and_then(|relay| relay.process.death());
        pooler
            .map(|detail| VoidReason::PoolerDied { detail })
            .or_else(|| relay().map(|detail| VoidReason::ColumnRelayDied { detail }))
    }

    /// What poolers and relays were started with, for the record.
    pub(super) fn settings(&self) -> BTreeMap<String, String> {
        let poolers = self.poolers.iter().map(|running| {
            let (kind, transport) = running.kind;
            (format!("{kind}, clients {transport}"), running.program.facts())
        });
        let relays = self.column_relays.iter().map(|running| {
            let policy = running.kind.as_ref().map(|policy| format!(", {policy}"));
            let name = format!("column relay{}", policy.unwrap_or_default());
            (name, running.program.facts.clone())
        });
        let settings = poolers.chain(relays).flat_map(|(name, facts)| {
            let named = move |(fact, value)| (format!("{name}: {fact}"), value);
            facts.into_iter().map(named)
        });
        settings.collect()
    }

    pub(super) fn stop(self) -> ciphertax_lab::Result<()> {
        let poolers = self.poolers.into_iter().map(|running| running.program.stop());
        let tunnels = self.tunnels.into_iter().map(|running| running.program.stop());
        let relays = self
            .column_relays
            .into_iter()
            .map(|running| running.program.process.stop());
        poolers.chain(tunnels).chain(relays).fold(Ok(()), Result::and)
    }
}

fn of_kind<'a, K: PartialEq, P, M>(all: &'a [Metered<K, P, M>], kind: &K) -> Option<&'a Metered<K, P, M>> {
    all.iter().find(|running| running.kind == *kind)
}

fn pooler_of(arm: &Arm) -> Option<(Pooler, Transport)> {
    Some((arm.pooler?, arm.transport))
}

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

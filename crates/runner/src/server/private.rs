//! Private servers as a group of arms wants them.

use ciphertax_lab::{PrivateServer, RunningLink};
use ciphertax_model::{ServerSpec, Study};

use crate::connections::{needed_of, needed_of_one_server};
use crate::error::Result;
use crate::groups::Group;
use crate::servers_to_play::entry;
use crate::tpcc;
use crate::trust::need_old_tls;

/// Room for what servers write besides their data set, in megabytes: logs, temporary files, and what is added meanwhile.
pub(super) const BESIDE_DATA_MB: u64 = 4000;

/// Bytes of a row of sysbench's with its indexes, and of one of pgbench's branches with all that belongs to it.
const ROW: u64 = 300;
const BRANCH: u64 = 16_000_000;

/// How many times as large a data set may become: pages are half full, and are written anew beside their old ones.
const GROWTH: u64 = 3;

/// Starts them, inside a link if there is one.
pub(super) fn start(
    study: &Study,
    spec: &ServerSpec,
    group: &Group<'_>,
    link: Option<&RunningLink>,
) -> Result<PrivateServer> {
    let entry = entry(&spec.server)?;
    // Poolers keep connections that no client has.
    let pooled = group.arms.iter().filter(|arm| arm.pooler.is_some());
    let kept: u64 = pooled
        .map(|arm| needed_of(study, |_, other| other.name == arm.name))
        .sum();
    let connections = needed_of_one_server(study) + kept;
    let mut builder = PrivateServer::builder(entry)
        .access_control(group.needs.access_control)
        .connections(u32::try_from(connections).unwrap_or(u32::MAX))
        .storage(spec.storage)
        .nodes(spec.nodes)
        .cluster_tls(group.needs.cluster_tls)
        .at_rest(group.needs.at_rest);
    builder = tpcc::with_room(builder, entry, study, spec);
    if group.needs.at_rest.file_system.is_some() || tpcc::data_mb(study, spec) > 0 {
        builder = builder.disk_mb(disk_mb(study, spec));
    }
    builder = match study.needs_tls() {
        true => builder
            .certificate(group.needs.certificate.kind)
            .chain_length(group.needs.certificate.chain_length),
        false => builder.without_tls(),
    };
    if need_old_tls(&group.set_up_for) {
        builder = builder.tls_versions(entry.capabilities.tls_versions);
    }
    let arms = group.set_up_for.iter();
    for authentication in arms.map(|arm| &arm.authentication) {
        builder = match (authentication.method, authentication.scram_iterations) {
            (None, _) => builder,
            (Some(method), None) => builder.account(method),
            (Some(method), Some(iterations)) => builder.scram_account(method, iterations),
        };
    }
    if let Some(replica_set) = spec.replica_set {
        builder = builder.replica_set(replica_set);
    }
    if let Some(link) = link {
        builder = builder.inside(link);
    }
    #[cfg(test)]
    {
        builder = tests::with_options(builder, group);
    }
    Ok(builder.start()?)
}

/// Room for what the servers of a study write, in megabytes: the same for each, so that none has another file system. It is
/// taken only as it is needed.
fn disk_mb(study: &Study, spec: &ServerSpec) -> u64 {
    let members = u64::from(spec.servers());
    let data = study.dataset.rows() * ROW + study.ycsb.bytes() + u64::from(study.pgbench.scale) * BRANCH;
    members * (BESIDE_DATA_MB + GROWTH * data / 1_000_000 + tpcc::grown_mb(study, spec))
}

#[cfg(test)]
pub(crate) mod tests {
    use std::cell::RefCell;

    use ciphertax_lab::PrivateServerBuilder;

    use super::*;

    thread_local! {
        /// Options of the servers of arms, by the arms' names: what no study can ask for.
        pub(crate) static OPTIONS: RefCell<Vec<(&'static str, &'static str)>> = const { RefCell::new(Vec::new()) };
    }

    pub(super) fn with_options(builder: PrivateServerBuilder, group: &Group<'_>) -> PrivateServerBuilder {
        let is_its = |arm: &str| group.arms.iter().any(|other| other.name == arm);
        OPTIONS.with_borrow(|options| {
            let its = options.iter().filter(|(arm, _)| is_its(arm));
            its.fold(builder, |builder, (_, option)| builder.option(*option))
        })
    }
}

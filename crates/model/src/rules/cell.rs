//! What is refused of a cell, and of an arm in it.

use super::{Rule, cells, of_arm_in, of_cell, of_cell_in, of_values};
use crate::authentication::AuthenticationMethod;
use crate::load::Load;
use crate::network::PoolMode;
use crate::refusal::{Refusal, refuse_if};
use crate::server::{ReadPreference, ReplicaSet};
use crate::study::Cell;
use crate::tls::Resumption;
use crate::workload::{Mix, Workload};

pub(super) const RULES: &[Rule] = &[
    of_cell("command-of-other-workload", "command", |cell| {
        let cannot = "a command is run by workload = \"command\" alone";
        let why = format!(
            "{cannot}, not by {:?}; leave one of them out",
            cell.workload.name()
        );
        refuse_if(cell.command.is_some() && !cell.workload.is_program(), why)
    }),
    of_cell("no-command", "workload", |cell| {
        let why = "the workload \"command\" needs a program; add command = { run = [\"sysbench\", …] }";
        refuse_if(cell.command.is_none() && cell.workload.is_program(), why)
    }),
    of_values("command", "command", |study| {
        let programs = cells(study).filter(|(_, cell)| cell.workload.is_program());
        let problems = programs.filter_map(|(place, cell)| Some((place, cell.command.as_ref()?.problems())));
        let refusals = problems.flat_map(|(place, problems)| {
            let problems = problems.into_iter();
            problems.map(move |(key, why)| place.at(&format!("command.{key}"), Refusal::new(why)))
        });
        refusals.collect()
    }),
    of_cell("load-of-command", "load", |cell| {
        let why =
            "load says nothing of a command, which is a load of its own; leave it out and tell the program";
        refuse_if(!cell.load.is_none() && cell.workload.is_program(), why)
    }),
    of_cell("no-load", "load", |cell| {
        let (least, most) = Load::CONNECTIONS.into_inner();
        let instead = format!("add load = {{ connections = 8 }}, from {least} to {most}");
        let why = format!("load must say how many connections; {instead}");
        refuse_if(cell.load.is_none() && !cell.workload.is_program(), why)
    }),
    of_cell("small-batch", "load.batch", |cell| {
        let (batch, connections) = (cell.load.batch?, cell.load.connections);
        let cannot = format!("a batch of {batch} keeps no {connections} connections busy");
        let is_small = Load::BATCH.contains(&batch) && batch < connections;
        refuse_if(
            is_small,
            format!("{cannot}; make it at least as large as connections"),
        )
    }),
    of_cell("batch-and-rate", "load.rate", |cell| {
        let why = "batch asks for operations as fast as possible, rate for so many a second; leave one out";
        refuse_if(cell.load.batch.is_some() && cell.load.rate.is_some(), why)
    }),
    of_cell_in("slow-rate", "load.rate", |study, cell| {
        let (rate, slice_s) = (cell.load.rate?, study.slice_seconds());
        let why = format!(
            "at a rate of {rate} a second no operation falls into a slice of {slice_s} s; raise rate or slice_s"
        );
        refuse_if(Load::RATE.contains(&rate) && f64::from(rate) * slice_s < 1.0, why)
    }),
    of_cell("mix", "mix", |cell| {
        let shares = cell.mix.map(|mix| mix.shares());
        let why = match (cell.workload.descriptor().mix, shares) {
            (Mix::OfCell, None) => {
                "the workload \"ycsb\" needs its shares; add mix = { read = 0.95, insert = 0.05 }".to_owned()
            }
            (Mix::OfCell, Some(shares)) => {
                let sum: f64 = shares.iter().sum();
                if shares.iter().all(|share| (0.0..=1.0).contains(share)) && (sum - 1.0).abs() <= 1e-6 {
                    return None;
                }
                format!("the shares of a mix lie between 0 and 1; they must add up to 1, not {sum}")
            }
            (Mix::Core(_) | Mix::None, Some(_)) => {
                let cannot = format!("{} has a mix of its own or none", cell.workload.name());
                format!("{cannot}; leave mix out or take workload = \"ycsb\"")
            }
            (_, None) => return None,
        };
        Some(Refusal::new(why))
    }),
    of_cell("operations-of-command", "keep_operations", |cell| {
        let why = "only a program knows its single operations; leave keep_operations out";
        refuse_if(cell.keep_operations && cell.workload.is_program(), why)
    }),
    of_cell("reading-nothing", "read_preference", |cell| {
        let reads_nothing = cell.workload.asks_usertable() && !cell.workload.descriptor().reads;
        let cannot = format!("{} reads nothing", cell.workload.name());
        let why = format!("{cannot}, and only the primary takes writes; leave read_preference out");
        refuse_if(prefers_another(cell) && reads_nothing, why)
    }),
    of_cell_in("no-secondaries", "read_preference", |study, cell| {
        let replica_set = study.server_spec(cell).replica_set;
        let why = "a single server has no secondaries to read from; add replica_set = { members = 3 }, or leave \
                   read_preference out";
        let has_some = replica_set.is_some_and(ReplicaSet::has_secondaries);
        refuse_if(prefers_another(cell) && !has_some, why)
    }),
    of_cell_in("nodes-and-replica-set", "nodes", |study, cell| {
        let spec = study.server_spec(cell);
        let why = "nodes are those of MariaDB and MySQL, replica_set is MongoDB's; leave one of them out";
        refuse_if(spec.is_cluster() && spec.replica_set.is_some(), why)
    }),
    of_cell_in("node-link-of-one", "node_link", |study, cell| {
        study.node_link(cell)?;
        let why = "node_link is the distance between servers, and there is one; add nodes = 3 or replica_set = { \
                   members = 3 }, or take link, the distance to it";
        refuse_if(study.server_spec(cell).servers() == 1, why)
    }),
    of_cell_in(
        "node-link-bandwidth",
        "node_link.bandwidth_mbit",
        |study, cell| {
            study.node_link(cell)?.bandwidth_mbit?;
            Some(Refusal::new(
                "all nodes share one line here, so no bandwidth between two of them can be kept; leave bandwidth_mbit \
             out of node_link",
            ))
        },
    ),
    of_cell_in("two-certificates", "certificate", |study, cell| {
        cell.certificate?;
        let arm = &study.arms.iter().find(|arm| arm.certificate.is_some())?.name;
        Some(Refusal::new(format!(
            "the certificate differs by cell or by arm, not both, and arm {arm:?} names one too; leave one of them out"
        )))
    }),
    of_arm_in("cluster-at-rest", "arms", |study, cell, arm| {
        let why = "it encrypts at rest, which is measured on single servers; leave nodes out, or the arm with \
                   arms = […]";
        refuse_if(
            study.server_spec(cell).is_cluster() && !arm.at_rest.is_default(),
            why,
        )
    }),
    of_arm_in("probe-of-several", "arms", |study, cell, arm| {
        let spec = study.server_spec(cell);
        let why = "a probe changes one server, and a cluster or replica set has several; leave nodes or replica_set out, or \
                   the arm with arms = […]";
        refuse_if(
            arm.probe.is_some() && (spec.is_cluster() || spec.replica_set.is_some()),
            why,
        )
    }),
    of_arm_in("replica-set-resumption", "replica_set", |study, cell, arm| {
        study.server_spec(cell).replica_set?;
        let why = "it resumes sessions, which a member of a replica set knows only of itself; leave the arm out \
                   with arms = […]";
        refuse_if(arm.tls.resumption != Resumption::Off, why)
    }),
    of_arm_in("no-binary-log", "", |study, cell, arm| {
        let why = "it encrypts the binary log, and the server writes none; add storage = { binary_log = true }, or \
                   leave the arm out with arms = […]";
        refuse_if(arm.at_rest.binary_log && !study.storage(cell).binary_log, why)
    }),
    // Only YCSB's table has fields that servers encrypt by functions, and the key is its session's.
    of_arm_in("functions-workload", "", |_, cell, arm| {
        let (columns, workload) = (arm.at_rest.columns?, cell.workload.name());
        let why = format!(
            "it encrypts the fields of YCSB's table by {columns}, which {workload} does not ask; take a workload of \
             YCSB, or leave the arm out with arms = […]"
        );
        refuse_if(!cell.workload.asks_usertable(), why)
    }),
    of_arm_in("functions-pooler", "", |_, _, arm| {
        let cannot = format!("{} has its key from the session", arm.at_rest.columns?);
        let why = format!("{cannot}, which a pooler gives to others; leave pooler or columns out");
        refuse_if(arm.pooler.is_some(), why)
    }),
    of_arm_in("functions-binary-log", "", |study, cell, arm| {
        let columns = arm.at_rest.columns?;
        let why = format!(
            "it encrypts by {columns} what its statements hold in plaintext, and a binary log may hold the statements; \
             leave binary_log out, or the arm with arms = […]"
        );
        refuse_if(study.storage(cell).binary_log, why)
    }),
    of_arm_in("unix-socket-at-distance", "link", |study, cell, arm| {
        study.link(cell)?;
        let by_socket = arm.authentication.method == Some(AuthenticationMethod::UnixSocket);
        let why = "it logs in by unix_socket, which no link reaches; leave the arm out with arms = […]";
        refuse_if(by_socket, why)
    }),
    of_arm_in("command-behind-pooler", "workload", |_, cell, arm| {
        let why = "behind its pooler the server sees none of a program's own connections, so nobody can tell what \
                   they were; leave the arm out with arms = […]";
        refuse_if(cell.workload.is_program() && arm.pooler.is_some(), why)
    }),
    // What a session remembers may be asked of another.
    of_arm_in("last-id-behind-pooler", "workload", |_, cell, arm| {
        let shares = arm.pooler?.pool_mode == PoolMode::Transaction;
        let why = "connect_insert_count asks its session for the last id, and its pooler gives every transaction \
                   another; take pool_mode = \"session\", or leave the arm out with arms = […]";
        refuse_if(shares && cell.workload == Workload::ConnectInsertCount, why)
    }),
    of_arm_in("tls-of-command", "workload", |_, cell, arm| {
        let setting = arm.tls.not_for_programs()?;
        let cannot = format!("it sets tls.{setting}, which a program of your own cannot be held to");
        let why = format!("{cannot}; leave the arm out with arms = […]");
        refuse_if(cell.workload.is_program(), why)
    }),
];

/// True if a cell itself asks to read from others than the primary.
fn prefers_another(cell: &Cell) -> bool {
    cell.read_preference
        .is_some_and(|preference| preference != ReadPreference::Primary)
}

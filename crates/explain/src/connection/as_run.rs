//! A connection as a run of one arm in one cell, for the findings that runs have.

use ciphertax_base::Host;
use ciphertax_model::{Arm, Study, Transport};
use ciphertax_records::{
    ArmRecord, ArmRole, CellRecord, ConnectionRecord, Head, PhaseRow, Results, Run, ServerId, ServerRecord,
    SessionRecord,
};

/// The name of the arm, as findings have it.
const ARM: &str = "this connection";
const CELL: &str = "connect";

/// The least that a study of connections says. Its arms are replaced by what was done.
const STUDY: &str = "name = \"connect\"\nquestion = \"?\"\ntime_s = 1\n\
    [[arm]]\nname = \"plain\"\ntransport = \"plain\"\n[[arm]]\nname = \"tls\"\ntransport = \"tls\"\n\
    [[cell]]\nname = \"connect\"\nworkload = \"connect\"\nload = { connections = 1 }\n";

/// `None` if its own study is no study.
pub(super) fn as_run(record: &ConnectionRecord) -> Option<Run> {
    let mut study = Study::from_toml(STUDY).ok()?;
    let transport = match record.facts.tls {
        Some(_) => Transport::Tls,
        None => Transport::Plain,
    };
    study.arms = vec![Arm::new(ARM, transport)];
    let mut head = Head::begin(record.tool.clone(), nowhere(), study, String::new(), 0);
    head.target = Some(record.target.clone());
    head.servers = vec![server(record)];
    head.arms = vec![ArmRecord {
        name: ARM.into(),
        role: ArmRole::Variant,
        sessions: vec![SessionRecord {
            server_id: ServerId::numbered(1),
            server: record.address.clone(),
            beside_id: None,
            beside: None,
            proofs: Vec::new(),
            disk: None,
            facts: record.facts.clone(),
        }],
    }];
    let results = Results {
        cells: vec![CellRecord {
            name: CELL.into(),
            server_id: ServerId::numbered(1),
            server: record.address.clone(),
            workers: 1,
            slice_s: None,
            blocks: record.connections,
            void_slices: 0,
            client_bound: false,
            precise: true,
            more_time_s: None,
            rounds: None,
        }],
        connect_phases: phases(record),
        ..Results::default()
    };
    Some(Run::new(head, results))
}

fn server(record: &ConnectionRecord) -> ServerRecord {
    ServerRecord {
        product: record.product.clone(),
        version: record.facts.server_version.clone(),
        address: record.address.clone(),
        same_host: record.same_host,
        ..ServerRecord::unseen(ServerId::numbered(1), &record.address, vec![CELL.into()])
    }
}

fn phases(record: &ConnectionRecord) -> Vec<PhaseRow> {
    let row = |phase: &ciphertax_records::ConnectionPhase| PhaseRow {
        cell: CELL.into(),
        arm: ARM.into(),
        phase: phase.phase,
        mean_us: phase.wall_us.median,
        p50_us: phase.wall_us.median,
        p95_us: phase.wall_us.most,
        p99_us: phase.wall_us.most,
        client_cpu_us: phase.cryptography_us.map(|cpu| cpu.median),
        bytes_sent: phase.bytes_sent,
        bytes_received: phase.bytes_received,
        flights: phase.flights,
    };
    record.phases.iter().map(row).collect()
}

/// Findings about a connection say nothing of the machine.
fn nowhere() -> Host {
    Host {
        os: String::new(),
        kernel: String::new(),
        cpu: String::new(),
        cpus: 0,
        memory_bytes: 0,
        virtualization: String::new(),
    }
}

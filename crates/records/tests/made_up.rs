//! A made-up run of known cost, for the tests of every crate: a field that a record gets is given here alone.

#![allow(dead_code, reason = "not every test program that shares this needs all of it")]

use std::iter;

use ciphertax_base::{CpuTime, Host};
use ciphertax_model::Study;
use ciphertax_records::*;
use ciphertax_stats::histogram;

pub(crate) fn slice_id(cell: &str, block: u32, position: u32, arm: &str) -> SliceId {
    let (cell, arm) = (cell.to_owned(), arm.to_owned());
    SliceId {
        cell,
        block,
        position,
        arm,
    }
}

/// A slice of so many operations, each of which takes client and server so many microseconds of CPU time, and as long as both.
pub(crate) fn sample(slice: SliceId, operations: u64, [client_us, server_us]: [f64; 2]) -> Sample {
    let cpu = |us: f64| CpuTime {
        total_ns: (us * 1e3 * operations as f64) as u64,
        system_ns: 0,
    };
    let mean_ns = ((client_us + server_us) * 1e3) as u64;
    let mut latency = histogram::empty();
    for step in 0..200 {
        latency.saturating_record_n(mean_ns * (900 + step) / 1_000, operations / 200);
    }
    let kind = OperationSample {
        kind: slice.cell.clone(),
        count: operations,
        latency_sum_ns: operations * mean_ns,
        latency: histogram::encode(&latency),
        ..OperationSample::default()
    };
    Sample {
        start_ns: u64::from(slice.block * 6 + slice.position) * 100_000_000,
        slice,
        load: Yield {
            duration_ns: operations * mean_ns,
            operations: vec![kind],
            client_cpu: cpu(client_us),
            bytes_sent: operations * 30,
            bytes_received: operations * 190,
            workers: 2,
            ..Yield::default()
        },
        server: ServerSide {
            server_cpu: Some(cpu(server_us)),
            ..ServerSide::default()
        },
        ..Sample::default()
    }
}

/// A run that is complete, of a private MariaDB for all cells; no arm was proved.
pub(crate) fn head(study: Study) -> Head {
    let first = [ArmRole::Baseline, ArmRole::BaselineAgain];
    let roles = first.into_iter().chain(iter::repeat(ArmRole::Variant));
    let arms = study.measured_arms().into_iter().zip(roles);
    let arms = arms.map(|(arm, role)| ArmRecord {
        name: arm.name,
        role,
        sessions: Vec::new(),
    });
    let cells = study.cells.iter().map(|cell| cell.name.clone()).collect();
    let server = ServerRecord {
        product: "MariaDB".into(),
        placement: ServerPlacement::Private,
        same_host: true,
        ..ServerRecord::unseen(ServerId::numbered(1), "mariadb", cells)
    };
    let tool = Tool {
        name: "ciphertax".into(),
        version: "0".into(),
        ..Tool::default()
    };
    let host = Host {
        cpus: 2,
        ..Host::default()
    };
    Head {
        started: "2026-01-02T03:04:05Z".into(),
        status: RunStatus::Complete,
        arms: arms.collect(),
        servers: vec![server],
        ..Head::begin(tool, host, study, String::new(), 1)
    }
}

//! What a client of MongoDB with an official driver pays where ciphertax pays once.

use ciphertax_records::{Finding, Run, Severity, counter};

use super::finding::finding;
use crate::cell::CellSamples;

/// Connections that a driver keeps open to each member besides those that its client asks over: one on which the member tells
/// of changes (a streaming `hello`), and one that measures the round-trip time. Neither logs in. Source: MongoDB's
/// specification for drivers, *Server Monitoring*,
/// <https://github.com/mongodb/specifications/blob/master/source/server-discovery-and-monitoring/server-monitoring.md>;
/// the tests of our own client count them with the official driver.
const MONITORING: usize = 2;

/// How many connections a driver's client opens where ciphertax opens one, beside what the server saw of ciphertax's.
pub(super) fn connections_of_a_driver(run: &Run, cell: &CellSamples<'_>) -> Option<Finding> {
    let name = &cell.cell.name;
    let server = run.server_of(run.cell(name)?.found)?;
    if !cell.cell.workload.makes_connections() || server.product != "MongoDB" {
        return None;
    }
    // Of a replica set, those of all its members.
    let members = server.address.split(',').count();
    let watching = MONITORING * members;
    Some(finding(
        "driver-connections",
        Severity::Advice,
        format!(
            "{name}: a client with an official driver opens {} connections where ciphertax opens one: {watching} to watch the \
             {}, which make a TLS handshake each but do not log in, and the first of its pool. Multiply what a handshake \
             costs by that for clients that come and go, and keep one client for all that a process asks.",
            watching + 1,
            match members {
                1 => "server".to_owned(),
                members => format!("{members} members"),
            }
        ),
        format!(
            "{}; a driver: 1 + {MONITORING} × {members} (MongoDB's specification for drivers, Server Monitoring)",
            seen(cell)
        ),
    ))
}

/// `the server saw 1.00 connections for each of 4,321 connects`
fn seen(cell: &CellSamples<'_>) -> String {
    let (mut created, mut connects) = (0, 0);
    for arm in 0..cell.arms.len() {
        if let Some((rose, operations)) = cell.totals(arm).counters.get(counter::CONNECTIONS) {
            created += rose;
            connects += operations;
        }
    }
    match connects {
        0 => "the server's own count of connections cannot be told here".into(),
        connects => {
            let each = created as f64 / connects as f64;
            format!("the server saw {each:.2} connections for each of {connects} connects of ciphertax")
        }
    }
}

//! A load that several load generators made.

use std::collections::BTreeMap;

use ciphertax_records::{Finding, RankRecord, Run, Severity};
use ciphertax_stats::format;

use super::finding::finding;
use crate::cell::CellSamples;

/// So many are named, and the others counted.
const NAMED: usize = 8;

/// Where they ran, and how far apart they began at most.
pub(super) fn load_generators(run: &Run, cells: &[CellSamples<'_>]) -> Option<Finding> {
    let ranks = &run.head.ranks;
    let of_cells = || cells.iter().map(|cell| &cell.ranks);
    if ranks.is_empty() || !of_cells().any(|cell| cell.are_many()) {
        return None;
    }
    let apart = of_cells().map(|cell| cell.began_apart_ns).max().unwrap_or(0);
    let mut on: BTreeMap<&str, Vec<&RankRecord>> = BTreeMap::new();
    for rank in ranks {
        on.entry(&rank.host).or_default().push(rank);
    }
    let machines = match on.len() {
        1 => "one machine".to_owned(),
        many => format!("{many} machines"),
    };
    Some(finding(
        "load-generators",
        Severity::Cause,
        format!(
            "The load came from {} load generators on {machines}, which began every slice that counts within {} of each other.",
            ranks.len(),
            format::microseconds(apart as f64 / 1e3)
        ),
        evidence(ranks),
    ))
}

/// For each where it was bound to, and by how much its clock may be wrong.
fn evidence(ranks: &[RankRecord]) -> String {
    let named = ranks.iter().take(NAMED).map(|rank| {
        let clock = match rank.clock_error_ns {
            0 => String::new(),
            error => format!(
                ", its clock known to {}",
                format::microseconds(error as f64 / 1e3)
            ),
        };
        format!("rank {} on {} (CPUs {}{clock})", rank.rank, rank.host, rank.cpus)
    });
    let mut text = named.collect::<Vec<_>>().join("; ");
    if ranks.len() > NAMED {
        text.push_str(&format!("; and {} more", ranks.len() - NAMED));
    }
    text
}

/// Those that were the bottleneck of a cell, in words; `None` for a run that was alone.
pub(super) fn bottlenecks(run: &Run, cell: &CellSamples<'_>) -> Option<String> {
    let bound = cell.ranks.bottlenecks();
    let of = |rank: &u32| {
        let found = run.head.ranks.iter().find(|record| record.rank == *rank)?;
        Some(format!("rank {rank} on {}", found.host))
    };
    let named: Vec<String> = bound.iter().take(NAMED).filter_map(of).collect();
    (!named.is_empty()).then(|| named.join(", "))
}

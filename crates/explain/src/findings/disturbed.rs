//! Doubts: who else worked, what came late, and which CPU it was.

use std::collections::BTreeMap;

use ciphertax_base::format::{self, rounded};
use ciphertax_base::joined;
use ciphertax_model::{Metric, Placement};
use ciphertax_records::{EstimateRow, Finding, RankRecord, Run, ServerPlacement, ServerRecord};
use ciphertax_stats::{DisturbedBlocks, Location};

use super::{advice, cause, share, suspicion};
use ciphertax_estimate::cell::{BASELINE, CellSamples};

/// Client and server on the same CPUs.
pub(super) fn shared_cpus(run: &Run) -> Option<Finding> {
    let same_host = run.head.servers.iter().any(|server| server.same_host);
    let evidence = match (same_host, run.head.study.placement) {
        (false, _) => return None,
        (true, Placement::Together) => "the server and the load threads were kept on one CPU".to_owned(),
        (true, Placement::Free) => {
            format!(
                "the server ran on this machine, which has {} CPUs",
                run.head.host.cpus
            )
        }
    };
    Some(cause(
        "shared-cpus",
        "Client and server shared the CPUs, so throughput and latency depend on both: rely on CPU per operation.",
        evidence,
    ))
}

/// The load generator was the bottleneck.
pub(super) fn client_bound(run: &Run, cells: &[CellSamples<'_>]) -> impl Iterator<Item = Finding> {
    let bound = run.results.cells.iter().filter(|cell| cell.client_bound);
    bound.map(|cell| {
        let samples = cells.iter().find(|samples| samples.cell.name == cell.name);
        let which = samples.and_then(|samples| bottlenecks(run, samples));
        suspicion(
            "client-bound",
            format!(
                "{}: {} the bottleneck; throughput and latency get no verdict.",
                cell.name,
                match &which {
                    None => "the load generator was".to_owned(),
                    Some(named) => format!("of the load generators {named} was"),
                }
            ),
            format!(
                "{} {} threads used more than 85 % of the CPUs they may use",
                if which.is_some() { "of" } else { "its" },
                cell.workers
            ),
        )
    })
}

/// So many are named, and the others counted.
const NAMED: usize = 8;

/// A load that several load generators made: where they ran, and how far apart they began at most.
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
    Some(cause(
        "load-generators",
        format!(
            "{} load generators on {machines} made the load. They began every slice that counts within {} of each other, each had at least \
             one connection in every cell, and none was kept on the server's CPU.",
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
            error => format!(", clock accurate to {}", format::microseconds(error as f64 / 1e3)),
        };
        format!("rank {} on {} (CPUs {}{clock})", rank.rank, rank.host, rank.cpus)
    });
    let mut text = joined(named, "; ");
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

/// Servers that use less than this, of all, are not told of what is asked.
const TOLD: f64 = 0.05;

/// Which of several servers that hold the same data pays: what an operation of the baseline costs each.
pub(super) fn whose_cpu(cell: &CellSamples<'_>) -> Option<Finding> {
    let each_us = cell.nodes.each_us()?;
    let all: f64 = each_us.iter().sum();
    let shares: Vec<f64> = each_us.iter().map(|us| us / all).collect();
    let listed = |values: &[f64], words: fn(f64) -> String| joined(values.iter().copied().map(words), ", ");
    let told = shares.iter().filter(|share| **share >= TOLD).count();
    let says = match told {
        0 | 1 => "one of the servers uses almost all the CPU time".to_owned(),
        _ => format!(
            "the servers share the CPU time: {}",
            listed(&shares, format::rounded::share)
        ),
    };
    Some(cause(
        "whose-cpu",
        format!("{}: {says}.", cell.cell.name),
        format!(
            "{} per operation, in the order in which they were started, over {} slices of {}",
            listed(&each_us, format::microseconds),
            cell.nodes.slices,
            cell.arms[BASELINE]
        ),
    ))
}

/// An open loop whose response times are to a good part the load generator's.
pub(super) fn lateness(cell: &CellSamples<'_>) -> Option<Finding> {
    const MUCH: f64 = 0.10;
    let share_of = |arm: usize| {
        let (delay, response) = cell
            .valid(arm)
            .filter_map(|slice| slice.open_loop)
            .fold((0, 0), |(delay, response), open_loop| {
                (delay + open_loop.delay_ns, response + open_loop.response_ns)
            });
        (response > 0).then(|| delay as f64 / response as f64)
    };
    let (arm, most) = (0..cell.arms.len())
        .filter_map(|arm| Some((arm, share_of(arm)?)))
        .max_by(|one, other| one.1.total_cmp(&other.1))?;
    (most > MUCH).then(|| {
        suspicion("generator-late",
            format!(
                "{}: up to {} of the response time is the load generator's own delay, which makes changes look smaller. Lower the rate, or \
                 give the load generator its own machine.",
                cell.cell.name,
                share(most, 1.0)
            ),
            format!(
                "operations of {} that began late although a connection was free",
                cell.arms[arm]
            ),
        )
    })
}

/// Operations that do less from one end of the run to the other, since what they ask is gone.
pub(super) fn operations_change(cell: &CellSamples<'_>) -> Option<Finding> {
    const MUCH: f64 = 0.05;
    let [first, last] = cell.not_done_at_both_ends()?;
    ((last - first).abs() > MUCH).then(|| {
        suspicion(
            "operations-change",
            format!(
                "{}: an operation had {first:.2} things that could not be done in the first third of the run and {last:.2} in the last, so \
                 its mean depends on how long the run is. Use a mix that makes as much as it consumes (TPC-C: at least as many new \
                 orders as deliveries take), or more data.",
                cell.cell.name
            ),
            "rolled back and skipped deliveries, per operation, of all arms",
        )
    })
}

/// Links that kept a longer distance than was asked for.
pub(super) fn late_links(run: &Run) -> impl Iterator<Item = Finding> {
    /// Microseconds at the median that are not worth a word.
    const PUNCTUAL_US: f64 = 100.0;
    let links = run
        .head
        .servers
        .iter()
        .filter_map(|server| Some((server, server.link.as_ref()?)));
    let late = links.filter(|(_, link)| link.lateness_median_us > PUNCTUAL_US);
    late.map(|(server, link)| {
        suspicion("link-late",
            format!(
                "The link to {} was {} late at the median, so round trips took longer than configured: this machine has too few free CPUs.",
                server.name,
                rounded::microseconds(link.lateness_median_us)
            ),
            format!(
                "{} packets, late by {} at the 99th percentile and {} at most",
                link.packets,
                rounded::microseconds(link.lateness_p99_us),
                rounded::microseconds(link.lateness_max_us)
            ),
        )
    })
}

/// A machine that was noisy.
pub(super) fn noisy(run: &Run) -> Option<Finding> {
    const NOISY: f64 = 0.05;
    // Four times as long halves an interval, so time alone does not help.
    const TOO_NOISY: f64 = 0.20;
    let half_width = |row: &EstimateRow| (row.high.ln_1p() - row.low.ln_1p()) / 2.0;
    // The kernel's workers, for example, do too little to be steady, and nobody asks what they do.
    let answers = |row: &&EstimateRow| run.results.cpu_of_both_sides(&row.cell).contains(&row.metric);
    let answering = run.results.noise_floor.iter().filter(answers);
    let worst = answering.max_by(|one, other| half_width(one).total_cmp(&half_width(other)))?;
    let remedy = match half_width(worst) > TOO_NOISY {
        true => "use a quieter machine",
        false => "measure longer (--time), or on a quieter machine",
    };
    (half_width(worst) > NOISY).then(|| {
        advice(
            "noisy-machine",
            format!(
                "This machine was noisy ({}: {} CPU changes below {} cannot be told from noise): {remedy}.",
                worst.cell,
                if worst.metric == Metric::ClientCpuPerOp {
                    "client"
                } else {
                    "server"
                },
                rounded::share(half_width(worst).max(worst.change.ln_1p().abs()).exp_m1())
            ),
            format!(
                "{}: the baseline against itself differs by {} in {}",
                worst.cell,
                rounded::change(worst.interval()),
                worst.metric
            ),
        )
    })
}

/// An arm that was slow in more blocks than chance has it: the mean is what its users pay. One for each cell and arm,
/// of the metric that tells it best.
pub(super) fn own_stalls(run: &Run) -> Vec<Finding> {
    let mut told: Vec<(&EstimateRow, DisturbedBlocks)> = Vec::new();
    for row in &run.results.estimates {
        let (Some(Location::Mean), Some(disturbed)) = (row.location, row.disturbed) else {
            continue;
        };
        let same = told
            .iter_mut()
            .find(|(other, _)| (&other.cell, &other.arm) == (&row.cell, &row.arm));
        match same {
            Some(other) if far(&other.1) < far(&disturbed) => *other = (row, disturbed),
            Some(_) => {}
            None => told.push((row, disturbed)),
        }
    }
    told.into_iter()
        .map(|(row, disturbed)| of_row(row, &disturbed))
        .collect()
}

/// How far the variant's number is from its share of a third.
fn far(disturbed: &DisturbedBlocks) -> u32 {
    (2 * disturbed.variant).abs_diff(disturbed.baseline + disturbed.baseline_again)
}

fn of_row(row: &EstimateRow, disturbed: &DisturbedBlocks) -> Finding {
    let of_baselines = disturbed.baseline + disturbed.baseline_again;
    let which = match 2 * disturbed.variant > of_baselines {
        true => format!("{} had more slow slices than chance explains", row.arm),
        false => format!("{} had fewer slow slices than chance explains", row.arm),
    };
    cause(
        "own-stalls",
        format!(
            "{}: {which}. That is part of its cost, so {} is the mean of all blocks.",
            row.cell, row.metric
        ),
        format!(
            "far slower than both others of their block: {} of {} slices of {}, {} and {} of the baseline and its repetition",
            disturbed.variant, row.blocks, row.arm, disturbed.baseline, disturbed.baseline_again
        ),
    )
}

/// More names than this say nothing to a reader.
const LISTED: usize = 4;

/// Arms that no server can have together with the baseline.
pub(super) fn servers_of_their_own(run: &Run) -> Option<Finding> {
    let mut apart: Vec<&str> = Vec::new();
    for arm in run.head.variants() {
        if arm.sessions.iter().any(|session| session.beside.is_some()) {
            apart.push(&arm.name);
        }
    }
    let are_processes = |server: &ServerRecord| server.placement != ServerPlacement::Embedded;
    (!apart.is_empty() && run.head.servers.iter().any(are_processes)).then(|| {
        let names: Vec<&str> = run.head.servers.iter().map(|server| server.name.as_str()).collect();
        let which = match names.len() {
            ..=LISTED => names.join("; "),
            many => format!("{many} of them, alike except for what their arms ask for"),
        };
        cause("different-servers",
            format!(
                "{} and the baseline need different servers, so two processes are compared. The noise floor compares two identical ones, \
                 run side by side like these.",
                apart.join(", ")
            ),
            format!("servers with equal memory and the same data: {which}"),
        )
    })
}

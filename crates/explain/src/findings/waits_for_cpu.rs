//! Phases of a connect that take longer because something else has the CPU.

use ciphertax_model::Placement;
use ciphertax_records::{Finding, MeasuredCell, Phase, Run, Severity};
use ciphertax_stats::format::rounded;

use super::finding::finding;
use super::slowest_phase::longer;
use crate::cell::{BASELINE, CellSamples, Figures};

/// The part of what a connect takes longer from which on phases without cryptography are worth a word.
const WORTH_A_WORD: f64 = 0.10;
/// The part of the time that a CPU is used, from which on connects queue for it.
const BUSY: f64 = 0.85;

/// In the phases without a handshake or a login an arm has the same work to do as the baseline. What they take longer,
/// while several connects share a CPU, is waiting for those that compute.
pub(super) fn waits_for_cpu(
    run: &Run,
    samples: &CellSamples<'_>,
    cell: MeasuredCell<'_>,
    arm: &str,
) -> Option<Finding> {
    // What carries an arm's connections has work of its own to do in every phase.
    let has_carrier = run
        .head
        .study
        .arms
        .iter()
        .any(|other| other.name == arm && (other.tunnel.is_some() || other.pooler.is_some()));
    if cell.asked.load.connections < 2 || has_carrier {
        return None;
    }
    let baseline = &run.head.arms.first()?.name;
    let longer = longer(run, cell, arm)?;
    let elsewhere = |arm: &str| -> f64 {
        let rows = run
            .results
            .connect_phases
            .iter()
            .filter(|row| row.cell == cell.asked.name && row.arm == arm);
        // Whoever asks for TLS waits there for what an unencrypted login waits for: a process of the server's.
        rows.filter(|row| !matches!(row.phase, Phase::Tls | Phase::Auth) && !row.is_request_for_tls())
            .map(|row| row.mean_us)
            .sum()
    };
    let (before, after) = (elsewhere(baseline), elsewhere(arm));
    if after - before < WORTH_A_WORD * longer.value {
        return None;
    }
    let of_arm: Vec<&Figures> = samples
        .valid(samples.arms.iter().position(|name| name == arm)?)
        .collect();
    let of_baseline: Vec<&Figures> = samples.valid(BASELINE).collect();
    let waits = wait_us(&of_baseline).zip(wait_us(&of_arm));
    let cpus = match run.head.study.placement {
        Placement::Together => 1,
        Placement::Free => run.head.host.cpus.max(1),
    };
    let used = used(&of_arm) / f64::from(cpus);
    let with_the_server = match run.head.servers.iter().any(|server| server.same_host) {
        true => " with the server",
        false => "",
    };
    // The run queue holds what waits for another thread; a connect that waits for another one of its own thread is only
    // seen by how busy the CPU is.
    let is_told = waits.is_some_and(|(before_us, after_us)| after_us - before_us >= 0.5 * (after - before));
    let is_refuted = waits.is_some_and(|(before_us, after_us)| after_us <= before_us);
    if is_refuted || (!is_told && used < BUSY) {
        return None;
    }
    let queue = waits.map(|(before, after)| {
        format!(
            "threads were ready to run but waited for a CPU {} per connect instead of {}; ",
            rounded::microseconds(after),
            rounded::microseconds(before)
        )
    });
    Some(finding(
        "waits-for-cpu",
        Severity::Cause,
        format!(
            "{}: over {arm} the phases without cryptography take {} instead of {}, and that is waiting: {} connects at a time \
             share {}. One at a time (load.connections=1) shows each phase by itself.",
            cell.asked.name,
            rounded::microseconds(after),
            rounded::microseconds(before),
            cell.asked.load.connections,
            match cpus {
                1 => format!("one CPU{with_the_server}"),
                cpus => format!("{cpus} CPUs{with_the_server}"),
            }
        ),
        format!(
            "{}both sides used {:.0} % of the CPU time",
            queue.unwrap_or_default(),
            100.0 * used
        ),
    ))
}

/// What the threads of both sides waited in the run queue, per operation; `None` where it was not seen.
fn wait_us(slices: &[&Figures]) -> Option<f64> {
    let waits = slices.iter().map(|slice| {
        let [client, server] = slice.run_queue_wait_ns;
        client
            .or(server)
            .map(|_| client.unwrap_or(0) + server.unwrap_or(0))
    });
    let sum = waits.sum::<Option<u64>>()?;
    let operations: u64 = slices.iter().map(|slice| slice.operations).sum();
    (operations > 0).then(|| sum as f64 / 1e3 / operations as f64)
}

/// CPUs that both sides used.
fn used(slices: &[&Figures]) -> f64 {
    let cpu = slices
        .iter()
        .map(|slice| slice.client_cpu_ns + slice.server_cpu_ns.unwrap_or(0));
    let time: u64 = slices.iter().map(|slice| slice.duration_ns).sum();
    cpu.sum::<u64>() as f64 / (time as f64).max(1.0)
}

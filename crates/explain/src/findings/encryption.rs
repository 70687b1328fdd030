//! What encrypts, on the way and on the disk: the record layer, the library, the kernel; whether anybody verified,
//! and protection that seems to gain.

use ciphertax_base::format::{plain, rounded};
use ciphertax_base::{SessionFacts, Verified, joined};
use ciphertax_model::workload::Unit;
use ciphertax_model::{FileSystem, Metric, Tunnel};
use ciphertax_records::{EstimateRow, Finding, MeasuredCell, Run, ServerPlacement, ServerRecord, Severity};
use ciphertax_stats::Verdict;

use super::pays::{Payer, ahead_of, are_behind, groups_of_servers, payers, server_cpu};
use super::storage::encrypts_at_rest_alone;
use super::{advice, cause, finding, is_sure};
use crate::asked::Spoken;
use ciphertax_estimate::EstimateError;
use ciphertax_estimate::cell::CellSamples;

/// Bytes of a result of the workload, in megabytes.
const MEGABYTES: f64 = 1.048_576;

/// What the record cipher costs where there is much to carry.
pub(super) fn record_layer(run: &Run, cell: MeasuredCell<'_>, arm: &str) -> Option<Finding> {
    if cell.asked.workload.descriptor().operation != Unit::BulkResult {
        return None;
    }
    let sides: Vec<(&str, &EstimateRow)> = [
        ("client", Metric::ClientCpuPerOp),
        ("server", Metric::ServerCpuPerOp),
    ]
    .into_iter()
    .filter_map(|(side, metric)| Some((side, run.results.estimate(&cell.asked.name, arm, metric)?)))
    .filter(|(_, row)| row.verdict == Verdict::Costs)
    .collect();
    if sides.is_empty() {
        return None;
    }
    let per_megabyte = sides.iter().map(|(side, row)| {
        let us = row.difference.map(|us| us / MEGABYTES);
        format!("the {side} {}", rounded::microseconds_between(us))
    });
    let tls = run.head.arm(arm)?.sessions_in(cell.found)?.facts.tls.as_ref()?;
    let changes = sides
        .iter()
        .map(|(side, row)| format!("{side} CPU {}", rounded::change(row.interval())));
    Some(cause(
        "record-layer",
        format!(
            "Encrypting a megabyte with {} ({arm}) costs {} of CPU.",
            tls.cipher,
            joined(per_megabyte, ", ")
        ),
        format!(
            "cell {}: results of 1 MiB, {arm} against {}: {}",
            cell.asked.name,
            run.head.study.baseline().name,
            joined(changes, ", ")
        ),
    ))
}

/// A library that computes AES by tables, and knows nothing of the instructions that a CPU has for it.
const WITHOUT_AES_INSTRUCTIONS: &str = "yaSSL";

/// Whose cryptographic library makes encryption at rest dear: for every operation that servers with several libraries
/// are asked.
pub(super) fn crypto_library(
    run: &Run,
    cells: &[CellSamples<'_>],
    arm: &str,
) -> Result<Vec<Finding>, EstimateError> {
    let mut findings = Vec::new();
    if !encrypts_at_rest_alone(run, arm) {
        return Ok(findings);
    }
    for group in groups_of_servers(run, cells) {
        findings.extend(of_group(run, &group, arm)?);
    }
    Ok(findings)
}

/// Servers encrypt what lies on the disk by the library that they have for TLS.
fn of_group(
    run: &Run,
    group: &[(MeasuredCell<'_>, &CellSamples<'_>)],
    arm: &str,
) -> Result<Option<Finding>, EstimateError> {
    let metric = server_cpu(run, group);
    let payers = payers(run, group, arm, metric, |_| true);
    let Some(most) = payers
        .first()
        .filter(|most| is_sure(most.row) && most.row.low > 0.0)
    else {
        return Ok(None);
    };
    let mut others = Vec::new();
    for other in payers
        .iter()
        .filter(|other| library(other.server) != library(most.server))
    {
        others.extend(ahead_of(most, other, arm, metric)?.map(|ahead| (other, ahead)));
    }
    let are_behind = are_behind(most, others.iter().map(|(other, ahead)| (*other, ahead)));
    let mut behind = others
        .iter()
        .zip(are_behind)
        .filter_map(|(other, is_behind)| is_behind.then_some(other));
    // Those that pay least say most clearly what the library makes of it.
    let Some((least, ahead)) = behind.next_back() else {
        return Ok(None);
    };
    let why = match library(most.server) {
        WITHOUT_AES_INSTRUCTIONS => " yaSSL does not use the CPU's instructions for AES.",
        _ => "",
    };
    Ok(Some(cause(
        "crypto-library",
        format!(
            "{}, {arm}: the server's library decides: {}, {}.{why}",
            most.cell.asked.workload.name(),
            told(most),
            told(least),
        ),
        format!(
            "{} takes {} more than {}, for the same operation",
            most.name,
            rounded::microseconds_between(ahead.interval),
            least.name
        ),
    )))
}

fn told(payer: &Payer<'_>) -> String {
    format!(
        "with {} ({}) it takes {} more CPU per operation",
        payer.server.tls_library,
        payer.name,
        rounded::microseconds_between(payer.more_us)
    )
}

/// Its name, without the version.
fn library(server: &ServerRecord) -> &str {
    server.tls_library.split_whitespace().next().unwrap_or_default()
}

/// Drivers of AES that any CPU can run (`crypto/aes_generic.c`, `crypto/aes_ti.c` and `lib/crypto/aes.c` of Linux); others are made
/// for the instructions of one.
const WITHOUT_INSTRUCTIONS: [&str; 3] = ["aes-generic", "aes-fixed-time", "aes-lib"];

/// A kernel that encrypts files without the CPU's instructions for AES.
pub(super) fn kernel_cipher(run: &Run) -> Option<Finding> {
    let driver = run.head.kernel_cipher.as_ref()?;
    let mut arms = run.head.study.arms.iter();
    let arm = arms.find(|arm| arm.at_rest.file_system == Some(FileSystem::Fscrypt))?;
    let is_slow = WITHOUT_INSTRUCTIONS.iter().any(|name| driver.contains(name));
    is_slow.then(|| {
        advice("kernel-cipher",
            format!(
                "{}: this kernel computes AES-XTS without the CPU's instructions for AES, which makes it many times as expensive. Load \
                 their module (modprobe aesni_intel on x86), or use a kernel that has it.",
                arm.name
            ),
            format!("/proc/crypto: the driver of xts(aes) is {driver}"),
        )
    })
}

/// TLS sessions of which nobody knows with whom. Of a server of the user's own; whether a private one is verified is
/// what a study says.
pub(super) fn unverified(run: &Run) -> Option<Finding> {
    let mut servers = run.head.servers.iter();
    servers.find(|server| server.placement == ServerPlacement::External)?;
    let spoken = run.head.target.as_deref().and_then(Spoken::by);
    run.head.arms.iter().find_map(|arm| {
        let mut sessions = arm.sessions.iter();
        sessions.find_map(|session| unverified_session(spoken, &arm.name, &session.facts))
    })
}

/// Of one session of an arm.
pub(crate) fn unverified_session(
    spoken: Option<Spoken>,
    arm: &str,
    session: &SessionFacts,
) -> Option<Finding> {
    let verification = session.tls.as_ref()?.verification;
    let option = match spoken {
        Some(Spoken::PostgreSql) => "sslrootcert",
        Some(Spoken::MongoDb) => "tlsCAFile",
        Some(Spoken::MySql) | None => "ssl-ca",
    };
    (verification == Verified::None).then(|| {
        advice(
            "unverified-server",
            format!(
                "The server's certificate was not verified, so anybody on the way could read along: add {option}=FILE with its CA to the \
                 URL."
            ),
            format!("{arm}: verification none"),
        )
    })
}

/// Protection that seems to make things faster.
pub(super) fn gains(run: &Run) -> impl Iterator<Item = Finding> {
    // The server says less of what a function returns than of a column.
    let asks_functions = |arm: &str| {
        run.head
            .study
            .arm(arm)
            .is_some_and(|arm| arm.at_rest.columns.is_some())
    };
    let is_impossible = move |row: &&EstimateRow| {
        row.verdict == Verdict::Gains
            && run.head.study.adds_protection(&row.arm)
            && !(row.metric == Metric::BytesPerOp && asks_functions(&row.arm))
    };
    // Said once of a cell and an arm, whatever gains by it.
    let mut fewer_waits: Vec<(&str, &str)> = Vec::new();
    run.results.estimates.iter().filter(is_impossible).filter_map(move |row| {
        let evidence = format!("{} over {} blocks", rounded::change(row.interval()), row.blocks);
        if let Some(summary) = waits_less(run, row) {
            let place = (row.cell.as_str(), row.arm.as_str());
            if fewer_waits.contains(&place) {
                return None;
            }
            fewer_waits.push(place);
            let evidence = format!("{}: {evidence}", row.metric);
            return Some(cause("impossible-gain", summary, evidence));
        }
        let (severity, summary) = match saved_round_trip(run, row) {
            Some(rtt_ms) => (
                Severity::Cause,
                format!(
                    "{}: {} improves the {}, because the tunnel's own connection stays open: every new connection saves a round trip of \
                     {rtt_ms} ms.",
                    row.cell, row.arm, row.metric
                ),
            ),
            None => (
                Severity::Suspicion,
                format!(
                    "{}: {} seems to improve the {}, which protection alone cannot do. Suspect the environment: fewer requests in flight, \
                     threads on other CPUs, or batching by a slower client.",
                    row.cell, row.arm, row.metric
                ),
            ),
        };
        Some(finding(severity, "impossible-gain", summary, evidence))
    })
}

/// Of a connect at a distance that takes fewer round trips than the baseline's, for example because its login does: why it is
/// faster, although it is protected.
fn waits_less(run: &Run, row: &EstimateRow) -> Option<String> {
    let link = run.cell(&row.cell)?.link.filter(|link| link.rtt_ms > 0.0)?;
    let baseline = &run.head.study.baseline().name;
    let flights = |arm: &str| -> Option<f64> {
        let flights = run.results.phases(&row.cell, arm).map(|phase| phase.flights);
        flights.reduce(|sum, flights| sum + flights)
    };
    let (before, after) = (flights(baseline)?, flights(&row.arm)?);
    let is_explained = !row.metric.is_work() && before - after >= 0.5;
    is_explained.then(|| {
        format!(
            "{}: over {} a connect is faster than over {baseline}, because it takes {} round trips instead of {}, of {} ms each.",
            row.cell,
            row.arm,
            plain(after),
            plain(before),
            link.rtt_ms
        )
    })
}

/// The round trip in milliseconds that a new connection is spared by a tunnel that is open already; `None` if that explains
/// nothing.
fn saved_round_trip(run: &Run, row: &EstimateRow) -> Option<f64> {
    let arm = run.head.study.arm(&row.arm)?;
    let cell = run.cell(&row.cell)?;
    let stays_open = matches!(arm.tunnel, Some(Tunnel::Ssh(_)));
    let is_explained = stays_open && cell.asked.workload.makes_connections() && !row.metric.is_work();
    cell.link.filter(|_| is_explained).map(|link| link.rtt_ms)
}

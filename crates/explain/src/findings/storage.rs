//! Encryption at rest: what is decrypted, what the device does, what it takes.

use std::collections::HashSet;

use ciphertax_base::Direction;
use ciphertax_base::Interval;
use ciphertax_base::counter;
use ciphertax_base::format::{bytes, fine, fine_share, rounded};
use ciphertax_model::{Arm, FileSystem, Metric, Study};
use ciphertax_records::{EstimateRow, Finding, MeasuredCell, Run, StorageRow};
use ciphertax_stats::jackknife::interval_of;
use ciphertax_stats::{Estimate, FEWEST_BLOCKS, Verdict};

use super::{cause, is_sure, suspicion};
use ciphertax_estimate::EstimateError;
use ciphertax_estimate::cell::{BASELINE, CellSamples};

/// True if an arm encrypts pages at rest, the baseline does not, and that is all they differ in: what the arm costs more is the
/// price of that alone. A file system in user space is more than that.
pub(super) fn encrypts_at_rest_alone(run: &Run, arm: &str) -> bool {
    let baseline = run.head.study.baseline();
    let is_all = |other: &Arm| {
        let like_baseline = Arm {
            name: baseline.name.clone(),
            at_rest: baseline.at_rest,
            ..other.clone()
        };
        like_baseline == *baseline
    };
    run.head.study.arm(arm).is_some_and(|asked| {
        let at_rest = asked.at_rest;
        at_rest.encrypts_pages()
            && !at_rest.file_system.is_some_and(FileSystem::is_in_user_space)
            && at_rest.columns.is_none()
            && !baseline.at_rest.is_encrypted()
            && is_all(asked)
    })
}

/// Pages moved per operation that are not worth a word.
const FEW: f64 = 0.001;

/// Pages are encrypted where they leave the server's memory and decrypted where they enter it.
pub(super) fn decrypted_in_memory(run: &Run, cell: MeasuredCell<'_>, arm: &str) -> Option<Finding> {
    let cost = run
        .results
        .estimate(&cell.asked.name, arm, run.results.server_cpu(&cell.asked.name))?;
    let row = run.results.storage(&cell.asked.name, arm)?;
    let (read, hit_rate) = row.pages_read.zip(row.hit_rate)?;
    let is_still = read <= FEW && row.pages_written.is_none_or(|written| written <= FEW);
    if cost.verdict != Verdict::NoCost || !is_still || !encrypts_at_rest_alone(run, arm) {
        return None;
    }
    let data = row.data_bytes.zip(row.data_to_memory).map(|(data, ratio)| {
        format!(
            "; data and indexes of {}, {} × of memory",
            bytes(data as f64),
            fine(ratio)
        )
    });
    Some(cause(
        "decrypted-in-memory",
        format!(
            "{}: {arm} has no cost above {}, because pages stay decrypted in memory: hit rate {}, {} pages read per operation. With \
             more data than memory it may cost more (lower storage.memory_mb, or add rows).",
            cell.asked.name,
            rounded::share(cost.margin),
            fine_share(hit_rate),
            fine(read)
        ),
        format!(
            "server CPU {}{}",
            rounded::change(cost.interval()),
            data.unwrap_or_default()
        ),
    ))
}

/// Pages per operation from which on there is something to divide by.
const ENOUGH: f64 = 0.01;
/// The part of the pages that are moved one way from which on the price is called that of this way.
const NEARLY_ALL: f64 = 0.95;

/// Extra CPU of the server per operation over the pages that it moves per operation, both of the same blocks: over whole rounds
/// where they were measured, since most pages are written when the slice is over.
pub(super) fn cost_per_page(
    run: &Run,
    samples: &CellSamples<'_>,
    cell: MeasuredCell<'_>,
    arm: &str,
) -> Result<Option<Finding>, EstimateError> {
    let metric = run.results.server_cpu(&cell.asked.name);
    let cost = run.results.estimate(&cell.asked.name, arm, metric);
    let Some(cost) = cost.filter(|cost| is_sure(cost) && cost.low > 0.0) else {
        return Ok(None);
    };
    let Some(of_arm) = samples.index_of(arm).filter(|_| encrypts_at_rest_alone(run, arm)) else {
        return Ok(None);
    };
    // CPU and operations of the baseline, the same of the arm, then the pages that the arm read and wrote.
    let taken = samples.taken([BASELINE, of_arm], metric);
    let rows: Vec<[f64; 6]> = taken
        .filter_map(|([a, of_a, b, of_b], slice)| {
            let pages = slice.pages(metric)?;
            Some([a, of_a, b, of_b, pages.read? as f64, pages.written? as f64])
        })
        .collect();
    let sum = |column: usize| rows.iter().map(|row| row[column]).sum::<f64>();
    let [read, written] = [sum(4), sum(5)].map(|pages| pages / sum(3));
    if rows.len() < FEWEST_BLOCKS as usize || read + written < ENOUGH {
        return Ok(None);
    }
    let per_page: Interval = interval_of(&rows, &[[0.0], [0.0]], |means, _| {
        let [baseline_cpu, baseline_operations, cpu, operations, read, written] = means;
        (cpu - baseline_cpu / baseline_operations * operations) / (read + written)
    })?;
    let (moved, pages) = match read / (read + written) {
        share if share >= NEARLY_ALL => ("read", format!("{} are read", fine(read))),
        share if share <= 1.0 - NEARLY_ALL => ("written", format!("{} are written", fine(written))),
        _ => (
            "read or written",
            format!("{} are read and {} written", fine(read), fine(written)),
        ),
    };
    Ok(Some(cause(
        "cost-per-page",
        format!(
            "{}: {arm} costs the server {} for each page {moved}; {pages} per operation.",
            cell.asked.name,
            rounded::microseconds_between(per_page),
        ),
        format!(
            "{metric} {} of {}, over {} blocks",
            rounded::change(cost.interval()),
            rounded::microseconds(cost.baseline),
            rows.len()
        ),
    )))
}

/// The part of the time that a device is busy from which on it is full.
const FULL: f64 = 0.9;

/// A disk that has no more to give, whatever is encrypted on it.
pub(super) fn device_full(run: &Run, cell: MeasuredCell<'_>, arm: &str) -> Option<Finding> {
    let name = &cell.asked.name;
    let baseline = &run.head.study.baseline().name;
    let cost = run.results.estimate(name, arm, run.results.server_cpu(name))?;
    let speed = run.results.estimate(name, arm, Metric::Throughput)?;
    let only_cpu = is_sure(cost) && cost.low > 0.0 && speed.verdict == Verdict::NoCost;
    let (before, after) = (
        run.results.storage(name, baseline)?,
        run.results.storage(name, arm)?,
    );
    let is_full = |row: &StorageRow| row.device_busy.is_some_and(|busy| busy >= FULL);
    if !only_cpu || !is_full(before) || !is_full(after) || !encrypts_at_rest_alone(run, arm) {
        return None;
    }
    let told = |row: &StorageRow| {
        let busy = row.device_busy.map(fine_share).unwrap_or_default();
        format!(
            "busy {busy} of the time, {}/s",
            bytes(row.device_bytes_per_s.unwrap_or(0.0))
        )
    };
    Some(cause(
        "device-full",
        format!(
            "{name}: the device is the bottleneck ({}/s without encryption, {}/s with it), so {arm} costs at most {} of the throughput \
             and only raises the server's CPU, by {}.",
            bytes(before.device_bytes_per_s.unwrap_or(0.0)),
            bytes(after.device_bytes_per_s.unwrap_or(0.0)),
            rounded::share(speed.margin / (1.0 + speed.margin)),
            rounded::change(cost.interval())
        ),
        format!(
            "{baseline}: {}; {arm}: {}; throughput {}",
            told(before),
            told(after),
            rounded::change(speed.interval())
        ),
    ))
}

/// The arms with one protection each that an arm has both of.
struct Parts<'a> {
    transit: &'a str,
    rest: &'a str,
}

/// The interaction of an arm that has both with the two that have one each: (both / baseline) / ((transit / baseline) · (rest /
/// baseline)) − 1, its interval from the blocks in which all four were measured.
pub(super) fn transit_and_rest(
    run: &Run,
    samples: &CellSamples<'_>,
    cell: MeasuredCell<'_>,
    arm: &str,
) -> Result<Vec<Finding>, EstimateError> {
    let mut findings = Vec::new();
    let Some(parts) = parts(&run.head.study, arm) else {
        return Ok(findings);
    };
    for metric in [run.results.server_cpu(&cell.asked.name), Metric::Throughput] {
        findings.extend(of_metric(run, samples, cell, arm, &parts, metric)?);
    }
    Ok(findings)
}

/// Arms that differ from one with both in having one of them alone, where the baseline has neither.
fn parts<'a>(study: &'a Study, arm: &str) -> Option<Parts<'a>> {
    let baseline = study.baseline();
    let both = study.arm(arm)?;
    let has_neither = !baseline.transport.is_encrypted() && !baseline.at_rest.is_encrypted();
    if !has_neither || !both.transport.is_encrypted() || !both.at_rest.is_encrypted() {
        return None;
    }
    let like = |wanted: Arm| {
        let is_like = |other: &&Arm| {
            let renamed = Arm {
                name: wanted.name.clone(),
                ..(*other).clone()
            };
            renamed == wanted
        };
        Some(study.arms.iter().find(is_like)?.name.as_str())
    };
    Some(Parts {
        transit: like(Arm {
            at_rest: baseline.at_rest,
            ..both.clone()
        })?,
        rest: like(Arm {
            transport: baseline.transport,
            tls: baseline.tls.clone(),
            certificate: baseline.certificate,
            ..both.clone()
        })?,
    })
}

fn of_metric(
    run: &Run,
    samples: &CellSamples<'_>,
    cell: MeasuredCell<'_>,
    arm: &str,
    parts: &Parts<'_>,
    metric: Metric,
) -> Result<Option<Finding>, EstimateError> {
    let places = [parts.transit, parts.rest, arm].map(|name| samples.index_of(name));
    let [Some(transit), Some(rest), Some(both)] = places else {
        return Ok(None);
    };
    let row = |name: &str| run.results.estimate(&cell.asked.name, name, metric);
    let [Some(of_transit), Some(of_rest), Some(of_both)] = [parts.transit, parts.rest, arm].map(row) else {
        return Ok(None);
    };
    let floor = of_both.floor;
    let [of_transit, of_rest, of_both] = [of_transit, of_rest, of_both].map(EstimateRow::interval);
    let is_the_clients = cell.found.client_bound && !metric.is_cpu();
    let blocks = samples.logs_of([BASELINE, transit, rest, both], metric);
    let interaction = |[baseline, transit, rest, both]: &[f64; 4]| both - transit - rest + baseline;
    let series: Vec<f64> = blocks.iter().map(interaction).collect();
    if series.len() < FEWEST_BLOCKS as usize || is_the_clients {
        return Ok(None);
    }
    let interaction = Estimate::of_log_ratios(&series)?;
    let is_beyond_floor = floor.is_some_and(|floor| interaction.log_mean.abs() > floor.ln_1p());
    let is_more = interaction.log_mean > 0.0;
    let is_dearer = is_more == (metric.direction() == Direction::HigherCosts);
    let answer = match (interaction.excludes_zero() && is_beyond_floor, is_dearer) {
        (true, true) => "no, together they cost more",
        (true, false) => "no, together they cost less",
        (false, _) => "no deviation found",
    };
    let expected = (1.0 + of_transit.value) * (1.0 + of_rest.value) - 1.0;
    Ok(Some(cause(
        "transit-and-rest",
        format!(
            "{}, {metric}: do the costs of {} and {} add up? {answer}: {arm} against their product {}.",
            cell.asked.name,
            parts.transit,
            parts.rest,
            rounded::change(interaction.interval())
        ),
        format!(
            "{}: {}, {}: {}, their product: {}, {arm}: {}; {} blocks",
            parts.transit,
            rounded::change(of_transit),
            parts.rest,
            rounded::change(of_rest),
            rounded::percent(expected),
            rounded::change(of_both),
            interaction.blocks
        ),
    )))
}

/// The part more that is worth a word.
const WORTH_A_WORD: f64 = 0.02;
/// By how many bytes a server makes the file of a table longer at a time at most: InnoDB by four extents
/// (<https://dev.mysql.com/doc/refman/8.4/en/innodb-file-space.html>). Two that hold the same rows may differ by that.
const PIECE: f64 = (4 << 20) as f64;

/// What data take more on the disk: once for each server, whose cells ask the same tables.
pub(super) fn space(run: &Run) -> Vec<Finding> {
    let mut told = HashSet::new();
    let mut findings = Vec::new();
    for cell in run.cells() {
        for arm in run.head.variants() {
            let findings_of_arm = of_arm(run, cell, &arm.name);
            let of_server = (&cell.found.server_id, &arm.name);
            findings.extend(findings_of_arm.filter(|_| told.insert(of_server)));
        }
    }
    findings
}

fn of_arm(run: &Run, cell: MeasuredCell<'_>, arm: &str) -> Option<Finding> {
    let study = &run.head.study;
    let baseline = study.baseline();
    let asked = study.arm(arm)?;
    if asked.at_rest == baseline.at_rest {
        return None;
    }
    let on_disk = |arm: &str| run.results.storage(&cell.asked.name, arm)?.disk_bytes;
    let (before, after) = (on_disk(&baseline.name)? as f64, on_disk(arm)? as f64);
    let pieces = match run.head.is_embedded() {
        true => 0.0,
        false => PIECE * f64::from(study.dataset.tables),
    };
    let (change, bytes_more) = (after / before - 1.0, (after - before).abs());
    if !change.is_finite() || change.abs() < WORTH_A_WORD || bytes_more <= pieces {
        return None;
    }
    Some(cause(
        "space",
        format!(
            "{}: with {arm} the same rows take {} on the disk instead of {} ({}).",
            cell.asked.name,
            bytes(after),
            bytes(before),
            rounded::percent(change)
        ),
        "tables with their indexes after loading".to_owned(),
    ))
}

/// Of the pages that a server asks for: reading fewer from disk is not worth a word.
const FEW_OF_REQUESTS: f64 = 0.01;

/// Of cells that leave it to the server how much of its data is in memory: those that say it ask for reads from disk.
pub(super) fn not_in_memory(study: &Study, cells: &[CellSamples<'_>]) -> impl Iterator<Item = Finding> {
    let leaves_it = move |cell: &&CellSamples<'_>| study.storage(cell.cell).memory_mb.is_none();
    cells.iter().filter(leaves_it).filter_map(|cell| {
        let (reads, operations) = rose(cell, counter::PAGES_READ);
        let (requests, _) = rose(cell, counter::PAGES_REQUESTED);
        let is_rare = reads <= FEW_OF_REQUESTS * requests;
        (reads > FEW * operations && !is_rare).then(|| {
            suspicion(
                "read-from-disk",
                format!(
                    "{}: data was read from disk, so I/O makes changes look smaller.",
                    cell.cell.name
                ),
                format!("the server read {reads} pages into its cache during {operations} operations"),
            )
        })
    })
}

/// By how much a counter rose over all arms of a cell, and during how many operations.
fn rose(cell: &CellSamples<'_>, name: &str) -> (f64, f64) {
    let (mut sum, mut operations) = (0.0, 0.0);
    for arm in 0..cell.arms.len() {
        if let Some((rose, meanwhile)) = cell.totals(arm).counters.get(name) {
            sum += *rose as f64;
            operations += *meanwhile as f64;
        }
    }
    (sum, operations)
}

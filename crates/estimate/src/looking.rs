//! What looking cost, and how device and server went meanwhile.

use std::collections::BTreeMap;

use ciphertax_base::counter;
use ciphertax_records::why::{Course, CourseOf, Look, LookCost};
use ciphertax_records::{Sample, Samples};
use ciphertax_stats::{Estimate, FEWEST_BLOCKS};

use crate::EstimateError;
use crate::cell::BASELINE;
use crate::slices::CellSlices;

/// Of one cell, by how it was looked.
pub fn costs(cell: &CellSlices<'_>) -> Result<Vec<LookCost>, EstimateError> {
    let mut rows = Vec::new();
    for look in [Look::Waits, Look::Full] {
        let series: Vec<f64> = cell
            .blocks
            .keys()
            .filter_map(|block| log_ratio(cell, *block, look))
            .collect();
        let is_looked = |slices: &&Vec<_>| {
            let mut slices = slices.iter().flatten();
            slices.any(|slice: &crate::slices::Slice| slice.look == Some(look))
        };
        let blocks = cell.blocks.values().filter(is_looked).count() as u32;
        if blocks == 0 {
            continue;
        }
        let mut server_cpu = None;
        if series.len() >= FEWEST_BLOCKS as usize {
            server_cpu = Some(Estimate::of_log_ratios(&series)?.interval());
        }
        rows.push(LookCost {
            cell: cell.cell.name.clone(),
            look,
            server_cpu,
            blocks,
        });
    }
    Ok(rows)
}

/// By how much all arms together took more in a block than beside it, as a logarithm; `None` where none can be compared.
fn log_ratio(cell: &CellSlices<'_>, block: u32, look: Look) -> Option<f64> {
    let of_arm = |arm: usize| {
        let slice = cell.get(block, arm)?;
        let own = log_cpu(cell, block, arm)?;
        let before = cell.blocks.range(..block).rev();
        let after = cell.blocks.range(block..).skip(1);
        let nearest = [
            before
                .map(|(number, _)| *number)
                .find_map(|number| plain(cell, number, arm)),
            after
                .map(|(number, _)| *number)
                .find_map(|number| plain(cell, number, arm)),
        ];
        let beside = mean(nearest.into_iter().flatten())?;
        (slice.look == Some(look)).then_some(own - beside)
    };
    mean((BASELINE..cell.arms.len()).filter_map(of_arm))
}

/// The logarithm of what an arm's server took per operation in a block that was not looked into.
fn plain(cell: &CellSlices<'_>, block: u32, arm: usize) -> Option<f64> {
    let slice = cell.get(block, arm)?;
    slice.look.is_none().then(|| log_cpu(cell, block, arm))?
}

fn log_cpu(cell: &CellSlices<'_>, block: u32, arm: usize) -> Option<f64> {
    let slice = cell.get(block, arm)?;
    let us = slice.us_of(slice.server_cpu?.total_ns as f64);
    (us > 0.0).then(|| us.ln())
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    (count > 0.0).then(|| sum / count)
}

/// A run has to last so long, in seconds, for its course to be worth showing.
const LEAST_S: f64 = 60.0;
/// More points than a picture can show are put together.
const MOST_POINTS: usize = 200;
/// What tells of the device and of the server's work on it, where the server counts it.
const COUNTERS: [&str; 4] = [
    counter::PAGES_READ,
    counter::PAGES_WRITTEN,
    counter::LOG_BYTES,
    counter::CONNECTIONS,
];

/// What was counted in a block: when it was in the middle, for how long, and how much.
#[derive(Default)]
struct Counted {
    middle_ns: f64,
    duration_ns: f64,
    amount: f64,
}

/// What was counted in a cell, by block.
type Figures = BTreeMap<CourseOf, BTreeMap<u32, Counted>>;

/// The course of every cell of a run that is longer than a minute. What never was other than zero is left out.
///
/// # Errors
/// When the samples are damaged.
pub fn courses(samples: &(impl Samples + ?Sized)) -> Result<Vec<Course>, EstimateError> {
    let mut by_cell: Vec<(String, Figures)> = Vec::new();
    let mut end_ns = 0;
    for index in 0..samples.count() {
        let sample = samples.get(index)?;
        end_ns = end_ns.max(sample.end_ns());
        if !sample.is_valid() {
            continue;
        }
        let at = by_cell.iter().position(|(cell, _)| *cell == sample.slice.cell);
        let at = at.unwrap_or_else(|| {
            by_cell.push((sample.slice.cell.clone(), Figures::new()));
            by_cell.len() - 1
        });
        for (of, amount) in amounts(&sample) {
            let blocks = by_cell[at].1.entry(of).or_default();
            let counted = blocks.entry(sample.slice.block).or_default();
            let duration = sample.load.duration_ns as f64;
            counted.middle_ns += (sample.start_ns as f64 + duration / 2.0) * duration;
            counted.duration_ns += duration;
            counted.amount += amount;
        }
    }
    if end_ns as f64 / 1e9 < LEAST_S {
        return Ok(Vec::new());
    }
    let courses = by_cell.into_iter().flat_map(|(cell, counted)| {
        let course = move |(of, blocks): (CourseOf, BTreeMap<u32, Counted>)| Course {
            cell: cell.clone(),
            points: points(&of, blocks.into_values().collect()),
            of,
        };
        counted.into_iter().map(course)
    });
    let is_shown = |course: &Course| course.points.len() > 1 && course.points.iter().any(|[_, y]| *y != 0.0);
    Ok(courses.filter(is_shown).collect())
}

fn amounts(sample: &Sample) -> Vec<(CourseOf, f64)> {
    let mut amounts = Vec::new();
    if let Some(device) = &sample.server.device {
        amounts.extend([
            (CourseOf::DeviceBusy, device.busy_ns as f64 / 1e9),
            (CourseOf::DeviceRead, device.read_bytes as f64),
            (CourseOf::DeviceWritten, device.written_bytes as f64),
        ]);
    }
    amounts.extend(COUNTERS.into_iter().filter_map(|name| {
        let rose = sample.server.server_counters.get(name)?;
        Some((CourseOf::Counter(name.to_owned()), *rose as f64))
    }));
    amounts
}

fn points(of: &CourseOf, blocks: Vec<Counted>) -> Vec<[f64; 2]> {
    let together = blocks.len().div_ceil(MOST_POINTS).max(1);
    let point = |blocks: &[Counted]| {
        let sum = |of: fn(&Counted) -> f64| blocks.iter().map(of).sum::<f64>();
        let duration = sum(|block| block.duration_ns);
        let rate = sum(|block| block.amount) / (duration / 1e9);
        let most = match of {
            // Steps of a millisecond may add up to a little more than the time.
            CourseOf::DeviceBusy => 1.0,
            _ => f64::INFINITY,
        };
        (duration > 0.0).then_some([sum(|block| block.middle_ns) / duration / 1e9, rate.min(most)])
    };
    blocks.chunks(together).filter_map(point).collect()
}

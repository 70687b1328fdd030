//! How the figures of device and server went in the course of a run.

use std::collections::BTreeMap;

use ciphertax_records::why::{Course, CourseOf};
use ciphertax_records::{Sample, Samples, counter};

use crate::folder::ExplainError;

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
pub fn courses(samples: &(impl Samples + ?Sized)) -> Result<Vec<Course>, ExplainError> {
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

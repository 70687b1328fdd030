//! CPU time of an operation by category of code: each arm against the baseline, paired by block.

use std::collections::BTreeSet;

use ciphertax_base::Interval;
use ciphertax_model::Metric;
use ciphertax_records::Results;
use ciphertax_records::why::{CategoryRow, Complete, DifferenceOfSide, ProfiledSide};

use super::categories::{KERNEL_OTHER, UNCLASSIFIED};
use super::counted::{Counted, Profiles};
use ciphertax_estimate::EstimateError;
use ciphertax_estimate::cell::{AGAIN, BASELINE};
use ciphertax_estimate::paired::{Pair, Paired, excludes_zero, floor};
use ciphertax_estimate::slices::{CellSlices, Slice};

/// What one cell comes to.
#[derive(Default)]
pub(super) struct Differences {
    pub(super) categories: Vec<CategoryRow>,
    pub(super) sides: Vec<DifferenceOfSide>,
}

/// One arm's half of a block.
struct Half<'a> {
    counted: &'a Counted,
    /// By the meters, in microseconds an operation: in all, and what the samples stand for.
    total_us: f64,
    sampled_us: f64,
}

/// A block in which both arms were profiled.
struct Block<'a> {
    halves: [Half<'a>; 2],
    weight: f64,
}

/// Of one cell, each arm and side.
pub(super) fn of_cell(
    index: usize,
    cell: &CellSlices<'_>,
    profiles: &Profiles,
    results: &Results,
) -> Result<Differences, EstimateError> {
    let mut all = Differences::default();
    for arm in AGAIN..cell.arms.len() {
        for side in [ProfiledSide::Server, ProfiledSide::Client] {
            let blocks: Vec<Block<'_>> = cell
                .blocks
                .keys()
                .filter_map(|block| {
                    let half = |arm| {
                        half(
                            cell.get(*block, arm)?,
                            profiles.slices.get(&(index, *block, arm, side))?,
                            side,
                        )
                    };
                    Some(Block::of([half(BASELINE)?, half(arm)?]))
                })
                .collect();
            if blocks.is_empty() {
                continue;
            }
            let mut rows = rows(cell, arm, side, &blocks)?;
            let floors: Vec<&CategoryRow> = all
                .categories
                .iter()
                .filter(|row| row.side == side && row.arm == cell.arms[AGAIN])
                .collect();
            for row in &mut rows {
                row.floor_us = match arm {
                    AGAIN => Some(0.0),
                    _ => floor_of(row, &floors),
                };
                row.is_significant = is_significant(row);
            }
            all.sides
                .extend(of_side(cell, arm, side, &blocks, &rows, results)?);
            all.categories.extend(rows);
        }
    }
    Ok(all)
}

/// `None` where the meters do not see the side.
fn half<'a>(slice: &Slice, counted: &'a Counted, side: ProfiledSide) -> Option<Half<'a>> {
    let cpu = slice.cpu(side)?;
    let sampled_ns = match counted.comprises {
        Complete::Whole | Complete::KernelUnnamed => cpu.total_ns,
        Complete::UserOnly => cpu.total_ns.saturating_sub(cpu.system_ns),
    };
    Some(Half {
        counted,
        total_us: slice.us_of(cpu.total_ns as f64),
        sampled_us: slice.us_of(sampled_ns as f64),
    })
}

impl Half<'_> {
    fn samples(&self) -> f64 {
        self.counted.samples as f64
    }

    fn count(&self, category: &str) -> f64 {
        self.counted
            .by_category
            .get(category)
            .map_or(0.0, |count| *count as f64)
    }

    /// Microseconds of an operation that a category takes; what was not sampled is the kernel's.
    fn us(&self, category: &str) -> f64 {
        let unsampled = match category {
            KERNEL_OTHER => self.total_us - self.sampled_us,
            _ => 0.0,
        };
        self.sampled_us * self.count(category) / self.samples() + unsampled
    }
}

impl<'a> Block<'a> {
    /// A share's variance falls with its samples, so that of a difference of two with their harmonic mean. The weights are the same
    /// for all categories, so what these add up to is what the meters say.
    fn of(halves: [Half<'a>; 2]) -> Self {
        let [baseline, variant] = [halves[0].samples(), halves[1].samples()];
        Self {
            halves,
            weight: baseline * variant / (baseline + variant),
        }
    }

    /// `shares` are the category's in all blocks.
    fn pair(&self, category: &str, shares: [f64; 2]) -> Pair {
        let [baseline, variant] = &self.halves;
        let variance =
            |half: &Half<'_>, share: f64| half.sampled_us.powi(2) * share * (1.0 - share) / half.samples();
        Pair {
            values: [baseline.us(category), variant.us(category)],
            weights: [self.weight; 2],
            variances: [variance(baseline, shares[0]), variance(variant, shares[1])],
        }
    }
}

fn rows(
    cell: &CellSlices<'_>,
    arm: usize,
    side: ProfiledSide,
    blocks: &[Block<'_>],
) -> Result<Vec<CategoryRow>, EstimateError> {
    let counted = || blocks.iter().flat_map(|block| &block.halves);
    let mut categories: BTreeSet<&'static str> = counted()
        .flat_map(|half| half.counted.by_category.keys().copied())
        .collect();
    if counted().any(|half| half.counted.comprises == Complete::UserOnly) {
        categories.insert(KERNEL_OTHER);
    }
    let mut rows = Vec::new();
    for category in categories {
        let share = |arm: usize| {
            let count: f64 = blocks.iter().map(|block| block.halves[arm].count(category)).sum();
            count
                / blocks
                    .iter()
                    .map(|block| block.halves[arm].samples())
                    .sum::<f64>()
        };
        let shares = [share(0), share(1)];
        let pairs: Vec<Pair> = blocks.iter().map(|block| block.pair(category, shares)).collect();
        let Some(paired) = Paired::of(&pairs)? else {
            continue;
        };
        rows.push(CategoryRow {
            cell: cell.cell.name.clone(),
            arm: cell.arms[arm].clone(),
            side,
            category: category.to_owned(),
            baseline_us: paired.baseline,
            variant_us: paired.variant,
            difference: paired.difference,
            floor_us: None,
            is_significant: false,
        });
    }
    rows.sort_by(|one, other| size(other).total_cmp(&size(one)));
    Ok(rows)
}

fn size(row: &CategoryRow) -> f64 {
    (row.variant_us - row.baseline_us).abs()
}

/// The floor of a category is the baseline's difference from itself there; 0 where neither has anything of it. Without one nothing
/// counts as a difference.
fn floor_of(row: &CategoryRow, again: &[&CategoryRow]) -> Option<f64> {
    let mut same = again.iter().filter(|other| other.category == row.category);
    match same.next() {
        Some(same) => same.difference.as_ref().map(floor),
        None => again
            .iter()
            .any(|other| other.difference.is_some())
            .then_some(0.0),
    }
}

fn is_significant(row: &CategoryRow) -> bool {
    let is_beyond = |difference: Interval| {
        let floor = row.floor_us?;
        Some(excludes_zero(&difference) && difference.value.abs() > floor)
    };
    row.difference.and_then(is_beyond).unwrap_or(false)
}

fn of_side(
    cell: &CellSlices<'_>,
    arm: usize,
    side: ProfiledSide,
    blocks: &[Block<'_>],
    rows: &[CategoryRow],
    results: &Results,
) -> Result<Option<DifferenceOfSide>, EstimateError> {
    let pair = |block: &Block<'_>| Pair {
        values: [0, 1].map(|arm| block.halves[arm].total_us),
        weights: [block.weight; 2],
        variances: [0.0; 2],
    };
    let pairs: Vec<Pair> = blocks.iter().map(pair).collect();
    let Some(paired) = Paired::of(&pairs)? else {
        return Ok(None);
    };
    let counted = || {
        blocks
            .iter()
            .flat_map(|block| &block.halves)
            .map(|half| half.counted)
    };
    let sum = |of: &dyn Fn(&Counted) -> u64| counted().map(|counted| of(counted) as f64).sum::<f64>();
    let samples = sum(&|counted| counted.samples);
    let unknown = sum(&|counted| counted.by_category.get(UNCLASSIFIED).copied().unwrap_or(0));
    let least = |one, other| match (one, other) {
        (Complete::UserOnly, _) | (_, Complete::UserOnly) => Complete::UserOnly,
        (Complete::KernelUnnamed, _) | (_, Complete::KernelUnnamed) => Complete::KernelUnnamed,
        (Complete::Whole, Complete::Whole) => Complete::Whole,
    };
    Ok(Some(DifferenceOfSide {
        cell: cell.cell.name.clone(),
        arm: cell.arms[arm].clone(),
        side,
        measured: paired.difference,
        estimated: estimated(results, &cell.cell.name, &cell.arms[arm], side),
        sum_us: rows.iter().map(|row| row.variant_us - row.baseline_us).sum(),
        blocks: blocks.len() as u32,
        samples: samples as u64,
        complete: sum(&|counted| counted.complete) / samples,
        classified: 1.0 - unknown / samples,
        comprises: counted()
            .map(|counted| counted.comprises)
            .fold(Complete::Whole, least),
    }))
}

/// What the run's slices that were not looked into say of the same; `None` where a relay is in theirs, into which nobody looks.
fn estimated(results: &Results, cell: &str, arm: &str, side: ProfiledSide) -> Option<Interval> {
    let relay = results.measured(cell, arm, Metric::ColumnRelayCpuPerOp);
    if side == ProfiledSide::Server && relay.is_some() {
        return None;
    }
    let metric = match side {
        ProfiledSide::Server => Metric::ServerCpuPerOp,
        ProfiledSide::Client => Metric::ClientCpuPerOp,
    };
    let mut rows = results.estimates.iter().chain(&results.noise_floor);
    rows.find(|row| row.cell == cell && row.arm == arm && row.metric == metric)
        .map(|row| row.difference)
}

//! From an estimate to a verdict.

use ciphertax_base::Direction;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::estimate::Estimate;
use crate::spread::{Spread, first_block_count};

/// A difference counts if its p-value, adjusted for the family, is at most this.
pub const SIGNIFICANCE: f64 = 0.05;

/// What an estimate is judged by. Floor and margin are logarithms of a ratio, as the estimate's own mean is: there a
/// halving and a doubling are equally far from no change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Criteria {
    /// Which way the metric moves when a feature costs something.
    pub direction: Direction,
    /// The smallest change this environment can be trusted to show: [`LogRatio::noise_floor`](crate::LogRatio::noise_floor) of the
    /// baseline against itself, same cell and same metric; `None` if that was not measured.
    pub floor: Option<f64>,
    /// The smallest cost the user cares about; 0 if none was given.
    pub margin: f64,
    /// The estimate's p-value after [`benjamini_hochberg`].
    pub adjusted_p_value: f64,
}

/// The claim that may be made of an estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The feature costs: the interval excludes zero, the change exceeds the noise floor, and it is significant in its family.
    Costs,
    /// The interval excludes zero on the side of cost and the change exceeds the noise floor, but it is not significant in its
    /// family.
    CostsPerhaps,
    /// The arm takes less than the baseline, as it `Costs`. Of an arm that only adds protection that is an impossible sign, and
    /// so a suspicion about what was measured.
    Gains,
    /// The interval excludes zero on the side of gain, but one of the others is missing.
    GainsPerhaps,
    /// The interval holds zero, and no cost as large as the margin.
    NoCost,
    /// Nothing can be claimed.
    CannotTell,
}

impl Verdict {
    /// True for a difference that is one.
    pub fn is_decided_difference(self) -> bool {
        matches!(self, Self::Costs | Self::Gains)
    }

    /// True where more blocks would tell nothing new.
    pub fn is_decided(self) -> bool {
        self.is_decided_difference() || self == Self::NoCost
    }
}

/// Why a verdict is what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// `costs`, `gains`: the interval excludes zero, the change exceeds the noise floor, and it is significant in its family.
    BeyondFloor,
    /// `no_cost`: the interval ends below the margin.
    WithinMargin,
    /// `cannot_tell`: the interval holds zero, and also changes beyond the margin.
    IntervalTooWide,
    /// `cannot_tell`, `gains_perhaps`: the interval excludes zero, but the change does not exceed the noise floor.
    WithinFloor,
    /// `costs_perhaps`, `gains_perhaps`: the interval excludes zero and the change exceeds the noise floor, but it is not
    /// significant in its family.
    ManyComparisons,
    /// `cannot_tell`: the noise floor is larger than the margin, so that being below the margin means nothing.
    FloorTooWide,
    /// `cannot_tell`: the baseline again was not measured, so there is no noise floor.
    NoFloor,
    /// `cannot_tell`: of two runs, what changed is the baseline that percents are of, and not the time.
    OnlyInPercent,
    /// `cannot_tell`: the load generator was the bottleneck.
    ClientBound,
}

/// What follows from an estimate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// Why it is that.
    pub rule: Rule,
    /// Of what is not decided: blocks still needed for a verdict that is, if estimate and noise stay what they are; absent if no
    /// reasonable number would do. Always absent for the others.
    pub more_blocks: Option<u32>,
}

/// Judges an estimate. In this order:
///
/// - without a floor nothing can be told;
/// - if the interval excludes zero: `Costs` or `Gains`, by the sign, if the change exceeds the floor and the adjusted p-value is at
///   most [`SIGNIFICANCE`]; else the same, perhaps, but that a cost within the floor cannot be told;
/// - `NoCost` if the interval's bound on the side of cost is below the margin, and the floor is no larger than that;
/// - else `CannotTell`.
pub fn judge(estimate: &Estimate, criteria: &Criteria) -> Judgement {
    let (verdict, rule) = verdict(estimate, criteria);
    let more_blocks = match verdict.is_decided() {
        true => None,
        false => missing_blocks(estimate, criteria),
    };
    Judgement {
        verdict,
        rule,
        more_blocks,
    }
}

/// Adjusts p-values so that judging each by [`SIGNIFICANCE`] makes any false alarm in the whole family at
/// most that likely, whatever the dependence between them (Holm 1979). Order is kept.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut ascending: Vec<usize> = (0..p_values.len()).collect();
    ascending.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut adjusted = vec![0.0; p_values.len()];
    let mut largest = 0.0_f64;
    for (rank, &row) in ascending.iter().enumerate() {
        let remaining = (p_values.len() - rank) as f64;
        largest = largest.max((p_values[row] * remaining).min(1.0));
        adjusted[row] = largest;
    }
    adjusted
}

/// Adjusts p-values so that of what is called significant by [`SIGNIFICANCE`] at most that share is a false alarm (Benjamini and
/// Hochberg 1995; with positive dependence, as a shared baseline makes it, Benjamini and Yekutieli 2001). Order is kept.
pub fn benjamini_hochberg(p_values: &[f64]) -> Vec<f64> {
    let mut descending: Vec<usize> = (0..p_values.len()).collect();
    descending.sort_by(|&a, &b| p_values[b].total_cmp(&p_values[a]));
    let mut adjusted = vec![0.0; p_values.len()];
    let mut smallest = 1.0_f64;
    for (larger, &row) in descending.iter().enumerate() {
        let rank = (p_values.len() - larger) as f64;
        smallest = smallest.min(p_values[row] * p_values.len() as f64 / rank);
        adjusted[row] = smallest;
    }
    adjusted
}

fn verdict(estimate: &Estimate, criteria: &Criteria) -> (Verdict, Rule) {
    let Some(floor) = criteria.floor else {
        return (Verdict::CannotTell, Rule::NoFloor);
    };
    let half_width = estimate.spread().half_width();
    // On the side of cost, whichever way the metric goes.
    let cost = match criteria.direction {
        Direction::HigherCosts => estimate.log_mean,
        Direction::LowerCosts => -estimate.log_mean,
    };
    if cost.abs() > half_width {
        let rule = match (cost.abs() > floor, criteria.adjusted_p_value <= SIGNIFICANCE) {
            (true, true) => Rule::BeyondFloor,
            (true, false) => Rule::ManyComparisons,
            (false, _) => Rule::WithinFloor,
        };
        let verdict = match (rule, cost > 0.0) {
            (Rule::BeyondFloor, true) => Verdict::Costs,
            (Rule::BeyondFloor, false) => Verdict::Gains,
            (Rule::WithinFloor, true) => Verdict::CannotTell,
            (_, true) => Verdict::CostsPerhaps,
            (_, false) => Verdict::GainsPerhaps,
        };
        return (verdict, rule);
    }
    match (cost + half_width < criteria.margin, floor <= criteria.margin) {
        (false, _) => (Verdict::CannotTell, Rule::IntervalTooWide),
        (true, false) => (Verdict::CannotTell, Rule::FloorTooWide),
        (true, true) => (Verdict::NoCost, Rule::WithinMargin),
    }
}

/// Judges again what more blocks would show: the same effect, with the noise of estimate and floor falling as
/// the square root of the number of blocks.
fn missing_blocks(estimate: &Estimate, criteria: &Criteria) -> Option<u32> {
    let spread = estimate.spread();
    let needed = first_block_count(estimate.blocks + 1, |blocks| {
        let projected = spread.projected_to(blocks);
        let criteria = criteria.projected(&spread, &projected);
        verdict(&Estimate::from(projected), &criteria).0.is_decided()
    });
    needed.map(|blocks| blocks - estimate.blocks)
}

impl Criteria {
    fn projected(&self, now: &Spread, then: &Spread) -> Self {
        // What the family multiplied the p-value by stays. Where it was cut off at 1 this is less than the truth: a hopeful
        // forecast.
        let multiplier = (self.adjusted_p_value / now.p_value()).max(1.0);
        Self {
            floor: self.floor.map(|floor| floor * (now.blocks / then.blocks).sqrt()),
            adjusted_p_value: (then.p_value() * multiplier).min(1.0),
            ..*self
        }
    }
}

#[cfg(test)]
mod tests;

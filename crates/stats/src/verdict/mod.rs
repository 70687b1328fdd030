//! From an estimate to a verdict.

use ciphertax_base::Direction;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::estimate::Estimate;
use crate::spread::{Spread, first_block_count};

/// A difference counts if its p-value, adjusted for the family, is at most this.
pub const SIGNIFICANCE: f64 = 0.05;

/// A noise floor of more than this many times the user's margin excludes nothing that the user would call no cost.
pub const WIDEST_FLOOR: f64 = 3.0;

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
    /// The estimate's p-value after [`holm`].
    pub adjusted_p_value: f64,
}

/// What follows from an estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The feature costs: the interval excludes zero and the effect exceeds the noise floor.
    Costs,
    /// The arm takes less than the baseline, by the same rule. Of an arm that only adds protection that is an impossible sign, and
    /// so a suspicion about what was measured.
    Gains,
    /// No cost larger than `margin`.
    NoCost,
    /// The interval is too wide to say either.
    CannotTell,
}

/// Why a verdict is what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// `costs`, `gains`: the interval excludes zero, the change exceeds the noise floor, and it is significant among
    /// all comparisons of the run.
    BeyondFloor,
    /// `no_cost`: the interval ends below the margin.
    WithinMargin,
    /// `cannot_tell`: the interval holds zero, and also changes beyond the margin.
    IntervalTooWide,
    /// `cannot_tell`: the interval excludes zero, but the change does not exceed the noise floor.
    WithinFloor,
    /// `cannot_tell`: the interval excludes zero and the change exceeds the noise floor, but it is not significant
    /// among so many comparisons.
    ManyComparisons,
    /// `cannot_tell`: the noise floor is so much larger than the margin that being below it means nothing.
    FloorTooWide,
    /// `cannot_tell`: the baseline again was not measured, so there is no noise floor.
    NoFloor,
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
    /// The cost that `NoCost` excludes: the larger of floor and margin, as the logarithm of a ratio.
    pub margin: f64,
    /// For `CannotTell`: blocks still needed for any other verdict if estimate and noise stay what they are;
    /// absent if no reasonable number would do. Always absent for the others.
    pub more_blocks: Option<u32>,
}

/// Judges an estimate. In this order:
///
/// - without a floor nothing can be told;
/// - if the interval excludes zero and the change exceeds the floor: `Costs` or `Gains`, by the sign, if the
///   adjusted p-value is at most [`SIGNIFICANCE`]; a cost that is not significant cannot be told, and is never `NoCost`;
/// - `NoCost` if the interval's bound on the side of cost is below the margin, which is at least the floor;
/// - else `CannotTell`.
pub fn judge(estimate: &Estimate, criteria: &Criteria) -> Judgement {
    let (verdict, rule) = verdict(estimate, criteria);
    let more_blocks = match verdict {
        Verdict::CannotTell => missing_blocks(estimate, criteria),
        Verdict::Costs | Verdict::Gains | Verdict::NoCost => None,
    };
    Judgement {
        verdict,
        rule,
        margin: criteria.effective_margin(),
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
    let is_beyond_noise = cost.abs() > half_width && cost.abs() > floor;
    let is_significant = criteria.adjusted_p_value <= SIGNIFICANCE;
    match (is_beyond_noise, is_significant, cost > 0.0) {
        (true, true, true) => (Verdict::Costs, Rule::BeyondFloor),
        (true, true, false) => (Verdict::Gains, Rule::BeyondFloor),
        (true, false, true) => (Verdict::CannotTell, Rule::ManyComparisons),
        _ if cost + half_width >= criteria.effective_margin() => match cost.abs() > half_width {
            true => (Verdict::CannotTell, Rule::WithinFloor),
            false => (Verdict::CannotTell, Rule::IntervalTooWide),
        },
        _ if criteria.margin > 0.0 && floor > WIDEST_FLOOR * criteria.margin => {
            (Verdict::CannotTell, Rule::FloorTooWide)
        }
        _ => (Verdict::NoCost, Rule::WithinMargin),
    }
}

/// Judges again what more blocks would show: the same effect, with the noise of estimate and floor falling as
/// the square root of the number of blocks.
fn missing_blocks(estimate: &Estimate, criteria: &Criteria) -> Option<u32> {
    let spread = estimate.spread();
    let needed = first_block_count(estimate.blocks + 1, |blocks| {
        let projected = spread.projected_to(blocks);
        let criteria = criteria.projected(&spread, &projected);
        verdict(&Estimate::from(projected), &criteria).0 != Verdict::CannotTell
    });
    needed.map(|blocks| blocks - estimate.blocks)
}

impl Criteria {
    fn effective_margin(&self) -> f64 {
        self.margin.max(self.floor.unwrap_or(0.0))
    }

    fn projected(&self, now: &Spread, then: &Spread) -> Self {
        // What Holm multiplied the p-value by stays. Where it was cut off at 1 this is less than the truth: a
        // hopeful forecast.
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

//! `compare` and `gate` are right as often as they say: simulations of runs that the stopping rule has stopped, judged by the
//! code that judges real ones. Seeded, so they give the same figures each time.

use crate::simulation::{Noise, half_width_after, stopped};
use ciphertax_base::Direction;
use ciphertax_stats::bound::{Bound, Sameness};
use ciphertax_stats::verdict::{SIGNIFICANCE, holm};
use ciphertax_stats::{BoundVerdict, CostVerdict, LogRatio};

/// Runs stop about here.
const BLOCKS: usize = 20;
/// The least power at twice the margin.
const POWER: f64 = 0.9;
/// A family: three cells of two variants.
const CELLS: u64 = 3;

/// Runs with one kind of noise, which stop at one precision.
struct Runs {
    noise: Noise,
    half_width: f64,
    /// Pairs of runs.
    repetitions: u64,
    /// The repeated baseline and both variants of each cell, by its seed.
    cells: Vec<(LogRatio, [LogRatio; 2])>,
}

impl Runs {
    fn measured(noise: Noise, repetitions: u64) -> Self {
        let half_width = half_width_after(noise, BLOCKS);
        let cell = |seed| {
            let cell = stopped(noise, half_width, seed);
            let variants = [0, 1].map(|variant| LogRatio::from(&cell.compared(variant).estimate));
            (LogRatio::from(&cell.baseline_again()), variants)
        };
        Self {
            noise,
            half_width,
            repetitions,
            // Two runs of so many cells.
            cells: (0..2 * CELLS * repetitions).map(cell).collect(),
        }
    }

    /// How often something happens.
    fn share(&self, happens: impl Fn(u64) -> bool) -> f64 {
        let times = (0..self.repetitions).filter(|seed| happens(*seed)).count();
        times as f64 / self.repetitions as f64
    }

    /// The smallest cost that matters in a run: twice its precision, as a logarithm.
    fn margin(&self) -> f64 {
        (2.0 * self.half_width).ln_1p()
    }

    /// The same between two runs.
    fn margin_of_two(&self) -> f64 {
        self.margin() * 2.0_f64.sqrt()
    }

    /// The repeated baseline of a cell, and both variants, which cost so much.
    fn cell(&self, seed: u64, costs: [f64; 2]) -> (LogRatio, [LogRatio; 2]) {
        let (again, variants) = &self.cells[seed as usize];
        let costing = |variant: usize| LogRatio {
            mean: variants[variant].mean + costs[variant],
            ..variants[variant]
        };
        (*again, [0, 1].map(costing))
    }

    /// The verdicts of both variants of some cells of two runs, judged as one family, where both cost so much more in the second.
    fn compared(&self, seed: u64, cells: u64, more: f64) -> Vec<CostVerdict> {
        let rows: Vec<(f64, LogRatio)> = self.ratios(seed, cells, more);
        let adjusted = holm(&rows.iter().map(|(_, ratio)| ratio.p_value()).collect::<Vec<_>>());
        let judge = |((floor, ratio), adjusted_p_value): (&(f64, LogRatio), f64)| {
            let sameness = Sameness {
                direction: Direction::HigherCosts,
                floor: Some(*floor),
                margin: self.margin_of_two(),
                adjusted_p_value,
            };
            sameness.judge(ratio).0
        };
        rows.iter().zip(adjusted).map(judge).collect()
    }

    /// The noise floor and the ratio of ratios of both variants of some cells.
    fn ratios(&self, seed: u64, cells: u64, more: f64) -> Vec<(f64, LogRatio)> {
        let of_cell = |cell: u64| {
            let seed = 2 * (seed * CELLS + cell);
            let (again_before, before) = self.cell(seed, [0.2; 2]);
            let (again_after, after) = self.cell(seed + 1, [0.2 + more; 2]);
            let floor = again_after.against(&[again_before], 0.0).noise_floor();
            [0, 1].map(|variant| (floor, after[variant].against(&before[variant..=variant], 0.0)))
        };
        (0..cells).flat_map(of_cell).collect()
    }

    /// The verdicts on bounds of ln 1.3 for both variants of some cells of a run, held as one family; the costs of the variants
    /// lie so far above them.
    fn held(&self, seed: u64, excess: &[[f64; 2]]) -> Vec<BoundVerdict> {
        let at_most = 1.3_f64.ln();
        let of_cell = |(cell, excess): (usize, &[f64; 2])| {
            let (again, ratios) =
                self.cell(seed * CELLS + cell as u64, excess.map(|excess| at_most + excess));
            ratios.map(|ratio| (again.noise_floor(), ratio))
        };
        let rows: Vec<(f64, LogRatio)> = excess.iter().enumerate().flat_map(of_cell).collect();
        held(&rows, at_most)
    }
}

/// The verdicts on one bound for a family of ratios, each with its noise floor.
fn held(rows: &[(f64, LogRatio)], at_most: f64) -> Vec<BoundVerdict> {
    let bound = |floor: f64| Bound {
        direction: Direction::HigherCosts,
        at_most,
        floor: Some(floor),
    };
    let p_values: Vec<f64> = rows
        .iter()
        .map(|(floor, ratio)| bound(*floor).p_value_over(ratio))
        .collect();
    let each = rows.iter().zip(holm(&p_values));
    each.map(|((floor, ratio), p_value)| bound(*floor).holds(ratio, p_value).0)
        .collect()
}

#[test]
fn a_cost_that_stays_is_called_the_same_and_one_that_changes_by_twice_the_margin_is_seen() {
    let runs = Runs::measured(Noise::Independent, 100);
    let far = 2.0 * runs.margin_of_two();
    for (more, expected) in [
        (0.0, CostVerdict::Same),
        (far, CostVerdict::Dearer),
        (-far, CostVerdict::Cheaper),
    ] {
        let called = runs.share(|seed| runs.compared(seed, CELLS, more)[0] == expected);
        assert!(called >= 0.8, "{expected}: {called}");
    }
}

#[test]
fn a_cost_twice_the_margin_from_its_budget_is_called_what_it_is_and_one_at_it_neither() {
    let runs = Runs::measured(Noise::RareStalls, 100);
    let far = 2.0 * runs.margin();
    for (excess, expected) in [(far, BoundVerdict::Over), (-far, BoundVerdict::Within)] {
        let called = |excess| runs.share(|seed| runs.held(seed, &[[excess, 0.0]])[0] == expected);
        assert!(called(excess) >= 0.8, "{expected}: {}", called(excess));
        assert!(called(0.0) <= 0.15, "{expected} at the budget: {}", called(0.0));
    }
}

/// Every noise, with repetitions enough to tell the shares that the documents promise.
mod test_all {
    use std::sync::LazyLock;

    use super::*;

    const REPETITIONS: u64 = 1_000;

    /// Two standard errors of a share of 5 % over that many repetitions: 1.4 percentage points.
    fn simulation_error() -> f64 {
        2.0 * (0.05 * 0.95 / REPETITIONS as f64).sqrt()
    }

    static RUNS: LazyLock<Vec<Runs>> = LazyLock::new(|| {
        let noises = Noise::CALIBRATED.into_iter().chain(Noise::HEAVY);
        noises.map(|noise| Runs::measured(noise, REPETITIONS)).collect()
    });

    #[test]
    fn two_runs_that_cost_the_same_are_called_different_in_at_most_5_percent_and_mostly_the_same() {
        for runs in RUNS.iter() {
            let noise = runs.noise;
            let differs =
                |verdict: &CostVerdict| matches!(verdict, CostVerdict::Dearer | CostVerdict::Cheaper);
            let alarms = runs.share(|seed| runs.compared(seed, 1, 0.0)[..1].iter().any(differs));
            assert!(alarms <= SIGNIFICANCE, "{noise:?}: {alarms}");
            let of_family = runs.share(|seed| runs.compared(seed, CELLS, 0.0).iter().any(differs));
            let is_bounded = of_family <= SIGNIFICANCE + simulation_error();
            assert!(is_bounded, "{noise:?}, any of six: {of_family}");
            let same = runs.share(|seed| runs.compared(seed, 1, 0.0)[0] == CostVerdict::Same);
            assert!(same >= POWER, "{noise:?}: {same}");
            println!(
                "{noise:?}: false alarms {alarms:.4}, of a family of six {of_family:.4}, called the same {same:.4}"
            );
        }
    }

    #[test]
    fn a_cost_that_changes_by_twice_the_margin_is_seen_in_at_least_90_percent() {
        for runs in RUNS.iter() {
            let noise = runs.noise;
            for (sign, expected) in [(1.0, CostVerdict::Dearer), (-1.0, CostVerdict::Cheaper)] {
                let more = sign * 2.0 * runs.margin_of_two();
                let seen = runs.share(|seed| runs.compared(seed, CELLS, more)[0] == expected);
                assert!(seen >= POWER, "{noise:?}, {expected}: {seen}");
            }
        }
    }

    #[test]
    fn of_many_costs_at_their_budgets_any_is_called_over_in_at_most_5_percent() {
        for runs in RUNS.iter() {
            let noise = runs.noise;
            let any = runs.share(|seed| {
                runs.held(seed, &[[0.0; 2]; CELLS as usize])
                    .contains(&BoundVerdict::Over)
            });
            assert!(any <= SIGNIFICANCE + simulation_error(), "{noise:?}: {any}");
        }
    }

    #[test]
    fn a_gate_with_one_cost_at_its_budget_passes_in_at_most_5_percent_whatever_the_others_do() {
        for runs in RUNS.iter() {
            let noise = runs.noise;
            let below = -10.0 * runs.margin();
            let costs = [[0.0, below], [below; 2], [below; 2]];
            let passes = runs.share(|seed| {
                let verdicts = runs.held(seed, &costs);
                verdicts.iter().all(|verdict| *verdict == BoundVerdict::Within)
            });
            assert!(passes <= SIGNIFICANCE, "{noise:?}: {passes}");
        }
    }

    #[test]
    fn a_cost_twice_the_margin_from_its_budget_is_called_what_it_is_in_at_least_90_percent() {
        for runs in RUNS.iter() {
            let noise = runs.noise;
            let far = 2.0 * runs.margin();
            for (excess, expected) in [(far, BoundVerdict::Over), (-far, BoundVerdict::Within)] {
                // The others are at their budgets, so that the family's correction is paid in full.
                let costs = [[excess, 0.0], [0.0; 2], [0.0; 2]];
                let called = runs.share(|seed| runs.held(seed, &costs)[0] == expected);
                assert!(called >= POWER, "{noise:?}, {expected}: {called}");
            }
        }
    }

    #[test]
    fn against_an_earlier_run_a_rise_by_the_margin_is_called_neither_and_one_by_twice_of_it_over() {
        for runs in RUNS.iter() {
            let noise = runs.noise;
            let margin = runs.margin_of_two();
            let first = |cells: u64, more: f64, verdict: BoundVerdict| {
                runs.share(|seed| held(&runs.ratios(seed, cells, more), margin)[0] == verdict)
            };
            for verdict in [BoundVerdict::Over, BoundVerdict::Within] {
                let wrong = first(1, margin, verdict);
                assert!(wrong <= SIGNIFICANCE, "{noise:?}, {verdict}: {wrong}");
            }
            let [within, over] = [
                first(CELLS, 0.0, BoundVerdict::Within),
                first(CELLS, 2.0 * margin, BoundVerdict::Over),
            ];
            println!("{noise:?}: same cost within {within:.4}, twice the margin over {over:.4}");
            assert!(within >= POWER && over >= POWER, "{noise:?}: {within} {over}");
        }
    }

    #[test]
    fn a_cost_that_changes_by_the_margin_is_called_the_same_in_at_most_5_percent() {
        for runs in RUNS.iter() {
            let noise = runs.noise;
            for more in [runs.margin_of_two(), -runs.margin_of_two()] {
                let same = runs.share(|seed| runs.compared(seed, 1, more)[0] == CostVerdict::Same);
                assert!(same <= SIGNIFICANCE, "{noise:?}, {more}: {same}");
            }
        }
    }

    #[test]
    fn a_cost_at_its_budget_is_called_over_or_within_in_at_most_5_percent() {
        for runs in RUNS.iter() {
            let noise = runs.noise;
            let called = |verdict| runs.share(|seed| runs.held(seed, &[[0.0; 2]])[0] == verdict);
            for verdict in [BoundVerdict::Over, BoundVerdict::Within] {
                let wrong = called(verdict);
                assert!(wrong <= SIGNIFICANCE, "{noise:?}, {verdict}: {wrong}");
                println!("{noise:?}: at its budget, called {verdict}: {wrong:.4}");
            }
        }
    }
}

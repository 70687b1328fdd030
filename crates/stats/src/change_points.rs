//! From which run on a figure is another: E-divisive, over several series at once.
//!
//! Matteson and James, "A nonparametric approach for multiple change point analysis of multivariate data", Journal of the
//! American Statistical Association 109 (2014), in one dimension and with distances as they are (α = 1): a series is cut where
//! the energy distance between what comes before and after is largest, if that is rare among the same values in other orders;
//! then its pieces likewise. Nothing is assumed of how values scatter, only that without a change any order of them is as
//! likely as another: a slow drift or a memory from run to run is a change too.
//!
//! A run has many figures. The orders are orders of *runs*, the same for all series, and a series is compared with the most
//! extreme of all (Westfall and Young 1993, step-down): however many figures there are, in a history without a change the
//! probability of any alarm is [`SIGNIFICANCE`] at most.

mod split;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use crate::verdict::SIGNIFICANCE;
use split::{Split, Splitter};

/// Values from which on a change can be found. Of fewer in order no order is rare enough: of two times three values one order
/// in ten separates them.
pub const FEWEST_VALUES: usize = 8;

/// Orders that a series is compared with.
const ORDERS: usize = 1_999;

/// The level of cuts after the first ones: where a series is cut, its pieces are tidier than chance makes them, which raised more
/// false alarms than [`SIGNIFICANCE`] beside a true change.
const SIGNIFICANCE_OF_FURTHER: f64 = SIGNIFICANCE / 2.0;

/// Values at least on each side of a change: with one, every outlier would be two changes.
const FEWEST_BESIDE: usize = 2;

/// The values of a figure, each with the run that it comes from, in the order of the runs. Runs may have no value.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Series {
    /// Which run, and its value.
    pub values: Vec<(usize, f64)>,
}

/// Where a series changes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// Position in the series of the first value after the change.
    pub at: usize,
    /// Probability that any of the series has a change as clear as this one if none has one.
    pub p_value: f64,
}

/// The changes of each series, in their order. The same series give the same changes: the orders they are compared with are drawn
/// with a seed that is made of their values.
pub fn change_points(series: &[Series]) -> Vec<Vec<Change>> {
    let runs = series.iter().flat_map(|series| &series.values);
    let runs = runs.map(|(run, _)| run + 1).max().unwrap_or(0);
    let mut random = Pcg64::seed_from_u64(seed(series));
    let mut found: Vec<Vec<Change>> = vec![Vec::new(); series.len()];
    let mut asked: Vec<usize> = (0..series.len()).collect();
    while !asked.is_empty() {
        let mut tested: Vec<Tested> = asked
            .iter()
            .filter_map(|of| Tested::new(*of, &series[*of], &found[*of]))
            .collect();
        // From the clearest on, so that the step-down is a running maximum from behind.
        tested.sort_by(|a, b| b.clearest.statistic.total_cmp(&a.clearest.statistic));
        let cuts = found.iter().map(Vec::len).sum::<usize>();
        let level = if cuts == 0 {
            SIGNIFICANCE
        } else {
            SIGNIFICANCE_OF_FURTHER
        };
        count_orders(&mut tested, level, runs, &mut random);
        asked.clear();
        let mut p_value = 0.0_f64;
        for test in tested {
            p_value = p_value.max((1.0 + test.as_clear as f64) / (1.0 + ORDERS as f64));
            if p_value > level {
                break;
            }
            let at = test.clearest.at;
            found[test.of].push(Change { at, p_value });
            found[test.of].sort_by_key(|change| change.at);
            asked.push(test.of);
        }
    }
    found
}

/// The smallest shift in the middle of so many values that is found nine times in ten, where they scatter with this standard
/// deviation; `None` where there are too few to find any. Simulated for three figures whose scatter is normal
/// (`tests/histories.rs`): as any mean's error it falls with the square root of their number, but of few values few orders are others.
pub fn smallest_shift(values: usize, standard_deviation: f64) -> Option<f64> {
    // So many standard deviations of a mean: 2.3 of the values themselves among 20.
    let errors = match values {
        ..FEWEST_VALUES => return None,
        FEWEST_VALUES..10 => 17.0,
        10..12 => 12.0,
        _ => 10.3,
    };
    Some(errors * standard_deviation / (values as f64).sqrt())
}

/// Of the values, so that no history is always compared with the same orders as others of its length: what these happen to be
/// would make some lengths give more false alarms than others.
fn seed(series: &[Series]) -> u64 {
    let values = series.iter().flat_map(|series| &series.values);
    let bits = values.map(|(_, value)| value.to_bits());
    // Knuth's multiplier of 64 bits.
    bits.fold(16, |seed: u64, bits| {
        (seed.rotate_left(7) ^ bits).wrapping_mul(6_364_136_223_846_793_005)
    })
}

/// Counts for each series in how many orders of the runs it, or one that is less clear, has as clear a change as it has; no
/// further than until it is known that none has a change at this level.
fn count_orders(tested: &mut [Tested], level: f64, runs: usize, random: &mut Pcg64) {
    let enough = level * (1.0 + ORDERS as f64);
    let mut keys = vec![0.0_f64; runs];
    for _ in 0..ORDERS {
        if tested
            .first()
            .is_none_or(|clearest| clearest.as_clear as f64 > enough)
        {
            break;
        }
        keys.fill_with(|| random.random());
        let mut most = 0.0_f64;
        for test in tested.iter_mut().rev() {
            most = most.max(test.reordered(&keys));
            // Orders that only mirror the series have its statistic but for rounding.
            test.as_clear += usize::from(most >= test.clearest.statistic * (1.0 - 1e-9));
        }
    }
}

/// A series whose pieces are tested.
struct Tested {
    of: usize,
    pieces: Vec<Piece>,
    /// Its clearest change, and where that is in the whole series.
    clearest: Split,
    as_clear: usize,
}

/// What lies between two changes.
struct Piece {
    runs: Vec<usize>,
    splitter: Splitter,
    order: Vec<usize>,
}

impl Tested {
    /// `None` where no piece is long enough, or all its values are the same.
    fn new(of: usize, series: &Series, changes: &[Change]) -> Option<Self> {
        let ends = changes.iter().map(|change| change.at);
        let mut begin = 0;
        let mut pieces = Vec::new();
        let mut clearest = Split::default();
        for end in ends.chain([series.values.len()]) {
            let values = &series.values[begin..end];
            if values.len() >= FEWEST_VALUES {
                let mut piece = Piece::of(values);
                let split = piece.splitter.clearest(&piece.order);
                if split.statistic > clearest.statistic {
                    clearest = Split {
                        at: begin + split.at,
                        ..split
                    };
                }
                pieces.push(piece);
            }
            begin = end;
        }
        (clearest.statistic > 0.0).then_some(Self {
            of,
            pieces,
            clearest,
            as_clear: 0,
        })
    }

    /// The clearest change of any piece with its runs in the order of these keys.
    fn reordered(&mut self, keys: &[f64]) -> f64 {
        let mut most = 0.0_f64;
        for piece in &mut self.pieces {
            let runs = &piece.runs;
            piece
                .order
                .sort_by(|a, b| keys[runs[*a]].total_cmp(&keys[runs[*b]]));
            most = most.max(piece.splitter.clearest(&piece.order).statistic);
        }
        most
    }
}

impl Piece {
    fn of(values: &[(usize, f64)]) -> Self {
        let numbers: Vec<f64> = values.iter().map(|(_, value)| *value).collect();
        Self {
            runs: values.iter().map(|(run, _)| *run).collect(),
            splitter: Splitter::of(&numbers, FEWEST_BESIDE),
            order: (0..values.len()).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(values: &[f64]) -> Series {
        Series {
            values: values.iter().copied().enumerate().collect(),
        }
    }

    fn places(values: &[f64]) -> Vec<usize> {
        let found = change_points(&[series(values)]);
        found[0].iter().map(|change| change.at).collect()
    }

    #[test]
    fn a_clear_step_is_found_where_it_is() {
        let values = [1.0, 1.1, 0.9, 1.0, 1.05, 2.0, 2.1, 1.9, 2.05, 1.95];
        assert_eq!(places(&values), [5]);
        let found = change_points(&[series(&values)]);
        // Two of the 252 orders separate five from five.
        assert!((found[0][0].p_value - 2.0 / 252.0).abs() < 0.006, "{found:?}");
    }

    #[test]
    fn pieces_are_cut_again() {
        let at = |run: usize| [1.0, 3.0, 2.0][run / 10] + 0.1 * ((run * 7 % 10) as f64 - 4.5) / 4.5;
        let values: Vec<f64> = (0..30).map(at).collect();
        assert_eq!(places(&values), [10, 20]);
    }

    #[test]
    fn fewer_than_eight_runs_and_runs_all_alike_have_no_change() {
        assert_eq!(places(&[1.0, 1.0, 1.1, 9.0, 9.1, 9.0, 9.2]), [0; 0]);
        assert_eq!(places(&[1.0; 40]), [0; 0]);
        assert_eq!(places(&[]), [0; 0]);
        assert!(change_points(&[]).is_empty());
    }

    #[test]
    fn one_outlier_is_no_change() {
        let mut values: Vec<f64> = (0..20).map(|run| 1.0 + 0.01 * f64::from(run * 7 % 10)).collect();
        values[9] = 50.0;
        assert_eq!(places(&values), [0; 0]);
    }

    #[test]
    fn a_change_of_one_figure_is_not_hidden_by_many_that_stay() {
        let noise = |run: usize, of: usize| ((run * 31 + of * 17 + run * run * 13) % 23) as f64 / 23.0;
        let all: Vec<Series> = (0..30)
            .map(|of| {
                let step = |run: usize| if of == 4 && run >= 6 { 3.0 } else { 0.0 };
                series(&(0..14).map(|run| noise(run, of) + step(run)).collect::<Vec<_>>())
            })
            .collect();
        let found = change_points(&all);
        for (of, changes) in found.iter().enumerate() {
            let expected: &[usize] = if of == 4 { &[6] } else { &[] };
            assert_eq!(
                changes.iter().map(|change| change.at).collect::<Vec<_>>(),
                expected,
                "{of}"
            );
        }
    }

    #[test]
    fn a_figure_that_some_runs_lack_is_told_by_its_own_values() {
        let values = (0..24).filter(|run| run % 3 != 1);
        let values = values.map(|run| (run, if run < 12 { 1.0 } else { 2.0 } + 0.001 * run as f64));
        let found = change_points(&[Series {
            values: values.collect(),
        }]);
        assert_eq!(found[0].iter().map(|change| change.at).collect::<Vec<_>>(), [8]);
    }
}

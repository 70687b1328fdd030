//! What is held of percentiles.

use std::iter::zip;

use super::*;

const QUANTILES: [f64; 6] = [0.001, 0.25, 0.5, 0.95, 0.99, 1.0];

fn histogram(values: impl IntoIterator<Item = u64>) -> Histogram<u64> {
    let mut histogram = empty();
    for value in values {
        histogram.record(value).unwrap();
    }
    histogram
}

fn counts(values: impl IntoIterator<Item = u64>) -> LatencyCounts {
    LatencyCounts::from(&histogram(values))
}

/// Blocks of values that spread over two decades and differ from block to block.
fn uneven_blocks(factor: u64) -> Vec<Histogram<u64>> {
    (0..12_u64)
        .map(|block| histogram((1..400).map(|i| factor * (10_000 + i * i * (7 + block * block % 5)))))
        .collect()
}

fn survey(blocks: &[Histogram<u64>]) -> LatencySurvey {
    let mut survey = LatencySurvey::new(&QUANTILES);
    for block in blocks {
        survey.add(&block.into()).unwrap();
    }
    survey
}

fn table(blocks: &[Histogram<u64>], quantile: f64) -> LatencyBlocks {
    let mut table = survey(blocks).table(quantile, blocks.len()).unwrap();
    for block in blocks {
        table.add(&block.into()).unwrap();
    }
    table
}

fn change(baseline: &[Histogram<u64>], variant: &[Histogram<u64>], quantile: f64, seed: u64) -> Estimate {
    percentile_change(&table(baseline, quantile), &table(variant, quantile), seed).unwrap()
}

#[test]
fn quantiles_are_those_of_the_merged_histogram_within_its_resolution() {
    let blocks = uneven_blocks(1);
    let mut merged = empty();
    for block in &blocks {
        merged.add(block).unwrap();
    }
    let survey = survey(&blocks);
    for quantile in QUANTILES {
        let expected = merged.value_at_quantile(quantile);
        let got = survey.value_at_quantile(quantile).unwrap();
        let bucket = merged.lowest_equivalent(expected) as f64..=merged.next_non_equivalent(expected) as f64;
        assert!(bucket.contains(&got), "{quantile}: {got} not in {bucket:?}");
        let of_table = table(&blocks, quantile).weighted_quantile(&[1; 12]);
        assert!((of_table - got).abs() < 1e-6, "{quantile}: {of_table}, {got}");
    }
}

/// The merged histogram of any weighting is made by hand, and its quantile is that of the table, whose window holds only
/// the blocks' own quantiles.
#[test]
fn the_quantile_of_every_weighting_of_the_blocks_is_in_the_table() {
    let blocks = uneven_blocks(1);
    let mut random = Pcg64::seed_from_u64(5);
    for quantile in QUANTILES {
        let table = table(&blocks, quantile);
        for _ in 0..50 {
            let weights: Vec<u64> = blocks.iter().map(|_| random.random_range(0..3)).collect();
            let mut merged = empty();
            for (block, weight) in zip(&blocks, &weights) {
                (0..*weight).for_each(|_| merged.add(block).unwrap());
            }
            let (expected, _) = LatencyCounts::from(&merged).quantile(quantile);
            let got = table.weighted_quantile(&weights);
            assert!((got - expected).abs() < 1e-6, "{quantile}: {got}, {expected}");
        }
    }
}

#[test]
fn a_table_with_few_rows_has_them_where_the_quantile_is() {
    assert_eq!(ends(3, 5, 9, 64), [3, 4, 5, 6, 7, 8, 9]);
    for (first, middle, last) in [(0, 9_000, 20_000), (100, 100, 9_000), (0, 5_000, 5_000)] {
        let ends = ends(first, middle, last, 64);
        assert!(ends.len() <= 64 && ends.is_sorted(), "{}", ends.len());
        assert_eq!((ends[0], *ends.last().unwrap()), (first, last));
        for near in middle.saturating_sub(2).max(first)..=(middle + 2).min(last) {
            assert!(ends.contains(&near), "{near} of {ends:?}");
        }
    }
}

/// So many blocks that a table cannot have a row for each bucket: the interval is that of the table which has.
#[test]
fn the_interval_of_many_blocks_does_not_depend_on_how_many_rows_fit() {
    let mut random = Pcg64::seed_from_u64(7);
    let mut arm = |factor: f64| -> Vec<Histogram<u64>> {
        (0..400)
            .map(|_| {
                let level = factor * random.random_range(0.9..1.1);
                histogram((0..200).map(|_| {
                    let tail = 1.0 / (1.0 - random.random_range(0.0..0.999_f64)).sqrt();
                    (100_000.0 * level * tail) as u64
                }))
            })
            .collect()
    };
    let (baseline, variant) = (arm(1.0), arm(1.2));
    for quantile in [0.5, 0.95, 0.99] {
        let whole = change(&baseline, &variant, quantile, 1);
        let with_few_rows = |blocks: &[Histogram<u64>]| {
            let survey = survey(blocks);
            // Room for many more blocks than come leaves few rows; then room for those that come.
            let mut table = survey.table(quantile, MOST_COUNTS / 100).unwrap();
            assert!(table.rows.len() <= 100);
            table.capacity = blocks.len();
            table.cumulative = vec![0; (table.rows.len() + 1) * blocks.len()];
            blocks.iter().for_each(|block| table.add(&block.into()).unwrap());
            table
        };
        let few = percentile_change(&with_few_rows(&baseline), &with_few_rows(&variant), 1).unwrap();
        let is_near = (few.change - whole.change).abs() < 1e-3 * whole.half_width().max(1e-3);
        assert!(is_near, "{quantile}");
        let widths = few.half_width() / whole.half_width();
        assert!((0.97..1.03).contains(&widths), "{quantile}: {widths}");
    }
}

#[test]
fn an_arm_against_itself_shows_no_change_whatever_the_blocks() {
    let arm = uneven_blocks(1);
    let estimate = change(&arm, &arm, 0.95, 1);
    assert_eq!((estimate.low, estimate.change, estimate.high), (0.0, 0.0, 0.0));
}

#[test]
fn a_factor_on_every_latency_is_found() {
    for quantile in [0.5, 0.95, 0.99] {
        let estimate = change(&uneven_blocks(1), &uneven_blocks(3), quantile, 1);
        assert!((estimate.change - 2.0).abs() < 0.005, "{quantile}: {estimate:?}");
        assert!(estimate.half_width() < 0.01);
    }
}

#[test]
fn the_seed_decides_the_interval() {
    let mut blocks = uneven_blocks(1);
    blocks.rotate_left(5);
    let with = |seed| change(&uneven_blocks(1), &blocks, 0.95, seed);
    assert_eq!(with(1), with(1));
    assert_ne!(with(1).low, with(2).low);
}

#[test]
fn what_has_no_percentile_is_an_error() {
    let mut survey = LatencySurvey::new(&[0.5]);
    assert!(survey.value_at_quantile(0.5).is_none() && survey.table(0.5, 2).is_none());
    survey.add(&counts([200])).unwrap();
    let empty = survey.add(&counts([]));
    assert_eq!(empty.unwrap_err(), StatsError::EmptyHistogram { block: 1 });
    assert!(survey.table(0.9, 1).is_none(), "nobody asked for it");
    let (one, two) = (vec![histogram([200])], vec![histogram([200]), histogram([300])]);
    let unpaired = percentile_change(&table(&one, 0.5), &table(&two, 0.5), 1).unwrap_err();
    assert_eq!(
        unpaired,
        StatsError::Unpaired {
            baseline: 1,
            variant: 2
        }
    );
    let found = percentile_change(&table(&one, 0.5), &table(&one, 0.5), 1).unwrap_err();
    assert_eq!(found, StatsError::TooFewBlocks { blocks: 1 });
    let mut full = table(&one, 0.5);
    assert!(full.add(&counts([300])).is_err(), "there is room for one");
}

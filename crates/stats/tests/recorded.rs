//! What the estimator makes of recorded runs, beside the mean of the log-ratios to one baseline that it replaced.

use std::collections::BTreeMap;

use ciphertax_base::Direction;
use ciphertax_stats::both_baselines::compare;
use ciphertax_stats::{Estimate, Location, LogRatio};

const RUNS: [(&str, &str); 4] = [
    ("quick-noisy", include_str!("recorded/quick-noisy.csv")),
    ("point-select-0.2", include_str!("recorded/point-select-0.2.csv")),
    ("point-select-0.1", include_str!("recorded/point-select-0.1.csv")),
    (
        "point-select-0.05",
        include_str!("recorded/point-select-0.05.csv"),
    ),
];

const METRICS: [(&str, Direction); 3] = [
    ("client CPU", Direction::HigherCosts),
    ("server CPU", Direction::HigherCosts),
    ("throughput", Direction::LowerCosts),
];

/// A variant's metric in a cell of a run, by both estimators.
#[derive(Debug)]
struct Replayed {
    run: &'static str,
    cell: String,
    variant: String,
    metric: &'static str,
    former: LogRatio,
    now: LogRatio,
    location: Location,
}

impl Replayed {
    fn ratio_of_half_widths(&self) -> f64 {
        self.now.half_width() / self.former.half_width()
    }
}

fn replayed() -> Vec<Replayed> {
    let mut found = Vec::new();
    for (run, text) in RUNS {
        // By cell and block, the logarithms of the metrics of each arm.
        let mut cells: BTreeMap<&str, BTreeMap<u32, BTreeMap<&str, [f64; 3]>>> = BTreeMap::new();
        for line in text.lines().skip(1) {
            let fields: Vec<&str> = line.split(',').collect();
            let [cell, block, arm, values @ ..] = &fields[..] else {
                panic!("{run}: {line}")
            };
            let logs: Vec<f64> = values
                .iter()
                .map(|value| value.parse::<f64>().unwrap().ln())
                .collect();
            let blocks = cells.entry(cell).or_default();
            let arms = blocks.entry(block.parse().unwrap()).or_default();
            arms.insert(arm, logs.try_into().unwrap());
        }
        for (cell, blocks) in cells {
            let variants = blocks[&0]
                .keys()
                .filter(|arm| !["baseline", "again"].contains(*arm));
            for variant in variants {
                for (index, (metric, direction)) in METRICS.into_iter().enumerate() {
                    let rows: Vec<[f64; 3]> = blocks
                        .values()
                        .map(|arms| ["baseline", "again", *variant].map(|arm| arms[arm][index]))
                        .collect();
                    let one: Vec<f64> = rows
                        .iter()
                        .map(|[baseline, _, variant]| variant - baseline)
                        .collect();
                    let compared = compare(&rows, direction).unwrap();
                    found.push(Replayed {
                        run,
                        cell: cell.to_owned(),
                        variant: (*variant).to_owned(),
                        metric,
                        former: LogRatio::from(&Estimate::of_log_ratios(&one).unwrap()),
                        now: LogRatio::from(&compared.estimate),
                        location: compared.location,
                    });
                }
            }
        }
    }
    found
}

fn geometric_mean<'a>(rows: impl Iterator<Item = &'a Replayed>) -> f64 {
    let logs: Vec<f64> = rows.map(|row| row.ratio_of_half_widths().ln()).collect();
    (logs.iter().sum::<f64>() / logs.len() as f64).exp()
}

#[test]
fn the_same_samples_give_narrower_intervals() {
    let rows = replayed();
    assert_eq!(rows.len(), 27);
    for row in &rows {
        println!(
            "{} {} {} {}: ± {:.2} %, {:.2} of the former ± {:.2} %, {:?}",
            row.run,
            row.cell,
            row.variant,
            row.metric,
            100.0 * row.now.half_width(),
            row.ratio_of_half_widths(),
            100.0 * row.former.half_width(),
            row.location
        );
        // Where the ratio wanders for longer than a block, that is most of the width, which no location takes away.
        let is_hardly_wider = row.ratio_of_half_widths() < 1.1;
        assert!(is_hardly_wider, "{row:?}");
    }
    // One in twenty is taken for disturbed by chance.
    let by_mean = rows.iter().filter(|row| row.location == Location::Mean).count();
    assert!(by_mean <= 2, "{by_mean}");
    let of = |run: &str, cell: &str| {
        let rows = rows.iter().filter(|row| row.run == run && row.cell == cell);
        let found = geometric_mean(rows);
        println!("{run} {cell}: {found:.2}");
        found
    };
    let select = "oltp_point_select";
    assert!(of("point-select-0.1", select) <= 0.68);
    assert!(of("quick-noisy", select) <= 0.7);
    // Here the ratio itself wanders, or its noise is not heavy-tailed.
    assert!(of("point-select-0.05", select) <= 1.02);
    assert!(of("point-select-0.2", select) <= 0.83);
    assert!(of("quick-noisy", "connect") <= 0.85);
    assert!(of("quick-noisy", "bulk_read") <= 0.85);
    let all = geometric_mean(rows.iter());
    println!("all: {all:.2}");
    assert!(all <= 0.8, "{all}");
}

#[test]
fn in_the_same_24_seconds_slices_of_50_ms_give_little_more_than_half_the_former_interval() {
    let rows = replayed();
    for (metric, _) in METRICS {
        let of = |run: &str| {
            rows.iter()
                .find(|row| row.run == run && row.metric == metric)
                .unwrap()
        };
        let [now, former] = [of("point-select-0.05").now, of("point-select-0.1").former];
        let ratio = now.half_width() / former.half_width();
        assert!(ratio <= 0.6, "{metric}: {ratio}");
    }
}

#[test]
fn what_is_estimated_stays_the_same_within_the_former_interval() {
    for row in replayed() {
        let moved = (row.now.mean - row.former.mean).abs();
        assert!(moved < row.former.half_width(), "{row:?}");
    }
}

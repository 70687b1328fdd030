//! Cost against queries per connection, and cores at a rate.

use ciphertax_base::Interval;
use ciphertax_model::workload::Unit;
use ciphertax_model::{Cell, Metric, Study};
use ciphertax_records::{
    CapacityRow, ChurnBreakEven, ChurnPoint, ChurnRow, EstimateRow, Head, Rated, Results, Side,
};
use ciphertax_stats::jackknife::interval_of;
use ciphertax_stats::{FEWEST_BLOCKS, Verdict};

use crate::EstimateError;
use crate::cell::{AGAIN, BASELINE, CellSamples, Figures, value};
use crate::compared;

/// Overheads for which the report says from how many queries per connection on they are kept.
const BUDGETS: [f64; 3] = [0.01, 0.05, 0.10];
/// The curve is drawn, and break-even is looked for, from 1 to this many queries per connection.
const MOST_QUERIES: f64 = 1e6;
const POINTS_PER_DECADE: u32 = 6;

/// One block of a cell: logarithms of CPU per operation, baseline then arm, for the client and then the server; then what tunnel and
/// pooler take between them, which may be nothing, in microseconds.
type Row = [f64; 6];

/// The churn model: what a feature costs against queries per connection.
///
/// `overhead(n) = (C₁ + n·q₁) / (C₀ + n·q₀) − 1`, with the CPU time of a connect C and of a query q, of the baseline (0)
/// and of an arm (1). The connect cell's operation holds one query, so a connection with n queries costs
/// `connect + (n − 1)·query`; the query is the key lookup of the other cell, over a connection that stays open.
pub(crate) fn rows(
    study: &Study,
    results: &Results,
    cells: &[CellSamples<'_>],
) -> Result<Vec<ChurnRow>, EstimateError> {
    let connects = cells
        .iter()
        .filter(|cell| cell.cell.workload.descriptor().operation == Unit::ConnectionWithLookup);
    let mut rows = Vec::new();
    for connect in connects {
        let mut queries = cells.iter().filter(|cell| cell.cell.workload.is_key_lookup());
        let Some(query) = queries.find(|query| are_together(study, connect, query)) else {
            continue;
        };
        for (arm, name) in connect.arms.iter().enumerate().skip(AGAIN + 1) {
            let Some(same) = query.index_of(name) else {
                continue;
            };
            for side in SIDES {
                let blocks = (blocks(connect, arm, side)?, blocks(query, same, side)?);
                let fewest = FEWEST_BLOCKS as usize;
                if blocks.0.len() >= fewest && blocks.1.len() >= fewest {
                    let names = [&connect.cell.name, &query.cell.name, name].map(String::as_str);
                    let row = row(names, side, &blocks.0, &blocks.1)?;
                    rows.push(with_the_tables_query(results, row));
                }
            }
        }
    }
    Ok(rows)
}

/// What a query alone costs one side stands in the tables too, with the interval of a ratio and a verdict: it is said in one
/// way.
fn with_the_tables_query(results: &Results, row: ChurnRow) -> ChurnRow {
    let estimates = metrics(row.side).iter();
    let estimates: Vec<&EstimateRow> = estimates
        .filter_map(|metric| results.estimate(&row.query_cell, &row.arm, *metric))
        .collect();
    let floors = estimates
        .iter()
        .map(|estimate| Some(estimate.floor? * estimate.baseline));
    let floor = floors
        .sum::<Option<f64>>()
        .map(|floor| floor / row.query_baseline_us);
    ChurnRow {
        query_overhead: match estimates.as_slice() {
            [estimate] => estimate.interval(),
            _ => row.query_overhead,
        },
        query_verdict: of_sum(&estimates, &row.query_overhead, floor),
        query_floor: floor,
        ..row
    }
}

/// The verdict on a sum: of one part its own; of several a difference where none is undecided and the sum is one beyond the floors.
fn of_sum(parts: &[&EstimateRow], sum: &Interval, floor: Option<f64>) -> Verdict {
    if let [only] = parts {
        return only.verdict;
    }
    let are_decided = !parts.is_empty() && parts.iter().all(|part| part.verdict.is_decided());
    let is_beyond_floor = floor.is_some_and(|floor| sum.value.abs() > floor);
    let margin = parts.iter().map(|part| part.margin).fold(0.0, f64::max);
    match (sum.low > 0.0, sum.high < 0.0) {
        _ if !are_decided => Verdict::CannotTell,
        (true, _) if is_beyond_floor => Verdict::Costs,
        (_, true) if is_beyond_floor => Verdict::Gains,
        (false, false) if sum.high < margin && floor.is_some_and(|floor| floor <= margin) => Verdict::NoCost,
        _ => Verdict::CannotTell,
    }
}

/// True if both cells are measured on the same server over the same links.
fn are_together(study: &Study, one: &CellSamples<'_>, other: &CellSamples<'_>) -> bool {
    study.server_spec(one.cell) == study.server_spec(other.cell)
        && study.distances(one.cell) == study.distances(other.cell)
}

const SIDES: [Side; 3] = [Side::Client, Side::Server, Side::Both];

/// The metrics that a side adds up.
fn metrics(side: Side) -> &'static [Metric] {
    match side {
        Side::Client => &[Metric::ClientCpuPerOp],
        Side::Server => &[Metric::ServerCpuPerOp],
        Side::Both => &[Metric::ClientCpuPerOp, Metric::ServerCpuPerOp],
    }
}

/// Whether the client counts, and whether the server does.
fn counts(side: Side) -> (bool, bool) {
    (side != Side::Server, side != Side::Client)
}

/// CPU time per operation of the baseline and of the arm, in microseconds.
fn cpu_us(side: Side, logs: &Row) -> (f64, f64) {
    let (client, server) = counts(side);
    let part = |counts: bool, us: f64| if counts { us } else { 0.0 };
    let of = |arm: usize| {
        part(client, logs[arm].exp())
            + part(server, logs[2 + arm].exp())
            + part(client && server, logs[4 + arm])
    };
    (of(0), of(1))
}

/// CPU time per operation of tunnel and pooler together, in microseconds.
fn between_us(slice: &Figures) -> f64 {
    Metric::OF_WHAT_IS_BETWEEN
        .into_iter()
        .filter_map(|metric| value(slice, metric))
        .sum()
}

fn blocks(cell: &CellSamples<'_>, arm: usize, side: Side) -> Result<Vec<Row>, EstimateError> {
    let (client, server) = counts(side);
    let of = |counts: bool, metric: Metric, slices: [&Figures; 3]| {
        if !counts {
            return Some([0.0; 3]);
        }
        let values: Option<Vec<f64>> = slices.into_iter().map(|slice| value(slice, metric)).collect();
        values?.try_into().ok().map(|row: [f64; 3]| row.map(f64::ln))
    };
    let mut between = Vec::new();
    let (of_client, of_server): (Vec<[f64; 3]>, Vec<[f64; 3]>) = cell
        .together([BASELINE, AGAIN, arm])
        .filter_map(|slices| {
            let both = (
                of(client, Metric::ClientCpuPerOp, slices)?,
                of(server, Metric::ServerCpuPerOp, slices)?,
            );
            let [baseline, again, arm] = slices.map(between_us);
            between.push([f64::midpoint(baseline, again), arm]);
            Some(both)
        })
        .unzip();
    if of_client.len() < FEWEST_BLOCKS as usize {
        return Ok(Vec::new());
    }
    let of_client = as_in_the_tables(&of_client, Metric::ClientCpuPerOp, cell)?;
    let of_server = as_in_the_tables(&of_server, Metric::ServerCpuPerOp, cell)?;
    let rows = of_client.into_iter().zip(of_server).zip(between);
    Ok(rows
        .map(
            |(([client, arm], [server, arm_of_server]), [between, arm_between])| {
                [client, arm, server, arm_of_server, between, arm_between]
            },
        )
        .collect())
}

fn as_in_the_tables(
    rows: &[[f64; 3]],
    metric: Metric,
    cell: &CellSamples<'_>,
) -> Result<Vec<[f64; 2]>, EstimateError> {
    let level = cell.level_of_both_baselines(metric).unwrap_or(1.0);
    compared::as_in_the_tables(rows, metric, level)
}

fn row(
    [cell, query_cell, arm]: [&str; 3],
    side: Side,
    connects: &[Row],
    queries: &[Row],
) -> Result<ChurnRow, EstimateError> {
    let at = |n: f64| {
        interval_of(connects, queries, |connect, query| {
            overhead(side, connect, query, n)
        })
    };
    let points = (0..=(MOST_QUERIES.log10() as u32) * POINTS_PER_DECADE)
        .map(|step| {
            let queries = 10_f64.powf(f64::from(step) / f64::from(POINTS_PER_DECADE));
            Ok(ChurnPoint {
                queries,
                overhead: at(queries)?,
            })
        })
        .collect::<Result<Vec<_>, EstimateError>>()?;
    let bounds: [fn(Interval) -> f64; 3] = [
        |overhead| overhead.value,
        |overhead| overhead.low,
        |overhead| overhead.high,
    ];
    let mut break_even = Vec::new();
    let mut from = [None; 3];
    for budget in BUDGETS {
        for (from, bound) in from.iter_mut().zip(bounds) {
            let found = first_within(budget, |n| Ok(bound(at(n)?)))?;
            // What keeps a smaller budget keeps a larger one; bounds, which are not monotone, must say so too.
            *from = [found, *from].into_iter().flatten().reduce(f64::min);
        }
        let [queries, queries_low, queries_high] = from;
        break_even.push(ChurnBreakEven {
            budget,
            queries,
            queries_low,
            queries_high,
        });
    }
    let (connect_baseline, connect_variant) = cpu_us(side, &mean(connects));
    let (query_baseline_us, query_variant_us) = cpu_us(side, &mean(queries));
    Ok(ChurnRow {
        cell: cell.to_owned(),
        query_cell: query_cell.to_owned(),
        arm: arm.to_owned(),
        side,
        connect_baseline_us: connect_baseline - query_baseline_us,
        connect_variant_us: connect_variant - query_variant_us,
        query_baseline_us,
        query_variant_us,
        query_overhead: interval_of(connects, queries, |_, query| {
            let (baseline, variant) = cpu_us(side, query);
            variant / baseline - 1.0
        })?,
        query_verdict: Verdict::CannotTell,
        query_floor: None,
        points,
        break_even,
        saves_below: saves_below(side, connects, queries)?,
    })
}

/// Where what a connection saves is eaten by what its queries cost, the first of which is made in the connect that was measured:
/// `1 + saved / cost`.
fn saves_below(side: Side, connects: &[Row], queries: &[Row]) -> Result<Option<Interval>, EstimateError> {
    let more = |logs: &Row| {
        let (baseline, variant) = cpu_us(side, logs);
        let between = if side == Side::Server {
            logs[5] - logs[4]
        } else {
            0.0
        };
        variant - baseline + between
    };
    let saved = interval_of(connects, queries, |connect, _| -more(connect))?;
    let cost = interval_of(connects, queries, |_, query| more(query))?;
    if saved.low <= 0.0 || cost.low <= 0.0 {
        return Ok(None);
    }
    let queries = interval_of(connects, queries, |connect, query| {
        1.0 - more(connect) / more(query)
    })?;
    let low = queries.low.max(1.0);
    Ok(Some(Interval { low, ..queries }))
}

fn overhead(side: Side, connect: &Row, query: &Row, n: f64) -> f64 {
    let (connect_baseline, connect_variant) = cpu_us(side, connect);
    let (query_baseline, query_variant) = cpu_us(side, query);
    let further = n - 1.0;
    (connect_variant + further * query_variant) / (connect_baseline + further * query_baseline) - 1.0
}

/// From how many queries on the overhead is within the budget; `None` if it never is.
fn first_within(
    budget: f64,
    overhead: impl Fn(f64) -> Result<f64, EstimateError>,
) -> Result<Option<f64>, EstimateError> {
    const HALVINGS: u32 = 40;
    // Where a connect costs less than a query, the overhead rises: what counts is what it comes to.
    if overhead(MOST_QUERIES)? > budget {
        return Ok(None);
    }
    if overhead(1.0)? <= budget {
        return Ok(Some(1.0));
    }
    // The overhead goes monotonically from that of a connect to that of a query.
    let (mut above, mut within) = (0.0, MOST_QUERIES.log10());
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(above, within);
        if overhead(10_f64.powf(middle))? <= budget {
            within = middle
        } else {
            above = middle
        }
    }
    Ok(Some(10_f64.powf(within)))
}

fn mean(rows: &[Row]) -> Row {
    std::array::from_fn(|column| rows.iter().map(|row| row[column]).sum::<f64>() / rows.len() as f64)
}

/// Of what cores are given, and for which rate per second; `None` where nobody asks for a workload's rate. What is encrypted
/// at rest costs those who write.
fn rate_of(cell: &Cell, at_rest: bool) -> Option<(Rated, f64)> {
    let descriptor = cell.workload.descriptor();
    // What a cell of YCSB does is for its mix to say.
    let writes = cell.ycsb_mix().map_or(descriptor.writes, |mix| mix.writes());
    match descriptor.operation {
        Unit::ConnectionWithLookup => Some((Rated::Connections, 100.0)),
        Unit::Lookup => Some((Rated::Queries, 10_000.0)),
        Unit::Operation if at_rest && writes && !descriptor.makes_connections => {
            Some((Rated::Writes, 1_000.0))
        }
        Unit::BulkResult | Unit::Operation => None,
    }
}

/// The capacity model: extra cores = rate · Δ(CPU per operation), with the differences that the tables print.
pub(crate) fn capacity(head: &Head, results: &Results) -> Vec<CapacityRow> {
    let mut rows = Vec::new();
    for cell in &head.study.cells {
        let sides = [
            (results.server_cpu(&cell.name), Side::Server),
            (Metric::ClientCpuPerOp, Side::Client),
        ];
        for arm in head.variants() {
            let at_rest = head.asked(arm).is_some_and(|asked| asked.at_rest.is_encrypted());
            let Some((of, rate)) = rate_of(cell, at_rest) else {
                continue;
            };
            for (metric, side) in sides {
                let Some(estimate) = results.estimate(&cell.name, &arm.name, metric) else {
                    continue;
                };
                rows.push(CapacityRow {
                    arm: arm.name.clone(),
                    side,
                    of,
                    cell: cell.name.clone(),
                    rate,
                    extra_cores: estimate.difference.map(|us| us / 1e6 * rate),
                    verdict: estimate.verdict,
                });
            }
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks of a cell with the given CPU times in microseconds (client baseline, client arm, server baseline, server arm).
    fn steady(cpu_us: [f64; 4]) -> Vec<Row> {
        let [client, arm, server, arm_of_server] = cpu_us.map(f64::ln);
        vec![[client, arm, server, arm_of_server, 0.0, 0.0]; 5]
    }

    #[test]
    fn one_query_costs_what_the_connect_cell_measured_and_many_what_a_query_costs() {
        let row = row(
            ["connect", "select", "tls"],
            Side::Server,
            &steady([1.0, 1.0, 100.0, 700.0]),
            &steady([1.0, 1.0, 10.0, 10.2]),
        )
        .unwrap();
        let overheads: Vec<f64> = row.points.iter().map(|point| point.overhead.value).collect();
        assert!((overheads[0] - 6.0).abs() < 1e-9);
        assert!((overheads[overheads.len() - 1] - 0.02).abs() < 1e-3);
        assert!((row.connect_baseline_us - 90.0).abs() < 1e-9);
    }

    #[test]
    fn break_even_solves_the_formula_and_is_absent_where_a_query_alone_costs_more() {
        let row = row(
            ["connect", "select", "tls"],
            Side::Client,
            &steady([110.0, 610.0, 1.0, 1.0]),
            &steady([10.0, 10.2, 1.0, 1.0]),
        )
        .unwrap();
        // (610 + (n−1)·10.2) / (110 + (n−1)·10) = 1.05  ⇒  n − 1 = (610 − 1.05·110) / (10.5 − 10.2)
        let expected = 1.0 + (610.0 - 1.05 * 110.0) / 0.3;
        let five_percent = row.break_even[1].queries.unwrap();
        let is_near = (five_percent / expected - 1.0).abs() < 1e-6;
        assert!(is_near, "{five_percent} against {expected}");
        assert_eq!(row.break_even[0].queries, None);
    }

    #[test]
    fn what_keeps_a_small_budget_keeps_a_larger_one_whatever_the_noise() {
        let mut seed = 1_u64;
        let mut noise = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) as f64 / f64::from(1_u32 << 31) - 0.5
        };
        for run in 0..60 {
            let spread = 0.02 * f64::from(run % 6 + 1);
            let mut cell = |cpu_us: [f64; 4]| {
                let mut blocks = steady(cpu_us);
                blocks
                    .iter_mut()
                    .flat_map(|block| &mut block[..4])
                    .for_each(|log| *log += spread * noise());
                blocks
            };
            let (connects, queries) = (cell([1.0, 1.0, 100.0, 700.0]), cell([1.0, 1.0, 10.0, 10.6]));
            let row = row(["connect", "select", "tls"], Side::Server, &connects, &queries).unwrap();
            let of = |point: &ChurnBreakEven| {
                [point.queries_low, point.queries, point.queries_high]
                    .map(|queries| queries.unwrap_or(f64::INFINITY))
            };
            for point in &row.break_even {
                assert!(of(point).is_sorted(), "{point:?}");
            }
            for pair in row.break_even.windows(2) {
                let [small, large] = [of(&pair[0]), of(&pair[1])];
                assert!((0..3).all(|place| large[place] <= small[place]), "{pair:?}");
            }
        }
    }

    #[test]
    fn a_connect_that_costs_less_than_a_query_keeps_no_budget() {
        let row = row(
            ["connect", "select", "tls"],
            Side::Server,
            &steady([1.0, 1.0, 5_000.0, 5_400.0]),
            &steady([1.0, 1.0, 20.0, 23.6]),
        )
        .unwrap();
        assert!(row.points[0].overhead.value < 0.10);
        let ten_percent = row.break_even.iter().find(|point| point.budget == 0.10).unwrap();
        assert_eq!(ten_percent.queries, None);
    }

    #[test]
    fn both_sides_and_what_is_between_them_add_up() {
        let mut queries = steady([10.0, 20.0, 30.0, 40.0]);
        queries.iter_mut().for_each(|block| block[5] = 25.0);
        let connects = steady([100.0, 200.0, 300.0, 400.0]);
        let row = row(["connect", "select", "tls"], Side::Both, &connects, &queries).unwrap();
        assert!((row.points[0].overhead.value - 0.5).abs() < 1e-9);
        assert!((row.query_baseline_us - 40.0).abs() < 1e-9);
        assert!((row.query_variant_us - 85.0).abs() < 1e-9);
    }
}

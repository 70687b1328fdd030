//! What an arm saves in one place and costs in another, and from where on the one outweighs the other.

use ciphertax_base::format::{count, rounded};
use ciphertax_model::Metric;
use ciphertax_records::{ChurnRow, EstimateRow, MeasuredCell, Run, Side};
use ciphertax_stats::Verdict;

use super::clause::{between_us, operation};

/// Of the first arm that surely saves server CPU per connection: what it saves, what a query costs through it, and up to how many
/// queries a connection it pays.
pub(super) fn sentences(run: &Run) -> Vec<String> {
    let find = |is_meant: fn(&MeasuredCell<'_>) -> bool| run.cells().find(is_meant);
    let connection = find(|cell| cell.asked.workload.makes_connections());
    let query = find(|cell| !cell.asked.workload.makes_connections());
    let (Some(connection), Some(query)) = (connection, query) else {
        return Vec::new();
    };
    let mut arms = run.head.variants();
    let told = arms.find_map(|arm| of_arm(run, &arm.name, connection, query));
    told.unwrap_or_default()
}

fn of_arm(
    run: &Run,
    arm: &str,
    connection: MeasuredCell<'_>,
    query: MeasuredCell<'_>,
) -> Option<Vec<String>> {
    let saved = Taken::by(run, arm, connection).filter(|taken| taken.server.verdict == Verdict::Gains)?;
    let cost = Taken::by(run, arm, query)?;
    let what = operation(run, &query.found.name);
    let mut sentences = vec![format!(
        "{arm} saves the server {} of CPU per new connection ({}){}.",
        rounded::microseconds(-saved.server.difference.value),
        rounded::change(saved.server.interval()),
        match saved.between_us {
            0.0 => String::new(),
            us => format!("; the pooler takes {}", rounded::microseconds(us)),
        }
    )];
    let server = match cost.server.verdict {
        Verdict::Costs => format!(
            "A {what} costs the server {} more ({})",
            rounded::microseconds(cost.server.difference.value),
            rounded::change(cost.server.interval())
        ),
        Verdict::Gains => format!(
            "A {what} costs the server {} less ({})",
            rounded::microseconds(-cost.server.difference.value),
            rounded::change(cost.server.interval())
        ),
        Verdict::NoCost => format!(
            "A {what} costs the server no more than {}",
            rounded::share(cost.server.margin)
        ),
        _ => format!(
            "Whether a {what} costs the server more is not decided ({})",
            rounded::change(cost.server.interval())
        ),
    };
    sentences.push(match cost.between_us {
        0.0 => format!("{server}."),
        us => format!("{server}, plus {} in the pooler.", rounded::microseconds(us)),
    });
    let of_both = |row: &&ChurnRow| {
        let cells = (&row.cell, &row.query_cell) == (&connection.found.name, &query.found.name);
        cells && row.arm == arm && row.side == Side::Server
    };
    let below = run
        .results
        .churn
        .iter()
        .find(of_both)
        .and_then(|row| row.saves_below);
    sentences.extend(below.map(|queries| {
        let [value, low, high] = [queries.value, queries.low, queries.high].map(count);
        format!(
            "Server and pooler together save CPU below about {value} queries per connection [{low}, {high}]."
        )
    }));
    Some(sentences)
}

/// What an arm takes more per operation of a cell, in microseconds.
struct Taken<'a> {
    server: &'a EstimateRow,
    /// The pooler's own, more than that of the baseline's; it has no interval.
    between_us: f64,
}

impl<'a> Taken<'a> {
    fn by(run: &'a Run, arm: &str, cell: MeasuredCell<'_>) -> Option<Self> {
        let cell = &cell.found.name;
        let server = run.results.estimate(cell, arm, run.results.server_cpu(cell))?;
        Some(Self {
            server,
            between_us: between_us(run, server)
                .filter(|(metric, _)| *metric == Metric::PoolerCpuPerOp)
                .map(|(_, us)| us)
                .sum(),
        })
    }
}

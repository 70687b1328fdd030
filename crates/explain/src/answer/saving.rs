//! What an arm saves in one place and costs in another, and from where on the one outweighs the other.

use ciphertax_base::Interval;
use ciphertax_base::format::{count, rounded};
use ciphertax_records::{EstimateRow, MeasuredCell, Run};
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
            "Whether a {what} costs the server more is undecided ({})",
            rounded::change(cost.server.interval())
        ),
    };
    sentences.push(match cost.between_us {
        0.0 => format!("{server}."),
        us => format!("{server}, plus {} in the pooler.", rounded::microseconds(us)),
    });
    let queries = break_even(saved.in_total().negated(), cost.in_total());
    sentences.extend(queries.map(|queries| {
        format!(
            "Server and pooler together save CPU below about {} queries per connection.",
            count(queries)
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
            between_us: between_us(run, server).map(|(_, us)| us).sum(),
        })
    }

    fn in_total(&self) -> Interval {
        self.server.difference.map(|us| us + self.between_us)
    }
}

/// Queries per connection at which what a connection saves equals what its queries cost, the first of which is made in the
/// connection that was measured: `1 + saved / cost`. `None` unless both are sure to be above zero.
fn break_even(saved: Interval, cost: Interval) -> Option<f64> {
    (saved.low > 0.0 && cost.low > 0.0).then(|| 1.0 + saved.value / cost.value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pooler_pays_until_its_queries_have_eaten_what_the_connection_saved() {
        let interval = |value, low, high| Interval { value, low, high };
        let found = break_even(interval(1000.0, 900.0, 1100.0), interval(10.0, 9.0, 11.0));
        assert_eq!(found, Some(101.0));
        assert!(break_even(interval(1000.0, -1.0, 2000.0), interval(10.0, 9.0, 11.0)).is_none());
        assert!(break_even(interval(1000.0, 900.0, 1100.0), interval(10.0, -1.0, 21.0)).is_none());
    }
}

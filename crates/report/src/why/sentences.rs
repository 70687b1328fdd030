//! Why in sentences: of what an arm's cost consists, whether it shows in the speed, and what makes it cheaper.

use ciphertax_base::format::{self, rounded};
use ciphertax_model::Metric;
use ciphertax_records::why::{Bound, CategoryRow, ProfiledSide};
use ciphertax_records::{EstimateRow, MeasuredCell, Run};
use ciphertax_stats::Verdict;

use crate::lookup::per_operation;

use super::{Chosen, bound_in_words, difference_of, side_word};

/// A part is named if an interval so many times as wide as its own excludes zero: near what a correction for a dozen parts asks.
const CLEAR: f64 = 1.5;
/// Parts below this fraction of the cost are not named.
const SMALL: f64 = 0.05;
/// A category with more than this fraction of its part is all of it.
const ALL: f64 = 0.95;

/// A few sentences for each arm in each cell whose cost is decided and explained, costs before savings, the largest relative to
/// its baseline first.
pub(crate) fn in_sentences(run: &Run) -> Vec<String> {
    of_chosen(run, Chosen::default()).0
}

/// The sentences, and what has a cost that is not explained (`connect/tls1.3`).
pub(crate) fn of_chosen(run: &Run, chosen: Chosen<'_>) -> (Vec<String>, Vec<String>) {
    let (mut told, mut untold) = (Vec::new(), Vec::new());
    for cell in run.cells() {
        let name = &cell.asked.name;
        for arm in run.head.variants().filter(|arm| chosen.has(name, &arm.name)) {
            let sides = [ProfiledSide::Server, ProfiledSide::Client].into_iter();
            let costs = sides.filter_map(|side| Cost::of(run, name, &arm.name, side));
            let costs: Vec<Cost<'_>> = costs.collect();
            let ratios = costs.iter().map(|cost| cost.estimate.log_ratio.mean.abs());
            // Costs come before savings.
            let costs_anything = costs.iter().any(|cost| cost.estimate.change > 0.0);
            let size = (costs_anything, ratios.fold(0.0, f64::max));
            if costs.iter().any(|cost| !cost.parts.is_empty()) {
                told.push((size, sentences(run, cell, &arm.name, &costs)));
            } else if !costs.is_empty() {
                untold.push(format!("{name}/{}", arm.name));
            }
        }
    }
    told.sort_by(|((one_costs, one), _), ((other_costs, other), _)| {
        other_costs.cmp(one_costs).then(other.total_cmp(one))
    });
    (told.into_iter().map(|(_, told)| told).collect(), untold)
}

/// What an arm costs one side, and of what that consists.
struct Cost<'a> {
    side: ProfiledSide,
    estimate: &'a EstimateRow,
    parts: Vec<Part<'a>>,
    /// That profiling changed what it looked at.
    doubt: Option<String>,
}

/// A part of a cost: categories of one prefix (`TLS handshake`), or one category.
struct Part<'a> {
    name: &'a str,
    /// As a fraction of the profiled cost.
    share: f64,
    /// Those of its categories that are clear by themselves.
    within: Vec<Part<'a>>,
}

impl<'a> Cost<'a> {
    /// `None` where the cost is not decided.
    fn of(run: &'a Run, cell: &str, arm: &str, side: ProfiledSide) -> Option<Self> {
        let metric = match side {
            ProfiledSide::Server => Metric::ServerCpuPerOp,
            ProfiledSide::Client => Metric::ClientCpuPerOp,
        };
        let estimate = run.results.estimate(cell, arm, metric)?;
        let is_decided = estimate.verdict.is_decided_difference();
        let why = &run.results.why;
        let mut whole = why.differences.iter();
        let whole = whole.find(|row| row.cell == cell && row.arm == arm && row.side == side);
        // No shares are known of a profile with another sign than the cost, nor where a relay is in the cost.
        let whole =
            whole.filter(|row| row.estimated.is_some() && row.sum_us * estimate.difference.value > 0.0);
        let rows = why.categories.iter();
        let rows = rows.filter(|row| row.cell == cell && row.arm == arm && row.side == side);
        let parts = whole.map_or(Vec::new(), |whole| parts(&rows.collect::<Vec<_>>(), whole.sum_us));
        let doubt = whole.and_then(|row| {
            let (profiled, other) = (row.measured?, row.estimated?);
            let is_apart = profiled.low > other.high || profiled.high < other.low;
            let [profiled, other] = [profiled, other].map(|us| rounded::microseconds(us.value));
            (is_apart && !parts.is_empty()).then(|| {
                let side = side_word(side);
                format!("Profiling changed what it measured ({profiled} instead of {other}): the {side}'s shares are rough.")
            })
        });
        is_decided.then_some(Self {
            side,
            estimate,
            parts,
            doubt,
        })
    }

    /// `the server 528 µs per connection: 73 % TLS handshake (33 % protocol, 22 % public key), 27 % other`; in microseconds where
    /// some parts are more and others less.
    fn in_words(&self, per: &str) -> String {
        let us = self.estimate.difference.value;
        let cost = rounded::microseconds(us.abs());
        let cost = format!("the {} {cost}{per}", side_word(self.side));
        if self.parts.is_empty() {
            return cost;
        }
        let parts = self.parts.iter();
        let other = 1.0 - parts.clone().map(|part| part.share).sum::<f64>();
        let mut words: Vec<String>;
        if parts.clone().any(|part| part.share < 0.0) || other < -SMALL {
            words = parts
                .map(|part| part.in_words(&|part| format::more(part.share * us, "us")))
                .collect();
            words.push(format!("{} other", format::more(other * us, "us")));
        } else {
            // What rounding leaves of a hundred.
            let other = 100.0 - parts.clone().map(Part::percent).sum::<f64>();
            words = parts
                .map(|part| part.in_words(&|part| format!("{:.0} %", part.percent())))
                .collect();
            words.extend((other != 0.0).then(|| format!("{other:.0} % other").replace('-', "−")));
        }
        format!("{cost}: {}", words.join(", "))
    }
}

impl<'a> Part<'a> {
    /// `None` unless it is clear. Samples of different categories exclude each other, so the variance of their sum is no more than
    /// the sum of their variances.
    fn of(name: &'a str, rows: &[&CategoryRow], whole_us: f64) -> Option<Self> {
        let us: f64 = rows.iter().map(|row| difference_of(row)).sum();
        let together = |of: fn(&CategoryRow) -> Option<f64>| {
            let squares = rows.iter().map(|row| of(row).unwrap_or(f64::INFINITY).powi(2));
            squares.sum::<f64>().sqrt()
        };
        let width = together(|row| row.difference.map(|us| us.high - us.value));
        let least = (CLEAR * width).max(together(|row| row.floor_us));
        let share = us / whole_us;
        (us.abs() > least && share.abs() >= SMALL).then_some(Self {
            name,
            share,
            within: Vec::new(),
        })
    }

    fn in_words(&self, size: &dyn Fn(&Self) -> String) -> String {
        let within: Vec<String> = self.within.iter().map(|part| part.in_words(size)).collect();
        let within = match self.within.as_slice() {
            [] => String::new(),
            [only] if only.share / self.share > ALL => format!(" ({})", only.name),
            _ => format!(" ({})", within.join(", ")),
        };
        format!("{} {}{within}", size(self), self.name)
    }

    /// Rounded so that what is within adds up.
    fn percent(&self) -> f64 {
        let within = self.within.iter();
        let rest = self.share - within.clone().map(|part| part.share).sum::<f64>();
        within.map(Part::percent).sum::<f64>() + (rest * 100.0).round()
    }
}

/// The clear parts of a cost, the largest first.
fn parts<'a>(rows: &[&'a CategoryRow], whole_us: f64) -> Vec<Part<'a>> {
    let split = |row: &&'a CategoryRow| row.category.split_once(": ").unwrap_or((&row.category, ""));
    let mut parts: Vec<Part<'_>> = Vec::new();
    for (name, _) in rows.iter().map(split) {
        let of_name = rows.iter().copied().filter(|row| split(row).0 == name);
        let of_name: Vec<&CategoryRow> = of_name.collect();
        if let Some(mut part) =
            Part::of(name, &of_name, whole_us).filter(|_| parts.iter().all(|part| part.name != name))
        {
            let within = of_name.iter().filter(|row| !split(row).1.is_empty());
            part.within = within
                .filter_map(|row| Part::of(split(row).1, &[row], whole_us))
                .collect();
            parts.push(part);
        }
    }
    parts.sort_by(|one, other| other.share.abs().total_cmp(&one.share.abs()));
    parts
}

fn sentences(run: &Run, cell: MeasuredCell<'_>, arm: &str, costs: &[Cost<'_>]) -> String {
    let makes_connections = cell.asked.workload.makes_connections();
    let mut per = format!(" {}", per_operation(run, cell));
    let mut sentences = Vec::new();
    for (verdict, verb) in [(Verdict::Costs, "costs"), (Verdict::Gains, "saves")] {
        let costs = costs.iter().filter(|cost| cost.estimate.verdict == verdict);
        let costs: Vec<String> = costs
            .map(|cost| cost.in_words(&std::mem::take(&mut per)))
            .collect();
        if !costs.is_empty() {
            sentences.push(format!("{arm} {verb} {}.", costs.join("; ")));
        }
    }
    sentences.extend(costs.iter().filter_map(|cost| cost.doubt.clone()));
    if let Some(row) = run.results.why.bound(&cell.asked.name, arm) {
        let bound = (row.bound != Bound::Mixed).then(|| format!("Bound by {}.", bound_in_words(row)));
        sentences.extend(row.follows.clone().or(bound));
    }
    let mut dearer = costs
        .iter()
        .filter(|cost| cost.estimate.verdict == Verdict::Costs);
    let is_of_connects =
        |part: &Part<'_>| part.share > 0.0 && ["TLS handshake", "login"].contains(&part.name);
    if makes_connections && dearer.any(|cost| cost.parts.iter().any(is_of_connects)) {
        sentences.push("Cheaper: keep connections open.".to_owned());
    }
    format!("{}: {}", cell.asked.name, sentences.join(" "))
}

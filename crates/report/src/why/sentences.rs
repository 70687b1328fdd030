//! Why in sentences: of what an arm's cost consists, whether it shows in the speed, and what makes it cheaper.

use ciphertax_base::format::{self, rounded};
use ciphertax_model::Metric;
use ciphertax_records::why::{Bound, BoundRow, CategoryRow, DifferenceOfSide, ProfiledSide};
use ciphertax_records::{EstimateRow, MeasuredCell, Run};
use ciphertax_stats::Verdict;

use super::{Chosen, bound_in_words, difference_of, side_word};

/// A part of a cost is named if an interval so many times as wide as its own still excludes zero. About a dozen parts are looked at,
/// so this is near what a correction for their number asks; the few samples of a short run name nothing then.
const CLEAR: f64 = 1.5;
/// Parts below this fraction of the cost are not named.
const SMALL: f64 = 0.05;
/// A category that is more than this fraction of its part is all of it.
const ALL: f64 = 0.95;
/// Parts that are named.
const MOST_PARTS: usize = 4;

/// A sentence or three for each arm in each cell whose cost is decided and explained, the dearest relative to its baseline first.
pub(crate) fn in_sentences(run: &Run) -> Vec<String> {
    of_chosen(run, Chosen::default()).0
}

/// The sentences, and what has a cost and no explanation (`connect/tls1.3`).
pub(crate) fn of_chosen(run: &Run, chosen: Chosen<'_>) -> (Vec<String>, Vec<String>) {
    let (mut told, mut untold) = (Vec::new(), Vec::new());
    for cell in run.cells() {
        let name = cell.asked.name.as_str();
        for arm in run.head.variants().filter(|arm| chosen.has(name, &arm.name)) {
            let costs: Vec<Cost<'_>> = [ProfiledSide::Server, ProfiledSide::Client]
                .into_iter()
                .filter_map(|side| Cost::of(run, name, &arm.name, side))
                .collect();
            let ratios = costs.iter().map(|cost| cost.estimate.log_ratio.mean.abs());
            let Some(size) = ratios.reduce(f64::max) else {
                continue;
            };
            match costs.iter().all(|cost| cost.parts.is_empty()) {
                true => untold.push(format!("{name}/{}", arm.name)),
                false => told.push((size, sentence(run, cell, &arm.name, &costs))),
            }
        }
    }
    told.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    (told.into_iter().map(|(_, sentence)| sentence).collect(), untold)
}

/// What an arm costs one side, and of what that consists.
struct Cost<'a> {
    side: ProfiledSide,
    estimate: &'a EstimateRow,
    profiled: Option<&'a DifferenceOfSide>,
    parts: Vec<Part<'a>>,
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
        if !matches!(estimate.verdict, Verdict::Costs | Verdict::Gains) {
            return None;
        }
        let why = &run.results.why;
        let mut profiled = why.differences.iter();
        let profiled = profiled.find(|row| row.cell == cell && row.arm == arm && row.side == side);
        let rows = why.categories.iter();
        let rows: Vec<&CategoryRow> = rows
            .filter(|row| row.cell == cell && row.arm == arm && row.side == side)
            .collect();
        // Of a profile that has another sign than the cost, or of a relay's time beside the server's, no shares are known.
        let whole =
            profiled.filter(|row| row.estimated.is_some() && row.sum_us * estimate.difference.value > 0.0);
        Some(Self {
            side,
            estimate,
            profiled,
            parts: whole.map_or(Vec::new(), |whole| parts(&rows, whole.sum_us)),
        })
    }

    /// `the server 528 µs per connection: 73 % TLS handshake (33 % protocol, 22 % public key), 27 % other`; in microseconds where
    /// some parts are more and others less.
    fn in_words(&self, per: &str) -> String {
        let us = self.estimate.difference.value;
        let cost = format!(
            "the {} {}{per}",
            side_word(self.side),
            rounded::microseconds(us.abs())
        );
        if self.parts.is_empty() {
            return cost;
        }
        let other = Part {
            name: "other",
            share: 1.0 - self.parts.iter().map(|part| part.share).sum::<f64>(),
            within: Vec::new(),
        };
        let parts = || self.parts.iter().chain([&other]);
        let words: Vec<String> = match parts().any(|part| part.share < -SMALL) {
            true => parts()
                .map(|part| part.in_words(&|part| format::more(part.share * us, "us")))
                .collect(),
            false => {
                // What is left of a hundred after rounding.
                let rest = 100.0 - self.parts.iter().map(Part::percent).sum::<f64>();
                let words = self
                    .parts
                    .iter()
                    .map(|part| part.in_words(&|part| format!("{:.0} %", part.percent())));
                words
                    .chain((rest != 0.0).then(|| format!("{rest:.0} % other").replace('-', "−")))
                    .collect()
            }
        };
        format!("{cost}: {}", words.join(", "))
    }

    /// That profiling changed what it looked at.
    fn doubt(&self) -> Option<String> {
        let (looked, other) = (self.profiled?.measured?, self.profiled?.estimated?);
        let is_apart = looked.low > other.high || looked.high < other.low;
        (is_apart && !self.parts.is_empty()).then(|| {
            format!(
                "Profiling changed what it measured ({} instead of {}): the {}'s shares are rough.",
                rounded::microseconds(looked.value),
                rounded::microseconds(other.value),
                side_word(self.side)
            )
        })
    }
}

impl Part<'_> {
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
        let named: f64 = self.within.iter().map(|part| part.share).sum();
        let rounded: f64 = self.within.iter().map(Part::percent).sum();
        rounded + ((self.share - named) * 100.0).round()
    }
}

/// The largest clear parts of a cost.
fn parts<'a>(rows: &[&'a CategoryRow], whole_us: f64) -> Vec<Part<'a>> {
    let mut names: Vec<&str> = rows.iter().map(|row| split(&row.category).0).collect();
    names.sort_unstable();
    names.dedup();
    let mut parts: Vec<Part<'_>> = names
        .into_iter()
        .filter_map(|name| {
            let of_name = rows.iter().copied().filter(|row| split(&row.category).0 == name);
            let of_name: Vec<&CategoryRow> = of_name.collect();
            let within = of_name
                .iter()
                .filter_map(|row| Part::of(split(&row.category).1?, &[*row], whole_us));
            let within = within.collect();
            Some(Part {
                within,
                ..Part::of(name, &of_name, whole_us)?
            })
        })
        .collect();
    parts.sort_by(|one, other| other.share.abs().total_cmp(&one.share.abs()));
    parts.truncate(MOST_PARTS);
    parts
}

impl<'a> Part<'a> {
    /// `None` unless it is clear. Samples of different categories exclude each other, so the sum of their variances is no less than
    /// that of their sum.
    fn of(name: &'a str, rows: &[&CategoryRow], whole_us: f64) -> Option<Self> {
        let us: f64 = rows.iter().map(|row| difference_of(row)).sum();
        let widths = rows
            .iter()
            .map(|row| Some(row.difference?.high - row.difference?.value));
        let floors = rows.iter().map(|row| row.floor_us);
        let is_clear = us.abs() > CLEAR * together(widths)? && us.abs() > together(floors)?;
        (is_clear && (us / whole_us).abs() >= SMALL).then_some(Self {
            name,
            share: us / whole_us,
            within: Vec::new(),
        })
    }
}

/// The root of the sum of squares.
fn together(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let squares: Option<Vec<f64>> = values.map(|value| Some(value?.powi(2))).collect();
    Some(squares?.iter().sum::<f64>().sqrt())
}

/// `TLS handshake` and `protocol`.
fn split(category: &str) -> (&str, Option<&str>) {
    match category.split_once(": ") {
        Some((group, part)) => (group, Some(part)),
        None => (category, None),
    }
}

fn sentence(run: &Run, cell: MeasuredCell<'_>, arm: &str, costs: &[Cost<'_>]) -> String {
    let makes_connections = cell.asked.workload.makes_connections();
    let per = match makes_connections {
        true => " per connection",
        false => " per operation",
    };
    let words = |verdict: Verdict, verb: &str| {
        let costs = costs.iter().filter(|cost| cost.estimate.verdict == verdict);
        let costs: Vec<String> = costs
            .enumerate()
            .map(|(index, cost)| cost.in_words(if index == 0 { per } else { "" }))
            .collect();
        (!costs.is_empty()).then(|| format!("{arm} {verb} {}.", costs.join("; ")))
    };
    let mut sentences = vec![words(Verdict::Costs, "costs"), words(Verdict::Gains, "saves")];
    sentences.extend(costs.iter().map(Cost::doubt));
    sentences.push(run.results.why.bound(&cell.asked.name, arm).and_then(bound));
    let dearer = costs
        .iter()
        .filter(|cost| cost.estimate.verdict == Verdict::Costs);
    let mut connects = dearer
        .flat_map(|cost| &cost.parts)
        .filter(|part| part.share > 0.0 && matches!(part.name, "TLS handshake" | "login"));
    if makes_connections && connects.next().is_some() {
        sentences.push(Some("Cheaper: keep connections open.".to_owned()));
    }
    let sentences: Vec<String> = sentences.into_iter().flatten().collect();
    format!("{}: {}", cell.asked.name, sentences.join(" "))
}

/// What the bound means for the cost; else what it is.
fn bound(row: &BoundRow) -> Option<String> {
    match (&row.follows, row.bound) {
        (Some(follows), _) => Some(follows.clone()),
        (None, Bound::Mixed) => None,
        (None, _) => Some(format!("Bound by {}.", bound_in_words(row))),
    }
}

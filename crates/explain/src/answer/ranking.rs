//! Which arm a side pays most for, and which least: of each cell one sentence.

use ciphertax_base::format::rounded;
use ciphertax_model::Metric;
use ciphertax_records::{EstimateRow, MeasuredCell, Run};
use ciphertax_stats::Verdict;

use super::clause::operation;

/// One sentence for the cells that ask the same of the same product over the same link; of the only one both sides, of several the
/// side that pays most.
pub(super) fn sentences(run: &Run) -> Vec<String> {
    let mut groups: Vec<Vec<MeasuredCell<'_>>> = Vec::new();
    for cell in run.cells() {
        let product =
            |cell: MeasuredCell<'_>| run.server_of(cell.found).map(|server| server.product.as_str());
        let is_alike = |group: &&mut Vec<MeasuredCell<'_>>| {
            let first = group[0];
            (first.asked.workload, first.link, product(first))
                == (cell.asked.workload, cell.link, product(cell))
        };
        match groups.iter_mut().find(is_alike) {
            Some(group) => group.push(cell),
            None => groups.push(vec![cell]),
        }
    }
    let several = groups.len() > 1;
    let of_group = |cells: &Vec<MeasuredCell<'_>>| {
        let mut sides: Vec<Side<'_>> = sides(run, cells[0])
            .into_iter()
            .filter_map(|metric| Side::of(run, cells, metric))
            .collect();
        sides.sort_by(|one, other| other.most_us().total_cmp(&one.most_us()));
        if several {
            sides.truncate(1);
        }
        let told: Vec<String> = sides.iter().map(|side| side.told(run)).collect();
        let place = match (several, cells.as_slice()) {
            (true, [only]) => format!("in {} ", only.found.name),
            _ => String::new(),
        };
        (!told.is_empty()).then(|| format!("{place}{}.", told.join("; ")))
    };
    groups.iter().filter_map(of_group).collect()
}

/// Who can pay in a cell: time where connections are made at a distance, else CPU.
fn sides(run: &Run, cell: MeasuredCell<'_>) -> Vec<Metric> {
    let is_far = cell.link.is_some_and(|link| link.rtt_ms > 0.0);
    match is_far && cell.asked.workload.makes_connections() {
        true => vec![Metric::LatencyMean],
        false => vec![run.results.server_cpu(&cell.found.name), Metric::ClientCpuPerOp],
    }
}

/// The decided rows of one side.
struct Side<'a> {
    metric: Metric,
    cell: &'a str,
    /// True if the rows are of several cells, so that each is named with its own.
    has_cells: bool,
    /// Costs and gains, the dearest first.
    decided: Vec<&'a EstimateRow>,
    without: Vec<&'a EstimateRow>,
}

impl<'a> Side<'a> {
    /// `None` where nothing is decided.
    fn of(run: &'a Run, cells: &[MeasuredCell<'a>], metric: Metric) -> Option<Self> {
        let arms = cells
            .iter()
            .flat_map(|cell| run.head.variants().map(move |arm| (cell, arm)));
        let rows = arms.filter_map(|(cell, arm)| run.results.estimate(&cell.found.name, &arm.name, metric));
        let (without, rows): (Vec<_>, Vec<_>) = rows.partition(|row| row.verdict == Verdict::NoCost);
        let mut decided: Vec<&EstimateRow> = rows;
        decided.retain(|row| row.verdict.is_decided_difference());
        decided.sort_by(|one, other| other.difference.value.total_cmp(&one.difference.value));
        let side = Self {
            metric,
            cell: &cells.first()?.found.name,
            has_cells: cells.len() > 1,
            decided,
            without,
        };
        (!(side.decided.is_empty() && side.without.is_empty())).then_some(side)
    }

    fn most_us(&self) -> f64 {
        let ends = self.decided.first().into_iter().chain(self.decided.last());
        ends.map(|row| row.difference.value.abs()).fold(0.0, f64::max)
    }

    /// `the server pays most CPU per new connection with tls (+1.26 ms, +39 % [33, 45]) and least with md5 (…)`
    fn told(&self, run: &Run) -> String {
        let what = operation(run, self.cell);
        let (payer, unit) = match self.metric {
            Metric::LatencyMean => (format!("a {what}"), String::new()),
            Metric::ClientCpuPerOp if run.head.is_embedded() => {
                ("the application".into(), format!(" CPU per {what}"))
            }
            Metric::ClientCpuPerOp => ("the client".into(), format!(" CPU per {what}")),
            _ => ("the server".into(), format!(" CPU per {what}")),
        };
        let verb = match (self.metric, self.decided.first()) {
            (_, Some(most)) if most.difference.value < 0.0 => "saves",
            (Metric::LatencyMean, _) => "takes",
            _ => "pays",
        };
        let (time, from) = match self.metric {
            Metric::LatencyMean => (" time", unit),
            _ => ("", unit),
        };
        let mut ranks = self.decided.clone();
        if verb == "saves" {
            ranks.reverse();
        }
        let ahead = alike(&ranks);
        ranks.reverse();
        let behind = alike(&ranks);
        let mut told = match (ahead.as_slice(), behind.as_slice()) {
            ([], _) => String::new(),
            ([only], _) if ranks.len() == 1 => {
                format!("{payer} {verb} most{time}{from} with {}", self.named(&[only]))
            }
            // Where the first cannot be told from the last, there is no order.
            (ahead, behind) if ahead.iter().any(|row| behind.contains(row)) => {
                ranks.reverse();
                format!(
                    "{payer} {verb}{}{from} with {}, in no sure order",
                    time_or_more(self.metric),
                    self.named(&ranks[..ranks.len().min(NAMED)])
                )
            }
            (ahead, behind) => format!(
                "{payer} {verb} most{time}{from} with {} and least with {}",
                self.named(ahead),
                self.named(behind)
            ),
        };
        if !self.without.is_empty() {
            let margin = self.without.iter().map(|row| row.margin).fold(0.0, f64::max);
            let names: Vec<String> = self.without.iter().map(|row| self.name(row)).collect();
            let no_cost = format!(
                "no cost above {} with {}",
                rounded::share(margin),
                names.join(", ")
            );
            told = match told.is_empty() {
                true => format!("{payer} has {no_cost}"),
                false => format!("{told}; {no_cost}"),
            };
        }
        told
    }

    fn name(&self, row: &EstimateRow) -> String {
        match self.has_cells {
            true => format!("{} in {}", row.arm, row.cell),
            false => row.arm.clone(),
        }
    }

    /// `tls (+1.26 ms, +39 % [33, 45]) and md5 (…)`
    fn named(&self, rows: &[&EstimateRow]) -> String {
        let told = rows.iter().map(|row| {
            let sign = if row.difference.value < 0.0 { "−" } else { "+" };
            format!(
                "{} ({sign}{}, {})",
                self.name(row),
                rounded::microseconds(row.difference.value.abs()),
                rounded::change(row.interval())
            )
        });
        let told: Vec<String> = told.collect();
        match told.as_slice() {
            [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
            _ => told.concat(),
        }
    }
}

fn time_or_more(metric: Metric) -> &'static str {
    match metric {
        Metric::LatencyMean => " more time",
        _ => " more",
    }
}

/// Arms named as equals at most.
const NAMED: usize = 3;

/// The first row and those after it whose intervals overlap its own, so that none of them is said to be ahead.
fn alike<'a>(rows: &[&'a EstimateRow]) -> Vec<&'a EstimateRow> {
    let overlaps = |row: &&&EstimateRow| {
        let first = rows[0].difference;
        row.difference.high >= first.low && row.difference.low <= first.high
    };
    rows.iter().take_while(overlaps).take(NAMED).copied().collect()
}

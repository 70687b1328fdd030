//! Which arm a side pays most for, and which least: one sentence for the cells that ask the same.

use ciphertax_base::Interval;
use ciphertax_base::format::rounded;
use ciphertax_model::{Cell, Metric};
use ciphertax_records::{EstimateRow, MeasuredCell, Run};
use ciphertax_stats::Verdict;

use super::clause::{between, between_us, operation, payer};

/// One sentence for the cells that ask the same of one product; of the only group both sides, of several the side that pays most.
pub(super) fn sentences(run: &Run) -> Vec<String> {
    let mut groups: Vec<Vec<MeasuredCell<'_>>> = Vec::new();
    for cell in run.cells() {
        match groups.iter_mut().find(|group| asks_the_same(run, group[0], cell)) {
            Some(group) => group.push(cell),
            None => groups.push(vec![cell]),
        }
    }
    let several = groups.len() > 1;
    let of_group = |cells: &Vec<MeasuredCell<'_>>| {
        let metrics = match cells[0].connects_from_afar() {
            true => vec![Metric::LatencyMean],
            false => vec![
                run.results.server_cpu(&cells[0].found.name),
                Metric::ClientCpuPerOp,
            ],
        };
        let sides = metrics
            .into_iter()
            .filter_map(|metric| Side::of(run, cells, metric));
        let mut sides: Vec<Side<'_>> = sides.collect();
        sides.sort_by(|one, other| other.most_us().total_cmp(&one.most_us()));
        if several {
            sides.truncate(1);
        }
        let told: Vec<String> = sides.iter().map(Side::told).collect();
        let place = match (several, cells.as_slice()) {
            (true, [only]) => format!("in {} ", only.found.name),
            _ => String::new(),
        };
        (!told.is_empty()).then(|| format!("{place}{}.", told.join("; ")))
    };
    groups.iter().filter_map(of_group).collect()
}

/// True if two cells differ in nothing but the server, its certificate and which arms they have.
fn asks_the_same(run: &Run, one: MeasuredCell<'_>, other: MeasuredCell<'_>) -> bool {
    let asked = |cell: MeasuredCell<'_>| Cell {
        name: String::new(),
        server: None,
        certificate: None,
        arms: None,
        ..cell.asked.clone()
    };
    let product = |cell: MeasuredCell<'_>| run.server_of(cell.found).map(|server| server.product.as_str());
    asked(one) == asked(other) && product(one) == product(other)
}

/// What one side pays.
struct Side<'a> {
    run: &'a Run,
    metric: Metric,
    /// True if the rows are of several cells, so that each is named with its own.
    has_cells: bool,
    /// Costs and gains, the dearest first.
    decided: Vec<&'a EstimateRow>,
    without: Vec<&'a EstimateRow>,
    open: Vec<&'a EstimateRow>,
}

impl<'a> Side<'a> {
    /// `None` where nothing is decided.
    fn of(run: &'a Run, cells: &[MeasuredCell<'a>], metric: Metric) -> Option<Self> {
        let arms = cells
            .iter()
            .flat_map(|cell| run.head.variants().map(move |arm| (cell, arm)));
        let rows = arms.filter_map(|(cell, arm)| run.results.estimate(&cell.found.name, &arm.name, metric));
        let mut side = Self {
            run,
            metric,
            has_cells: cells.len() > 1,
            decided: Vec::new(),
            without: Vec::new(),
            open: Vec::new(),
        };
        for row in rows {
            match row.verdict {
                Verdict::NoCost => side.without.push(row),
                verdict if verdict.is_decided_difference() => side.decided.push(row),
                _ => side.open.push(row),
            }
        }
        let mut decided = std::mem::take(&mut side.decided);
        decided.sort_by(|one, other| side.cost(other).value.total_cmp(&side.cost(one).value));
        side.decided = decided;
        (!(side.decided.is_empty() && side.without.is_empty())).then_some(side)
    }

    /// What a row takes more; of the server's CPU with that of the tunnel or pooler before it.
    fn cost(&self, row: &EstimateRow) -> Interval {
        let between = match Metric::SERVER_CPU.contains(&self.metric) {
            true => between_us(self.run, row).map(|(_, us)| us).sum(),
            false => 0.0,
        };
        row.difference.map(|us| us + between)
    }

    fn most_us(&self) -> f64 {
        let costs = self.decided.iter().map(|row| self.cost(row).value.abs());
        costs.fold(0.0, f64::max)
    }

    /// `the server pays most CPU per new connection with tls (+1.26 ms, +39 % [33, 45]) and least with md5 (…)`
    fn told(&self) -> String {
        let mut ranks = self.decided.clone();
        let saves = ranks.first().is_some_and(|most| self.cost(most).value < 0.0);
        if saves {
            ranks.reverse();
        }
        let cell = ranks.first().or(self.without.first()).map_or("", |row| &row.cell);
        let what = operation(self.run, cell);
        let (payer, verb, of) = match self.metric {
            Metric::LatencyMean if saves => (format!("a {what}"), "saves", "time".to_owned()),
            Metric::LatencyMean => (format!("a {what}"), "takes", "time".to_owned()),
            metric => {
                let (payer, _) = payer(self.run, metric);
                let verb = if saves { "saves" } else { "pays" };
                (payer.trim_end().to_owned(), verb, format!("CPU per {what}"))
            }
        };
        let ahead = self.alike(&ranks);
        let last = ranks.last().copied();
        let mut told = match ranks.as_slice() {
            [] => String::new(),
            [only] => format!("{payer} {verb} {of} with {}", self.named(&[only])),
            // Where the first cannot be told from the last, there is no order.
            _ if last.is_some_and(|last| ahead.contains(&last)) => {
                format!(
                    "{payer} {verb} {of} with {}, in no sure order",
                    self.named(&ranks)
                )
            }
            _ => {
                let reversed: Vec<&EstimateRow> = ranks.iter().rev().copied().collect();
                let behind = self.alike(&reversed);
                let most = self.of_decided(&ahead, !saves);
                let least = self.of_decided(&behind, saves);
                let (ahead, behind) = (self.named(&ahead), self.named(&behind));
                format!("{payer} {verb}{most} most {of} with {ahead} and{least} least with {behind}")
            }
        };
        if !self.without.is_empty() {
            let margin = self.without.iter().map(|row| row.margin).fold(0.0, f64::max);
            let names = some(self.without.iter().map(|row| self.name(row)).collect());
            let no_cost = format!("no cost above {} with {names}", rounded::share(margin));
            told = match told.is_empty() {
                true => format!("{payer} has {no_cost}"),
                false => format!("{told}; {no_cost}"),
            };
        }
        told
    }

    /// Said of an end beyond which a row may lie that is not decided.
    fn of_decided(&self, end: &[&EstimateRow], is_dearest: bool) -> &'static str {
        let lies_within = |open: &&EstimateRow| {
            end.iter().all(|row| match is_dearest {
                true => self.cost(open).high < self.cost(row).low,
                false => self.cost(open).low > self.cost(row).high,
            })
        };
        match self.open.iter().all(lies_within) {
            true => "",
            false => ", of what is decided,",
        }
    }

    /// The first row and those that cannot be told from it: their intervals overlap, or they differ by no more than the noise floor.
    fn alike(&self, rows: &[&'a EstimateRow]) -> Vec<&'a EstimateRow> {
        let Some(first) = rows.first() else {
            return Vec::new();
        };
        let floor = |row: &EstimateRow| row.floor.unwrap_or(0.0) * row.baseline;
        let is_alike = |row: &&&EstimateRow| {
            let (one, other) = (self.cost(first), self.cost(row));
            let overlaps = other.high >= one.low && other.low <= one.high;
            overlaps || (other.value - one.value).abs() <= floor(first).max(floor(row))
        };
        rows.iter().filter(is_alike).copied().collect()
    }

    /// `tls (+1.26 ms, +39 % [33, 45]) and md5 (…)`
    fn named(&self, rows: &[&EstimateRow]) -> String {
        let told = rows.iter().map(|row| {
            let sign = if row.difference.value < 0.0 { "−" } else { "+" };
            let is_suspicious =
                row.verdict == Verdict::Gains && self.run.head.study.adds_protection(&row.arm);
            let between = match Metric::SERVER_CPU.contains(&self.metric) {
                true => between(self.run, row),
                false => String::new(),
            };
            format!(
                "{} ({sign}{}, {}{}{between})",
                self.name(row),
                rounded::microseconds(row.difference.value.abs()),
                rounded::change(row.interval()),
                if is_suspicious { ": suspicious" } else { "" }
            )
        });
        some(told.collect())
    }

    fn name(&self, row: &EstimateRow) -> String {
        match self.has_cells {
            true => format!("{} in {}", row.arm, row.cell),
            false => row.arm.clone(),
        }
    }
}

/// The first of them, and how many there are besides.
fn some(mut names: Vec<String>) -> String {
    const NAMED: usize = 3;
    if names.len() > NAMED {
        let others = names.len() - NAMED;
        names.truncate(NAMED);
        names.push(format!("{others} more"));
    }
    match names.as_slice() {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => names.concat(),
    }
}

//! Which arm a side pays most for, and which least: one sentence for the cells that ask the same.

use ciphertax_base::Interval;
use ciphertax_base::format::rounded;
use ciphertax_model::{Cell, Metric};
use ciphertax_records::{EstimateRow, MeasuredCell, Run};
use ciphertax_stats::Verdict;

use super::clause::{between, between_us, operation, payer};

/// One sentence for the cells that ask the same of one product: of the first both sides, of others the server before the client; and
/// one that names the cells of which nothing is decided.
pub(super) fn sentences(run: &Run) -> Vec<String> {
    let mut groups: Vec<Vec<MeasuredCell<'_>>> = Vec::new();
    for cell in run.cells() {
        match groups.iter_mut().find(|group| asks_the_same(run, group[0], cell)) {
            Some(group) => group.push(cell),
            None => groups.push(vec![cell]),
        }
    }
    let name = |cell: &MeasuredCell<'_>| cell.found.name.clone();
    let (mut told, mut open): (Vec<String>, Vec<String>) = Default::default();
    for cells in &groups {
        let metrics = match cells[0].connects_from_afar() {
            true => vec![Metric::LatencyMean],
            false => run.results.cpu_of_both_sides(&cells[0].found.name).to_vec(),
        };
        let sides = metrics
            .into_iter()
            .filter_map(|metric| Side::of(run, cells, metric));
        let sides = sides.take(if told.is_empty() { 2 } else { 1 });
        let sides: Vec<String> = sides.map(|side| side.told()).collect();
        let place = match (groups.len(), cells.as_slice()) {
            (2.., [only]) => format!("in {}, ", only.found.name),
            _ => String::new(),
        };
        match sides.is_empty() {
            true => open.extend(cells.iter().filter(|cell| !is_decided(run, cell)).map(name)),
            false => told.push(format!("{place}{}.", sides.join("; "))),
        }
    }
    if !told.is_empty() && !open.is_empty() {
        told.truncate(super::MOST - 1);
        told.push(format!("Nothing is decided in {}.", some(open)));
    }
    told
}

/// True if anything is decided of a cell's CPU.
fn is_decided(run: &Run, cell: &MeasuredCell<'_>) -> bool {
    let metrics = run.results.cpu_of_both_sides(&cell.found.name);
    let mut rows = run.results.estimates.iter();
    rows.any(|row| row.cell == cell.found.name && metrics.contains(&row.metric) && row.verdict.is_decided())
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
        let between: f64 = between_us(self.run, row).map(|(_, us)| us).sum();
        row.difference.map(|us| us + between)
    }

    /// `server CPU per new connection rises most with tls (+1.26 ms, +39 % [33, 45]) and least with md5 (…); not decided: scram`
    fn told(&self) -> String {
        let mut ranks = self.decided.clone();
        let falls = |row: Option<&&EstimateRow>| row.is_some_and(|row| self.cost(row).value < 0.0);
        let (all_fall, some_fall) = (falls(ranks.first()), falls(ranks.last()));
        if all_fall {
            ranks.reverse();
        }
        let verb = if all_fall { "falls" } else { "rises" };
        let least = if some_fall && !all_fall {
            "falls most"
        } else {
            "least"
        };
        let reversed: Vec<&EstimateRow> = ranks.iter().rev().copied().collect();
        let (ahead, behind) = (self.alike(&ranks), self.alike(&reversed));
        let mut told = match ranks.as_slice() {
            [] => Vec::new(),
            [only] => vec![format!("{verb} with {}", self.named(&[only]))],
            // Where the first cannot be told from the last, there is no order.
            [.., last] if ahead.contains(last) => {
                vec![format!("{verb} with {}, in no sure order", self.named(&ranks))]
            }
            _ => {
                let (ahead, behind) = (self.named(&ahead), self.named(&behind));
                vec![format!("{verb} most with {ahead} and {least} with {behind}")]
            }
        };
        let names = |rows: &[&EstimateRow]| some(rows.iter().map(|row| self.name(row)).collect());
        if !self.without.is_empty() {
            let margin = self.without.iter().map(|row| row.margin).fold(0.0, f64::max);
            let rises = if told.is_empty() || some_fall {
                "rises "
            } else {
                ""
            };
            let (most, names) = (rounded::share(margin), names(&self.without));
            told.push(format!("{rises}by no more than {most} with {names}"));
        }
        if !self.open.is_empty() {
            told.push(format!("not decided: {}", names(&self.open)));
        }
        let whose = match payer(self.run, self.metric) {
            ("", what) => what.to_owned(),
            (whose, what) => format!("{}{what}", whose.trim_start_matches("the ")),
        };
        let counts_others = |row: &&EstimateRow| between_us(self.run, row).next().is_some();
        let with_others = match self.decided.iter().any(counts_others) {
            true => ", with what works beside it,",
            false => "",
        };
        let rows = self.decided.iter().chain(&self.without);
        let what = rows
            .map(|row| operation(self.run, &row.cell))
            .next()
            .unwrap_or_default();
        format!("{whose} per {what}{with_others} {}", told.join("; "))
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
            let between = between(self.run, row);
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

//! The table of the summary: arms in cells, the dearest first, and what each side pays more than the baseline.

use ciphertax_base::format::{self, ABSENT, rounded};
use ciphertax_model::{Metric, Pace};
use ciphertax_records::{EstimateRow, MeasuredCell, Run};
use ciphertax_stats::{Rule, Verdict};

use super::grid::{Grid, Text, figure, name};
use super::page::{Page, colour_of};
use crate::lookup::{self, per_operation};
use crate::{describe, words};

/// Every arm in every cell it was measured in.
pub(super) struct Ranked<'a> {
    rows: Vec<Row<'a>>,
    /// Who pays, or what else is compared.
    columns: Vec<Metric>,
}

struct Row<'a> {
    cell: MeasuredCell<'a>,
    arm: &'a str,
}

/// The rows of a run by cell, in each the dearest first.
pub(super) fn ranked(run: &Run) -> Ranked<'_> {
    let columns = columns(run);
    let mut rows = Vec::new();
    for cell in run.cells() {
        let arms = lookup::variants_in(run, cell);
        let mut of_cell: Vec<Row<'_>> = arms.map(|arm| Row { cell, arm: &arm.name }).collect();
        // All that is decided of the CPU, whoever pays, or of the time.
        let cost = |row: &Row<'_>| {
            let estimates = columns.iter().filter(|metric| **metric != Metric::Throughput);
            let estimates = estimates.filter_map(|metric| row.estimate(run, *metric));
            let decided: f64 = estimates
                .filter(|row| is_told(row))
                .map(|row| row.difference.value)
                .sum();
            let name = &row.cell.found.name;
            let between = lookup::more_between(run, name, row.arm, &Metric::OF_WHAT_IS_BETWEEN);
            decided + between.map_or(0.0, |(us, _)| us)
        };
        of_cell.sort_by(|one, other| cost(other).total_cmp(&cost(one)));
        rows.extend(of_cell);
    }
    // Of one arm it is the cells that are ranked, by the share more, since their operations differ in size; those of one kind together.
    if run.head.variants().count() == 1 {
        let payer = payer(run, &columns, &rows.iter().collect::<Vec<_>>());
        let change = |row: &Row<'_>| {
            let estimate = row.estimate(run, payer).filter(|row| is_told(row));
            estimate.map_or(f64::NEG_INFINITY, |row| match ranks_servers(run) {
                true => row.difference.value,
                false => row.change,
            })
        };
        rows.sort_by(|one, other| {
            let of_kind = per_operation(run, one.cell).cmp(per_operation(run, other.cell));
            of_kind.then(change(other).total_cmp(&change(one)))
        });
    }
    Ranked { rows, columns }
}

/// True if servers are asked the same, so that their cells are ranked by the time.
fn ranks_servers(run: &Run) -> bool {
    run.results
        .findings
        .iter()
        .any(|finding| finding.id == "pays-most")
}

/// The side of which most is decided, the first of equals.
fn payer(run: &Run, columns: &[Metric], rows: &[&Row<'_>]) -> Metric {
    let decided = |metric: &Metric| {
        let estimates = rows.iter().filter_map(|row| row.estimate(run, *metric));
        estimates.filter(|row| is_told(row)).count()
    };
    let columns = columns.iter().rev();
    columns
        .copied()
        .max_by_key(decided)
        .unwrap_or(Metric::ServerCpuPerOp)
}

/// Time where connections are made at a distance, CPU of whoever pays, and what stands for the server's where that is not known.
fn columns(run: &Run) -> Vec<Metric> {
    let is_open = |cell: MeasuredCell<'_>| matches!(cell.asked.load.pace(), Pace::Open { .. });
    let has_server = run.cells().any(|cell| {
        let metric = run.results.server_cpu(&cell.found.name);
        run.results.estimates.iter().any(|row| row.metric == metric)
    });
    let mut columns = Vec::new();
    if run.cells().any(|cell| cell.connects_from_afar()) {
        columns.push(Metric::LatencyMean);
    }
    if has_server {
        columns.push(Metric::ServerCpuPerOp);
    }
    columns.push(Metric::ClientCpuPerOp);
    for metric in run
        .cells()
        .flat_map(|cell| lookup::between(run, &cell.found.name))
    {
        if !columns.contains(&metric) {
            columns.push(metric);
        }
    }
    if !has_server && !run.head.is_embedded() {
        columns.push(Metric::Throughput);
    }
    if run.cells().any(is_open) {
        columns.push(Metric::ResponseP99);
    }
    columns
}

/// True for what the table shows: a decided figure, or one that lacks only its family.
fn is_told(row: &EstimateRow) -> bool {
    row.verdict != Verdict::CannotTell
}

impl Row<'_> {
    fn estimate<'r>(&self, run: &'r Run, metric: Metric) -> Option<&'r EstimateRow> {
        let cell = &self.cell.found.name;
        run.results
            .estimate(cell, self.arm, lookup::of_whole_rounds(run, cell, metric))
    }

    fn is_told(&self, run: &Run, columns: &[Metric]) -> bool {
        let mut estimates = columns.iter().filter_map(|metric| self.estimate(run, *metric));
        estimates.any(is_told)
    }

    /// `+14.0 µs +59 % [58, 60]`; without the difference where there is little room.
    fn text(&self, run: &Run, metric: Metric, is_short: bool) -> String {
        if Metric::OF_WHAT_IS_BETWEEN.contains(&metric) {
            let more = lookup::more_between(run, &self.cell.found.name, self.arm, &[metric]);
            return more.map_or(ABSENT.into(), |(more, unit)| format::more(more, unit));
        }
        let Some(row) = self.estimate(run, metric) else {
            return ABSENT.into();
        };
        let change = rounded::change(row.interval());
        let difference = format::difference(row.difference, &row.unit).value;
        let figure = match is_short || metric == Metric::Throughput {
            true => change,
            false => format!("{difference} {change}"),
        };
        match row.verdict {
            _ if row.rule == Rule::ClientBound => "client-bound".into(),
            Verdict::CannotTell => "not decided".into(),
            Verdict::NoCost => describe::verdict_word(run, row),
            Verdict::CostsPerhaps | Verdict::GainsPerhaps => format!("perhaps {figure}"),
            Verdict::Costs | Verdict::Gains => figure,
        }
    }

    fn shown(&self, run: &Run, metric: Metric, is_short: bool) -> Text {
        let verdict = self.estimate(run, metric).map(|row| row.verdict);
        figure(&self.text(run, metric, is_short)).coloured(verdict.and_then(colour_of))
    }
}

impl<'a> Ranked<'a> {
    /// The estimates of who pays that are not decided.
    pub(super) fn undecided<'r>(&self, run: &'r Run) -> Vec<&'r EstimateRow> {
        let rows = self.rows.iter();
        let estimates = rows.flat_map(|row| {
            self.columns
                .iter()
                .filter_map(|metric| row.estimate(run, *metric))
        });
        let is_undecided = |row: &&EstimateRow| !is_told(row) && row.rule != Rule::ClientBound;
        estimates.filter(is_undecided).collect()
    }

    /// The rows of which anything is decided.
    fn told(&self, run: &Run) -> Vec<&Row<'a>> {
        let rows = self.rows.iter();
        rows.filter(|row| row.is_told(run, &self.columns)).collect()
    }

    /// Lines that the table would take with a column for each side, its caption among them.
    pub(super) fn lines(&self, run: &Run) -> usize {
        let told = self.told(run);
        match told.len() {
            0 => 0,
            _ => ABOVE + self.by_sides(run, &told, true).rows(),
        }
    }

    /// The table in at most so many lines, its caption among them: a column for each side; of too many rows a column for each cell;
    /// else the first rows alone.
    pub(super) fn table(&self, page: &mut Page, run: &Run, lines: usize) {
        let told = self.told(run);
        let Some(baseline) = run.head.baseline().filter(|_| !told.is_empty()) else {
            return;
        };
        let room = lines.saturating_sub(ABOVE);
        if room == 0 {
            return;
        }
        let units = units(run, &told);
        let per = match units.as_slice() {
            [unit] => format!(" {unit}"),
            _ => String::new(),
        };
        let order = match run.head.variants().count() {
            1 if told.len() < 2 => "",
            1 if !ranks_servers(run) => ", the largest share first",
            _ => ", the dearest first",
        };
        let caption = |what: &str| format!("{what} against {}{per}{order}:", baseline.name);
        let mut grids: Vec<(String, Grid)> = [false, true]
            .into_iter()
            .map(|is_short| {
                let subject = match arms(&told).as_slice() {
                    [only] => only,
                    _ => "Each arm",
                };
                (caption(subject), self.by_sides(run, &told, is_short))
            })
            .collect();
        if is_grouped(&told) {
            let metric = payer(run, &self.columns, &told);
            let caption = caption(&format!("Each arm's {}", heading(run, metric)));
            let grids_of_cells = across(run, &told, metric).into_iter();
            grids.extend(grids_of_cells.map(|grid| (caption.clone(), grid)));
            let is_of_cells = cells(&told).len() > arms(&told).len();
            let mut variants = run.head.variants().map(|arm| arm.name.as_str());
            let first = variants.find(|arm| is_of_cells && arms(&told).contains(arm));
            if let Some(first) = first {
                let rows: Vec<&Row<'a>> = told.iter().copied().filter(|row| row.arm == first).collect();
                let caption = format!("{first} against {} (other arms: --full):", baseline.name);
                grids.push((caption, self.by_sides(run, &rows, true)));
            }
        }
        let fits = |(_, grid): &(String, Grid)| grid.fits(page) && grid.rows() <= room;
        let widths = grids.iter().map(|(_, grid)| grid.width()).enumerate();
        let narrowest = widths.min_by_key(|(_, width)| *width).map_or(0, |(at, _)| at);
        let narrow_or_cut = match grids[1].1.fits(page) {
            true => 1,
            false => narrowest,
        };
        let at = grids.iter().position(fits).unwrap_or(narrow_or_cut);
        let (caption, grid) = grids.swap_remove(at);
        let before = page.lines();
        page.heading(&caption);
        // A long caption takes several lines.
        grid.print_first(page, lines.saturating_sub(page.lines() - before + 1));
    }

    /// Arms down, under the cell that they were measured in; sides across.
    fn by_sides(&self, run: &Run, told: &[&Row<'a>], is_short: bool) -> Grid {
        let [is_grouped, has_cells] = [is_grouped(told), cells(told).len() > 1];
        let by_unit = has_cells && units(run, told).len() > 1;
        let header = self.columns.iter().map(|metric| figure(heading(run, *metric)));
        let mut grid = Grid::new(std::iter::once(name("")).chain(header));
        let mut of_group = String::new();
        for row in told {
            let cell = row.cell.found.name.as_str();
            let group = match (is_grouped, by_unit) {
                (true, true) => format!("{cell}, {}:", per_operation(run, row.cell)),
                (true, false) => format!("{cell}:"),
                (false, true) => format!("{}:", per_operation(run, row.cell)),
                (false, false) => String::new(),
            };
            if group != of_group {
                grid.add([name(&group)]);
                of_group = group;
            }
            let label = match (is_grouped, by_unit) {
                (true, _) => format!("  {}", row.arm),
                (false, true) => format!("  {cell}"),
                (false, false) if has_cells => cell.to_owned(),
                (false, false) => row.arm.to_owned(),
            };
            let sides = self
                .columns
                .iter()
                .map(|metric| row.shown(run, *metric, is_short));
            grid.add(std::iter::once(name(&label)).chain(sides));
        }
        grid
    }
}

/// Lines above the rows: a blank one, the caption, and the header.
const ABOVE: usize = 3;

fn arms<'a>(told: &[&Row<'a>]) -> Vec<&'a str> {
    once(told.iter().map(|row| row.arm))
}

fn cells<'a>(told: &[&Row<'a>]) -> Vec<&'a str> {
    once(told.iter().map(|row| row.cell.found.name.as_str()))
}

/// What their operations are.
fn units(run: &Run, told: &[&Row<'_>]) -> Vec<&'static str> {
    once(told.iter().map(|row| per_operation(run, row.cell)))
}

/// Each of them once, in their order.
fn once<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut once = Vec::new();
    for name in names {
        if !once.contains(&name) {
            once.push(name);
        }
    }
    once
}

fn is_grouped(told: &[&Row<'_>]) -> bool {
    arms(told).len() > 1 && cells(told).len() > 1
}

/// One metric: arms down and cells across, and the other way round.
fn across(run: &Run, told: &[&Row<'_>], metric: Metric) -> [Grid; 2] {
    let (arms, cells) = (arms(told), cells(told));
    let of = |arm: &str, cell: &str| {
        let mut rows = told.iter();
        let row = rows.find(|row| row.arm == arm && row.cell.found.name == cell);
        row.map_or_else(|| figure(ABSENT), |row| row.shown(run, metric, true))
    };
    let grid = |down: &[&str], across: &[&str], of: &dyn Fn(&str, &str) -> Text| {
        let header = across.iter().map(|text| figure(text));
        let mut grid = Grid::new(std::iter::once(name("")).chain(header));
        for row in down {
            let figures = across.iter().map(|column| of(row, column));
            grid.add(std::iter::once(name(row)).chain(figures));
        }
        grid
    };
    [
        grid(&arms, &cells, &of),
        grid(&cells, &arms, &|cell, arm| of(arm, cell)),
    ]
}

/// A column's name.
pub(super) fn heading(run: &Run, metric: Metric) -> &'static str {
    match metric {
        Metric::ClientCpuPerOp if run.head.is_embedded() => "application CPU",
        Metric::LatencyMean => "time",
        Metric::TunnelCpuPerOp => "tunnel CPU",
        Metric::PoolerCpuPerOp => "pooler CPU",
        Metric::ResponseP99 => "p99 response",
        other => words::short_metric(other),
    }
}

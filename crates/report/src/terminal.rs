//! The run as text for a terminal: the verdict first, then what it rests on.

use std::path::Path;

use ciphertax_model::Metric;
use ciphertax_records::{ArmRole, EstimateRow, MeasuredCell, Phase, PhaseRow, Run, Severity, Witness};
use ciphertax_stats::{Interval, Rule, Verdict};
use comfy_table::{Cell, CellAlignment, Color, ContentArrangement, Table, TableComponent, presets};

use crate::answer::{Answer, SIDES, answers, lacks_blocks, needs_blocks, query_heading};
use crate::format::{self, ABSENT};
use crate::groups::{Group, grouped};
use crate::lookup;
use crate::words;

/// How the terminal wants its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Columns that may be filled; fewer than 60 are treated as 60, and [`AS_WIDE_AS_NEEDED`] breaks no line.
    pub width: usize,
    /// Whether to colour verdicts and headings with ANSI sequences.
    pub colour: bool,
}

/// The width of what is not read on a terminal.
pub const AS_WIDE_AS_NEEDED: usize = usize::MAX;

/// The whole report, ending with a newline. Text from servers is stripped of control characters.
pub fn render(run: &Run, style: Style) -> String {
    let mut page = Page::new(style);
    verdict(&mut page, run);
    answer(&mut page, run);
    consequences(&mut page, run);
    let (advice, causes): (Vec<_>, Vec<_>) = grouped(run)
        .into_iter()
        .partition(|group| group.severity == Severity::Advice);
    findings(&mut page, "What to do", &advice);
    for cell in run.cells() {
        connect_phases(&mut page, run, cell);
    }
    findings(&mut page, "Why", &causes);
    proofs(&mut page, run);
    noise(&mut page, run);
    void_slices(&mut page, run);
    for cell in run.cells() {
        costs(&mut page, run, cell);
    }
    published(&mut page, run);
    page.text
}

/// The closing lines: where the report with charts is, and how to repeat the run.
pub fn closing(run: &Run, report: &Path, style: Style) -> String {
    let mut page = Page::new(style);
    page.line(&format!("Report:  {}", report.display()));
    page.line(&format!("Repeat:  {}", run.head.command));
    page.text
}

fn verdict(page: &mut Page, run: &Run) {
    if let Some(warning) = lookup::unfinished(run) {
        page.paragraph(&warning, Tone::Warning);
        page.blank();
    }
    page.paragraph(&run.results.verdict, Tone::Strong);
    page.blank();
    page.paragraph(&format!("{}.", lookup::servers_in_words(run)), Tone::Plain);
    for server in &run.head.servers {
        if let Some(link) = lookup::link_in_words(server) {
            page.paragraph(&format!("{}, {link}.", server.name), Tone::Plain);
        }
    }
    for words in lookup::cpu_unread_in_words(run).chain(lookup::left_out_in_words(run)) {
        page.paragraph(&words, Tone::Plain);
    }
    if lookup::is_same_host(run) {
        page.paragraph(
            "Both sides share the CPUs: CPU per operation is the figure to rely on.",
            Tone::Plain,
        );
    }
}

/// What each arm takes more, per query and per new connection, on both sides.
fn answer(page: &mut Page, run: &Run) {
    let answers = answers(run);
    if lacks_blocks(run) {
        page.blank();
        page.paragraph(&needs_blocks(), Tone::Plain);
    }
    let Some(baseline) = lookup::baseline(run).filter(|_| !answers.is_empty()) else {
        return;
    };
    let has_query = answers.iter().any(|answer| answer.query.is_some());
    let has_connection = answers.iter().any(|answer| answer.connection.is_some());
    let query = query_heading(&answers).trim_start_matches("per ");
    page.heading(&format!(
        "CPU time that each arm takes more than {}",
        baseline.name
    ));
    let header = [(has_query, query), (has_connection, "connection")]
        .into_iter()
        .filter(|(has, _)| *has)
        .flat_map(|(_, what)| ["server", "client"].map(|side| format!("{what}: {side}")));
    let header: Vec<String> = std::iter::once(String::new()).chain(header).collect();
    let mut table = page.table(header.iter().map(String::as_str));
    for answer in &answers {
        let name = match answer.place.as_str() {
            "" => harmless(&answer.arm.name),
            place => format!("{}\n{}", harmless(&answer.arm.name), harmless(place)),
        };
        let cells = [(has_query, answer.query), (has_connection, answer.connection)]
            .into_iter()
            .filter(|(has, _)| *has)
            .flat_map(|(_, cell)| SIDES.map(|metric| page.cost(run, answer.estimate(run, cell, metric))));
        let cells: Vec<Cell> = cells.collect();
        table.add_row(std::iter::once(Cell::new(name)).chain(cells));
    }
    page.add_table(&table);
    let cells = |what: &str, cell: fn(&Answer<'_>) -> Option<String>| {
        let mut names: Vec<String> = answers.iter().filter_map(cell).collect();
        names.dedup();
        (!names.is_empty()).then(|| format!("{what}: {}", names.join(", ")))
    };
    let query = cells(query, |answer| answer.query.map(|cell| cell.found.name.clone()));
    let connection = cells("connection", |answer| {
        answer.connection.map(|cell| cell.found.name.clone())
    });
    let cells: Vec<String> = query.into_iter().chain(connection).collect();
    page.paragraph(&format!("Measured in: {}.", cells.join("; ")), Tone::Plain);
    for row in crate::answer::estimates(run)
        .into_iter()
        .filter(|row| words::is_surprising(row))
    {
        page.paragraph(&words::explained(run, row), Tone::Plain);
    }
}

/// How the arms were proved.
fn proofs(page: &mut Page, run: &Run) {
    page.heading("Is it true?");
    for arm in run
        .head
        .arms
        .iter()
        .filter(|arm| arm.role != ArmRole::BaselineAgain)
    {
        let mut witnesses: Vec<Witness> = Vec::new();
        for proof in arm.sessions.iter().flat_map(|session| &session.proofs) {
            if !witnesses.contains(&proof.witness) {
                witnesses.push(proof.witness);
            }
        }
        page.item(&match witnesses.as_slice() {
            [] => format!("{}: not proved, the run ended before", arm.name),
            witnesses => {
                let names: Vec<String> = witnesses.iter().map(ToString::to_string).collect();
                format!("{}: proved by {}", arm.name, names.join(", "))
            }
        });
    }
}

/// The baseline against itself: cells down, metrics across.
fn noise(page: &mut Page, run: &Run) {
    if run.results.noise_floor.is_empty() {
        return;
    }
    page.blank();
    page.paragraph(
        "Noise: the baseline measured against itself in the same blocks (A/A). A change costs if its 95 % interval excludes \
         zero, it exceeds the noise floor (first line), and it is significant among all comparisons of the run (Holm). No cost: the \
         interval ends below the margin, which is twice the precision asked for, or the floor. Else it cannot be told.",
        Tone::Plain,
    );
    let mut metrics: Vec<Metric> = Vec::new();
    for metric in run.cells().flat_map(lookup::headline) {
        if !metrics.contains(&metric) {
            metrics.push(metric);
        }
    }
    let mut table = page.table(std::iter::once("").chain(metrics.iter().map(|metric| heading(*metric))));
    for cell in run.cells() {
        if run
            .results
            .noise_floor
            .iter()
            .any(|row| row.cell == cell.found.name)
        {
            let cells = metrics
                .iter()
                .map(|metric| right(noise_floor(run, &cell.found.name, *metric)));
            table.add_row(std::iter::once(left(&cell.found.name)).chain(cells));
        }
    }
    page.add_table(&table);
}

/// One cell: arms down, metrics across; each change with its interval and its verdict.
fn costs(page: &mut Page, run: &Run, cell: MeasuredCell<'_>) {
    page.heading(&cell.found.name);
    let mut caption = format!(
        "{}; {}",
        lookup::load_in_words(run, cell),
        lookup::blocks_in_words(cell)
    );
    if cell.found.client_bound {
        caption.push_str("; client-bound");
    }
    if let Some(wanted) = lookup::blocks_wanted(cell).or_else(|| lookup::time_wanted(cell)) {
        caption.push_str(&format!("; {wanted}"));
    }
    page.paragraph(&caption, Tone::Plain);
    if run
        .results
        .measurements
        .iter()
        .all(|row| row.cell != cell.found.name)
    {
        page.paragraph("Nothing was measured.", Tone::Plain);
        return;
    }

    let metrics = lookup::headline(cell);
    let mut table = page.table(std::iter::once("").chain(metrics.map(heading)));
    if let Some(arm) = lookup::baseline(run) {
        table.add_row(std::iter::once(left(&arm.name)).chain(metrics.map(|metric| {
            let value = lookup::measured(run, &cell.found.name, &arm.name, metric);
            right(value.map_or(ABSENT.into(), |(value, unit)| format::quantity(value, unit)))
        })));
    }
    for arm in lookup::variants_in(run, cell) {
        table.add_row(std::iter::once(left(&arm.name)).chain(
            metrics.map(|metric| page.change(run, run.results.estimate(&cell.found.name, &arm.name, metric))),
        ));
    }
    page.add_table(&table);
    let answered = crate::answer::estimates(run);
    for arm in lookup::variants_in(run, cell) {
        let rows = metrics
            .iter()
            .filter_map(|metric| run.results.estimate(&cell.found.name, &arm.name, *metric));
        // Those of the answer are explained there.
        for row in rows.filter(|row| words::is_surprising(row) && !answered.contains(row)) {
            page.paragraph(&words::explained(run, row), Tone::Plain);
        }
    }
    kinds(page, run, cell);
    let batches = lookup::batches_in_words(run, cell);
    for words in batches
        .into_iter()
        .chain(lookup::tunnels_in_words(run, &cell.found.name))
    {
        page.paragraph(&words, Tone::Plain);
    }
}

/// Kinds of operations down, metrics across, for each variant.
fn kinds(page: &mut Page, run: &Run, cell: MeasuredCell<'_>) {
    let rows = lookup::by_kind(run, &cell.found.name);
    for arm in lookup::variants_in(run, cell) {
        let of_arm = rows.iter().filter(|row| row.estimate.arm == arm.name);
        let mut kinds: Vec<&str> = of_arm.map(|row| row.kind.as_str()).collect();
        kinds.dedup();
        if kinds.is_empty() {
            continue;
        }
        let caption = format!("{}, by kind of operation: baseline, and the change", arm.name);
        page.paragraph(&caption, Tone::Plain);
        let header = Metric::COMPARED_BY_KIND
            .into_iter()
            .flat_map(|metric| [metric.label(), "change"]);
        let mut table = page.table(std::iter::once("").chain(header));
        for kind in kinds {
            let cells = Metric::COMPARED_BY_KIND.into_iter().flat_map(|metric| {
                let row = rows.iter().find(|row| {
                    row.kind == kind && row.estimate.arm == arm.name && row.estimate.metric == metric
                });
                let row = row.map(|row| &row.estimate);
                let baseline = row.map_or(ABSENT.into(), |row| format::quantity(row.baseline, &row.unit));
                [right(baseline), page.change(run, row)]
            });
            table.add_row(std::iter::once(left(kind)).chain(cells));
        }
        page.add_table(&table);
    }
}

fn noise_floor(run: &Run, cell: &str, metric: Metric) -> String {
    let Some(row) = lookup::noise(run, cell, metric) else {
        return ABSENT.into();
    };
    let floor = lookup::floor(run, cell, metric);
    format!(
        "{}\n{}\n{}",
        floor.map_or(ABSENT.into(), |floor| words::floor(floor, metric)),
        format::change(row.change),
        format::change_interval(row.change, row.low, row.high)
    )
}

/// Where the time of a connect goes: arms down, phases across.
fn connect_phases(page: &mut Page, run: &Run, cell: MeasuredCell<'_>) {
    let by_arm: Vec<(&str, Vec<&PhaseRow>)> = run
        .head
        .arms
        .iter()
        .filter(|arm| arm.role != ArmRole::BaselineAgain)
        .map(|arm| {
            (
                arm.name.as_str(),
                lookup::phases(run, &cell.found.name, &arm.name),
            )
        })
        .filter(|(_, rows)| !rows.is_empty())
        .collect();
    let shown: Vec<Phase> = Phase::ALL
        .into_iter()
        .filter(|phase| {
            by_arm
                .iter()
                .any(|(_, rows)| rows.iter().any(|row| row.phase == *phase && row.mean_us > 0.0))
        })
        .collect();
    if shown.is_empty() {
        return;
    }
    const HEADING: &str = "Where the time of a connect goes";
    match page.has(HEADING) {
        true => page.blank(),
        false => page.heading(HEADING),
    }
    page.paragraph(
        &format!("{}: mean wall time of each phase, by arm", cell.found.name),
        Tone::Plain,
    );
    let mean = |rows: &[&PhaseRow], phase: Phase| {
        let row = rows.iter().find(|row| row.phase == phase);
        right(row.map_or(ABSENT.into(), |row| format::microseconds(row.mean_us)))
    };
    let total = |rows: &[&PhaseRow]| {
        let total: f64 = rows.iter().map(|row| row.mean_us).sum();
        right(format::microseconds(total))
    };
    // The fewer go across, so that no figure is broken.
    if by_arm.len() < shown.len() {
        let arms = by_arm.iter().map(|(arm, _)| harmless(arm)).collect::<Vec<_>>();
        let mut table = page.table(std::iter::once("").chain(arms.iter().map(String::as_str)));
        for phase in &shown {
            let means = by_arm.iter().map(|(_, rows)| mean(rows, *phase));
            table.add_row(std::iter::once(left(short(*phase))).chain(means));
        }
        let totals = by_arm.iter().map(|(_, rows)| total(rows));
        table.add_row(std::iter::once(left("total")).chain(totals));
        page.add_table(&table);
    } else {
        let header = std::iter::once("")
            .chain(shown.iter().map(|phase| short(*phase)))
            .chain(["total"]);
        let mut table = page.table(header);
        for (arm, rows) in &by_arm {
            let means = shown.iter().map(|phase| mean(rows, *phase));
            table.add_row(std::iter::once(left(arm)).chain(means).chain([total(rows)]));
        }
        page.add_table(&table);
    }
    for (arm, rows) in &by_arm {
        let parts: Vec<String> = rows
            .iter()
            .filter_map(|row| {
                let cpu = row.client_cpu_us.filter(|cpu| *cpu > 0.0)?;
                Some(format!("{} {}", row.phase, format::microseconds(cpu)))
            })
            .collect();
        if !parts.is_empty() {
            page.paragraph(&format!("client CPU, {arm}: {}", parts.join(", ")), Tone::Plain);
        }
    }
    for (arm, _) in &by_arm {
        if let Some(connects) = lookup::connects(run, &cell.found.name, arm) {
            page.paragraph(&format!("{arm}: {connects}"), Tone::Plain);
        }
    }
}

fn consequences(page: &mut Page, run: &Run) {
    if run.results.churn.is_empty() && run.results.capacity.is_empty() {
        return;
    }
    page.heading("What follows");
    for arm in lookup::variants(run) {
        let churn: Vec<_> = run
            .results
            .churn
            .iter()
            .filter(|row| row.arm == arm.name)
            .collect();
        let capacity: Vec<_> = run
            .results
            .capacity
            .iter()
            .filter(|row| row.arm == arm.name)
            .collect();
        if churn.is_empty() && capacity.is_empty() {
            continue;
        }
        page.paragraph(&arm.name, Tone::Strong);
        // Where there are several such cells, a figure says which it is of.
        let of = |cell: &str, is_one: bool| {
            if is_one {
                String::new()
            } else {
                format!("{cell}: ")
            }
        };
        let is_one = churn.iter().all(|row| row.cell == churn[0].cell);
        for row in &churn {
            page.item(&format!("{}{}", of(&row.cell, is_one), words::churn(row)));
        }
        let is_one = capacity.iter().all(|row| {
            let mut alike = capacity
                .iter()
                .filter(|other| (&other.of, &other.side) == (&row.of, &row.side));
            alike.all(|other| other.cell == row.cell)
        });
        for row in &capacity {
            page.item(&format!("{}{}", of(&row.cell, is_one), words::capacity(row)));
        }
    }
}

fn findings(page: &mut Page, title: &str, groups: &[Group]) {
    if groups.is_empty() {
        return;
    }
    page.heading(title);
    for group in groups {
        let word = lookup::severity_word(group.severity);
        for statement in &group.statements {
            page.item(&format!("{word}: {}", statement.summary));
            for evidence in &statement.evidence {
                page.detail(evidence);
            }
        }
    }
}

/// Figures published elsewhere, beside the measured ones.
fn published(page: &mut Page, run: &Run) {
    if run.results.published.is_empty() {
        return;
    }
    page.heading("Published figures");
    page.paragraph(
        "Their absolute values come from other hardware, so ratios are compared: baseline to variant, fewer is negative.",
        Tone::Plain,
    );
    for row in &run.results.published {
        page.item(&format!(
            "{}, {}, {}: published {} ({}), measured {}: {}",
            row.cell,
            row.arm,
            lookup::published_metric(row),
            lookup::published_figure(row),
            row.source,
            lookup::measured_change(row),
            lookup::agreement_word(row.agreement)
        ));
        for text in row.explanation.iter().chain(&row.note) {
            page.detail(text);
        }
    }
}

fn void_slices(page: &mut Page, run: &Run) {
    page.heading(&format!(
        "Void slices: {}",
        format::count(run.results.void.len() as f64)
    ));
    for group in lookup::void_groups(run) {
        page.item(&format!(
            "{} × {}, first: {}",
            format::count(group.count as f64),
            group.kind,
            group.first
        ));
    }
}

/// Headings that fit the columns of a narrow table.
fn heading(metric: Metric) -> &'static str {
    match metric {
        Metric::ClientCpuPerOp => "client CPU/op",
        Metric::ServerCpuPerOp => "server CPU/op",
        Metric::ResponseP50 => "median response",
        Metric::ResponseP99 => "p99 response",
        other => other.label(),
    }
}

/// Names that fit the columns of a narrow table.
fn short(phase: Phase) -> &'static str {
    match phase {
        Phase::Tls => "TLS",
        Phase::Auth => "login",
        Phase::FirstOperation => "query",
        other => other.label(),
    }
}

fn right(text: String) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}

fn left(text: &str) -> Cell {
    Cell::new(harmless(text))
}

/// The text as it grows, wrapped to the width and coloured as asked.
struct Page {
    text: String,
    width: usize,
    colour: bool,
}

/// How a line is meant.
#[derive(Clone, Copy)]
enum Tone {
    Plain,
    Strong,
    Warning,
}

impl Page {
    fn new(Style { width, colour }: Style) -> Self {
        Self {
            text: String::new(),
            width: width.max(60),
            colour,
        }
    }

    /// True if the heading is there already.
    fn has(&self, heading: &str) -> bool {
        self.text.contains(heading)
    }

    fn blank(&mut self) {
        self.text.push('\n');
    }

    fn heading(&mut self, title: &str) {
        self.blank();
        self.paragraph(title, Tone::Strong);
    }

    fn paragraph(&mut self, text: &str, tone: Tone) {
        self.wrapped(text, "", "", tone);
    }

    fn item(&mut self, text: &str) {
        self.wrapped(text, "  ", "    ", Tone::Plain);
    }

    fn detail(&mut self, text: &str) {
        self.wrapped(text, "    ", "    ", Tone::Plain);
    }

    /// A line that is not wrapped, so that it can be copied.
    fn line(&mut self, text: &str) {
        self.push(&harmless(text), Tone::Plain);
    }

    fn wrapped(&mut self, text: &str, first: &str, next: &str, tone: Tone) {
        let text = harmless(text).replace(" %", "\u{a0}%").replace(" µs", "\u{a0}µs");
        let mut line = first.to_owned();
        let mut empty = true;
        for word in text.split(' ').filter(|word| !word.is_empty()) {
            if !empty && line.chars().count() + 1 + word.chars().count() > self.width {
                self.push(&line, tone);
                line = next.to_owned();
                empty = true;
            }
            if !empty {
                line.push(' ');
            }
            line.push_str(&word.replace('\u{a0}', " "));
            empty = false;
        }
        self.push(&line, tone);
    }

    fn push(&mut self, line: &str, tone: Tone) {
        let sgr = match tone {
            Tone::Plain => None,
            Tone::Strong => Some("1"),
            Tone::Warning => Some(WARNING),
        };
        match sgr.filter(|_| self.colour) {
            Some(sgr) => self.text.push_str(&format!("\u{1b}[{sgr}m{line}\u{1b}[0m\n")),
            None => self.text.push_str(&format!("{line}\n")),
        }
    }

    fn table<'a>(&self, header: impl Iterator<Item = &'a str>) -> Table {
        let mut table = Table::new();
        table
            .load_preset(presets::NOTHING)
            .set_style(TableComponent::HeaderLines, '─')
            .set_style(TableComponent::MiddleHeaderIntersections, '─')
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(u16::try_from(self.width).unwrap_or(u16::MAX))
            .set_header(header.map(|name| right(name.into())));
        if self.colour {
            table.enforce_styling();
        } else {
            table.force_no_tty();
        }
        table
    }

    fn add_table(&mut self, table: &Table) {
        for line in table.lines() {
            self.text.push_str(line.trim_end());
            self.blank();
        }
    }

    /// A change, its verdict, its interval and the difference; the verdict shares a line with the change where there is
    /// room.
    fn change(&self, run: &Run, row: Option<&EstimateRow>) -> Cell {
        let Some(row) = row else {
            return right(ABSENT.into());
        };
        let change = format::change(row.change);
        let interval = format::change_interval(row.change, row.low, row.high);
        let word = harmless(&lookup::verdict_word(run, row));
        let difference = difference(row);
        let text = if self.width >= ROOMY {
            format!("{change} {word}\n{interval}\n{difference}")
        } else {
            format!("{change}\n{interval}\n{difference}\n{word}")
        };
        self.judged(right(text), row)
    }

    /// The same with the difference first.
    fn cost(&self, run: &Run, row: Option<&EstimateRow>) -> Cell {
        let Some(row) = row else {
            return right(ABSENT.into());
        };
        let text = format!(
            "{}\n{}\n{}\n{}",
            difference(row),
            format::change(row.change),
            format::change_interval(row.change, row.low, row.high),
            harmless(&lookup::verdict_word(run, row))
        );
        self.judged(right(text), row)
    }

    /// The cell in the colour of its verdict; one without a verdict has none.
    fn judged(&self, cell: Cell, row: &EstimateRow) -> Cell {
        let colour = match row.verdict {
            _ if !self.colour || row.rule == Rule::ClientBound => return cell,
            Verdict::CannotTell => return cell,
            Verdict::Costs => COSTS,
            Verdict::NoCost => NO_COST,
            Verdict::Gains => GAINS,
        };
        cell.fg(Color::AnsiValue(colour))
    }
}

/// Colours of xterm's 6×6×6 cube, which themes leave alone: they are read on black and on white.
const COSTS: u8 = 166;
const NO_COST: u8 = 28;
const GAINS: u8 = 127;
/// Bold and red, from the same cube.
const WARNING: &str = "1;38;5;160";

fn difference(row: &EstimateRow) -> String {
    let Interval { value, low, high } = lookup::difference(row);
    format::difference(value, [low, high], &row.unit).value
}

/// From this width on a change and its verdict fit in one line of every column of the cost table.
const ROOMY: usize = 100;

/// Text from servers and users, without the control and direction characters that could rule a terminal.
fn harmless(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
            c if c.is_control() => '\u{fffd}',
            c => c,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_read_on_black_and_on_white() {
        // WCAG 2.2, 1.4.11: three to one for what carries a meaning besides the words.
        for index in [COSTS, NO_COST, GAINS, 160] {
            let index = index - 16;
            let level = |digit: u8| {
                if digit == 0 {
                    0.0
                } else {
                    f64::from(55 + 40 * digit) / 255.0
                }
            };
            let linear = |level: f64| {
                if level <= 0.04045 {
                    level / 12.92
                } else {
                    ((level + 0.055) / 1.055).powf(2.4)
                }
            };
            let [red, green, blue] = [index / 36, index / 6 % 6, index % 6].map(|digit| linear(level(digit)));
            let luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
            assert!((luminance + 0.05) / 0.05 >= 3.0, "{index} on black");
            assert!(1.05 / (luminance + 0.05) >= 3.0, "{index} on white");
        }
    }

    #[test]
    fn control_and_direction_characters_are_replaced() {
        assert_eq!(harmless("10.11\u{1b}[31m\u{202e}x"), "10.11\u{fffd}[31m\u{fffd}x");
    }
}

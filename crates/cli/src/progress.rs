//! Progress on standard error: a bar on a terminal, plain lines elsewhere.

use std::path::Path;
use std::time::{Duration, Instant};

use ciphertax_base::harmless;
use ciphertax_model::{Precision, Study};
use ciphertax_records::LeftOut;
use ciphertax_runner::{Headline, Progress, Stage};
use ciphertax_supervise::say;
use ciphertax_wire::Target;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::exit::Stop;

/// How often plain lines say how measuring goes.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// How much is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verbosity {
    /// Problems alone.
    Quiet,
    /// A bar on a terminal, some lines elsewhere.
    Normal,
    /// Every step and every block, as lines.
    Verbose,
}

/// Tells the user what happens.
pub(crate) struct Reporter {
    bar: ProgressBar,
    verbosity: Verbosity,
    began: Instant,
    budget: Duration,
    goal: Precision,
    cells: Vec<Cell>,
    last_line: Option<Instant>,
    last_stage: String,
    target: Option<Target>,
    /// Hears what is left behind.
    stop: Stop,
}

/// How far a cell got.
#[derive(Default)]
struct Cell {
    name: String,
    blocks: u32,
    cpu: Option<f64>,
    throughput: Option<f64>,
}

impl Reporter {
    pub(crate) fn start(study: &Study, target: Option<&Target>, stop: Stop, verbosity: Verbosity) -> Self {
        let budget = Duration::from_secs_f64(study.time_s);
        let drawn_on = match verbosity {
            Verbosity::Normal => ProgressDrawTarget::stderr(),
            Verbosity::Quiet | Verbosity::Verbose => ProgressDrawTarget::hidden(),
        };
        let bar = ProgressBar::with_draw_target(Some(budget.as_secs()), drawn_on);
        bar.set_style(spinner());
        bar.enable_steady_tick(Duration::from_millis(120));
        stop.draws(&bar);
        let cells = study
            .cells
            .iter()
            .map(|cell| Cell {
                name: cell.name.clone(),
                ..Cell::default()
            })
            .collect();
        Self {
            bar,
            verbosity,
            began: Instant::now(),
            budget,
            goal: study.precision,
            cells,
            last_line: None,
            last_stage: String::new(),
            target: target.cloned(),
            stop,
        }
    }

    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn line(&self, text: &str) {
        let text = &harmless(text);
        match self.verbosity {
            Verbosity::Quiet => {}
            // Of steps that take a moment one wants to know which they were.
            Verbosity::Verbose => say(format_args!(
                "{:8.1} s  {text}",
                self.began.elapsed().as_secs_f64()
            )),
            Verbosity::Normal if self.bar.is_hidden() => say(text),
            Verbosity::Normal => self.bar.println(text),
        }
    }
}

impl Progress for Reporter {
    fn folder(&mut self, path: &Path) {
        if self.verbosity == Verbosity::Verbose {
            self.line(&format!("Run folder: {}", path.display()));
        }
        self.stop.leaves(|left| left.folder = Some(path.to_owned()));
    }

    fn stage(&mut self, stage: &Stage) {
        if let (Stage::Proving(_) | Stage::Loading { .. }, Some(target)) = (stage, &self.target) {
            self.stop.leaves(|left| left.made_on = Some(target.clone()));
        }
        let text = match stage {
            Stage::Settling => {
                self.within_a_block("waiting until the servers have written all they had to");
                return;
            }
            Stage::Measuring { cell, arm } => {
                self.within_a_block(&format!("{arm} in {cell}"));
                return;
            }
            Stage::LeavingOut(LeftOut { arm, reason }) => {
                self.line(&format!("Leaving out {arm}: {reason}"));
                return;
            }
            Stage::Lengthening { cell, slice, reason } => {
                let slice_s = slice.as_secs_f64();
                self.line(&format!("{cell}: slices take {slice_s} s from now on; {reason}"));
                return;
            }
            Stage::StartingServer(which) => format!("Starting a private server: {which}"),
            Stage::SeekingResolution => {
                "Finding out how far the counter of the server's CPU lags behind, which may take a few minutes"
                    .to_owned()
            }
            Stage::Connecting(target) => format!("Connecting to {target}"),
            Stage::Loading { rows, of } if *rows > 0 && !self.bar.is_hidden() => {
                format!("Loading the data set: {rows} of {of} rows")
            }
            Stage::Loading { of, .. } => format!("Loading the data set: {of} rows"),
            Stage::Restoring { of: 0, .. } => {
                "Checking tables that have doubled, before they are loaded anew".to_owned()
            }
            Stage::Restoring { rows, of } if *rows > 0 && !self.bar.is_hidden() => {
                format!("Loading the tables anew, which have doubled: {rows} of {of} rows")
            }
            Stage::Restoring { of, .. } => format!("Loading the tables anew, which have doubled: {of} rows"),
            Stage::Checking => "Checking that the tables are consistent".to_owned(),
            Stage::Proving(arm) => format!("Proving that {arm} is what it says"),
            Stage::Opening => {
                format!(
                    "Opening connections, then measuring for at most {} s",
                    self.budget.as_secs()
                )
            }
            Stage::Waiting(reason) => format!("Waiting until this has passed: {reason}"),
            Stage::Evaluating => "Evaluating".to_owned(),
            Stage::CleaningUp => "Removing what was made".to_owned(),
        };
        let text = harmless(&text);
        if self.bar.is_hidden() && text != self.last_stage {
            self.line(&text);
        }
        self.bar.set_style(spinner());
        self.bar.set_message(text.clone());
        self.last_stage = text;
    }

    fn earlier(&mut self, headline: &Headline) {
        self.note(headline);
    }

    fn block(&mut self, headline: &Headline) {
        self.note(headline);
        let (seconds, left) = (headline.elapsed.as_secs(), headline.left.as_secs());
        if !self.bar.is_hidden() {
            self.bar.set_style(measuring());
            self.bar.set_position(seconds);
            self.bar
                .set_message(format!("at most {left} s more\n{}", self.table()));
        } else if self.verbosity == Verbosity::Verbose {
            let cell = self.cells.iter().find(|cell| cell.name == headline.cell);
            let words = cell.map_or(String::new(), |cell| cell.in_words(self.goal));
            let looked = match headline.looked_into {
                true => "; this block was profiled, and is not in the costs",
                false => "",
            };
            self.line(&format!("{words}{looked}; at most {left} s more"));
        } else if self.last_line.is_none_or(|last| last.elapsed() >= LINE_EVERY) {
            self.last_line = Some(Instant::now());
            let cells: Vec<String> = self.cells.iter().map(|cell| cell.in_words(self.goal)).collect();
            self.line(&format!(
                "measured {seconds} s, at most {left} s more: {}",
                cells.join("; ")
            ));
        }
    }

    fn void(&mut self, cell: &str, arm: &str, reason: &str) {
        self.line(&format!(
            "void: a slice of {arm} in {cell} does not count: {reason}"
        ));
    }
}

impl Reporter {
    fn note(&mut self, headline: &Headline) {
        if let Some(cell) = self.cells.iter_mut().find(|cell| cell.name == headline.cell) {
            cell.blocks = headline.blocks;
            cell.cpu = headline.cpu.0;
            cell.throughput = headline.throughput.0;
        }
    }

    /// What happens between two lines; too often for plain ones.
    fn within_a_block(&self, what: &str) {
        if !self.bar.is_hidden() {
            self.bar.set_style(measuring());
            self.bar
                .set_message(format!("{}\n{}", harmless(what), self.table()));
        } else if self.verbosity == Verbosity::Verbose {
            self.line(what);
        }
    }

    /// How narrow the intervals of every cell are, and how narrow they should become; fits 60 columns.
    fn table(&self) -> String {
        let row = |name: &str, cpu: &str, throughput: &str, blocks: &str| {
            format!("  {name:18}{cpu:>8}{throughput:>12}{blocks:>8}")
        };
        let cells = self.cells.iter().map(|cell| {
            row(
                &cell.name,
                &half_width(cell.cpu),
                &half_width(cell.throughput),
                &cell.blocks.to_string(),
            )
        });
        let rows = std::iter::once(row("", "CPU", "throughput", "blocks"))
            .chain(cells)
            .chain([row(
                "goal",
                &half_width(Some(self.goal.cpu)),
                &half_width(Some(self.goal.throughput)),
                "",
            )]);
        rows.collect::<Vec<_>>().join("\n")
    }
}

impl Cell {
    /// `connect, 3 blocks: CPU ±2.4 % (goal ±1.0 %), throughput ±7.1 % (goal ±3.0 %)`
    fn in_words(&self, goal: Precision) -> String {
        let width = |metric: &str, reached: Option<f64>, goal: f64| {
            let goal = half_width(Some(goal));
            let known = reached.filter(|reached| *reached < UNKNOWN);
            known.map(|reached| format!("{metric} {} (goal {goal})", half_width(Some(reached))))
        };
        let blocks = match self.blocks {
            1 => "1 block".to_owned(),
            n => format!("{n} blocks"),
        };
        let parts: Vec<String> = [
            width("CPU", self.cpu, goal.cpu),
            width("throughput", self.throughput, goal.throughput),
        ]
        .into_iter()
        .flatten()
        .collect();
        match parts.is_empty() {
            true => format!("{}, {blocks}", self.name),
            false => format!("{}, {blocks}: {}", self.name, parts.join(", ")),
        }
    }
}

/// A half-width of ten times the value and more only says that nothing is known yet.
const UNKNOWN: f64 = 10.0;

/// A half-width as its reader wants it.
fn half_width(fraction: Option<f64>) -> String {
    match fraction {
        Some(fraction) if fraction < UNKNOWN => format!("±{:.1} %", fraction * 100.0),
        _ => "–".to_owned(),
    }
}

/// A bar on standard error, where somebody looks on; of this length, if that is known.
pub(crate) fn bar(length: Option<u64>, template: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(length, ProgressDrawTarget::stderr());
    bar.set_style(style(template));
    bar
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the template is a constant that is valid")
}

fn spinner() -> ProgressStyle {
    style("{spinner} {msg}")
}

fn measuring() -> ProgressStyle {
    style("Measuring [{bar:20}] {pos} s, {msg}").progress_chars("=> ")
}

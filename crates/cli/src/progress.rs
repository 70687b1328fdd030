//! Progress on standard error: a bar on a terminal, plain lines elsewhere.

use std::path::Path;
use std::time::{Duration, Instant};

use ciphertax_model::{Precision, Study};
use ciphertax_records::LeftOut;
use ciphertax_runner::{Headline, Progress, Stage};
use ciphertax_supervise::say;
use ciphertax_wire::Target;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::signals::Stop;

/// How often plain lines say how measuring goes.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Tells the user what happens.
pub(crate) struct Reporter {
    bar: ProgressBar,
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
    pub(crate) fn start(study: &Study, target: Option<&Target>, stop: Stop) -> Self {
        let budget = Duration::from_secs_f64(study.time_s);
        let bar = ProgressBar::with_draw_target(Some(budget.as_secs()), ProgressDrawTarget::stderr());
        bar.set_style(spinner());
        bar.enable_steady_tick(Duration::from_millis(120));
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
        if self.bar.is_hidden() {
            say(text);
        } else {
            self.bar.println(text);
        }
    }
}

impl Progress for Reporter {
    fn folder(&mut self, path: &Path) {
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
            Stage::StartingServer(which) => format!("Starting a private server: {which}"),
            Stage::Connecting(target) => format!("Connecting to {target}"),
            Stage::Loading { rows, of } if *rows > 0 && !self.bar.is_hidden() => {
                format!("Loading the data set: {rows} of {of} rows")
            }
            Stage::Loading { of, .. } => format!("Loading the data set: {of} rows"),
            Stage::Proving(arm) => format!("Proving that {arm} is what it says"),
            Stage::Opening => {
                format!(
                    "Opening connections, then measuring for at most {} s",
                    self.budget.as_secs()
                )
            }
            Stage::Waiting(reason) => format!("Waiting until the machine is quiet again: {reason}"),
            Stage::Evaluating => "Evaluating".to_owned(),
            Stage::CleaningUp => "Removing what was made".to_owned(),
        };
        if self.bar.is_hidden() && text != self.last_stage {
            say(&text);
        }
        self.bar.set_style(spinner());
        self.bar.set_message(text.clone());
        self.last_stage = text;
    }

    fn block(&mut self, headline: &Headline) {
        if let Some(cell) = self.cells.iter_mut().find(|cell| cell.name == headline.cell) {
            cell.blocks = headline.blocks;
            cell.cpu = headline.cpu.0;
            cell.throughput = headline.throughput.0;
        }
        let (seconds, left) = (headline.elapsed.as_secs(), headline.left.as_secs());
        if !self.bar.is_hidden() {
            self.bar.set_style(measuring());
            self.bar.set_position(seconds);
            self.bar
                .set_message(format!("at most {left} s more\n{}", self.table()));
        } else if self.last_line.is_none_or(|last| last.elapsed() >= LINE_EVERY) {
            self.last_line = Some(Instant::now());
            let cells: Vec<String> = self.cells.iter().map(|cell| cell.in_words(self.goal)).collect();
            say(format_args!(
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
    /// What happens between two lines; too often for plain ones.
    fn within_a_block(&self, what: &str) {
        if !self.bar.is_hidden() {
            self.bar.set_style(measuring());
            self.bar.set_message(format!("{what}\n{}", self.table()));
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
    /// `connect CPU ±2.4 % (goal ±1.0 %), throughput ±7.1 % (goal ±3.0 %), 3 blocks`
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
            Some(blocks),
        ]
        .into_iter()
        .flatten()
        .collect();
        format!("{} {}", self.name, parts.join(", "))
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

fn spinner() -> ProgressStyle {
    ProgressStyle::with_template("{spinner} {msg}").expect("the template is a constant that is valid")
}

fn measuring() -> ProgressStyle {
    ProgressStyle::with_template("Measuring [{bar:20}] {pos} s, {msg}")
        .expect("the template is a constant that is valid")
        .progress_chars("=> ")
}

//! Progress on standard error: a bar on a terminal, plain lines elsewhere.

use std::time::{Duration, Instant};

use ciphertax_model::Study;
use ciphertax_runner::{Headline, Progress, Stage};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How often plain lines say how measuring goes.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Tells the user what happens.
pub(crate) struct Reporter {
    bar: ProgressBar,
    budget: Duration,
    cells: Vec<Cell>,
    last_line: Option<Instant>,
    last_stage: String,
}

struct Cell {
    name: String,
    reached: String,
}

impl Reporter {
    pub(crate) fn start(study: &Study) -> Self {
        let budget = Duration::from_secs_f64(study.time_s);
        let bar = ProgressBar::with_draw_target(Some(budget.as_secs()), ProgressDrawTarget::stderr());
        bar.set_style(spinner());
        bar.enable_steady_tick(Duration::from_millis(120));
        let cells = study
            .cells
            .iter()
            .map(|cell| Cell {
                name: cell.name.clone(),
                reached: "–".into(),
            })
            .collect();
        Self {
            bar,
            budget,
            cells,
            last_line: None,
            last_stage: String::new(),
        }
    }

    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn line(&self, text: &str) {
        if self.bar.is_hidden() {
            eprintln!("{text}");
        } else {
            self.bar.println(text);
        }
    }
}

impl Progress for Reporter {
    fn stage(&mut self, stage: &Stage) {
        let text = match stage {
            Stage::StartingServer => "Starting a private MariaDB".to_owned(),
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
            Stage::Evaluating => "Evaluating".to_owned(),
            Stage::CleaningUp => "Removing what was made".to_owned(),
        };
        if self.bar.is_hidden() && text != self.last_stage {
            eprintln!("{text}");
        }
        self.bar.set_style(spinner());
        self.bar.set_message(text.clone());
        self.last_stage = text;
    }

    fn block(&mut self, headline: &Headline) {
        if let Some(cell) = self.cells.iter_mut().find(|cell| cell.name == headline.cell) {
            cell.reached = reached(headline);
        }
        let seconds = headline.elapsed.as_secs();
        if self.bar.is_hidden() {
            let due = self.last_line.is_none_or(|last| last.elapsed() >= LINE_EVERY);
            if due {
                self.last_line = Some(Instant::now());
                let left = headline.left.as_secs();
                let cells = self
                    .cells
                    .iter()
                    .map(|cell| format!("{} {}", cell.name, cell.reached));
                eprintln!(
                    "measured {seconds} s, at most {left} s more: {}",
                    cells.collect::<Vec<_>>().join("; ")
                );
            }
            return;
        }
        self.bar.set_style(measuring());
        self.bar.set_position(seconds);
        let cells: Vec<String> = self
            .cells
            .iter()
            .map(|cell| format!("\n  {:18} {}", cell.name, cell.reached))
            .collect();
        self.bar.set_message(format!(
            "at most {} s more{}",
            headline.left.as_secs(),
            cells.concat()
        ));
    }

    fn void(&mut self, cell: &str, arm: &str, reason: &str) {
        self.line(&format!(
            "void: a slice of {arm} in {cell} does not count: {reason}"
        ));
    }
}

/// How narrow the intervals of a cell are, and how narrow they should become.
fn reached(headline: &Headline) -> String {
    let width = |name: &str, (reached, wanted): (Option<f64>, f64)| {
        reached.map(|half_width| {
            format!(
                "{name} ±{:.1} % (goal {:.0} %)",
                half_width * 100.0,
                wanted * 100.0
            )
        })
    };
    let widths: Vec<String> = [
        width("CPU", headline.cpu),
        width("throughput", headline.throughput),
    ]
    .into_iter()
    .flatten()
    .collect();
    let widths = if widths.is_empty() {
        "first block".to_owned()
    } else {
        widths.join(", ")
    };
    format!("{widths}, {} blocks", headline.blocks)
}

fn spinner() -> ProgressStyle {
    ProgressStyle::with_template("{spinner} {msg}").expect("the template is a constant that is valid")
}

fn measuring() -> ProgressStyle {
    ProgressStyle::with_template("Measuring [{bar:40}] {pos} s, {msg}")
        .expect("the template is a constant that is valid")
        .progress_chars("=> ")
}

//! What `report` takes.

use std::path::PathBuf;

use clap::Args;

use super::output::OutputArguments;

const REPORT_HELP: &str = "\
Figures and verdicts are made anew from what was measured.

Examples:
  ciphertax report ciphertax-quick-20260102-030405
  ciphertax report RUN --quiet
  ciphertax report RUN --export estimates.csv --export samples.csv
  ciphertax report RUN --export run.md --export run.prom
  ciphertax report RUN --json | jq '.estimates[] | select(.metric == \"server_cpu_per_op\") | [.cell, .arm, .change]'

Exit status: 0 shown; 2 there is nothing to show, something cannot be written, or wrong use, the message says why.";

#[derive(Debug, Args)]
#[command(after_long_help = REPORT_HELP)]
pub(crate) struct ReportArguments {
    /// The folder a run has left, or its report.html or run.json
    pub(crate) run: PathBuf,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
    /// Rewrite also a report that another release of ciphertax has made, without asking
    #[arg(long)]
    pub(crate) force: bool,
    /// As root, write into the run folder of another account too
    #[arg(long)]
    pub(crate) trust_folder: bool,
}

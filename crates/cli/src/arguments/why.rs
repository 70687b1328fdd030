//! What `why` takes.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::selection::{Pattern, pattern};

const WHY_HELP: &str = "\
Some blocks of a run are looked into: which code uses the CPU time of both sides, and what the server's threads wait for. \
This shows what follows for each arm: CPU time by category, beside the baseline's, with 95 % intervals; the time of an operation \
by what its session did or waited for; and what bounds the speed. The report has the same, with flame graphs.

Formats:
  text        tables
  json        the same, as `why` in run.json
  csv         the categories, one a line
  collapsed   stacks with their CPU time in microseconds, for flamegraph.pl, inferno and https://www.speedscope.app

Examples:
  ciphertax why ciphertax-quick-20260102-030405
  ciphertax why RUN --cell 'oltp_*' --arm tls1.3
  ciphertax why RUN --arm plain --format collapsed -o plain.txt
  ciphertax why RUN --arm tls1.3 --format collapsed -o tls.txt
  difffolded.pl plain.txt tls.txt | flamegraph.pl > difference.svg

A run without a profile says why it has none. An ordinary user gets one of all CPU time after
  sudo setcap cap_perfmon,cap_syslog+ep \"$(command -v ciphertax)\"

Exit status: 0 shown; 2 there is nothing to show, or wrong use, the message says why.";

#[derive(Debug, Args)]
#[command(after_long_help = WHY_HELP)]
pub(crate) struct WhyArguments {
    /// The folder a run has left, or its report.html or run.json
    pub(crate) run: PathBuf,
    /// These cells alone; * and ? stand for any text and any letter; may be given again
    #[arg(long, value_name = "PATTERN", value_parser = pattern)]
    pub(crate) cell: Vec<Pattern>,
    /// These arms alone; as for --cell
    #[arg(long, value_name = "PATTERN", value_parser = pattern)]
    pub(crate) arm: Vec<Pattern>,
    /// What to show it as
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: WhyFormat,
    /// Write into this file, and nothing to standard output
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// What `why` shows a run as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum WhyFormat {
    /// Tables
    #[default]
    Text,
    /// As in run.json
    Json,
    /// The categories, one a line
    Csv,
    /// Stacks for flamegraph.pl, inferno and speedscope
    Collapsed,
}

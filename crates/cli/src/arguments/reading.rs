//! Arguments of commands that read runs: report, why, compare, gate.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::measuring::{OutputArguments, file_ending_in};
use crate::selection::{Pattern, pattern};

const REPORT_HELP: &str = "\
Figures and verdicts are computed again from the measurements.

Examples:
  ciphertax report ciphertax-quick-20260102-030405
  ciphertax report RUN --quiet
  ciphertax report RUN --export estimates.csv --export samples.csv
  ciphertax report RUN --export run.md --export run.prom
  ciphertax report RUN --json | jq '.estimates[] | select(.metric == \"server_cpu_per_op\") | [.cell, .arm, .change]'

Exit status: 0 shown; 2 nothing to show, something cannot be written, or wrong use (see the message).";

#[derive(Debug, Args)]
#[command(after_long_help = REPORT_HELP)]
pub(crate) struct ReportArguments {
    /// Run folder, or its report.html or run.json
    pub(crate) run: PathBuf,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
    /// Replace a report of another release of ciphertax without asking
    #[arg(long)]
    pub(crate) force: bool,
    /// As root, also write into another account's run folder
    #[arg(long)]
    pub(crate) trust_folder: bool,
}

const WHY_HELP: &str = "\
Explains the costs of a run in a few sentences, the dearest arm first: of which parts the CPU time consists, whether the cost shows \
in the speed, and what makes it cheaper. It rests on the blocks of the run that were profiled.

A part is named only if it is clearly beyond noise: an interval 1.5 times as wide as its 95 % interval excludes zero. All else is \
'other'. Shares add up to the cost.

Formats:
  text        sentences; with --full all that is beyond noise
  json        the same figures, as `why` in run.json
  csv         one line per category
  collapsed   stacks with their CPU time in microseconds, for flamegraph.pl, inferno and https://www.speedscope.app

Examples:
  ciphertax why ciphertax-quick-20260102-030405
  ciphertax why RUN --full --cell 'oltp_*' --arm tls1.3
  ciphertax why RUN --arm plain --format collapsed -o plain.txt
  ciphertax why RUN --arm tls1.3 --format collapsed -o tls.txt
  difffolded.pl plain.txt tls.txt | flamegraph.pl > difference.svg

Without a profile, the message says why there is none. To profile kernel and server as an ordinary user:
  sudo setcap cap_perfmon,cap_syslog+ep \"$(command -v ciphertax)\"

Exit status: 0 shown; 2 nothing to show, or wrong use (see the message).";

#[derive(Debug, Args)]
#[command(after_long_help = WHY_HELP)]
pub(crate) struct WhyArguments {
    /// Run folder, or its report.html or run.json
    pub(crate) run: PathBuf,
    /// Only these cells; * and ? stand for any text and any letter; repeatable
    #[arg(long, value_name = "PATTERN", value_parser = pattern)]
    pub(crate) cell: Vec<Pattern>,
    /// Only these arms; as for --cell
    #[arg(long, value_name = "PATTERN", value_parser = pattern)]
    pub(crate) arm: Vec<Pattern>,
    /// Also show categories of CPU time, what sessions wait for, and the evidence for the bottleneck
    #[arg(long)]
    pub(crate) full: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: WhyFormat,
    /// Write to this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// What `why` shows a run as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum WhyFormat {
    /// Sentences, with --full more
    #[default]
    Text,
    /// As in run.json
    Json,
    /// One line per category
    Csv,
    /// Stacks for flamegraph.pl, inferno and speedscope
    Collapsed,
}

const COMPARE_HELP: &str = "\
Compares ratios of ratios: how much more an arm takes in the later run than in the first, each against the baseline of its own run. \
What makes a whole run faster or slower, such as another machine, affects both arms and cancels. First comes what differs besides \
the cost: versions, ciphers, the machine, settings.

Runs are compared only where they asked the same; another load, other tables, other settings of an arm, or another database are named \
instead. MySQL-compatible servers count as one database. If nothing is left, the comparison is refused.

Verdicts: dearer, cheaper (in percent and in microseconds); the same: the whole interval lies within the margin, which is stronger than \
'no change found'; not decided. All are corrected for the number of costs and for run-to-run variation.

Examples:
  ciphertax compare before/ after/
  ciphertax compare 10.11/ 11.4/ 11.8/                   each with the first
  ciphertax compare before/ after/ --export change.md    for a pull request; .html with charts, .json
  ciphertax compare before/ after/ --margin 2%           changes below 2 % are the same

Exit status: 0 compared, whatever the verdict; 2 nothing can be compared, or wrong use. To fail when costs rise, use `ciphertax gate \
RUN --baseline EARLIER`.";

#[derive(Debug, Args)]
#[command(after_long_help = COMPARE_HELP)]
pub(crate) struct CompareArguments {
    /// Run folders, or their report.html or run.json; all others are compared with the first
    #[arg(required = true, num_args = 2.., value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,
    /// Smaller changes are the same [default: what matters in both runs, and what runs of this length can tell]
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub(crate) margin: Option<f64>,
    /// Print only JSON on standard output; `ciphertax schema comparison` describes it
    #[arg(long)]
    pub(crate) json: bool,
    /// Also write it to this file: .md for a pull request, .html with charts, or .json; repeatable
    #[arg(long, value_name = "FILE", value_parser = file_ending_in(&["md", "html", "json"]))]
    pub(crate) export: Vec<PathBuf>,
}

const GATE_HELP: &str = "\
Checks the costs of a run against limits. A budget is written 'ARM: METRIC <= PERCENT', relative to the run's baseline; 'CELL/ARM: …' for \
one cell, '*' for all arms. Budgets of the study ([[budget]]) count too. With --baseline, costs may not have risen since an earlier run \
by more than the margin: CPU time of both sides and speed, of every arm and cell that both runs have.

  within        the whole 95 % interval is below the limit, and its middle is further from it than the noise floor
  over          the whole interval is above the limit, as far, and significant after correcting for all limits
  not decided   anything else; with the precision that would decide it, or how long runs must be

Repeated runs differ by more than their intervals, because the speed of a machine and of its kernel drifts. Against an earlier run the \
limit allows for that variation, as recorded, or as several --baseline runs show it.

A cost exactly at its limit is called over in at most 5 % of all gates, however many limits there are, and within in at most 5 %.

Examples:
  ciphertax gate RUN --budget 'tls1.3: server_cpu_per_op <= 35%'
  ciphertax gate RUN --budget 'connect/tls1.3: server_cpu_per_op <= 1300%' --budget '*: throughput >= -15%'
  ciphertax gate RUN --baseline monday/ --baseline tuesday/ --baseline wednesday/ --margin 10%
  ciphertax gate RUN --export gate.xml                   budgets of the study; JUnit, for a CI system

Metrics: server_cpu_per_op, client_cpu_per_op, throughput (its limit is written >= -10%), latency_mean, latency_p50, latency_p95, \
latency_p99, bytes_per_op, connect_mean, time_to_first_query_mean; docs/study-files.md has all.

Exit status: 0 within; 1 over; 2 wrong use, or no limit; 3 not decided; 4 within so far, but the run or the earlier one was cut \
off.";

#[derive(Debug, Args)]
#[command(after_long_help = GATE_HELP)]
pub(crate) struct GateArguments {
    /// Run folder, or its report.html or run.json
    pub(crate) run: PathBuf,
    /// What an arm may cost, such as 'tls1.3: server_cpu_per_op <= 35%'; repeatable
    #[arg(long, value_name = "BUDGET")]
    pub(crate) budget: Vec<String>,
    /// Earlier run whose costs this one may not exceed by more than the margin; repeatable: several show the run-to-run variation
    #[arg(long, value_name = "RUN")]
    pub(crate) baseline: Vec<PathBuf>,
    /// Allowed increase over the earlier run; for throughput 5% means that operations may take 5% longer (-4.8%) [default: what
    /// matters in both runs, and what runs of this length can tell]
    #[arg(long, value_name = "PERCENT", value_parser = percent, requires = "baseline")]
    pub(crate) margin: Option<f64>,
    /// Print only JSON on standard output; `ciphertax schema gate` describes it
    #[arg(long)]
    pub(crate) json: bool,
    /// Also write it to this file: .xml (JUnit) or .json; repeatable
    #[arg(long, value_name = "FILE", value_parser = file_ending_in(&["xml", "json"]))]
    pub(crate) export: Vec<PathBuf>,
}

/// Margins that can be meant, as fractions.
const MARGIN: std::ops::RangeInclusive<f64> = 0.001..=1.0;

/// `2%`, as a fraction.
fn percent(text: &str) -> Result<f64, String> {
    text.trim()
        .strip_suffix('%')
        .and_then(|percent| percent.trim().parse::<f64>().ok())
        .map(|percent| percent / 100.0)
        .filter(|fraction| MARGIN.contains(fraction))
        .ok_or_else(|| "give a percentage between 0.1% and 100%, such as 2%".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_margin_is_a_percentage() {
        assert_eq!(percent("2%"), Ok(0.02));
        assert_eq!(percent(" 0.5 % "), Ok(0.005));
        for text in ["2", "0.02", "0%", "-2%", "nan%", "inf%", "101%", "%", ""] {
            assert!(percent(text).is_err(), "{text}");
        }
    }
}

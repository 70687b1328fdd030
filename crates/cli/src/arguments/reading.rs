//! Arguments of commands that read runs: report, why, compare, gate.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::measuring::{OutputArguments, file_ending_in};
use crate::selection::{Pattern, pattern};

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
    /// The folder a run has left, or its report.html or run.json
    pub(crate) run: PathBuf,
    /// These cells alone; * and ? stand for any text and any letter; may be given again
    #[arg(long, value_name = "PATTERN", value_parser = pattern)]
    pub(crate) cell: Vec<Pattern>,
    /// These arms alone; as for --cell
    #[arg(long, value_name = "PATTERN", value_parser = pattern)]
    pub(crate) arm: Vec<Pattern>,
    /// Also show categories of CPU time, what sessions wait for, and the evidence for the bottleneck
    #[arg(long)]
    pub(crate) full: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: WhyFormat,
    /// Write into this file, and nothing to standard output
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
    /// The categories, one a line
    Csv,
    /// Stacks for flamegraph.pl, inferno and speedscope
    Collapsed,
}

const COMPARE_HELP: &str = "\
Compares ratios of ratios: how much more an arm takes in the later run than in the first, each against the baseline arm of its own \
run. What makes a whole run faster or slower, another machine among it, is in both arms and cancels. First comes what differs \
besides the cost: versions, ciphers, the machine, settings.

What was not asked alike (another load, other tables, an arm with other settings) is not compared, and named, and neither is another \
database; MySQL, MariaDB and what speaks their protocol are one. Where nothing is left, the comparison is refused.

Verdicts: dearer, cheaper; the same, if the whole interval lies within the margin, which is more than that no change was found; \
cannot tell. All are corrected for how many costs are compared, and for how far runs of the same thing are apart. Dearer and cheaper \
is what is so in percent and in microseconds.

Examples:
  ciphertax compare before/ after/
  ciphertax compare 10.11/ 11.4/ 11.8/                   each with the first
  ciphertax compare before/ after/ --export change.md    for a pull request; .html with charts, .json
  ciphertax compare before/ after/ --margin 2%           what is less than 2 % is the same

Exit status: 0 compared, whatever the verdict; 2 nothing can be compared, or wrong use. To fail on a rise, use `ciphertax gate RUN \
--baseline EARLIER`.";

#[derive(Debug, Args)]
#[command(after_long_help = COMPARE_HELP)]
pub(crate) struct CompareArguments {
    /// The folders that runs have left, or their report.html or run.json; all others are compared with the first
    #[arg(required = true, num_args = 2.., value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,
    /// What differs by less, either way, is the same [default: what matters in both runs, and what runs as long as these can tell]
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub(crate) margin: Option<f64>,
    /// Print JSON to standard output, and nothing else there; ciphertax schema comparison describes it
    #[arg(long)]
    pub(crate) json: bool,
    /// Write it into a file too, as its ending says: .md for a pull request, .html with charts, .json; may be given again
    #[arg(long, value_name = "FILE", value_parser = file_ending_in(&["md", "html", "json"]))]
    pub(crate) export: Vec<PathBuf>,
}

const GATE_HELP: &str = "\
Holds the costs of a run to what they may be. A budget is written 'ARM: METRIC <= PERCENT', against the baseline arm of the run; \
'CELL/ARM: …' for one cell, '*' for all arms. Those of the study ([[budget]]) hold too. With --baseline the costs may not have risen \
since an earlier run by more than the margin: CPU time of both sides and speed, of every arm in every cell that both runs have.

  within        the whole 95 % interval lies below the limit, and its middle is further from it than the noise floor of the run
  over          the whole interval lies above it, as far, and significantly so among all limits
  cannot tell   anything else; it says which precision would decide it, or how long runs must be

Runs of the same thing differ from each other by more than their intervals hold: how fast a machine computes and how fast its kernel \
works drift apart. So against an earlier run a limit is held with that drift, as it was recorded, or as several runs given as \
--baseline show it.

A cost that is at its limit is called over in at most 5 % of all gates, however many limits there are, and within in at most 5 %.

Examples:
  ciphertax gate RUN --budget 'tls1.3: server_cpu_per_op <= 35%'
  ciphertax gate RUN --budget 'connect/tls1.3: server_cpu_per_op <= 1300%' --budget '*: throughput >= -15%'
  ciphertax gate RUN --baseline monday/ --baseline tuesday/ --baseline wednesday/ --margin 10%
  ciphertax gate RUN --export gate.xml                   budgets of the study; JUnit, for a CI system

Metrics: server_cpu_per_op, client_cpu_per_op, throughput (its limit is written >= -10%), latency_mean, latency_p50, latency_p95, \
latency_p99, bytes_per_op, connect_mean, time_to_first_query_mean; docs/study-files.md has all.

Exit status: 0 within; 1 over; 2 wrong use, or there is nothing to hold the run to; 3 cannot tell; 4 within as far \
as it was measured: the run or the earlier one was cut off.";

#[derive(Debug, Args)]
#[command(after_long_help = GATE_HELP)]
pub(crate) struct GateArguments {
    /// The folder a run has left, or its report.html or run.json
    pub(crate) run: PathBuf,
    /// What an arm may cost, such as 'tls1.3: server_cpu_per_op <= 35%'; may be given again
    #[arg(long, value_name = "BUDGET")]
    pub(crate) budget: Vec<String>,
    /// An earlier run whose costs this one may not exceed by more than the margin; may be given again, for runs of the same thing,
    /// which tell how much that differs from run to run
    #[arg(long, value_name = "RUN")]
    pub(crate) baseline: Vec<PathBuf>,
    /// How much more than in the earlier run is allowed; of speed so much less that an operation takes so much longer: 5% allows a
    /// throughput of 1/1.05, -4.8% [default: what matters in both runs, and what runs as long as these can hold]
    #[arg(long, value_name = "PERCENT", value_parser = percent, requires = "baseline")]
    pub(crate) margin: Option<f64>,
    /// Print JSON to standard output, and nothing else there; ciphertax schema gate describes it
    #[arg(long)]
    pub(crate) json: bool,
    /// Write it into a file too, as its ending says: .xml (JUnit) or .json; may be given again
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

//! Arguments of commands that measure, also those for the CPU time of a server on another machine, and what their values may be.

use std::path::PathBuf;

use ciphertax_model::{
    AgentAddress, CertificateKind, CounterCommand, CpuCounter, Precision, Profiling, Study,
};
use clap::Args;
use clap::builder::{PathBufValueParser, PossibleValuesParser, TypedValueParser};
use jiff::SignedDuration;

use crate::arguments::option;
use crate::export::{self, Export};
use crate::progress::Verbosity;
use crate::selection::{Pattern, pattern};

/// How every command that measures ends.
macro_rules! exit_status {
    () => {
        "Exit status: 0 measured; 2 nothing measured, or wrong use; 3 measured, but too little to say anything; 4 ended early or \
         not cleaned up, measurements are kept; 130 stopped by Ctrl-C, 143 by SIGTERM, 129 by SIGHUP. The message says why."
    };
}
pub(super) use exit_status;

const QUICK_HELP: &str = concat!(
    "\
Without a target, ciphertax starts a private MariaDB, measures it, and removes it. With a target, it measures your own server: it \
creates a schema named ciphertax, works there, and removes it; it touches nothing else.

The same load runs in plaintext, in plaintext again (to measure noise), over TLS 1.3 and over TLS 1.2, in short slices in random order, \
so that drift affects all alike. ciphertax verifies that every connection is what it should be.

Examples:
  ciphertax quick
  ciphertax quick --certificate rsa-2048
  CIPHERTAX_PASSWORD=… ciphertax quick mysql://app@db.example:3306/
  ciphertax quick 'mysql://app@db.example/?ssl-ca=/etc/mysql/ca.pem' --json > run.json
  ciphertax quick --quiet                              only the verdict
  ciphertax quick --export estimates.csv --export report.md
  ciphertax quick --dry-run                            what it would start, and what is missing
  ciphertax quick 'postgres://app@db.example/shop?sslmode=verify-full&sslrootcert=/etc/ssl/ca.pem'
  ciphertax quick 'mongodb://app@db.example/?replicaSet=rs0'     reads and connections
  ciphertax quick mysql://app@db.example/ --server-agent ssh://mysql@db.example     the server's CPU too

",
    exit_status!()
);

#[derive(Debug, Args)]
#[command(after_long_help = QUICK_HELP)]
pub(crate) struct QuickArguments {
    #[command(flatten)]
    pub(crate) measuring: MeasuringArguments,
    /// Key of the private server's certificate [default: ecdsa-p256]
    #[arg(long, value_name = "KIND", value_parser = certificate_kind(), conflicts_with = "target")]
    pub(crate) certificate: Option<CertificateKind>,
}

/// What all commands take that measure.
#[derive(Debug, Args)]
pub(crate) struct MeasuringArguments {
    /// Your own server: mysql://user[:password]@host[:port]/[?ssl-ca=FILE&ssl-mode=VERIFY_CA],
    /// mysql://user[:password]@localhost/?socket=FILE,
    /// postgres://user[:password]@host[:port]/[database][?sslmode=verify-full&sslrootcert=FILE], or
    /// mongodb://[user[:password]@]host[:port][,host…]/[?tlsCAFile=FILE&replicaSet=NAME]
    ///
    /// Keep the password out of the process list: leave it out of the URL and give it in the environment variable
    /// CIPHERTAX_PASSWORD. For PostgreSQL PGPASSWORD and the password file (PGPASSFILE or ~/.pgpass) are read too, and no
    /// other variable of libpq's: the URL says where the server is. The password of a client's encrypted key is in
    /// CIPHERTAX_KEY_PASSWORD, or asked for.
    pub(crate) target: Option<String>,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
    /// Print every step and block on its own line, with the time since the start
    #[arg(long, short, conflicts_with = "quiet")]
    pub(crate) verbose: bool,
    /// Print what would start, how long it takes, and what is missing; starts nothing, contacts no server
    ///
    /// --json prints a document that `ciphertax schema dry-run` describes. Exit status: 0, or 2 if something is missing.
    #[arg(long, conflicts_with_all = ["quiet", "export"])]
    pub(crate) dry_run: bool,
    /// Measure only these cells; * and ? stand for any text and any letter; repeatable
    #[arg(long, value_name = "PATTERN", value_parser = pattern)]
    pub(crate) cell: Vec<Pattern>,
    /// Measure only these arms (variants), and always the baseline; as for --cell
    #[arg(long, value_name = "PATTERN", value_parser = pattern)]
    pub(crate) arm: Vec<Pattern>,
    /// Do not test logins on your own server with a wrong password
    ///
    /// To prove that passwords are checked, each login method gets one wrong password, then the right one. A policy that locks
    /// accounts, or log monitoring, may take that for an attack. With this option the proofs lack *authentication*.
    #[arg(long, requires = "target")]
    pub(crate) no_wrong_logins: bool,
    /// Work in this existing schema (on MongoDB: database), for an account that may not create one
    ///
    /// ciphertax writes and drops only tables that it creates. If a table of a name that it needs exists, it refuses the run.
    #[arg(long, value_name = "NAME", requires = "target")]
    pub(crate) schema: Option<String>,
    /// Folder of the run, which must not exist [default: ciphertax-STUDY-DATE-TIME]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,
    /// Longest time to measure, such as 90s, 2m or 1h; a plain number is seconds; stops earlier once precise [default: the study's]
    #[arg(long, value_name = "TIME", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) time: Option<f64>,
    /// Seed of the random order of slices, to repeat a run [default: random]
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// How much to profile (about one block in four), to explain the cost [default: the study's, mostly full]
    ///
    /// off: nothing. waits: what the server's threads wait for, read from /proc; needs a server on this machine and of this user, no
    /// privilege, and adds at most 2 % server CPU. full: also which code uses the CPU time of both sides, by about a thousand samples a
    /// second; adds up to 12 % server CPU in these blocks, and needs root or CAP_PERFMON and CAP_SYSLOG (`setcap
    /// cap_perfmon,cap_syslog+ep ciphertax`). With less privilege, the report says what is missing. Costs never include profiled
    /// blocks, and every report shows the overhead of profiling.
    #[arg(long, value_name = "DEPTH", value_parser = profiling())]
    pub(crate) profile: Option<Profiling>,
    /// Confirm each cell's bottleneck: remove it afterwards, half a minute per cell, and see whether the baseline is faster
    ///
    /// For a MySQL-compatible server that waits for its log: sync_binlog = 0 or innodb_flush_log_at_trx_commit = 0; for one without a
    /// free CPU: one CPU less. Settings are restored after every slice. The test is in the run's folder `confirm`, and the report
    /// says: confirmed, refuted, or not decided.
    #[arg(long)]
    pub(crate) confirm: bool,
    #[command(flatten)]
    pub(crate) server_cpu: ServerCpuArguments,
}

impl MeasuringArguments {
    /// How much is said while it is measured.
    pub(crate) fn verbosity(&self) -> Verbosity {
        match (self.output.quiet, self.verbose) {
            (true, _) => Verbosity::Quiet,
            (false, true) => Verbosity::Verbose,
            (false, false) => Verbosity::Normal,
        }
    }
}

/// What commands take that have a run to show.
#[derive(Debug, Default, Args)]
pub(crate) struct OutputArguments {
    /// Print only run.json on standard output; `ciphertax schema run` describes it
    #[arg(long)]
    pub(crate) json: bool,
    /// Also write the run to this file, in the format of its extension; repeatable
    ///
    /// .json: as run.json. .csv: one estimate per line; a name ending in samples.csv: one slice per line. .md: Markdown, for a pull
    /// request. .html: the report. .prom: OpenMetrics, for Prometheus. .collapsed or .folded: stacks with their CPU time, if blocks
    /// were profiled. An existing file is replaced.
    #[arg(long, value_name = "FILE", value_parser = export())]
    pub(crate) export: Vec<Export>,
    /// Print only the headline, and problems on standard error
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Print everything, not the answer alone: every cell, phases of connects, causes, noise, how to repeat the run
    #[arg(long, conflicts_with_all = ["json", "quiet"])]
    pub(crate) full: bool,
    /// Say also how many cores it takes at this rate, such as 5000/s
    #[arg(long, value_name = "RATE", value_parser = rate, conflicts_with_all = ["json", "quiet"])]
    pub(crate) at_rate: Option<f64>,
}

/// Names of files that end in one of these.
pub(crate) fn file_ending_in(endings: &'static [&'static str]) -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(move |path| export::file_ending_in(path, endings))
}

fn export() -> impl TypedValueParser<Value = Export> {
    PathBufValueParser::new().try_map(Export::new)
}

/// Operations per second.
fn rate(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix("/s").unwrap_or(text).replace(',', "");
    let rate: Option<f64> = number.parse().ok();
    let is_rate = |rate: &f64| (1.0..=1e9).contains(rate);
    rate.filter(is_rate).ok_or_else(|| {
        "a number of operations per second from 1 to 1,000,000,000 is expected, such as 5000/s".to_owned()
    })
}

/// The limits are the study's, said here in the words of the command line.
pub(super) fn seconds(text: &str) -> Result<f64, String> {
    let with_unit = || text.parse().ok().map(|time: SignedDuration| time.as_secs_f64());
    text.parse()
        .ok()
        .or_else(with_unit)
        .filter(|seconds| Study::TIME_S.contains(seconds))
        .ok_or_else(|| "give a time between 1 second and 24 hours: 90, 90s, 2m, 1h30m".to_owned())
}

/// The limits are the study's, said here in the words of the command line.
pub(super) fn fraction(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|fraction| Precision::HALF_WIDTH.contains(fraction))
        .ok_or_else(|| {
            let (least, most) = Precision::HALF_WIDTH.into_inner();
            format!("give a fraction between {least} and {most}: 0.01 is one percent")
        })
}

pub(super) fn certificate_kind() -> impl TypedValueParser<Value = CertificateKind> {
    PossibleValuesParser::new(CertificateKind::ALL.map(CertificateKind::name))
        .try_map(|name| name.parse::<CertificateKind>())
}

pub(super) fn profiling() -> impl TypedValueParser<Value = Profiling> {
    PossibleValuesParser::new(Profiling::ALL.map(Profiling::name)).try_map(|name| name.parse::<Profiling>())
}

/// What all commands that measure take to know the CPU time of a server on another machine.
#[derive(Debug, Args)]
pub(crate) struct ServerCpuArguments {
    /// Read your server's CPU on its own machine: ssh://user@host[:port][/path/of/ciphertax]
    ///
    /// The same release of ciphertax must be there, in the search path or at the given path. Your own ssh starts it, with your keys and
    /// settings, and it ends with the run; it opens no port and writes nothing. As the server's user, or with two capabilities
    /// (`setcap cap_sys_ptrace,cap_dac_read_search+ep ciphertax`), it needs no root. If it is lost, slices do not count until it is
    /// back.
    ///
    /// Example: ciphertax quick mysql://app@db.example/ --server-agent ssh://mysql@db.example
    #[arg(long, value_name = "URL", conflicts_with_all = ["server_cpu_command", "server_cpu_exporter"])]
    pub(crate) server_agent: Option<String>,
    /// Let the load generator that mpirun starts on this host read your server's CPU instead of making load
    ///
    /// The same as --server-agent rank://HOST. It reads like an agent that ssh starts, without ssh.
    ///
    /// Example: mpirun -np 5 --host c1,c2,c3,c4,db ciphertax-mpi quick mysql://app@db/ --agent-rank db
    #[arg(long, value_name = "HOST", conflicts_with_all = ["server_agent", "server_cpu_command", "server_cpu_exporter"])]
    pub(crate) agent_rank: Option<String>,
    /// A program that prints how many seconds of CPU time your server has used, if you cannot log in there
    ///
    /// It is split into words and run without a shell; for a shell write --server-cpu-command "sh -c '… | …'". Before measuring,
    /// ciphertax finds out how far the number lags, and makes slices at least twice as long.
    ///
    /// Its arguments are in no record and no report, but other users of this machine may see them while it runs: put a key into a file
    /// or an environment variable that the program reads.
    #[arg(long, value_name = "COMMAND", conflicts_with = "server_cpu_exporter")]
    pub(crate) server_cpu_command: Option<String>,
    /// Prometheus metrics with your server's CPU: http://host:9256/metrics#GROUP or http://host:9100/metrics
    ///
    /// The first is a process exporter, of which one group of processes counts; the second a node exporter, which counts the whole
    /// machine. Put a login for them into ~/.netrc.
    #[arg(long, value_name = "URL")]
    pub(crate) server_cpu_exporter: Option<String>,
}

impl ServerCpuArguments {
    /// The study with what is said here, and what it says itself where nothing is.
    pub(crate) fn apply(&self, study: &mut Study) -> Result<(), String> {
        let rank = self.agent_rank.clone().map(AgentAddress::Rank);
        let rank = rank.map(|address| address.to_string());
        if let Some(agent) = self.server_agent.clone().or(rank) {
            (study.agent, study.server_cpu) = (Some(agent), None);
        }
        let command = self.command()?;
        if command.is_some() || self.server_cpu_exporter.is_some() {
            study.agent = None;
            study.server_cpu = Some(CpuCounter {
                command: command.unwrap_or_default(),
                exporter: self.server_cpu_exporter.clone(),
                resolution_s: None,
            });
        }
        Ok(())
    }

    /// The words of the command that tells the CPU time.
    pub(crate) fn command(&self) -> Result<Option<CounterCommand>, String> {
        let Some(command) = &self.server_cpu_command else {
            return Ok(None);
        };
        let words = shlex::split(command).filter(|words| !words.is_empty());
        // It may hold a key, and so is not shown.
        let words = words.ok_or("--server-cpu-command is no command, or its quotes do not match")?;
        Ok(Some(CounterCommand::new(words)))
    }

    /// The words that say the same, but for what may hold a key.
    pub(crate) fn words(&self) -> impl Iterator<Item = String> {
        option("--server-agent", &self.server_agent)
            .chain(option("--agent-rank", &self.agent_rank))
            .chain(option("--server-cpu-command", self.command().ok().flatten()))
            .chain(option("--server-cpu-exporter", &self.server_cpu_exporter))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_a_unit_or_is_in_seconds() {
        for (text, expected) in [
            ("90", 90.0),
            ("2.5", 2.5),
            ("90s", 90.0),
            ("2m", 120.0),
            ("2 min", 120.0),
            ("1h", 3_600.0),
            ("1h30m", 5_400.0),
            ("24h", 86_400.0),
        ] {
            assert_eq!(seconds(text), Ok(expected), "{text}");
        }
        for text in ["0", "0s", "25h", "-2m", "2m ago", "soon", "2x", "inf", "nan", ""] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }
}

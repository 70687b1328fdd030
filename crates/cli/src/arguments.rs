//! What the command line takes.

use std::path::PathBuf;

use ciphertax_lab::catalogue::{self, CATALOGUE, Entry};
use ciphertax_model::{CertificateKind, Precision, Profiling, Study};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use jiff::SignedDuration;

/// What does a database security feature cost, who pays, why, and what should you do about it?
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100, arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Say in two minutes what TLS costs: no arguments needed
    Quick(QuickArguments),
    /// Measure a study: a built-in one or one of your own
    Run(RunArguments),
    /// Show the studies that are built in
    Studies(StudiesArguments),
    /// Make the report of a run again, also of one that was cut off
    Report(ReportArguments),
    /// Say where the CPU time of a run went and what bounded its speed; export its stacks
    Why(WhyArguments),
    /// Remove what a run that was killed has left on your own server
    Clean(CleanArguments),
    /// List the servers that ciphertax can get and start by itself, or install some
    Servers(ServersArguments),
    /// Remove a private server whose owner is gone; started by ciphertax itself
    #[command(hide = true)]
    Guard,
    /// Put a distance between client and server; started by ciphertax itself
    #[command(hide = true)]
    Link,
    /// Run a program of the user's own and leave nothing of it; started by ciphertax itself
    #[command(hide = true)]
    Supervise,
}

/// How every command that measures ends.
macro_rules! exit_status {
    () => {
        "Exit status: 0 measured; 2 nothing was measured, or wrong use; 3 measured, but nothing can be said; 4 ended early or \
         not cleaned up, what was measured is kept; 130 stopped by Ctrl-C, 143 by SIGTERM, 129 by SIGHUP. The message says \
         why."
    };
}

const QUICK_HELP: &str = concat!(
    "\
Without a target a private MariaDB is made, measured and removed again. With a target, your own server is measured: \
ciphertax works in a schema of its own, named ciphertax, which it makes and removes; it touches nothing else.

The same load runs plain, plain once more (the noise floor), over TLS 1.3 and over TLS 1.2, in short slices in \
random order, so that drift of the machine falls on all alike. Every connection is proved to be what it says.

Examples:
  ciphertax quick
  ciphertax quick --certificate rsa-2048
  CIPHERTAX_PASSWORD=… ciphertax quick mysql://app@db.example:3306/
  ciphertax quick 'mysql://app@db.example/?ssl-ca=/etc/mysql/ca.pem' --json > run.json
  ciphertax quick 'postgres://app@db.example/shop?sslmode=verify-full&sslrootcert=/etc/ssl/ca.pem'

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
    /// other variable of libpq's: the URL says where the server is.
    pub(crate) target: Option<String>,
    /// Print run.json to standard output, and nothing else there
    #[arg(long)]
    pub(crate) json: bool,
    /// Folder for the run, which must not exist [default: ciphertax-STUDY-DATE-TIME]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,
    /// Time of measuring at most, such as 90s, 2m or 1h; a plain number is seconds; less if the answer is precise earlier
    /// [default: the study's]
    #[arg(long, value_name = "TIME", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) time: Option<f64>,
    /// Seed of the order of the slices, to repeat a run [default: random]
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// How far about one block in four is looked into, to say why [default: the study's, mostly full]
    ///
    /// off: not at all. waits: what the server's threads wait for, read from /proc without stopping them; it needs no
    /// privilege, only that the server runs here and as this user, and costs at most 2 % of the server's CPU. full: that, and
    /// which code uses the CPU time of both sides, by about a thousand samples a second; it costs up to 3 % of the server's
    /// CPU, and needs root or the capabilities CAP_PERFMON and CAP_SYSLOG (`setcap cap_perfmon,cap_syslog+ep ciphertax`). With
    /// less privilege a run sees what it may see, and its report says what was missing. The figures of what a feature costs
    /// come from the other blocks in any case, and every report has what looking cost.
    #[arg(long, value_name = "DEPTH", value_parser = profiling())]
    pub(crate) profile: Option<Profiling>,
}

const RUN_HELP: &str = concat!(
    "\
Without a target, the private servers that the study names are made, measured and removed again. With a target, your \
own server is measured: ciphertax works in a schema (on MongoDB a database) of its own, named ciphertax, which it makes \
and removes; it touches nothing else. Cells that differ only in their private server are then one. Links, tunnels, client certificates and \
authentication methods are for private servers alone.

--set changes any key of the study, before it is checked:
  time_s=600  server=mysql-5.6  certificate=rsa-4096  link.rtt_ms=45     keys of the study
  link_by=relay                                                          distance without root
  dataset.table_size=1000000                                             of the study's tables
  profile=off                                                            as --profile=off
  arm.NAME.tls.group=P-384                                               keys of one arm
  cell.NAME.load.connections=64                                          keys of one cell
  tls.library=rustls                                                     of all arms with TLS
  authentication.method=ed25519                                          of all arms
  load.connections=8                                                     of all cells

Examples:
  ciphertax studies                                    what is built in
  ciphertax run mysql-tls-library
  ciphertax run mysql-tls-library --set tls.library=rustls --precision 0.005
  ciphertax run mysql-tls-scenarios --tables 10 --table-size 1000000 --threads 64
  ciphertax run mysql-tls-tunnel-wan --scale published
  ciphertax studies mysql-tls-library > mine.toml      copy one, change it, and measure it:
  ciphertax run mine.toml 'mysql://app@db.example/?ssl-ca=/etc/mysql/ca.pem' --json > run.json
  CIPHERTAX_PASSWORD=… ciphertax run postgres-tls 'postgres://app@db.example/shop?sslrootcert=/etc/ssl/ca.pem'
  CIPHERTAX_PASSWORD=… ciphertax run mongodb-tls-connection mongodb://app@db.example:27017/
  ciphertax run --resume ciphertax-quick-20260101-120000     go on with a run that was cut off

docs/study-files.md describes every key.

",
    exit_status!()
);

#[derive(Debug, Args)]
#[command(after_long_help = RUN_HELP)]
pub(crate) struct RunArguments {
    /// Name of a built-in study, or a study file
    #[arg(required_unless_present = "resume")]
    pub(crate) study: Option<String>,
    #[command(flatten)]
    pub(crate) measuring: MeasuringArguments,
    /// Go on with a run that was cut off: the same study, order and time, in its folder
    ///
    /// Neither the study nor the target has to be given; a target's password is taken from CIPHERTAX_PASSWORD.
    #[arg(long, value_name = "FOLDER", conflicts_with_all = [
        "out", "time", "seed", "profile", "precision", "scale", "tables", "table_size", "threads", "verify", "keep_operations", "set",
    ])]
    pub(crate) resume: Option<PathBuf>,
    /// Half-width of the intervals of CPU per operation at which measuring stops, as a fraction [default: the study's]
    #[arg(long, value_name = "CPU", value_parser = fraction, allow_negative_numbers = true)]
    pub(crate) precision: Option<f64>,
    /// Other sizes that the study has, for example `published`
    #[arg(long, value_name = "NAME")]
    pub(crate) scale: Option<String>,
    /// Tables of the data set, as sysbench has it; short for --set dataset.tables=N
    #[arg(long, value_name = "N")]
    pub(crate) tables: Option<u32>,
    /// Rows of each table, as sysbench has it; short for --set dataset.table_size=N
    #[arg(long, value_name = "N")]
    pub(crate) table_size: Option<u32>,
    /// Connections of each arm in every cell, which sysbench calls threads; short for --set load.connections=N
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<u32>,
    /// Compare every byte that the YCSB workloads read with what was written; short for --set ycsb.verify=true
    #[arg(long)]
    pub(crate) verify: bool,
    /// Keep every single operation as a line of operations.csv in the run folder; connects with the time of each phase
    #[arg(long)]
    pub(crate) keep_operations: bool,
    /// Change a key of the study; may be given again
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
}

const STUDIES_HELP: &str = "\
Examples:
  ciphertax studies
  ciphertax studies mysql-tls-library > mine.toml      copy one, change it, and measure it:
  ciphertax run mine.toml

docs/study-files.md describes every key.";

#[derive(Debug, Args)]
#[command(after_long_help = STUDIES_HELP)]
pub(crate) struct StudiesArguments {
    /// Print the file of this study
    pub(crate) name: Option<String>,
    /// Print the list as JSON
    #[arg(long, conflicts_with = "name")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    /// The folder a run has left, or its report.html or run.json
    pub(crate) run: PathBuf,
    /// Print run.json to standard output, and nothing else there
    #[arg(long)]
    pub(crate) json: bool,
    /// Rewrite also a report that another release of ciphertax has made, without asking
    #[arg(long)]
    pub(crate) force: bool,
}

const WHY_HELP: &str = "\
Some blocks of a run are looked into: which code uses the CPU time of both sides, and what the server's threads wait for. \
This shows what follows for each arm: CPU time by category, beside the baseline's, with 95 % intervals; the time of an operation \
by what its session did or waited for; and what bounds the speed. The report has the same, with flame graphs.

Formats:
  text        tables
  json        the same, as `why` in run.json
  csv         the categories, one a line
  collapsed   stacks with their CPU time in microseconds, for flamegraph.pl, inferno and their like
  speedscope  stacks for https://www.speedscope.app, which needs no upload: open its page and drop the file there

Examples:
  ciphertax why ciphertax-quick-20260102-030405
  ciphertax why RUN --cell oltp_point_select --arm tls1.3
  ciphertax why RUN --arm plain --format collapsed -o plain.txt
  ciphertax why RUN --arm tls1.3 --format collapsed -o tls.txt
  difffolded.pl plain.txt tls.txt | flamegraph.pl > difference.svg
  ciphertax why RUN --format speedscope -o run.speedscope.json

A run without a profile says why it has none. An ordinary user gets one of all CPU time after
  sudo setcap cap_perfmon,cap_syslog+ep \"$(command -v ciphertax)\"

Exit status: 0 shown; 2 there is nothing to show, or wrong use, the message says why.";

#[derive(Debug, Args)]
#[command(after_long_help = WHY_HELP)]
pub(crate) struct WhyArguments {
    /// The folder a run has left, or its report.html or run.json
    pub(crate) run: PathBuf,
    /// This cell alone
    #[arg(long, value_name = "CELL")]
    pub(crate) cell: Option<String>,
    /// This arm alone
    #[arg(long, value_name = "ARM")]
    pub(crate) arm: Option<String>,
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
    /// Stacks for flamegraph.pl and inferno
    Collapsed,
    /// Stacks for speedscope
    Speedscope,
}

const CLEAN_HELP: &str = "\
Removes the schema (on MongoDB the database) ciphertax, if it is marked as ciphertax's own, and nothing else. A schema of that \
name that ciphertax did not make is left alone, unless it is empty. Runs clean up after themselves; this is for one that was killed.

Examples:
  CIPHERTAX_PASSWORD=… ciphertax clean mysql://app@db.example:3306/
  CIPHERTAX_PASSWORD=… ciphertax clean postgres://app@db.example/shop
  ciphertax clean 'mongodb://a.example,b.example/?replicaSet=rs0'

Exit status: 0 removed, or there was nothing; 2 not removed, the message says why; 130 stopped by Ctrl-C.";

#[derive(Debug, Args)]
#[command(after_long_help = CLEAN_HELP)]
pub(crate) struct CleanArguments {
    /// Your own server, as for `quick` and `run`
    pub(crate) target: String,
}

const SERVERS_HELP: &str = "\
Servers are fetched through the machine's own package clients (apt-get, npm, mvn), verified, and unpacked into \
$XDG_CACHE_HOME/ciphertax (~/.cache/ciphertax). Nothing needs root rights, and no system service is touched. To remove \
one, remove its folder there.

Examples:
  ciphertax servers
  ciphertax servers install mysql mariadb-11.8
  ciphertax servers --json | jq '.[] | select(.installed) | .name'

Exit status: 0 done; 2 a server could not be installed, the message says why; 130 stopped by Ctrl-C.";

#[derive(Debug, Args)]
#[command(after_long_help = SERVERS_HELP, args_conflicts_with_subcommands = true)]
pub(crate) struct ServersArguments {
    #[command(subcommand)]
    pub(crate) command: Option<ServersCommand>,
    /// Print the list as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ServersCommand {
    /// Fetch servers, verify and unpack them for this user
    Install {
        /// Their names, as `ciphertax servers` lists them
        #[arg(required = true, value_name = "NAME", value_parser = server())]
        servers: Vec<&'static Entry>,
    },
}

/// The limits are the study's, said here in the words of the command line.
fn seconds(text: &str) -> Result<f64, String> {
    let with_unit = || text.parse().ok().map(|time: SignedDuration| time.as_secs_f64());
    text.parse()
        .ok()
        .or_else(with_unit)
        .filter(|seconds| Study::TIME_S.contains(seconds))
        .ok_or_else(|| "give a time between 1 second and 24 hours: 90, 90s, 2m, 1h30m".to_owned())
}

/// The limits are the study's, said here in the words of the command line.
fn fraction(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|fraction| Precision::HALF_WIDTH.contains(fraction))
        .ok_or_else(|| {
            let (least, most) = Precision::HALF_WIDTH.into_inner();
            format!("give a fraction between {least} and {most}: 0.01 is one percent")
        })
}

fn certificate_kind() -> impl TypedValueParser<Value = CertificateKind> {
    PossibleValuesParser::new(CertificateKind::ALL.map(CertificateKind::name))
        .try_map(|name| name.parse::<CertificateKind>())
}

fn profiling() -> impl TypedValueParser<Value = Profiling> {
    PossibleValuesParser::new(Profiling::ALL.map(Profiling::name)).try_map(|name| name.parse::<Profiling>())
}

fn server() -> impl TypedValueParser<Value = &'static Entry> {
    PossibleValuesParser::new(CATALOGUE.map(|entry| entry.name))
        .try_map(|name| catalogue::find(&name).ok_or_else(|| format!("unknown server {name}")))
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

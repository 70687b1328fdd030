//! The command line.

mod listing;
mod measuring;
pub(crate) mod reading;
#[cfg(test)]
mod tests;

use std::fmt::Display;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use measuring::{exit_status, fraction};

pub(crate) use listing::{
    CleanArguments, CompletionsArguments, ConnectArguments, DoctorArguments, ManArguments, SchemaArguments,
    ServersArguments, ServersCommand, StudiesArguments,
};
pub(crate) use measuring::{
    MeasuringArguments, OutputArguments, QuickArguments, ServerCpuArguments, file_ending_in,
};
pub(crate) use reading::{ReportArguments, WhyArguments, WhyFormat};

const HELP: &str = "\
Examples:
  ciphertax quick                                      what TLS costs, on a private MariaDB, in two minutes
  CIPHERTAX_PASSWORD=… ciphertax quick mysql://app@db.example:3306/
  ciphertax studies                                    which other questions it answers
  ciphertax run postgres-login --dry-run               what it would start, and what is missing
  ciphertax run postgres-login
  ciphertax report ciphertax-postgres-login-20260102-030405 --export estimates.csv
  ciphertax help run                                   the options of a command

Every run leaves one folder, with report.html, run.json and samples.jsonl, and nothing else.";

/// What does a database security feature cost, who pays, why, and what should you do about it?
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100, arg_required_else_help = true, after_long_help = HELP)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure in two minutes what TLS costs; needs no arguments
    Quick(QuickArguments),
    /// Measure a study: a built-in one or one of your own
    Run(RunArguments),
    /// List the built-in studies
    Studies(StudiesArguments),
    /// Make the report of a run again, even if the run was cut off
    Report(ReportArguments),
    /// Explain the costs of a run: where CPU time went, and the bottleneck; export stacks
    Why(WhyArguments),
    /// Compare the costs of runs: two versions, two machines, two months
    Compare(reading::CompareArguments),
    /// Check the costs of a run against budgets or an earlier run: within, over, or not decided
    Gate(reading::GateArguments),
    /// Analyse one connection to your own server: phases, certificates, who computes what
    Connect(ConnectArguments),
    /// Check in some fifteen seconds what this machine can measure, and how to improve it
    Doctor(DoctorArguments),
    /// Remove what a killed run left on your own server
    Clean(CleanArguments),
    /// List the servers that ciphertax can start by itself, or install some
    Servers(ServersArguments),
    /// Print a shell's completion script
    Completions(CompletionsArguments),
    /// Print or write the manual pages
    Man(ManArguments),
    /// Print the JSON schema of what a command prints with --json
    Schema(SchemaArguments),
    /// Read the clocks of a server's processes for a ciphertax on another machine; started by `--server-agent` through ssh
    #[command(hide = true)]
    Agent,
    /// Remove a private server whose owner is gone; started by ciphertax itself
    #[command(hide = true)]
    Guard,
    /// Put a distance between client and server; started by ciphertax itself
    #[command(hide = true)]
    Link,
    /// Encrypt columns of results; started by ciphertax itself
    #[command(hide = true)]
    ColumnRelay,
    /// Run a program of the user's own and leave nothing of it; started by ciphertax itself
    #[command(hide = true)]
    Supervise,
}

/// The commands of a command that are for users.
pub(crate) fn shown(command: &clap::Command) -> impl Iterator<Item = &clap::Command> {
    command.get_subcommands().filter(|command| !command.is_hide_set())
}

const RUN_HELP: &str = concat!(
    "\
Without a target, ciphertax starts the private servers of the study, measures them, and removes them. With a target, it measures your \
own server: it creates a schema (on MongoDB a database) named ciphertax, works there, and removes it; it touches nothing else. Cells \
that differ only in their private server become one. Links, tunnels, client certificates and authentication methods need private \
servers.

--set changes any key of the study:
  time_s=600  server=mysql-5.6  certificate=rsa-4096  link.rtt_ms=45     keys of the study
  dataset.table_size=1000000                                             of the study's tables
  profile=off                                                            as --profile=off
  arm.NAME.tls.group=P-384                                               keys of one arm
  cell.NAME.load.connections=64                                          keys of one cell
  tls.library=rustls                                                     of all arms with TLS
  authentication.method=ed25519                                          of all arms
  load.connections=8                                                     of all cells

Examples:
  ciphertax studies                                    the built-in studies
  ciphertax run mysql-tls-library
  ciphertax run mysql-tls-library --set tls.library=rustls --precision 0.005
  ciphertax run mysql-tls-scenarios --tables 10 --table-size 1000000 --threads 64
  ciphertax run mysql-tls-tunnel-wan --scale published
  ciphertax studies mysql-tls-library > mine.toml      copy one, change it, and measure it:
  ciphertax run mine.toml 'mysql://app@db.example/?ssl-ca=/etc/mysql/ca.pem' --json > run.json
  CIPHERTAX_PASSWORD=… ciphertax run postgres-tls 'postgres://app@db.example/shop?sslrootcert=/etc/ssl/ca.pem'
  CIPHERTAX_PASSWORD=… ciphertax run mongodb-tls-connection mongodb://app@db.example:27017/
  ciphertax run mysql-tls-scenarios --cell 'oltp_*_select' --arm 'tls1.3*'
  ciphertax run postgres-login --dry-run               what it would start, how long it takes, what is missing
  ciphertax run quick --quiet --export run.md --export /var/lib/node_exporter/ciphertax.prom
  ciphertax run --resume ciphertax-quick-20260101-120000     continue a run that was cut off

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
    /// Continue a run that was cut off: the same study, order and time, in its folder
    ///
    /// Study and target need not be given; the target's password comes from CIPHERTAX_PASSWORD. Give --server-cpu-command again if
    /// the run had one: the record has only the name of its program.
    #[arg(long, value_name = "FOLDER", conflicts_with_all = [
        "dry_run", "cell", "arm", "out", "time", "seed", "profile", "schema",
        "precision", "scale", "tables", "table_size", "threads", "keep_operations", "set",
        "server_agent", "agent_rank", "server_cpu_exporter",
    ])]
    pub(crate) resume: Option<PathBuf>,
    /// As root, also continue a run in another account's folder: the server named there gets the password
    #[arg(long, requires = "resume")]
    pub(crate) trust_folder: bool,
    /// Half-width of the intervals of CPU per operation at which measuring stops, as a fraction [default: the study's]
    #[arg(long, value_name = "CPU", value_parser = fraction, allow_negative_numbers = true)]
    pub(crate) precision: Option<f64>,
    /// Use another size of the study, for example `published`
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
    /// Write every operation to operations.csv in the run folder; connects with the time of each phase
    #[arg(long)]
    pub(crate) keep_operations: bool,
    /// Untested on a real server: the target is a PolarDB-X or RDS that encrypts results for this account
    ///
    /// Arms with columns = { feature = "in_results", … } log in as this account, whose password is in the environment variable
    /// CIPHERTAX_ENCDB_PASSWORD; every connection gives the server the master key (CIPHERTAX_COLUMN_KEY, or random) by the exchange of
    /// the published clients. All other arms log in as the URL's account, which must have full access. The server's own rules say which
    /// columns of the schema ciphertax are encrypted: they must be those of the arm. With --resume it has to be given again.
    #[arg(long, value_name = "NAME")]
    pub(crate) encdb_account: Option<String>,
    /// Change a key of the study; repeatable
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
}

/// The words of an option, once for each of its values.
pub(crate) fn option(
    name: &str,
    values: impl IntoIterator<Item = impl Display>,
) -> impl Iterator<Item = String> {
    let values = values.into_iter();
    values.flat_map(move |value| [name.to_owned(), value.to_string()])
}

/// A word as a shell takes it. `=` and `,` need no quotes where no shell can read them as anything else, and settings are
/// easier to read without.
pub(crate) fn quoted(word: String) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "-_=.,/:@+".contains(char);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word;
    }
    match shlex::try_quote(&word) {
        Ok(quoted) => quoted.into_owned(),
        // A zero byte, which no argument can hold.
        Err(_) => word,
    }
}

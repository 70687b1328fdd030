//! What `studies` takes.

use clap::Args;

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

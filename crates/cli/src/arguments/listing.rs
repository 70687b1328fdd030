//! What commands take that list or print: servers, studies, completions, manual pages, schemas.

use std::path::PathBuf;

use ciphertax_lab::catalogue::{self, CATALOGUE, Entry};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use clap_complete::Shell;

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

const INSTALL_HELP: &str = "\
Examples:
  ciphertax servers install mysql
  ciphertax servers install postgresql-18 mongodb mariadb-11.8

Exit status: 0 installed, or it was already; 2 not installed, the message says why; 130 stopped by Ctrl-C.";

#[derive(Debug, Subcommand)]
pub(crate) enum ServersCommand {
    /// Fetch servers, verify and unpack them for this user
    #[command(after_long_help = INSTALL_HELP)]
    Install {
        /// Their names, as `ciphertax servers` lists them
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
    /// Print the file of this study
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
    /// Write the pages of all commands into this folder, which is made if it is not there
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

//! What commands take that print what is made of the program itself.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

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

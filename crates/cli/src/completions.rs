//! `ciphertax completions`.

use ciphertax_report::schema::SCHEMAS;
use clap::builder::PossibleValuesParser;
use clap::{Command, CommandFactory};
use clap_complete::{Shell, generate};

use crate::arguments::{Arguments, CompletionsArguments, shown};
use crate::built_in;
use crate::exit::Exit;
use crate::show;

pub(crate) fn run(arguments: &CompletionsArguments) -> Result<Exit, String> {
    let mut text = Vec::new();
    generate(
        arguments.shell,
        &mut for_users(arguments.shell),
        "ciphertax",
        &mut text,
    );
    show::print(&String::from_utf8_lossy(&text)).map(|()| Exit::Done)
}

/// The command without what is not for users: completions would offer that too.
fn for_users(shell: Shell) -> Command {
    let all = Arguments::command();
    Command::new("ciphertax")
        .version(env!("CARGO_PKG_VERSION"))
        .args(all.get_arguments())
        .subcommands(shown(&all).map(|command| with_names(command, shell)))
}

/// Offers the schemas where one is asked for, and the built-in studies where a study is; the zsh would complete nothing else, and
/// a study may be a file too.
fn with_names(command: &Command, shell: Shell) -> Command {
    let command = command.clone();
    match (command.get_name(), shell) {
        ("schema", _) => command.mut_arg("name", |name| {
            name.value_parser(PossibleValuesParser::new(SCHEMAS.map(|schema| schema.name)))
        }),
        (_, Shell::Zsh) => command,
        ("run", _) => command.mut_arg("study", |study| {
            study.value_parser(PossibleValuesParser::new(built_in::names()))
        }),
        _ => command,
    }
}

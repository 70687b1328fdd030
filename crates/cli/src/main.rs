//! The `ciphertax` command.

mod arguments;
mod built_in;
mod measuring;
mod passwords;
mod progress;
mod quick;
mod report;
mod run;
mod servers;
mod show;
mod signals;
mod studies;

use std::env;
use std::process::ExitCode;

use arguments::{Arguments, Command};
use clap::Parser;
use passwords::without_passwords;

/// The exit code of everything the user can mend: wrong input, a server that is not there, a full disk.
const UNUSABLE: u8 = 2;

fn main() -> ExitCode {
    let said = |text: &str| {
        let arguments = env::args_os().map(|argument| argument.to_string_lossy().into_owned());
        without_passwords(text, arguments)
    };
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            let text = error.render().to_string();
            let said = said(&text);
            if said == text {
                error.exit();
            }
            eprint!("{said}");
            return ExitCode::from(UNUSABLE);
        }
    };
    let outcome = match arguments.command {
        Command::Guard => return ciphertax_lab::guard::main(),
        Command::Link => return ciphertax_lab::link::main(),
        Command::Keep => return ciphertax_lab::keeper::main(),
        Command::Quick(arguments) => quick::run(&arguments),
        Command::Run(arguments) => run::run(&arguments),
        Command::Studies(arguments) => studies::run(&arguments),
        Command::Report(arguments) => report::run(&arguments),
        Command::Servers(arguments) => servers::run(&arguments),
    };
    outcome.unwrap_or_else(|problem| {
        eprintln!("ciphertax: {}", said(&problem));
        ExitCode::from(UNUSABLE)
    })
}

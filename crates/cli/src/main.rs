//! The `ciphertax` command.

mod arguments;
mod built_in;
mod measuring;
mod progress;
mod quick;
mod report;
mod run;
mod servers;
mod show;
mod signals;
mod studies;
mod width;

use std::process::ExitCode;

use arguments::{Arguments, Command};
use clap::Parser;

/// The exit code of everything the user can mend: wrong input, a server that is not there, a full disk.
const UNUSABLE: u8 = 2;

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
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
        eprintln!("ciphertax: {problem}");
        ExitCode::from(UNUSABLE)
    })
}

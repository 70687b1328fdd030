//! The `ciphertax` command.

// A closed or full standard error ends nothing: see `ciphertax_lab::say`.
#![deny(clippy::print_stderr, clippy::print_stdout)]

mod arguments;
mod built_in;
mod clean;
mod exit;
mod measuring;
mod progress;
mod quick;
mod report;
mod resume;
mod run;
mod servers;
mod show;
mod signals;
mod studies;

use std::process::ExitCode;

use arguments::{Arguments, Command};
use ciphertax_lab::say;
use clap::Parser;
use exit::Exit;

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
        Command::Clean(arguments) => clean::run(&arguments),
    };
    let exit = outcome.unwrap_or_else(|problem| {
        say(format_args!("ciphertax: {problem}"));
        Exit::Nothing
    });
    exit.into()
}

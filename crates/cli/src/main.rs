//! The `ciphertax` command.

// A closed or full standard error ends nothing: see `ciphertax_supervise::say`.
#![deny(clippy::print_stderr, clippy::print_stdout)]

mod arguments;
mod compare;
mod dry_run;
mod exit;
mod export;
mod generated;
mod key_password;
mod machines;
mod measuring;
mod progress;
mod report;
mod run;
mod selection;
mod servers;
mod show;
mod studies;

use std::env;
use std::process::ExitCode;

use ciphertax_base::joined;
use ciphertax_model::removed;
use ciphertax_supervise::say;
use ciphertax_wire::url_of_another_client;
use clap::Parser;
use clap::error::{ContextKind, ContextValue};

use arguments::{Arguments, Command};
use exit::Exit;

fn main() -> ExitCode {
    let said = |text: &str| {
        let arguments = env::args_os().map(|argument| argument.to_string_lossy().into_owned());
        without_passwords(text, arguments)
    };
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            if let Some(removed) = removed_name(&error) {
                say(format_args!("ciphertax: {removed}"));
                return Exit::Nothing.into();
            }
            let text = error.render().to_string();
            let said = said(&text);
            if said == text {
                error.exit();
            }
            say(said.trim_end());
            return Exit::Nothing.into();
        }
    };
    let outcome = match arguments.command {
        Command::Agent => return ciphertax_runner::agent::main(),
        Command::Guard => return ciphertax_supervise::guard::main(),
        Command::Link => return ciphertax_lab::link::main(),
        Command::ColumnRelay => return ciphertax_lab::column_relay::main(),
        Command::Supervise => return ciphertax_supervise::supervisor::main(),
        Command::Quick(arguments) => run::quick(&arguments),
        Command::Run(arguments) => run::run(&arguments),
        Command::Studies(arguments) => studies::run(&arguments),
        Command::Report(arguments) => report::report(&arguments),
        Command::Why(arguments) => report::why(&arguments),
        Command::Compare(arguments) => compare::run_compare(&arguments),
        Command::Gate(arguments) => compare::run_gate(&arguments),
        Command::Servers(arguments) => servers::run(&arguments),
        Command::Connect(arguments) => machines::run_connect(&arguments),
        Command::Doctor(arguments) => machines::run_doctor(&arguments),
        Command::Clean(arguments) => machines::run_clean(&arguments),
        Command::Completions(arguments) => generated::print_completions(&arguments),
        Command::Man(arguments) => generated::print_manual(&arguments),
        Command::Schema(arguments) => generated::print_schema(&arguments),
    };
    let exit = outcome.unwrap_or_else(|problem| {
        say(format_args!("ciphertax: {}", said(&problem)));
        Exit::Nothing
    });
    exit.into()
}

/// What to say of a command, an option or its value that this release no longer has.
fn removed_name(error: &clap::Error) -> Option<String> {
    let names = [
        ContextKind::InvalidSubcommand,
        ContextKind::InvalidArg,
        ContextKind::InvalidValue,
    ];
    names.iter().find_map(|kind| match error.get(*kind)? {
        ContextValue::String(name) => removed(name),
        _ => None,
    })
}

/// The text with the passwords of URLs taken out that are among the command's `arguments`.
///
/// No message says one: not even one about an argument that was taken for something else.
fn without_passwords(text: &str, arguments: impl Iterator<Item = String>) -> String {
    let mut text = text.to_owned();
    for argument in arguments {
        if let Some(hidden) = hidden(&argument) {
            text = text.replace(&argument, &hidden);
            text = text.replace(&argument.escape_debug().to_string(), &hidden);
        }
    }
    text
}

/// A target with its passwords left out, as a URL; `None` for what has none.
fn hidden(argument: &str) -> Option<String> {
    let url = url_of_another_client(argument).unwrap_or(argument.to_owned());
    let (scheme, rest) = url.split_once("://")?;
    // A question mark may be the password's.
    let end = rest
        .split('?')
        .next()
        .filter(|place| place.contains('@'))
        .unwrap_or(rest)
        .len();
    let (place, options) = rest.split_at(end);
    let without = |(credentials, host): (&str, &str)| {
        let (user, _) = credentials.split_once(':')?;
        Some(format!("{user}:…@{host}"))
    };
    let place = place
        .rsplit_once('@')
        .and_then(without)
        .unwrap_or(place.to_owned());
    let rest = format!("{place}{options}");
    let options = rest
        .split_inclusive(['?', '&'])
        .map(|option| match option.split_once('=') {
            Some((name, value)) if name.to_ascii_lowercase().contains("pass") && name != "passfile" => {
                format!("{name}=…{}", if value.ends_with('&') { "&" } else { "" })
            }
            _ => option.to_owned(),
        });
    let shown = format!("{scheme}://{}", joined(options, ""));
    (shown != url).then_some(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_hidden_however_its_url_is_quoted() {
        let url = "mysql://app:tr0ub\\4\"dor@x/y@h/?a=b";
        let arguments = || ["run", url, "mysql://h:3306/"].map(str::to_owned).into_iter();
        for text in [format!("no {url}"), format!("no {url:?}"), url.to_owned()] {
            let said = without_passwords(&text, arguments());
            let holds = said.contains("mysql://app:…@h/?a=b") && !said.contains("tr0ub");
            assert!(holds, "{said}");
        }
        for (target, shown) in [
            (
                "postgres://h/d?sslkey=k&sslpassword=s3=cr&passfile=p",
                "postgres://h/d?sslkey=k&sslpassword=…&passfile=p",
            ),
            (
                "postgres://app:pw@h/?sslpassword=p@ss",
                "postgres://app:…@h/?sslpassword=…",
            ),
            (
                "mongodb://a:p?w@h/?ssl_pem_passphrase=x",
                "mongodb://a:…@h/?ssl_pem_passphrase=…",
            ),
            ("app:pw@tcp(h:3307)/shop", "mysql://app:…@h:3307/shop?"),
            ("host=h password=pw", "postgresql:///?host=h&password=…"),
        ] {
            let said = without_passwords(&format!("no {target}"), [target.to_owned()].into_iter());
            assert_eq!(said, format!("no {shown}"));
        }
        let found = without_passwords("mysql://h:3306/ x", arguments());
        assert_eq!(found, "mysql://h:3306/ x");
    }
}

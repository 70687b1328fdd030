//! Texts that are made from the commands themselves: completions, manual pages, schemas.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use ciphertax_model::unknown;
use ciphertax_records::write_whole;
use ciphertax_report::json::{SCHEMAS, Schema, schema};
use clap::builder::PossibleValuesParser;
use clap::{Command, CommandFactory};
use clap_complete::{Shell, generate};
use clap_mangen::Man;

use crate::arguments::{Arguments, CompletionsArguments, ManArguments, SchemaArguments, shown};
use crate::exit::Exit;
use crate::{show, studies};

pub(crate) fn print_completions(arguments: &CompletionsArguments) -> Result<Exit, String> {
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
            study.value_parser(PossibleValuesParser::new(studies::names()))
        }),
        _ => command,
    }
}

pub(crate) fn print_manual(arguments: &ManArguments) -> Result<Exit, String> {
    let commands = built();
    match &arguments.out {
        Some(folder) => write_all(&commands, folder)?,
        None => {
            let page = page(find(&commands, &arguments.command)?).map_err(|error| error.to_string())?;
            show::print(&String::from_utf8_lossy(&page))?;
        }
    }
    Ok(Exit::Done)
}

/// The command line with what its parts inherit and are called by.
fn built() -> Command {
    let mut commands = Arguments::command().disable_help_subcommand(true);
    commands.build();
    commands
}

fn find<'a>(commands: &'a Command, names: &[String]) -> Result<&'a Command, String> {
    names.iter().try_fold(commands, |command, name| {
        command
            .find_subcommand(name)
            .filter(|found| !found.is_hide_set())
            .ok_or_else(|| {
                let known: Vec<&str> = shown(command).map(Command::get_name).collect();
                format!("there is no command {name:?}; there are {}", known.join(", "))
            })
    })
}

fn write_all(command: &Command, folder: &Path) -> Result<(), String> {
    fs::create_dir_all(folder)
        .map_err(|error| format!("the folder {} cannot be made: {error}", folder.display()))?;
    let path = folder.join(Man::new(command.clone()).get_filename());
    write_whole(&path, |file| file.write_all(&page(command)?)).map_err(|error| error.to_string())?;
    shown(command).try_for_each(|command| write_all(command, folder))
}

/// The page. What is said after the options is most of it here, and no extra.
fn page(command: &Command) -> io::Result<Vec<u8>> {
    let man = Man::new(command.clone())
        .manual("ciphertax")
        .source(concat!("ciphertax ", env!("CARGO_PKG_VERSION")));
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if shown(command).next().is_some() {
        man.render_subcommands_section(&mut page)?;
    }
    let mut notes = Vec::new();
    man.render_extra_section(&mut notes)?;
    page.extend(
        String::from_utf8_lossy(&notes)
            .replacen(".SH EXTRA", ".SH \"NOTES AND EXAMPLES\"", 1)
            .into_bytes(),
    );
    Ok(page)
}

pub(crate) fn print_schema(arguments: &SchemaArguments) -> Result<Exit, String> {
    let text = match &arguments.name {
        Some(name) => schema(name)
            .ok_or_else(|| unknown("schema", name, &SCHEMAS.map(|schema| schema.name)))?
            .text(),
        None => SCHEMAS.iter().map(line).collect(),
    };
    show::print(&text).map(|()| Exit::Done)
}

fn line(schema: &Schema) -> String {
    format!("{:<10}  {}\n", schema.name, schema.describes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_that_is_shown_has_a_page_with_its_examples() {
        let folder = tempfile::tempdir().unwrap();
        write_all(&built(), folder.path()).unwrap();
        for name in [
            "ciphertax",
            "ciphertax-run",
            "ciphertax-quick",
            "ciphertax-servers-install",
            "ciphertax-report",
        ] {
            let page = fs::read_to_string(folder.path().join(format!("{name}.1"))).unwrap();
            for part in [
                ".TH ",
                ".SH NAME",
                ".SH SYNOPSIS",
                "NOTES AND EXAMPLES",
                "Examples:",
            ] {
                assert!(page.contains(part), "{part} is not in the page of {name}");
            }
        }
        for hidden in ["guard", "link", "supervise"] {
            assert!(!folder.path().join(format!("ciphertax-{hidden}.1")).exists());
            assert!(find(&built(), &[hidden.to_owned()]).is_err());
        }
    }

    #[test]
    fn an_unknown_command_is_told_with_those_there_are() {
        let error = find(&built(), &["runn".to_owned()]).unwrap_err();
        let has_remedy = error.contains("\"runn\"") && error.contains("quick, run, studies");
        assert!(has_remedy, "{error}");
    }
}

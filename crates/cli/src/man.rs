//! `ciphertax man`.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use ciphertax_records::write_whole;
use clap::{Command, CommandFactory};
use clap_mangen::Man;

use crate::arguments::{Arguments, ManArguments, shown};
use crate::exit::Exit;
use crate::show;

pub(crate) fn run(arguments: &ManArguments) -> Result<Exit, String> {
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
        assert!(
            error.contains("\"runn\"") && error.contains("quick, run, studies"),
            "{error}"
        );
    }
}

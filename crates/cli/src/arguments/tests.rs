//! Every help has examples, and the command line is consistent.

use super::*;

/// The commands that are shown, those of commands among them, by what they are called.
fn all_shown(command: &clap::Command) -> Vec<clap::Command> {
    std::iter::once(command.clone())
        .chain(shown(command).flat_map(all_shown))
        .collect()
}

/// The commands of a help's examples, without what a shell does with them.
fn examples(help: &str) -> Vec<Vec<String>> {
    commands(help.lines().filter_map(|line| line.strip_prefix("  ")))
}

fn commands<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<Vec<String>> {
    let lines = lines.map(|line| line.strip_prefix("CIPHERTAX_PASSWORD=… ").unwrap_or(line));
    lines
        .filter(|line| line.starts_with("ciphertax "))
        .map(|line| {
            let (command, _remark) = line.split_once("   ").unwrap_or((line, ""));
            let words = shlex::split(command).unwrap();
            words
                .into_iter()
                .take_while(|word| !["|", ">", "&&"].contains(&word.as_str()))
                .collect()
        })
        .collect()
}

#[test]
fn every_help_has_examples_and_all_of_them_are_understood() {
    use clap::CommandFactory;
    let mut all = Arguments::command().disable_help_subcommand(true);
    all.build();
    for command in all_shown(&all) {
        let name = command.get_bin_name().unwrap_or("ciphertax");
        let help = command
            .get_after_long_help()
            .map(ToString::to_string)
            .unwrap_or_default();
        let examples = examples(&help);
        let has_examples = help.contains("Examples:\n  ") && !examples.is_empty();
        assert!(has_examples, "{name} has no examples");
        for example in examples {
            match Arguments::try_parse_from(&example) {
                Ok(_) => {}
                Err(error) if error.kind() == clap::error::ErrorKind::DisplayHelp => {}
                Err(error) => panic!("{name}: {example:?}: {error}"),
            }
        }
    }
}

#[test]
fn every_command_in_the_documents_is_understood() {
    use clap::error::ErrorKind;
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let pages = std::fs::read_dir(root.join("docs")).unwrap();
    let pages = pages
        .map(|page| page.unwrap().path())
        .filter(|page| page.extension() == Some("md".as_ref()));
    let mut count = 0;
    for page in pages.chain([root.join("README.md")]) {
        // A server's name has to be one.
        let text = std::fs::read_to_string(&page).unwrap().replace("NAME", "mysql");
        for (at, part) in text.split("```").enumerate() {
            let is_block = at % 2 == 1;
            let lines: Vec<&str> = if is_block {
                part.lines().collect()
            } else {
                part.split('`').skip(1).step_by(2).collect()
            };
            let lines = lines
                .into_iter()
                .map(|line| line.trim_start_matches([' ', '$']).trim_start_matches("- run: "));
            for command in commands(lines) {
                let error = Arguments::try_parse_from(&command).err();
                // A sentence may name a command alone.
                let is_understood = error
                    .as_ref()
                    .is_none_or(|error| !is_block && error.kind() == ErrorKind::MissingRequiredArgument);
                assert!(is_understood, "{}: {command:?}: {error:?}", page.display());
                count += 1;
            }
        }
    }
    assert!(count > 70, "{count}");
}

#[test]
fn the_command_line_is_consistent() {
    use clap::CommandFactory;
    Arguments::command().debug_assert();
}

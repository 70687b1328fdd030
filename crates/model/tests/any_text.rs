//! Whatever is given as a study or as a setting: an answer, never a panic, and places that exist.

use ciphertax_model::{Position, Study, StudyText};
use proptest::prelude::*;

const STUDY: &str = include_str!("../../cli/studies/quick.toml");

/// Pieces that studies are made of, right and wrong.
const PIECES: [&str; 40] = [
    "name",
    "arm",
    "cell",
    "tls",
    "load",
    "link",
    "scale",
    "published",
    "transport",
    "tunnel",
    "ssh",
    "workload",
    "connections",
    "rtt_ms",
    "time_s",
    "\"plain\"",
    "\"tls1.3\"",
    "\"quick\"",
    "\"ä\"",
    "'''",
    "\"\"\"",
    "0",
    "-1",
    "1e9",
    "nan",
    "18446744073709551616",
    "0xff",
    "true",
    "1979-05-27",
    "=",
    ".",
    "[",
    "]",
    "[[",
    "]]",
    "{",
    "}",
    ",",
    "\n",
    "#",
];

fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => proptest::sample::select(&PIECES[..]).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
    ]
}

fn pieces() -> impl Strategy<Value = String> {
    proptest::collection::vec(piece(), 0..40).prop_map(|pieces| pieces.join(" "))
}

/// A good study in which some words are others.
fn changed_study() -> impl Strategy<Value = String> {
    let change = (0..STUDY.split_inclusive([' ', '\n']).count(), piece());
    proptest::collection::vec(change, 0..6).prop_map(|changes| {
        let mut words: Vec<&str> = STUDY.split_inclusive([' ', '\n']).collect();
        for (at, piece) in &changes {
            words[*at] = piece;
        }
        words.concat()
    })
}

fn check(text: &str, settings: &[String]) {
    match StudyText::new("x", text).settings(settings).study() {
        Ok(study) => {
            let again = toml::to_string(&study).unwrap();
            assert_eq!(Study::from_toml(&again).unwrap(), study, "{again}");
        }
        Err(error) => {
            for problem in error.problems() {
                match &problem.position {
                    Position::Text { line, column, .. } => {
                        let written = text.split('\n').nth(line - 1).unwrap();
                        assert!(*column <= written.chars().count() + 1, "{problem}");
                    }
                    Position::Setting(setting) => assert!(settings.contains(setting)),
                    Position::Study(name) => assert_eq!(name, "x"),
                }
                assert!(!problem.message.contains('\n'), "{problem}");
            }
        }
    }
}

proptest! {
    #[test]
    fn any_text(text in any::<String>()) {
        check(&text, &[]);
    }

    #[test]
    fn any_pieces(text in pieces()) {
        check(&text, &[]);
    }

    #[test]
    fn any_change_of_a_study(text in changed_study()) {
        check(&text, &[]);
    }

    #[test]
    fn any_setting(settings in proptest::collection::vec(pieces(), 1..4)) {
        let settings: Vec<String> = settings.iter().map(|setting| setting.replace(' ', "")).collect();
        check(STUDY, &settings);
    }
}

#[test]
fn a_line_break_in_the_name_of_a_setting_is_not_in_what_is_said_of_it() {
    for setting in ["arm.\nname=", "arm.\n=1", "\n=1", "a\nb.c=1", "cell.x=\"\n\""] {
        check(STUDY, &[setting.to_owned()]);
    }
}

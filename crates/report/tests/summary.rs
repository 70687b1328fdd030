//! The answer on one screen.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;

use ciphertax_records::{Run, RunStatus};
use ciphertax_report::terminal::{self, Place, Style};
use ciphertax_stats::Verdict;
use flate2::read::GzDecoder;

use crate::fixture;
use crate::terminal::{NARROW, PLACE, WIDE, full, without_colour};

fn summary(run: &Run, style: Style) -> String {
    terminal::summary(run, PLACE, style)
}

#[test]
fn the_answer_of_a_complete_run() {
    insta::assert_snapshot!(summary(&fixture::run(), NARROW));
}

#[test]
fn the_answer_is_one_screen_at_every_width_and_no_line_is_wider() {
    for width in [80, 90, 100, 120, 200] {
        for run in [
            fixture::run(),
            fixture::run_of_batches(),
            fixture::run_in_open_loop(),
            fixture::run_of_whole_rounds(),
            fixture::with_pooler(),
            fixture::with_storage(),
            fixture::why::with_why().0,
        ] {
            let text = summary(&run, Style { width, ..NARROW });
            assert!(text.lines().count() <= terminal::LINES, "{text}");
            for line in text.lines() {
                assert!(
                    line.chars().count() <= width,
                    "wider than {width}: {line:?}\n{text}"
                );
            }
        }
    }
}

#[test]
fn a_run_of_many_rows_shows_the_first_ones_and_says_how_many_are_left() {
    let mut run = fixture::run();
    let (of_arm, estimates) = (run.head.arms[2].clone(), run.results.estimates.clone());
    let asked = run
        .head
        .study
        .arms
        .iter()
        .find(|arm| arm.name == of_arm.name)
        .unwrap()
        .clone();
    for number in 0..20 {
        let name = format!("variant-{number}");
        let mut arm = of_arm.clone();
        arm.name.clone_from(&name);
        run.head.arms.push(arm);
        let mut asked = asked.clone();
        asked.name.clone_from(&name);
        run.head.study.arms.push(asked);
        for row in estimates.iter().filter(|row| row.arm == of_arm.name) {
            let mut row = row.clone();
            row.arm.clone_from(&name);
            run.results.estimates.push(row);
        }
    }
    let text = summary(&run, NARROW);
    assert!(text.lines().count() <= terminal::LINES, "{text}");
    assert!(text.contains(" more lines by --full"), "{text}");
}

#[test]
fn what_is_not_decided_is_one_line_and_no_row() {
    let mut run = fixture::run();
    for row in &mut run.results.estimates {
        if row.arm == "tls1.2" {
            row.verdict = Verdict::CannotTell;
            row.more_time_s = Some(240.0);
        }
    }
    let text = summary(&run, WIDE);
    let undecided = text.lines().filter(|line| line.contains("tls1.2"));
    let undecided: Vec<&str> = undecided.collect();
    assert_eq!(undecided.len(), 1, "{text}");
    assert!(undecided[0].starts_with("Not decided: tls1.2 in "), "{text}");
    // 4 min for each of three cells, one after another.
    let expected = ". At least 12 min more of measuring (--time) may decide.";
    assert!(undecided[0].ends_with(expected), "{text}");
}

#[test]
fn a_run_that_ended_early_says_so_first_and_hostile_text_cannot_rule_the_terminal() {
    let mut run = fixture::run();
    run.head.status = RunStatus::Partial {
        reason: "the server died\u{1b}[2J".into(),
    };
    run.head.arms[2].name = "\u{1b}[31mred\u{202e}".into();
    run.head.servers[0].version = "10\u{1b}]0;owned\u{7}".into();
    run.results.findings[0].summary = "\u{9b}31m".into();
    let text = summary(&run, NARROW);
    assert!(
        text.starts_with("This run ended early: the server died"),
        "{text}"
    );
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
    assert!(!text.contains('\u{202e}'), "{text:?}");
}

#[test]
fn colour_changes_nothing_but_colour() {
    let coloured = summary(
        &fixture::run(),
        Style {
            colour: true,
            ..NARROW
        },
    );
    assert!(coloured.contains("\u{1b}[38;5;"), "{coloured}");
    assert_eq!(without_colour(&coloured), summary(&fixture::run(), NARROW));
}

#[test]
fn cores_are_given_at_the_rate_that_is_asked_for() {
    let run = fixture::run();
    let row = &run.results.capacity[0];
    let place = Place {
        at_rate: Some(row.rate * 2.0),
        ..PLACE
    };
    let text = terminal::summary(&run, place, WIDE);
    // Twice the rate takes twice the cores.
    let twice = format!("{:.1}", row.extra_cores.value * 2.0);
    let line = text
        .lines()
        .find(|line| line.contains("cores per 20,000 queries/s"));
    assert!(line.is_some_and(|line| line.contains(&twice)), "{twice}: {text}");
}

/// Runs of built-in studies on real servers, without what the summary does not read.
fn real_runs() -> Vec<Run> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/runs");
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path())
        .collect();
    files.sort();
    let runs = files.iter().map(|file| {
        let text = io::read_to_string(GzDecoder::new(File::open(file).unwrap())).unwrap();
        Run::from_json(&text).unwrap()
    });
    runs.collect()
}

#[test]
fn the_answers_of_ten_real_runs() {
    let runs = real_runs();
    assert_eq!(runs.len(), 10);
    for run in runs {
        let screens = [80, 120].map(|width| summary(&run, Style { width, ..NARROW }));
        for screen in &screens {
            assert!(screen.lines().count() <= terminal::LINES, "{screen}");
        }
        insta::assert_snapshot!(run.head.study.name.clone(), screens.join("\n\n"));
    }
}

#[test]
fn all_of_ten_real_runs_is_no_wider_than_the_terminal_and_no_word_is_cut() {
    let all = |run: &Run, width| {
        let text = full(run, Style { width, ..NARROW });
        // A command is to be copied.
        text.split("\nRepeat: ").next().unwrap().to_owned()
    };
    for run in real_runs() {
        let whole = all(&run, terminal::AS_WIDE_AS_NEEDED);
        for width in [80, 120] {
            let text = all(&run, width);
            let words: BTreeSet<&str> = text.split_whitespace().collect();
            for word in whole.split_whitespace().filter(|word| !word.starts_with('─')) {
                assert!(words.contains(word), "{word} at {width}: {text}");
            }
            for line in text.lines() {
                assert!(line.chars().count() <= width, "wider than {width}: {line:?}");
            }
        }
    }
}

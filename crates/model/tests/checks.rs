//! Studies, their files and what is refused in them.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod any_text;
mod bad_columns;
mod bad_study;
mod budgets;
mod reference;
#[expect(dead_code, reason = "part of it is for the tests of rules alone")]
mod rule_cases;
mod settings;
mod study;

/// Holds what `refusal` says of what is left of an arrow to the words right of it, which may also follow in lines of their
/// own; ` ¶ ` is a new line.
#[track_caller]
fn refused(cases: &str, refusal: impl Fn(&str) -> String) {
    let (mut said, mut is_held) = (String::new(), true);
    for line in cases.trim().lines() {
        let (given, words) = line.split_once('→').unwrap_or((line, ""));
        if !given.trim().is_empty() {
            assert!(is_held, "no words follow the case before {line}");
            is_held = false;
            said = refusal(&given.trim().replace(" ¶ ", "\n"));
        }
        assert!(said.contains(words.trim()), "{line}: {said}");
        is_held |= !words.trim().is_empty();
    }
    assert!(is_held, "no words follow the last case");
}

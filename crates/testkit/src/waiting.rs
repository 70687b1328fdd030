//! Waiting with bounds that a busy machine keeps, and tests that cannot be run.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};
use std::rc::Rc;
use std::time::{Duration, Instant};
use std::{env, thread};

use ciphertax_reactor::Reactor;

/// How long anything may take that is expected to end: generous, because the machine may be busy.
pub const PATIENCE: Duration = Duration::from_secs(240);

/// Looks that are enough, however long each of them takes.
const ENOUGH_LOOKS: u128 = 1000;

/// True as soon as `condition` holds; false if it does not within `time`. A machine that stands still meanwhile takes one look, and
/// not seconds of patience.
pub fn within(time: Duration, condition: impl Fn() -> bool) -> bool {
    let deadline = Instant::now() + time;
    let least = ENOUGH_LOOKS.min(time.as_millis() / 20);
    let mut looks = 0;
    while !condition() {
        looks += 1;
        if Instant::now() > deadline && looks >= least {
            return false;
        }
        thread::sleep(Duration::from_millis(10));
    }
    true
}

/// What waits with a time limit, again where a signal interrupts it, or a machine that stands still for a while (signal(7)).
pub fn uninterrupted(mut wait: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match wait() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            outcome => return outcome,
        }
    }
}

/// Runs a task to its end.
pub fn run<T>(task: impl AsyncFnOnce(&Rc<Reactor>) -> T) -> T {
    run_within(PATIENCE, task).expect("it hangs")
}

/// Runs a task; `None` if it has not ended after `limit`.
pub fn run_within<T>(limit: Duration, task: impl AsyncFnOnce(&Rc<Reactor>) -> T) -> Option<T> {
    let reactor = Reactor::new().unwrap();
    reactor.run_one(task(&reactor), Instant::now() + limit).unwrap()
}

/// Fails unless the text has all of these words, which ` … ` parts.
#[track_caller]
pub fn says(text: impl Display, words: &str) {
    let text = text.to_string();
    for words in words.split(" … ") {
        assert!(text.contains(words), "{words:?} is not in {text:?}");
    }
}

/// The rows of a table of cases: a line each, whose columns ` → ` parts; what begins with `//` is said of the next.
pub fn rows<const COLUMNS: usize>(table: &str) -> Vec<[&str; COLUMNS]> {
    let lines = table.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with("//"));
    lines
        .map(|line| {
            let columns: Vec<&str> = line.split('→').map(str::trim).collect();
            columns.try_into().expect(line)
        })
        .collect()
}

/// Says on standard error that this test did not happen, and why. Where everything must be tested, which the environment
/// says by `CI` or `CIPHERTAX_TEST_ALL`, it is a failure.
#[track_caller]
pub fn not_tested(why: impl Display) {
    let test = thread::current().name().unwrap_or("a test").to_owned();
    assert!(!all_must_be_tested(), "NOT TESTED: {test}: {why}");
    // Past the capture of the test's output: what did not happen must be seen.
    let _ = writeln!(io::stderr(), "NOT TESTED: {test}: {why}");
}

fn all_must_be_tested() -> bool {
    ["CI", "CIPHERTAX_TEST_ALL"].into_iter().any(|name| {
        env::var_os(name).is_some_and(|value| !value.is_empty() && value != "0" && value != "false")
    })
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Output};

    use super::*;

    /// The variable that lets this test be one that cannot be run.
    const CANNOT: &str = "CIPHERTAX_TESTKIT_CANNOT";

    #[test]
    fn what_is_not_tested_is_said_past_the_capture_and_fails_where_all_must_be_tested() {
        if env::var_os(CANNOT).is_some() {
            return not_tested("the moon is down");
        }
        let here = run_with(&[]);
        let said = String::from_utf8_lossy(&here.stderr).into_owned();
        assert!(here.status.success(), "{said}");
        let is_told = said.contains(&format!("NOT TESTED: {}: the moon is down", this_test()));
        assert!(is_told, "{said}");
        assert!(run_with(&[("CI", "false")]).status.success());
        for variable in ["CI", "CIPHERTAX_TEST_ALL"] {
            assert!(!run_with(&[(variable, "1")]).status.success(), "{variable}");
        }
    }

    fn this_test() -> String {
        thread::current().name().unwrap().to_owned()
    }

    fn run_with(environment: &[(&str, &str)]) -> Output {
        Command::new("/proc/self/exe")
            .args([&this_test(), "--exact"])
            .env(CANNOT, "")
            .env_remove("CI")
            .env_remove("CIPHERTAX_TEST_ALL")
            .envs(environment.iter().copied())
            .output()
            .unwrap()
    }
}

//! A test that cannot be run says so.

use std::env;
use std::fmt::Display;
use std::io::{self, Write};
use std::thread;

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
        assert!(
            said.contains(&format!("NOT TESTED: {}: the moon is down", this_test())),
            "{said}"
        );
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

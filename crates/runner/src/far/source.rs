//! Reading a counter once: by a program that prints a number, or from an exporter.

use ciphertax_model::CpuCounter;

use super::exposition::{Counted, cpu_seconds};
use super::program::run;

/// More seconds than any server has worked. In nanoseconds they are no more than a record can hold.
const MOST_SECONDS: f64 = 1.8e10;
/// More CPUs than any machine of a database has. A counter that rises faster does not count seconds.
pub(super) const MOST_CPUS: f64 = 2_048.0;

/// Where a counter is read.
#[derive(Debug, Clone)]
pub(super) struct Source(CpuCounter);

impl Source {
    pub(super) fn new(counter: &CpuCounter) -> Self {
        Self(counter.clone())
    }

    /// What it is called.
    pub(super) fn name(&self) -> String {
        match &self.0.exporter {
            Some(exporter) => exporter.clone(),
            // Its arguments may hold a key.
            None => format!("the command {}", self.0.command.program()),
        }
    }

    /// Reads it.
    ///
    /// # Errors
    /// What is wrong with it, in one line.
    pub(super) fn read(&self) -> Result<Counted, String> {
        let counted = match &self.0.exporter {
            Some(exporter) => scrape(exporter),
            None => printed(self.0.command.words()),
        };
        let counted = counted.map_err(|problem| format!("{}: {problem}", self.name()))?;
        match (0.0..=MOST_SECONDS).contains(&counted.seconds) {
            true => Ok(counted),
            false => Err(format!(
                "{}: {} is no CPU time in seconds",
                self.name(),
                counted.seconds
            )),
        }
    }
}

fn scrape(exporter: &str) -> Result<Counted, String> {
    let (url, group) = match exporter.split_once('#') {
        Some((url, group)) => (url, Some(group)),
        None => (exporter, None),
    };
    let words = [
        "curl",
        "--fail",
        "--silent",
        "--show-error",
        "--netrc-optional",
        "--proto",
        "=http,https",
        "--max-time",
        "15",
        "--",
        url,
    ];
    let metrics = run(&words.map(str::to_owned)).map_err(|problem| match problem.is_missing {
        true => "the program curl is not installed here; its package is curl".to_owned(),
        false => format!(
            "{problem}; try `curl {url}` here: is the exporter running, reachable from here, and a login for it in ~/.netrc?"
        ),
    })?;
    cpu_seconds(&metrics, group)
}

fn printed(command: &[String]) -> Result<Counted, String> {
    let text = run(command).map_err(|problem| problem.to_string())?;
    let number = text.trim();
    let shown: String = number
        .chars()
        .filter(|char| !char.is_control())
        .take(60)
        .collect();
    let seconds = number.parse().map_err(|_| {
        format!("it must print one number, the CPU time that the server has used so far in seconds; it printed {shown:?}")
    })?;
    Ok(Counted {
        what: "what it counts".to_owned(),
        seconds,
    })
}

#[cfg(test)]
mod tests {
    use ciphertax_model::CounterCommand;

    use super::*;

    fn of_command(script: &str) -> Result<f64, String> {
        let words = ["sh", "-c", script].map(str::to_owned);
        let counter = CpuCounter {
            command: CounterCommand::new(words),
            ..CpuCounter::default()
        };
        Source::new(&counter).read().map(|counted| counted.seconds)
    }

    #[test]
    fn what_no_record_can_hold_is_no_cpu_time() {
        assert_eq!(of_command("echo 18000000000"), Ok(1.8e10));
        for wrong in ["18446744074", "1e12", "-1", "inf", "NaN"] {
            let refused = of_command(&format!("echo {wrong}")).unwrap_err();
            assert!(refused.contains("is no CPU time"), "{wrong}: {refused}");
        }
    }

    #[test]
    fn no_message_holds_what_a_command_was_given() {
        for script in ["exit 3 # secret", "echo 1e30 # secret"] {
            let refused = of_command(script).unwrap_err();
            assert!(
                refused.starts_with("the command sh: ") && !refused.contains("secret"),
                "{refused}"
            );
        }
    }
}

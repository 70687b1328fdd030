//! A counter of CPU time that somebody else keeps, as a meter. It is read by a program that prints a number, or from an exporter.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use ciphertax_base::CpuTime;
use ciphertax_model::CpuCounter;
use ciphertax_observe::{self as observe, Meter, Usage};
use ciphertax_reactor::stop;
use ciphertax_records::CounterRecord;

use super::exposition::{Counted, cpu_seconds};
use super::program::run;

/// More seconds than any server has worked. In nanoseconds they are no more than a record can hold.
const MOST_SECONDS: f64 = 1.8e10;
/// More CPUs than any machine of a database has. A counter that rises faster does not count seconds.
const MOST_CPUS: f64 = 1_024.0;

/// How much longer than its resolution the counter may once be behind, before what it rose by is thought impossible.
const SLACK: Duration = Duration::from_secs(1);

#[derive(Debug, Clone)]
pub(super) struct Source(CpuCounter);

impl Source {
    pub(super) fn new(counter: &CpuCounter) -> Self {
        Self(counter.clone())
    }

    pub(super) fn name(&self) -> String {
        match &self.0.exporter {
            Some(exporter) => exporter.clone(),
            // Its arguments may hold a key.
            None => format!("the command {}", self.0.command.program()),
        }
    }

    /// Reads it.
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

/// Reads a counter when it has all of what was done before.
#[derive(Debug)]
pub(crate) struct CounterMeter {
    source: Source,
    counts: String,
    resolution: Duration,
    state: RefCell<State>,
}

#[derive(Debug)]
struct State {
    /// What was read first, in seconds, and when.
    first: (f64, Instant),
    /// What was read last, in seconds, and when.
    last: (f64, Instant),
    /// Why the last reading failed.
    lost: Option<String>,
}

impl CounterMeter {
    /// That of a counter whose resolution is known.
    pub(super) fn open(counter: &CpuCounter) -> Result<Self, String> {
        let source = Source::new(counter);
        let Counted { what, seconds } = source.read()?;
        let resolution_s = counter.resolution_s.unwrap_or_default();
        Ok(Self {
            counts: what,
            resolution: Duration::try_from_secs_f64(resolution_s)
                .map_err(|error| format!("{}: a resolution of {resolution_s} s: {error}", source.name()))?,
            source,
            state: RefCell::new(State {
                first: (seconds, Instant::now()),
                last: (seconds, Instant::now()),
                lost: None,
            }),
        })
    }

    /// Why it could not be read when it was tried last.
    pub(super) fn lost(&self) -> Option<String> {
        self.state.borrow().lost.clone()
    }

    pub(super) fn record(&self) -> CounterRecord {
        CounterRecord {
            source: self.source.name(),
            counts: self.counts.clone(),
            resolution_s: self.resolution.as_secs_f64(),
        }
    }

    fn seconds(&self) -> Result<f64, String> {
        let seconds = self.source.read()?.seconds;
        let now = Instant::now();
        let mut state = self.state.borrow_mut();
        let last = std::mem::replace(&mut state.last, (seconds, now));
        let name = self.source.name();
        if seconds < last.0 {
            state.first = (seconds, now);
            return Err(format!("{name} fell from {} to {seconds}: it began anew", last.0));
        }
        // A slice is too short to tell what it may have been behind from what it should have been in seconds; a run is not.
        for since in [last, state.first] {
            let (rise, time) = (seconds - since.0, now - since.1);
            if rise > MOST_CPUS * (time + 2 * self.resolution + SLACK).as_secs_f64() {
                state.first = (seconds, now);
                let time = time.as_secs_f64();
                return Err(format!(
                    "{name} rose by {rise:.0} in {time:.3} s, and no machine has so many CPUs; does it print seconds?"
                ));
            }
        }
        Ok(seconds)
    }
}

impl Meter for CounterMeter {
    fn read(&self) -> observe::Result<Usage> {
        let seconds = self.seconds();
        self.state.borrow_mut().lost = seconds.as_ref().err().cloned();
        let seconds = seconds.map_err(observe::Error::Unmetered)?;
        Ok(Usage::of_cpu(CpuTime {
            total_ns: (seconds * 1e9) as u64,
            system_ns: 0,
        }))
    }

    /// Waits as long as the counter may lag behind. Whether the server stood still, it does not tell.
    fn settle(&self, _quiet_for: Duration, _at_most: Duration) -> observe::Result<bool> {
        stop::sleep(self.resolution);
        Ok(false)
    }
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

//! A counter of CPU time that somebody else keeps, as a meter.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use ciphertax_base::CpuTime;
use ciphertax_model::CpuCounter;
use ciphertax_observe::{self as observe, Meter, Usage};
use ciphertax_reactor::stop;
use ciphertax_records::CounterRecord;

use super::exposition::Counted;
use super::source::{MOST_CPUS, Source};

/// How much longer than its resolution the counter may once be behind, before what it rose by is thought impossible.
const SLACK: Duration = Duration::from_secs(1);

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
    /// What was read last, in seconds, and when.
    last: (f64, Instant),
    /// Why the last reading failed.
    lost: Option<String>,
}

impl CounterMeter {
    /// That of a counter whose resolution is known.
    ///
    /// # Errors
    /// If it cannot be read.
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
                last: (seconds, Instant::now()),
                lost: None,
            }),
        })
    }

    /// Why it could not be read when it was tried last.
    pub(super) fn lost(&self) -> Option<String> {
        self.state.borrow().lost.clone()
    }

    /// What it is.
    pub(super) fn record(&self) -> CounterRecord {
        CounterRecord {
            source: self.source.name(),
            counts: self.counts.clone(),
            resolution_s: self.resolution.as_secs_f64(),
        }
    }

    /// What it has counted so far, in seconds.
    fn seconds(&self) -> Result<f64, String> {
        let seconds = self.source.read()?.seconds;
        let now = Instant::now();
        let last = std::mem::replace(&mut self.state.borrow_mut().last, (seconds, now));
        let (rise, time) = (seconds - last.0, now - last.1);
        let name = self.source.name();
        if rise < 0.0 {
            return Err(format!("{name} fell from {} to {seconds}: it began anew", last.0));
        }
        if rise > MOST_CPUS * (time + 2 * self.resolution + SLACK).as_secs_f64() {
            let time = time.as_secs_f64();
            return Err(format!(
                "{name} rose by {rise:.0} in {time:.3} s, and no machine has so many CPUs; does it print seconds?"
            ));
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

//! What a thread does, from one switch to the next.

use std::collections::BTreeMap;
use std::ops::Range;

/// Waits until the thread had a CPU again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Waited {
    pub(crate) ns: u64,
    pub(crate) times: u64,
}

/// What one thread did in a window of time.
#[derive(Default)]
pub(crate) struct Thread {
    pub(crate) serves_session: bool,
    /// What it is about to wait for, and since when: it works for its client no more while its stack is copied.
    pub(crate) next: Option<(u64, String)>,
    pub(crate) now: Now,
    pub(crate) on_cpu_ns: u64,
    pub(crate) preempted_ns: u64,
    pub(crate) waited: Waited,
    pub(crate) states: BTreeMap<String, Waited>,
}

/// What a thread does since when.
#[derive(Default)]
pub(crate) enum Now {
    #[default]
    Unknown,
    Runs(u64),
    Preempted(u64),
    Waits(u64, Option<String>),
}

impl Thread {
    /// Ends what it did, as far as that was in the window, and begins something else.
    pub(crate) fn turn(&mut self, window: &Range<u64>, time_ns: u64, next: Now) {
        let length = |since: u64| {
            let (begin, end) = (since.max(window.start), time_ns.min(window.end));
            end.saturating_sub(begin)
        };
        match std::mem::replace(&mut self.now, next) {
            Now::Unknown => {}
            Now::Runs(since) => self.on_cpu_ns += length(since),
            Now::Preempted(since) => self.preempted_ns += length(since),
            Now::Waits(since, state) => {
                let waited = Waited {
                    ns: length(since),
                    times: u64::from(window.contains(&time_ns)),
                };
                self.waited.add(waited);
                if let Some(state) = state {
                    self.states.entry(state).or_default().add(waited);
                }
            }
        }
    }
}

impl Waited {
    pub(crate) fn add(&mut self, other: Self) {
        self.ns += other.ns;
        self.times += other.times;
    }
}

//! When a server has done what was left to do.

use std::time::{Duration, Instant};

use ciphertax_base::CpuTime;
use ciphertax_observe::Usage;

use super::reading::used;
use crate::server::Server;

/// A server has stood still for so long when it counts as quiet. InnoDB's page cleaners wake up once a second, so less would
/// take the pause between two of their rounds for the end.
pub(super) const STILL_FOR: Duration = Duration::from_millis(1_100);
/// The same of servers that were seen to work again after that: some flush when they have been idle for a whole second, which
/// they notice by the end of the next.
pub(super) const STILL_FOR_LONGER: Duration = Duration::from_millis(2_200);
/// The same after slices that only read: they leave nothing to flush, so that it is enough to see that nobody works.
pub(super) const STILL_FOR_AFTER_READS: Duration = Duration::from_millis(150);
/// Share of one CPU that a server takes which does nothing: timers, statistics.
const IDLE_SHARE: f64 = 0.03;
/// What such a server writes meanwhile at most.
const IDLE_BYTES: u64 = 64 << 10;

/// Since when one server has stood still.
pub(super) struct Stillness {
    since: Instant,
    server: Option<Usage>,
    file_system: Option<CpuTime>,
}

impl Stillness {
    /// That of a server which worked until now.
    pub(super) fn begin(server: &dyn Server) -> Self {
        Self {
            since: Instant::now(),
            server: server.meter().read().ok(),
            file_system: server.file_system_cpu(),
        }
    }

    /// True if it has stood still for so long. One that cannot be read is taken to.
    pub(super) fn is_reached(&mut self, server: &dyn Server, for_so_long: Duration) -> bool {
        let now = Self::begin(server);
        if !self.is_unbroken(&now) {
            *self = now;
            return false;
        }
        now.since - self.since >= for_so_long
    }

    /// True if it has done nothing since then.
    pub(super) fn holds(&self, server: &dyn Server) -> bool {
        self.is_unbroken(&Self::begin(server))
    }

    fn is_unbroken(&self, now: &Self) -> bool {
        let used = used(self.server.as_ref(), now.server.as_ref());
        let of_file_system = now.file_system.zip(self.file_system);
        let cpu_ns = used.cpu.map_or(0, |cpu| cpu.total_ns)
            + of_file_system.map_or(0, |(now, before)| now.total_ns.saturating_sub(before.total_ns));
        is_idle(now.since - self.since, cpu_ns, used.bytes_written.unwrap_or(0))
    }
}

/// True if so little is what a server uses that does nothing. What it takes within a short time is held against the time for
/// which it has to stand still: a timer is no work.
fn is_idle(time: Duration, cpu_ns: u64, bytes_written: u64) -> bool {
    let bearable = time.max(STILL_FOR).as_nanos() as f64 * IDLE_SHARE;
    cpu_ns as f64 <= bearable && bytes_written <= IDLE_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_writes_or_works_is_not_idle_and_one_whose_timers_run_is() {
        let second = Duration::from_secs(1);
        assert!(is_idle(second, 0, 0));
        assert!(is_idle(second, 10_000_000, 4096));
        assert!(!is_idle(second, 50_000_000, 0));
        // Two hundred pages of 16 KiB, as a page cleaner writes them.
        assert!(!is_idle(second, 0, 200 << 14));
        assert!(is_idle(10 * second, 200_000_000, 4096), "over ten seconds");
        assert!(!is_idle(Duration::ZERO, 50_000_000, 0), "all at once");
    }
}

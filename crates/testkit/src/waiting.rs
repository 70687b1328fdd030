//! Waiting for what must come, with bounds that a busy machine keeps.

use std::thread;
use std::time::{Duration, Instant};

/// How long anything may take that is expected to end: generous, because the machine may be busy.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// True as soon as `condition` holds; false if it does not within `time`.
pub fn within(time: Duration, condition: impl Fn() -> bool) -> bool {
    let deadline = Instant::now() + time;
    while !condition() {
        if Instant::now() > deadline {
            return false;
        }
        thread::sleep(Duration::from_millis(10));
    }
    true
}

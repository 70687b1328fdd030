//! Waiting for what must come, with bounds that a busy machine keeps.

use std::io::{self, ErrorKind};
use std::thread;
use std::time::{Duration, Instant};

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

//! The CPU's own counters.

use std::io;

use rustix::io::Errno;
use rustix::thread::gettid;

use super::event::{Event, Whom, instructions};

/// Whether programs can have this CPU count their instructions and cycles. Virtual machines often hide the counters.
///
/// # Errors
/// If this user may not know.
pub fn has_hardware_counters() -> io::Result<bool> {
    let own = Whom::Thread(gettid().as_raw_nonzero().get().cast_unsigned());
    match Event::open(instructions(), own, Event::ANY_CPU) {
        Ok(_) => Ok(true),
        Err(error) if is_without(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

/// As `perf_event_open(2)` says it of a counter that is not there.
fn is_without(error: &io::Error) -> bool {
    let without = [Errno::NOENT, Errno::OPNOTSUPP, Errno::NODEV, Errno::NXIO];
    Errno::from_io_error(error).is_some_and(|error| without.contains(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_says_is_told_apart() {
        assert!(is_without(&Errno::NOENT.into()));
        assert!(!is_without(&Errno::ACCESS.into()));
    }
}

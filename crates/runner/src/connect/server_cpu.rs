//! What a server uses for one connection.

use std::time::Duration;

use ciphertax_observe::{Meter, Usage};

/// How long the server's CPU clock must stand still before and after a connection, and how long that is waited for.
const QUIET: Duration = Duration::from_millis(2);
const QUIET_AT_MOST: Duration = Duration::from_millis(50);

/// Reads the server's CPU clock, but only once it stands still: the other work of one that goes on would be in the
/// difference of two readings, and there is no telling how much of it.
///
/// # Errors
/// Why it was not read.
pub(super) fn when_quiet(meter: Result<&impl Meter, &String>) -> Result<Usage, String> {
    let meter = meter.map_err(Clone::clone)?;
    match meter.settle(QUIET, QUIET_AT_MOST) {
        Ok(true) => meter.read().map_err(|error| error.to_string()),
        Ok(false) => Err(format!(
            "it has other work, of other clients or of its own, and was not quiet for {} ms; to have it, connect when it has less",
            QUIET.as_millis()
        )),
        Err(error) => Err(error.to_string()),
    }
}

/// CPU time in nanoseconds between two readings.
///
/// # Errors
/// Why it is unknown.
pub(super) fn between(before: Result<Usage, String>, after: Result<Usage, String>) -> Result<u64, String> {
    let cpu = after?.since(&before?).cpu;
    cpu.map(|cpu| cpu.total_ns)
        .ok_or_else(|| "one of its processes was lost meanwhile".to_owned())
}

#[cfg(test)]
mod tests {
    use ciphertax_observe::OwnThreads;
    use ciphertax_observe::Result;

    use super::*;

    /// A server that is always, or never, busy.
    struct Server {
        is_quiet: bool,
    }

    impl Meter for Server {
        fn read(&self) -> Result<Usage> {
            OwnThreads.read()
        }

        fn settle(&self, _quiet_for: Duration, _at_most: Duration) -> Result<bool> {
            Ok(self.is_quiet)
        }
    }

    #[test]
    fn a_server_with_other_work_has_no_figure_but_a_reason() {
        let read = |is_quiet| when_quiet(Ok(&Server { is_quiet }));
        assert!(between(read(true), read(true)).is_ok());
        for (before, after) in [(true, false), (false, true)] {
            let unread = between(read(before), read(after)).unwrap_err();
            assert!(unread.contains("other work"), "{unread}");
        }
        let elsewhere = "on another machine".to_owned();
        let unread = when_quiet(Err::<&Server, _>(&elsewhere)).unwrap_err();
        assert_eq!(unread, elsewhere);
    }
}

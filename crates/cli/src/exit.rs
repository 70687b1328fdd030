//! How the process ends.

use std::process::ExitCode;

/// How the process ends, for whoever looks at its exit code, once and for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// What was asked is done; a study was measured.
    Done,
    /// A run costs more than it may: `gate` alone.
    OverBudget,
    /// Nothing was done: wrong use, or something that the user can mend.
    Nothing,
    /// A study was measured, and nothing can be said: there is not one estimate. Of a gate: whether the costs are within their
    /// limits.
    CannotTell,
    /// A study ended early, or something is left of it; what was measured is kept. Of a gate: the costs are within their limits as
    /// far as a run that was cut off has them.
    Partial,
    /// Stopped by the signal of this number.
    Stopped(i32),
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::OverBudget => 1,
            Exit::Nothing => 2,
            Exit::CannotTell => 3,
            Exit::Partial => 4,
            // As shells have it.
            Exit::Stopped(signal) => 128_u8.saturating_add(u8::try_from(signal).unwrap_or(0)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_may_rely_on_the_exit_codes() {
        for (exit, code) in [
            (Exit::Done, 0),
            (Exit::OverBudget, 1),
            (Exit::Nothing, 2),
            (Exit::CannotTell, 3),
            (Exit::Partial, 4),
            (Exit::Stopped(1), 129),
            (Exit::Stopped(2), 130),
            (Exit::Stopped(15), 143),
        ] {
            assert_eq!(ExitCode::from(exit), ExitCode::from(code), "{exit:?}");
        }
    }
}

//! The end of the process, also by a signal.

use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::{io, thread};

use ciphertax_runner::{made_on, remedy};
use ciphertax_supervise::say;
use ciphertax_wire::Target;
use indicatif::ProgressBar;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::{flag, low_level};

use crate::key_password;

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

const SIGNALS: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

/// What the user's signals have said so far.
#[derive(Clone, Default)]
pub(crate) struct Stop {
    /// Set by the first signal.
    pub(crate) flag: Arc<AtomicBool>,
    /// The first signal; 0 before it.
    caught: Arc<AtomicI32>,
    left: Arc<Mutex<Left>>,
    /// What is drawn on the terminal meanwhile.
    drawn: Arc<Mutex<Option<ProgressBar>>>,
}

/// What is left behind if the process ends now.
#[derive(Default)]
pub(crate) struct Left {
    pub(crate) folder: Option<PathBuf>,
    /// A server of the user's own with what ciphertax makes there.
    pub(crate) made_on: Option<Target>,
}

impl Stop {
    /// Watches for signals from now on. The first is noted. The second ends the process and says what is left; private servers
    /// are removed by their guards.
    pub(crate) fn watch() -> Result<Self, String> {
        let stop = Self::default();
        let watch = || -> io::Result<()> {
            let is_second = Arc::new(AtomicBool::new(false));
            for signal in SIGNALS {
                // A third, should whoever listens to standard error hold up the second.
                flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&is_second))?;
            }
            let mut signals = Signals::new(SIGNALS)?;
            let listener = stop.clone();
            thread::spawn(move || listener.listen(&mut signals, &is_second));
            Ok(())
        };
        watch().map_err(|error| format!("signals cannot be watched: {error}"))?;
        Ok(stop)
    }

    fn listen(&self, signals: &mut Signals, is_second: &AtomicBool) {
        let mut received = signals.forever();
        let Some(first) = received.next() else { return };
        self.caught.store(first, Ordering::Relaxed);
        self.flag.store(true, Ordering::Relaxed);
        // From a thread of its own: whoever does not read standard error must not hold up the second signal.
        let drawn = self.drawn.lock().unwrap_or_else(PoisonError::into_inner).clone();
        thread::spawn(move || {
            let stopping = || say("Stopping in order; a second Ctrl-C ends at once");
            match drawn.filter(|bar| !bar.is_hidden()) {
                // A line amid what is drawn would leave a part of it.
                Some(bar) => bar.suspend(stopping),
                None => stopping(),
            }
        });
        let Some(second) = received.next() else { return };
        is_second.store(true, Ordering::Relaxed);
        let left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        say(format_args!("ciphertax: ended at once{}", left.in_words()));
        key_password::show();
        low_level::exit(128 + second);
    }

    /// How the process ends after a signal; `None` without one.
    pub(crate) fn caught(&self) -> Option<Exit> {
        match self.caught.load(Ordering::Relaxed) {
            0 => None,
            signal => Some(Exit::Stopped(signal)),
        }
    }

    /// Notes what is drawn on the terminal from now on.
    pub(crate) fn draws(&self, bar: &ProgressBar) {
        *self.drawn.lock().unwrap_or_else(PoisonError::into_inner) = Some(bar.clone());
    }

    /// Notes what is left behind from now on.
    pub(crate) fn leaves(&self, note: impl FnOnce(&mut Left)) {
        note(&mut self.left.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Left {
    /// What is left and what to do with it, as the rest of a sentence.
    fn in_words(&self) -> String {
        let mut words = String::new();
        if let Some(target) = &self.made_on {
            let (what, command) = (made_on(target), remedy(target));
            // Writing to a text cannot fail.
            let _ = write!(words, "; {what} may be left on {target}, to remove it: {command}");
        }
        if let Some(folder) = &self.folder {
            let _ = write!(words, "; the run folder {} is left", folder.display());
        }
        words
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

    #[test]
    fn what_is_left_is_named_with_the_command_that_removes_it_and_without_the_password() {
        assert_eq!(Left::default().in_words(), "");
        let left = Left {
            folder: Some("run".into()),
            made_on: Some(Target::parse("mysql://app:s3cret@db:3307/", None).unwrap()),
        };
        assert_eq!(
            left.in_words(),
            "; the schema ciphertax may be left on mysql://app@db:3307/, to remove it: ciphertax clean \
         'mysql://app@db:3307/'; the run folder run is left"
        );
    }
}

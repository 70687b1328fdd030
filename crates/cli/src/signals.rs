//! Ctrl-C and its kin: the first ends the run in order, the second at once.

use std::fmt::Write;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use ciphertax_runner::{made_on, remedy};
use ciphertax_supervise::say;
use ciphertax_wire::Target;
use indicatif::ProgressBar;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::Signals;
use signal_hook::low_level;

use crate::exit::Exit;

const SIGNALS: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

/// What the user's signals have said so far.
#[derive(Clone)]
pub(crate) struct Stop {
    flag: Arc<AtomicBool>,
    /// The first signal; 0 before it.
    caught: Arc<AtomicI32>,
    left: Arc<Mutex<Left>>,
    /// What is drawn on the terminal meanwhile.
    drawn: Arc<Mutex<Option<ProgressBar>>>,
}

/// What is left behind if the process ends now.
#[derive(Default)]
pub(crate) struct Left {
    /// A run folder.
    pub(crate) folder: Option<PathBuf>,
    /// A server of the user's own with what ciphertax makes there.
    pub(crate) made_on: Option<Target>,
}

impl Stop {
    /// Watches for signals from now on. The first is noted. The second ends the process and says what is left; private servers
    /// are removed by their guards.
    pub(crate) fn watch() -> Result<Self, String> {
        let stop = Self {
            flag: Arc::default(),
            caught: Arc::default(),
            left: Arc::default(),
            drawn: Arc::default(),
        };
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
        low_level::exit(128 + second);
    }

    /// Set by the first signal.
    pub(crate) fn flag(&self) -> &Arc<AtomicBool> {
        &self.flag
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

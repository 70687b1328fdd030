//! Asking a server what its sessions wait for while a slice runs, by its own names.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ciphertax_records::why::WaitEvents;

/// From one question to the next: often enough for a slice to hold several, seldom enough for them to cost the server less than
/// looking at its threads does.
const PERIOD: Duration = Duration::from_millis(43);
/// How long a slice that has ended waits for the last answer.
const LAST_ANSWER: Duration = Duration::from_secs(2);

/// Asks once how many sessions wait for which event; `None` if the server does not say.
pub(crate) type Ask = Box<dyn FnMut() -> Option<BTreeMap<String, u64>>>;

/// A thread with a session of its own, which asks in the slices that are looked into and is silent between them.
pub(crate) struct WaitEventAsker {
    /// Absent once it is to end.
    slices: Option<Sender<()>>,
    answers: Receiver<WaitEvents>,
    is_stopped: Arc<AtomicBool>,
    /// Absent once it has ended.
    thread: Option<JoinHandle<()>>,
    is_asking: bool,
}

impl WaitEventAsker {
    /// Begins the thread, which first opens what it asks with.
    pub(crate) fn open(open: impl FnOnce() -> Option<Ask> + Send + 'static) -> Self {
        let (slices, orders) = channel();
        let (sender, answers) = channel();
        let is_stopped = Arc::new(AtomicBool::new(true));
        let is_over = Arc::clone(&is_stopped);
        let thread = thread::spawn(move || {
            let Some(mut ask) = open() else { return };
            while orders.recv().is_ok() {
                let Some(events) = of_a_slice(&mut ask, &is_over) else {
                    return;
                };
                if sender.send(events).is_err() {
                    return;
                }
            }
        });
        Self {
            slices: Some(slices),
            answers,
            is_stopped,
            thread: Some(thread),
            is_asking: false,
        }
    }

    pub(crate) fn begin(&mut self) {
        self.is_stopped.store(false, Ordering::Relaxed);
        let slices = self.slices.as_ref();
        self.is_asking = slices.is_some_and(|slices| slices.send(()).is_ok());
    }

    /// Ends that, and gives what was answered; `None` if the server has not said anything, or does not any more.
    pub(crate) fn stop(&mut self) -> Option<WaitEvents> {
        self.is_stopped.store(true, Ordering::Relaxed);
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
        if !std::mem::take(&mut self.is_asking) {
            return None;
        }
        let answers = self.answers.recv_timeout(LAST_ANSWER).ok();
        if answers.is_none() {
            // What comes later would be taken for that of another slice.
            self.slices = None;
        }
        answers.filter(|events| events.rounds > 0)
    }
}

impl Drop for WaitEventAsker {
    fn drop(&mut self) {
        self.stop();
        self.slices = None;
        if let Some(thread) = self.thread.take() {
            // It has nobody to tell of a panic.
            let _ = thread.join();
        }
    }
}

/// `None` once the server does not answer any more.
fn of_a_slice(ask: &mut Ask, is_over: &AtomicBool) -> Option<WaitEvents> {
    let mut events = WaitEvents::default();
    let mut next = Instant::now() + PERIOD / 2;
    loop {
        loop {
            if is_over.load(Ordering::Relaxed) {
                return Some(events);
            }
            let left = next.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            thread::park_timeout(left);
        }
        for (event, sessions) in ask()? {
            *events.sessions.entry(event).or_default() += sessions;
        }
        events.rounds += 1;
        next = (next + PERIOD).max(Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asker(mut answer: impl FnMut() -> Option<u64> + Send + 'static) -> WaitEventAsker {
        WaitEventAsker::open(move || {
            Some(Box::new(move || {
                answer().map(|sessions| [("Lock:tuple".to_owned(), sessions)].into())
            }))
        })
    }

    #[test]
    fn what_a_server_answers_in_a_slice_is_summed_up_for_that_slice() {
        let mut asker = asker(|| Some(3));
        assert_eq!(asker.stop(), None, "it was not asked yet");
        for _ in 0..2 {
            asker.begin();
            thread::sleep(4 * PERIOD);
            let events = asker.stop().unwrap();
            assert!(events.rounds >= 1);
            assert_eq!(events.sessions["Lock:tuple"], 3 * events.rounds);
        }
        // Too short for a question.
        asker.begin();
        assert!(asker.stop().is_none_or(|events| events.rounds == 1));
    }

    #[test]
    fn a_server_that_does_not_answer_any_more_is_not_asked_again() {
        let mut left = 1;
        let mut asker = asker(move || {
            left -= 1;
            (left >= 0).then_some(1)
        });
        asker.begin();
        thread::sleep(5 * PERIOD);
        assert_eq!(asker.stop(), None);
        asker.begin();
        assert_eq!(asker.stop(), None);
        let mut refused = WaitEventAsker::open(|| None);
        refused.begin();
        assert_eq!(refused.stop(), None);
    }
}

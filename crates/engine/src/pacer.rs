//! When a connection's next operation begins: the same code for all workloads.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use ciphertax_reactor::Reactor;

use crate::course::Course;
use crate::responses::Responses;

/// How long operations in flight may take to finish after the end of a slice.
const FINISH_TIMEOUT: Duration = Duration::from_secs(10);

/// Begins the operations of a load thread's connections in a slice.
pub(crate) struct Pacer<'a> {
    reactor: &'a Reactor,
    course: &'a Course,
    /// When the slice's time is over; a batch has none, and ends with its operations.
    end: Instant,
    responses: RefCell<Responses>,
}

/// How far one connection is in its slice.
pub(crate) struct Turn {
    /// Operations of the batch that are dealt to the connection and not begun, or the number of its next one on the schedule.
    number: u64,
    /// When the operation that goes on was to begin.
    intended: Instant,
    /// By how much the load generator has put the connection behind. It stays behind until there is time to sleep.
    delay: Duration,
}

impl<'a> Pacer<'a> {
    pub(crate) fn new(
        reactor: &'a Reactor,
        course: &'a Course,
        began: Instant,
        responses: Responses,
    ) -> Self {
        Self {
            reactor,
            course,
            end: match course {
                Course::Closed(duration) => began + *duration,
                Course::Batch(_) => began,
                Course::Open(schedule) => schedule.end(),
            },
            responses: RefCell::new(responses),
        }
    }

    /// Until when operations have time to finish, as known when the slice begins.
    pub(crate) fn deadline(&self) -> Instant {
        self.end + FINISH_TIMEOUT
    }

    /// A connection's before its first operation; `number` is of operations that are dealt to it, or that of the first on the schedule.
    pub(crate) fn turn(&self, number: u64) -> Turn {
        Turn {
            number,
            intended: self.end,
            delay: Duration::ZERO,
        }
    }

    /// True if connections rest between operations where the workload says so.
    pub(crate) fn lets_rest(&self) -> bool {
        !matches!(self.course, Course::Open(_))
    }

    /// Takes the connection's next operation; false if it has none.
    pub(crate) fn take(&self, turn: &mut Turn, now: Instant) -> bool {
        match self.course {
            Course::Closed(_) => now < self.end,
            Course::Batch(batch) => {
                let takes = turn.number > 0 && batch.take();
                turn.number -= u64::from(takes);
                takes
            }
            Course::Open(schedule) => match schedule.intended(turn.number) {
                Some(intended) => {
                    turn.intended = intended;
                    true
                }
                None => false,
            },
        }
    }

    /// Waits until the operation that was taken begins, and returns that time; `None` if the slice has ended before.
    pub(crate) async fn begin(&self, turn: &mut Turn, mut now: Instant, pause: Duration) -> Option<Instant> {
        match self.course {
            Course::Closed(_) => {
                if !pause.is_zero() {
                    now = self.reactor.sleep_until(self.end.min(now + pause)).await;
                }
                (now < self.end).then_some(now)
            }
            Course::Batch(_) => {
                // As long as operations begin, those in flight have time.
                self.reactor.extend_deadline(now + pause + FINISH_TIMEOUT);
                if !pause.is_zero() {
                    now = self.reactor.sleep_until(now + pause).await;
                }
                Some(now)
            }
            Course::Open(_) => {
                if now < turn.intended {
                    now = self.reactor.sleep_until(turn.intended).await;
                    turn.delay = now - turn.intended;
                } else {
                    turn.delay = turn.delay.min(now - turn.intended);
                }
                self.responses.borrow_mut().began(turn.delay);
                Some(now)
            }
        }
    }

    /// Notes that the operation has ended, and which is the next on a schedule.
    pub(crate) fn end(&self, turn: &mut Turn, now: Instant) {
        if let Course::Open(schedule) = self.course {
            self.responses.borrow_mut().ended(now - turn.intended);
            turn.number = schedule.take();
        }
    }

    pub(crate) fn into_responses(self) -> Responses {
        self.responses.into_inner()
    }
}

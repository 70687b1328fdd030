//! The course of a slice, and when each connection's next operation begins.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ciphertax_reactor::Reactor;

use crate::recorder::Responses;
use crate::workload::Part;

/// The course of a slice, the same for all load threads.
#[derive(Debug, Clone)]
pub(crate) enum Course {
    /// Each operation of a connection begins when the one before has ended, for so long.
    Closed(Duration),
    /// The same until so many operations are done.
    Batch(Arc<Batch>),
    /// Operations begin at given times.
    Open(Arc<Schedule>),
}

/// A number of operations that the connections take one by one, or that are dealt to them.
#[derive(Debug)]
pub(crate) struct Batch {
    /// Of all processes.
    operations: u64,
    /// Those of this one.
    own: u64,
    taken: AtomicU64,
}

impl Batch {
    pub(crate) fn of(operations: u32, part: Part) -> Self {
        Self {
            operations: operations.into(),
            own: part.share_of(operations).into(),
            taken: AtomicU64::new(0),
        }
    }

    /// How many of them are dealt to a connection, of as many of all processes.
    pub(crate) fn dealt(&self, connection: u32, of: u32) -> u64 {
        let (connection, of) = (u64::from(connection), u64::from(of));
        self.operations / of + u64::from(connection < self.operations % of)
    }

    pub(crate) fn take(&self) -> bool {
        self.taken.fetch_add(1, Ordering::Relaxed) < self.own
    }

    /// Lets no further one begin.
    pub(crate) fn cut(&self) {
        self.taken.store(self.own, Ordering::Relaxed);
    }
}

/// Operations that begin at even distances. Each is known by its number, and taken by the first connection that is
/// free: so they begin in order, and one whose turn comes while all connections are busy waits.
#[derive(Debug)]
pub(crate) struct Schedule {
    start: Instant,
    rate: u64,
    /// Of all processes, which take turns.
    all: u64,
    part: Part,
    next: AtomicU64,
}

impl Schedule {
    /// As many operations per second as `rate` for so long, but one at least. The first `connections` of them are not
    /// for [`Schedule::take`]: each connection begins with the one that is dealt to it.
    pub(crate) fn new(start: Instant, rate: u32, duration: Duration, connections: u32, part: Part) -> Self {
        let rate = u64::from(rate);
        let operations = (duration.as_secs_f64() * rate as f64).round() as u64;
        Self {
            start,
            rate,
            all: operations.max(1),
            part,
            next: AtomicU64::new(connections.into()),
        }
    }

    /// When an operation is to begin; `None` after the last.
    pub(crate) fn intended(&self, operation: u64) -> Option<Instant> {
        let number = self.part.in_turn(operation)?;
        let nanos = number.checked_mul(1_000_000_000)? / self.rate;
        (number < self.all).then(|| self.start + Duration::from_nanos(nanos))
    }

    /// The number of the next operation that nobody has.
    pub(crate) fn take(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn operations(&self) -> u64 {
        self.part.turns_in(self.all)
    }

    /// When the first operation is to begin.
    pub(crate) fn start(&self) -> Instant {
        self.start
    }

    /// When the time of the slice is over.
    pub(crate) fn end(&self) -> Instant {
        self.start + Duration::from_nanos(self.all.saturating_mul(1_000_000_000) / self.rate)
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_begins_its_operations_at_even_distances_and_ends_with_its_time() {
        let start = Instant::now();
        let schedule = Schedule::new(start, 200, Duration::from_millis(100), 3, Part::WHOLE);
        let offsets: Vec<u128> = (0..)
            .map_while(|operation| schedule.intended(operation))
            .map(|instant| (instant - start).as_millis())
            .collect();
        assert_eq!(offsets, (0..20).map(|number| number * 5).collect::<Vec<_>>());
        assert_eq!(schedule.end() - start, Duration::from_millis(100));
        assert_eq!(schedule.take(), 3);
    }

    #[test]
    fn a_slice_too_short_for_its_rate_has_one_operation() {
        let schedule = Schedule::new(Instant::now(), 1, Duration::from_millis(1), 1, Part::WHOLE);
        assert_eq!(schedule.operations(), 1);
    }

    #[test]
    fn processes_that_share_a_schedule_take_turns_at_the_whole_rate() {
        let start = Instant::now();
        let schedule = |index| {
            let part = Part::new(index, 3).unwrap();
            Schedule::new(start, 100, Duration::from_millis(100), 1, part)
        };
        let mut offsets: Vec<u128> = (0..3)
            .flat_map(|index| {
                let schedule = schedule(index);
                assert_eq!(schedule.end() - start, Duration::from_millis(100));
                let intended: Vec<Instant> = (0..).map_while(|own| schedule.intended(own)).collect();
                assert_eq!(intended.len() as u64, schedule.operations());
                intended
            })
            .map(|intended| (intended - start).as_millis())
            .collect();
        offsets.sort_unstable();
        assert_eq!(offsets, (0..10).map(|number| number * 10).collect::<Vec<_>>());
    }

    #[test]
    fn processes_that_share_a_batch_do_all_of_it_once() {
        let done = |index| {
            let batch = Batch::of(11, Part::new(index, 4).unwrap());
            (0..20).filter(|_| batch.take()).count()
        };
        assert_eq!((0..4).map(done).collect::<Vec<_>>(), [3, 3, 3, 2]);
    }

    #[test]
    fn a_batch_is_dealt_evenly_and_whole() {
        for operations in [0, 1, 6, 7, 8, 1000] {
            let batch = Batch::of(operations, Part::WHOLE);
            let dealt: Vec<u64> = (0..7).map(|connection| batch.dealt(connection, 7)).collect();
            assert_eq!(dealt.iter().sum::<u64>(), u64::from(operations));
            assert!(dealt[0] - dealt[6] <= 1, "{dealt:?}");
        }
    }

    #[test]
    fn a_batch_is_taken_once() {
        let batch = Batch::of(3, Part::WHOLE);
        assert_eq!((0..5).filter(|_| batch.take()).count(), 3);
        let cut = Batch::of(3, Part::WHOLE);
        assert!(cut.take());
        cut.cut();
        assert!(!cut.take());
    }
}

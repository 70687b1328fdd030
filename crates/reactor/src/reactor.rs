//! The executor: polls the tasks whose sockets became ready, and wakes those that sleep.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use rustix::thread::{Timespec, nanosleep};

use crate::epoll::Epoll;
use crate::stop;

/// How long tasks may go on after somebody wanted to stop: enough to bring to its end what a server answers at all.
const LAST_MOMENT: Duration = Duration::from_millis(500);

/// One thread's event loop.
pub struct Reactor {
    epoll: Epoll,
    alarms: RefCell<Alarms>,
    current: Cell<u32>,
    deadline: Cell<Option<Instant>>,
    stop: RefCell<Stop>,
    poll_delay: Cell<PollDelay>,
}

/// What an event loop drives.
pub type Task<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

/// Somebody's wish to stop, which ends the tasks that now run.
#[derive(Default)]
struct Stop {
    flag: Option<Arc<AtomicBool>>,
    /// When the tasks must have ended; `None` until the flag was seen set.
    deadline: Option<Instant>,
}

impl Reactor {
    /// An event loop for the calling thread.
    ///
    /// # Errors
    /// When the kernel gives none, for example because too many files are open.
    pub fn new() -> io::Result<Rc<Self>> {
        sleep_precisely();
        Ok(Rc::new(Self {
            epoll: Epoll::new()?,
            alarms: RefCell::default(),
            current: Cell::new(0),
            deadline: Cell::new(None),
            stop: RefCell::default(),
            poll_delay: Cell::new(PollDelay::NONE),
        }))
    }

    /// Sets how long the loop waits for more sockets before it serves those that are ready.
    pub fn set_poll_delay(&self, poll_delay: PollDelay) {
        self.poll_delay.set(poll_delay);
    }

    /// Gives the tasks that run until `deadline`, unless they have longer.
    pub fn extend_deadline(&self, deadline: Instant) {
        self.deadline.set(self.deadline.get().max(Some(deadline)));
    }

    /// Puts the task to sleep until `instant`, and returns the time at which it goes on.
    pub async fn sleep_until(&self, instant: Instant) -> Instant {
        let mut sleeps = false;
        poll_fn(|_| {
            let now = Instant::now();
            if now >= instant {
                return Poll::Ready(now);
            }
            if !sleeps {
                sleeps = true;
                self.alarms.borrow_mut().add(instant, self.current.get());
            }
            Poll::Pending
        })
        .await
    }

    /// The output of `future`; `None` if it has not ended at `instant`, when it is given up.
    pub async fn until<F: Future>(&self, instant: Instant, future: F) -> Option<F::Output> {
        let mut future = pin!(future);
        let mut sleep = pin!(self.sleep_until(instant));
        poll_fn(|context| match future.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending => sleep.as_mut().poll(context).map(|_| None),
        })
        .await
    }

    /// Drives all `tasks` until each has ended, `deadline` has passed, or the flag of the thread has been set
    /// for half a second. Returns the outputs in the order of the tasks; `None` for a task that had not ended and was
    /// dropped.
    ///
    /// # Errors
    /// When the kernel refuses to wait.
    pub fn run<F: Future>(
        &self,
        tasks: impl IntoIterator<Item = F>,
        deadline: Instant,
    ) -> io::Result<Vec<Option<F::Output>>> {
        let outputs = RefCell::new(Vec::new());
        let tasks = tasks.into_iter().enumerate().map(|(index, task)| {
            outputs.borrow_mut().push(None);
            let outputs = &outputs;
            boxed(task, move |output| outputs.borrow_mut()[index] = Some(output))
        });
        self.drive(tasks.collect(), deadline)?;
        Ok(outputs.into_inner())
    }

    /// Drives one future; `None` if it had not ended at `deadline`.
    ///
    /// # Errors
    /// As [`Reactor::run`].
    pub fn run_one<F: Future>(&self, task: F, deadline: Instant) -> io::Result<Option<F::Output>> {
        let mut output = None;
        let task = boxed(task, |of_task| output = Some(of_task));
        self.drive(vec![task], deadline)?;
        Ok(output)
    }

    /// [`Reactor::run`] of tasks of whatever type, which is compiled once; returns how many had not ended.
    ///
    /// # Errors
    /// As [`Reactor::run`].
    pub fn drive(&self, tasks: Vec<Task<'_>>, deadline: Instant) -> io::Result<usize> {
        let mut tasks: Vec<_> = tasks.into_iter().map(Some).collect();
        // Who is ready first is served first.
        let mut ready: Vec<u32> = (0..tasks.len() as u32).collect();
        let mut live = tasks.len();
        let mut context = Context::from_waker(Waker::noop());
        self.alarms.borrow_mut().clear();
        self.deadline.set(Some(deadline));
        *self.stop.borrow_mut() = Stop {
            flag: stop::current_flag(),
            deadline: None,
        };
        while live > 0 {
            for index in ready.drain(..) {
                // A socket may still name the task of an earlier run that waited for it last.
                let Some(task) = tasks.get_mut(index as usize) else {
                    continue;
                };
                let Some(future) = task else { continue };
                self.current.set(index);
                if future.as_mut().poll(&mut context).is_ready() {
                    *task = None;
                    live -= 1;
                }
            }
            if live > 0 && !self.wait(&mut ready)? {
                break;
            }
        }
        Ok(live)
    }

    /// Waits for sockets and alarms, and notes the tasks to poll. False once the deadline has passed.
    fn wait(&self, ready: &mut Vec<u32>) -> io::Result<bool> {
        self.poll_delay.get().sleep();
        loop {
            // Looked at even when sockets are ready: a peer that always has more to say does not move the deadline.
            let now = Instant::now();
            let left = self.left(now);
            if left.is_zero() {
                return Ok(false);
            }
            let alarm = self.alarms.borrow().next();
            self.epoll.wait(now, left, alarm, ready)?;
            self.alarms.borrow_mut().wake(ready);
            if !ready.is_empty() {
                return Ok(true);
            }
        }
    }

    pub(crate) fn epoll(&self) -> &Epoll {
        &self.epoll
    }

    /// The task being polled.
    pub(crate) fn task(&self) -> u32 {
        self.current.get()
    }

    /// True if the tasks that now run have had their time.
    pub(crate) fn is_late(&self) -> bool {
        self.left(Instant::now()).is_zero()
    }

    /// How long may be waited at once; zero if the tasks that now run have had their time.
    fn left(&self, now: Instant) -> Duration {
        let deadline = self.deadline.get().unwrap_or(now);
        let left = deadline.saturating_duration_since(now);
        self.stop.borrow_mut().shorten(left, now)
    }
}

/// A task of which `keep` gets the output. In a frame of its own, so that a future takes no room on the stack while it is driven: a
/// sample of a profile holds the stack's top alone.
#[inline(never)]
fn boxed<'a, F: Future + 'a>(task: F, mut keep: impl FnMut(F::Output) + 'a) -> Task<'a> {
    let mut task = Box::pin(task);
    Box::pin(poll_fn(move |context| task.as_mut().poll(context).map(&mut keep)))
}

impl Stop {
    /// How long may be waited at once by tasks that have so much time left.
    fn shorten(&mut self, left: Duration, now: Instant) -> Duration {
        let Some(flag) = &self.flag else { return left };
        if self.deadline.is_none() && flag.load(Ordering::Relaxed) {
            self.deadline = Some(now + LAST_MOMENT);
        }
        match self.deadline {
            Some(deadline) => left.min(deadline.saturating_duration_since(now)),
            None => left.min(stop::LOOK),
        }
    }
}

/// The tasks that sleep.
#[derive(Default)]
pub(crate) struct Alarms {
    /// When, and whom to wake; the next on top.
    sleeping: BinaryHeap<Reverse<(Instant, u32)>>,
}

impl Alarms {
    pub(crate) fn add(&mut self, instant: Instant, task: u32) {
        self.sleeping.push(Reverse((instant, task)));
    }

    /// Forgets the sleepers of an earlier run.
    pub(crate) fn clear(&mut self) {
        self.sleeping.clear();
    }

    /// When the next sleeper is to be woken.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.sleeping.peek().map(|Reverse((instant, _))| *instant)
    }

    /// Wakes those whose time has come.
    pub(crate) fn wake(&mut self, ready: &mut Vec<u32>) {
        if self.sleeping.is_empty() {
            return;
        }
        let now = Instant::now();
        while let Some(Reverse((_, task))) = self
            .sleeping
            .peek()
            .filter(|Reverse((instant, _))| *instant <= now)
        {
            ready.push(*task);
            self.sleeping.pop();
        }
    }
}

/// How long a thread that has nothing to do sleeps before it asks which sockets are ready.
///
/// With many active connections one wake-up then serves many sockets instead of one. The price is that an answer may
/// wait that long before it is read, which the recorded latency contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PollDelay(Duration);

impl PollDelay {
    /// Serve each socket as soon as it is ready.
    pub const NONE: Self = Self(Duration::ZERO);

    /// Wait this long for more.
    pub fn micros(micros: u32) -> Self {
        Self(Duration::from_micros(micros.into()))
    }

    pub(crate) fn sleep(self) {
        if self == Self::NONE {
            return;
        }
        let pause = Timespec {
            tv_sec: 0,
            tv_nsec: self.0.subsec_nanos().into(),
        };
        // A signal that ends the sleep early only makes the batch smaller.
        let _ = nanosleep(&pause);
    }
}

/// Lets this thread's sleeps end within about a microsecond of their time, not within the default 50.
pub(crate) fn sleep_precisely() {
    // SAFETY: PR_SET_TIMERSLACK takes one integer and touches no memory of ours.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_000_u64) };
}

/// Futures that one task waits for together. Whatever one of them waits for wakes the task, which looks at all: it is
/// for a few, and not for what is measured.
pub struct Together<F: Future> {
    running: Vec<Option<Pin<Box<F>>>>,
}

impl<F: Future> Together<F> {
    /// All of these.
    pub fn new(futures: impl IntoIterator<Item = F>) -> Self {
        Self {
            running: futures.into_iter().map(|future| Some(Box::pin(future))).collect(),
        }
    }

    /// The output of the next that ends, and its place among those given; `None` when all have ended.
    pub async fn next(&mut self) -> Option<(usize, F::Output)> {
        poll_fn(|context| {
            let mut is_over = true;
            for (place, slot) in self.running.iter_mut().enumerate() {
                let Some(future) = slot else { continue };
                is_over = false;
                if let Poll::Ready(output) = future.as_mut().poll(context) {
                    *slot = None;
                    return Poll::Ready(Some((place, output)));
                }
            }
            match is_over {
                true => Poll::Ready(None),
                false => Poll::Pending,
            }
        })
        .await
    }

    /// The first that succeeds, while the others are given up; the last failure when none does, and `None` of no
    /// futures.
    pub async fn first_ok<T, E>(mut self) -> Option<Result<T, E>>
    where
        F: Future<Output = Result<T, E>>,
    {
        let mut failure = None;
        while let Some((_, outcome)) = self.next().await {
            match outcome {
                Ok(found) => return Some(Ok(found)),
                Err(error) => failure = Some(Err(error)),
            }
        }
        failure
    }
}

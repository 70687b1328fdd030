//! The executor: polls the tasks whose sockets became ready.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use rustix::event::{Timespec, epoll};
use rustix::io::Errno;

use crate::alarm::Alarms;
use crate::poll_delay::{self, PollDelay};
use crate::stop;

const EVENTS_PER_WAIT: usize = 256;
/// What every socket tells: that there is something to read, or that the peer has closed.
const READABLE: epoll::EventFlags = epoll::EventFlags::IN
    .union(epoll::EventFlags::RDHUP)
    .union(epoll::EventFlags::ET);
/// How long tasks may go on after somebody wanted to stop: enough to bring to its end what a server answers at all.
const LAST_MOMENT: Duration = Duration::from_millis(500);
/// The alarms' timer among the events; no socket has so large a number.
const TIMER: u64 = u64::MAX;

/// One thread's event loop.
pub struct Reactor {
    epoll: OwnedFd,
    slots: RefCell<Slots>,
    alarms: RefCell<Alarms>,
    current: Cell<u32>,
    deadline: Cell<Option<Instant>>,
    stop: RefCell<Stop>,
    poll_delay: Cell<PollDelay>,
}

/// Somebody's wish to stop, which the tasks that now run heed.
#[derive(Default)]
struct Stop {
    flag: Option<Arc<AtomicBool>>,
    /// When the tasks must have ended; `None` until the flag was seen set.
    deadline: Option<Instant>,
}

/// What the event loop knows of a socket.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Slot {
    pub(crate) readable: bool,
    pub(crate) writable: bool,
    /// The peer closed or the connection broke: every read will answer at once, and no further event comes.
    pub(crate) hung_up: bool,
    waiting: Option<u32>,
    /// Which of the sockets that had this slot has it.
    generation: u32,
}

impl Slot {
    /// Notes that a read took all there was.
    pub(crate) fn drained(&mut self) {
        self.readable = self.hung_up;
    }
}

#[derive(Default)]
struct Slots {
    slots: Vec<Slot>,
    free: Vec<u32>,
}

impl Slots {
    /// What the kernel says with every event of the socket that has the slot.
    fn data(&self, token: u32) -> epoll::EventData {
        let generation = self.slots[token as usize].generation;
        epoll::EventData::new_u64(u64::from(generation) << 32 | u64::from(token))
    }

    /// The slot of an event; `None` if its socket is gone. A process that is being started may hold a copy of a closed
    /// socket for a moment, so events of one may still come.
    fn of(&mut self, data: epoll::EventData) -> Option<&mut Slot> {
        let slot = self.slots.get_mut(data.u64() as u32 as usize)?;
        (u64::from(slot.generation) == data.u64() >> 32).then_some(slot)
    }
}

impl Reactor {
    /// An event loop for the calling thread.
    ///
    /// # Errors
    /// When the kernel gives no epoll instance, for example because too many files are open.
    pub fn new() -> io::Result<Rc<Self>> {
        poll_delay::sleep_precisely();
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let alarms = Alarms::new()?;
        // Edge-triggered: what has rung need not be read.
        let interest = epoll::EventFlags::IN | epoll::EventFlags::ET;
        epoll::add(&epoll, alarms.timer(), epoll::EventData::new_u64(TIMER), interest)?;
        Ok(Rc::new(Self {
            epoll,
            slots: RefCell::default(),
            alarms: RefCell::new(alarms),
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

    /// Gives the tasks that run until `deadline`.
    pub fn set_deadline(&self, deadline: Instant) {
        self.deadline.set(Some(deadline));
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

    /// Drives all `tasks` until each has ended, `deadline` has passed, or the flag that the thread heeds has been set
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
        let mut tasks: Vec<Option<Pin<Box<F>>>> =
            tasks.into_iter().map(|task| Some(Box::pin(task))).collect();
        let mut outputs: Vec<Option<F::Output>> = tasks.iter().map(|_| None).collect();
        let mut ready: Vec<u32> = (0..tasks.len()).rev().map(|index| index as u32).collect();
        let mut live = tasks.len();
        let mut events = Vec::with_capacity(EVENTS_PER_WAIT);
        let mut context = Context::from_waker(Waker::noop());
        self.alarms.borrow_mut().clear();
        self.set_deadline(deadline);
        *self.stop.borrow_mut() = Stop {
            flag: stop::heeded(),
            deadline: None,
        };
        while live > 0 {
            while let Some(index) = ready.pop() {
                // A socket may still name the task of an earlier run that waited for it last.
                let Some(task) = tasks.get_mut(index as usize) else {
                    continue;
                };
                let Some(future) = task else { continue };
                self.current.set(index);
                if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
                    outputs[index as usize] = Some(output);
                    *task = None;
                    live -= 1;
                }
            }
            if live > 0 && !self.wait(&mut events, &mut ready)? {
                break;
            }
        }
        Ok(outputs)
    }

    /// Drives one future; `None` if it had not ended at `deadline`.
    ///
    /// # Errors
    /// As [`Reactor::run`].
    pub fn run_one<F: Future>(&self, task: F, deadline: Instant) -> io::Result<Option<F::Output>> {
        Ok(self.run([task], deadline)?.pop().flatten())
    }

    /// Waits for sockets and alarms, and notes the tasks to poll. False once the deadline has passed.
    fn wait(&self, events: &mut Vec<epoll::Event>, ready: &mut Vec<u32>) -> io::Result<bool> {
        self.poll_delay.get().wait();
        loop {
            events.clear();
            // Looked at even when sockets are ready: a peer that always has more to say does not move the deadline.
            let now = Instant::now();
            let left = self.left(now);
            if left.is_zero() {
                return Ok(false);
            }
            self.alarms.borrow_mut().set(now)?;
            match epoll::wait(
                &self.epoll,
                rustix::buffer::spare_capacity(events),
                Some(&timeout(left)),
            ) {
                Ok(_) => {}
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            }
            let mut slots = self.slots.borrow_mut();
            for event in events.iter().filter(|event| event.data.u64() != TIMER) {
                let flags = event.flags;
                let data = event.data;
                let Some(slot) = slots.of(data) else { continue };
                let broken = flags.intersects(epoll::EventFlags::ERR | epoll::EventFlags::HUP);
                slot.hung_up |= broken || flags.contains(epoll::EventFlags::RDHUP);
                slot.readable |= slot.hung_up || flags.contains(epoll::EventFlags::IN);
                slot.writable |= broken || flags.contains(epoll::EventFlags::OUT);
                if let Some(task) = slot.waiting.take() {
                    ready.push(task);
                }
            }
            drop(slots);
            self.alarms.borrow_mut().wake(ready);
            if !ready.is_empty() {
                return Ok(true);
            }
        }
    }

    pub(crate) fn register(&self, fd: impl AsFd) -> io::Result<u32> {
        let mut slots = self.slots.borrow_mut();
        let token = slots.free.pop().unwrap_or(slots.slots.len() as u32);
        if token as usize == slots.slots.len() {
            slots.slots.push(Slot::default());
        }
        let data = slots.data(token);
        if let Err(error) = epoll::add(&self.epoll, fd, data, READABLE) {
            slots.free.push(token);
            return Err(error.into());
        }
        Ok(token)
    }

    /// Has the socket tell once when it can be written to.
    pub(crate) fn watch_writable(&self, fd: impl AsFd, token: u32) -> io::Result<()> {
        self.with_slot(token, |slot| slot.writable = false);
        let data = self.slots.borrow().data(token);
        Ok(epoll::modify(
            &self.epoll,
            fd,
            data,
            READABLE | epoll::EventFlags::OUT,
        )?)
    }

    /// Forgets a socket that is about to be closed, which ends its registration.
    pub(crate) fn unregister(&self, token: u32) {
        let mut slots = self.slots.borrow_mut();
        let slot = &mut slots.slots[token as usize];
        *slot = Slot {
            generation: slot.generation.wrapping_add(1),
            ..Slot::default()
        };
        slots.free.push(token);
    }

    pub(crate) fn with_slot<T>(&self, token: u32, f: impl FnOnce(&mut Slot) -> T) -> T {
        f(&mut self.slots.borrow_mut().slots[token as usize])
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

    /// Notes that the task being polled waits for the socket.
    pub(crate) fn park(&self, token: u32) {
        let current = self.current.get();
        self.with_slot(token, |slot| slot.waiting = Some(current));
    }
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

/// Rounded up to the millisecond that epoll counts in: rounded down, the last one would be spent spinning.
fn timeout(left: Duration) -> Timespec {
    let millis = left.as_nanos().div_ceil(1_000_000).min(3_600_000) as i64;
    Timespec {
        tv_sec: millis / 1000,
        tv_nsec: millis % 1000 * 1_000_000,
    }
}

//! Sockets by edge-triggered epoll: each is registered once, for as long as it lives, and a read that did not fill its buffer needs
//! no second one.

use std::cell::RefCell;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::task::Poll;
use std::time::{Duration, Instant};

use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use rustix::net::{self, RecvFlags, SendFlags, Shutdown, sockopt};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};

const EVENTS_PER_WAIT: usize = 256;
/// What every socket tells: that there is something to read, or that the peer has closed.
const READABLE: epoll::EventFlags = epoll::EventFlags::IN
    .union(epoll::EventFlags::RDHUP)
    .union(epoll::EventFlags::ET);
/// The timer among the events; no socket has so large a number.
const TIMER: u64 = u64::MAX;

/// What a read took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Received {
    /// 0 means that the peer closed.
    pub(crate) count: usize,
    /// True if more may be waiting, so that a peer that never ends could keep its task from ever waiting.
    pub(crate) has_more: bool,
}

/// An epoll instance and its sockets, each known by a token. It owns their descriptors, so none is closed, and its number given
/// to another socket, before the kernel has forgotten what it was to watch.
///
/// Where a function takes a `task` and answers `Pending`, that task is woken when something happens to the socket: one
/// task a socket, the last that asked. A task may be woken for nothing.
pub(crate) struct Epoll {
    epoll: OwnedFd,
    slots: RefCell<Slots>,
    timer: RefCell<Timer>,
    events: RefCell<Vec<epoll::Event>>,
}

impl Epoll {
    /// # Errors
    /// When the kernel gives no epoll instance, for example because too many files are open.
    pub(crate) fn new() -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let timer = Timer::new()?;
        // Edge-triggered: what has rung need not be read.
        let interest = epoll::EventFlags::IN | epoll::EventFlags::ET;
        epoll::add(&epoll, &timer, epoll::EventData::new_u64(TIMER), interest)?;
        Ok(Self {
            epoll,
            slots: RefCell::default(),
            timer: RefCell::new(timer),
            events: RefCell::new(Vec::with_capacity(EVENTS_PER_WAIT)),
        })
    }

    fn with_slot<T>(&self, token: u32, f: impl FnOnce(&mut Slot) -> T) -> T {
        f(self.slots.borrow_mut().slot(token))
    }

    fn poll_until(&self, token: u32, task: u32, is_ready: impl FnOnce(&Slot) -> bool) -> Poll<()> {
        self.with_slot(token, |slot| {
            if is_ready(slot) {
                return Poll::Ready(());
            }
            slot.waiting = Some(task);
            Poll::Pending
        })
    }

    /// Takes a socket that does not block.
    pub(crate) fn add(&self, socket: OwnedFd) -> io::Result<u32> {
        let mut slots = self.slots.borrow_mut();
        let token = slots.next();
        epoll::add(&self.epoll, &socket, slots.data(token), READABLE)?;
        slots.take(token, socket);
        Ok(token)
    }

    /// Closes a socket, which ends its registration.
    pub(crate) fn remove(&self, token: u32) {
        self.slots.borrow_mut().free(token);
    }

    /// Reads what there is into `buffer`.
    pub(crate) fn poll_receive(
        &self,
        token: u32,
        task: u32,
        buffer: &mut [u8],
    ) -> Poll<io::Result<Received>> {
        self.with_slot(token, |slot| {
            while slot.readable {
                match net::recv(slot.socket(), &mut *buffer, RecvFlags::empty()) {
                    Ok((_, count)) => {
                        // Edge-triggered: a read that did not fill the buffer took all there was (epoll(7)), so the
                        // next one may wait for the event instead of being told EAGAIN.
                        let has_more = count == buffer.len();
                        slot.readable = has_more || slot.hung_up;
                        return Poll::Ready(Ok(Received { count, has_more }));
                    }
                    Err(Errno::AGAIN) => slot.readable = false,
                    Err(Errno::INTR) => {}
                    Err(error) => return Poll::Ready(Err(error.into())),
                }
            }
            slot.waiting = Some(task);
            Poll::Pending
        })
    }

    /// Takes bytes to send, at most all of them; `WouldBlock` if the socket must be writable first.
    pub(crate) fn send(&self, token: u32, bytes: &[u8]) -> io::Result<usize> {
        self.with_slot(token, |slot| {
            Ok(net::send(slot.socket(), bytes, SendFlags::NOSIGNAL)?)
        })
    }

    /// Has the socket tell once when it can be written to. Hardly any socket must ever wait for that, so none is watched
    /// for it before.
    pub(crate) fn watch_writable(&self, token: u32) -> io::Result<()> {
        let mut slots = self.slots.borrow_mut();
        let data = slots.data(token);
        let slot = slots.slot(token);
        slot.writable = false;
        let interest = READABLE | epoll::EventFlags::OUT;
        Ok(epoll::modify(&self.epoll, slot.socket(), data, interest)?)
    }

    /// After [`Epoll::watch_writable`]: waits until the socket can be written to, or is broken.
    pub(crate) fn poll_writable(&self, token: u32, task: u32) -> Poll<()> {
        self.poll_until(token, task, |slot| slot.writable)
    }

    /// Waits until the peer has closed or the connection broke, without reading.
    pub(crate) fn poll_closed(&self, token: u32, task: u32) -> Poll<()> {
        self.poll_until(token, task, |slot| slot.hung_up)
    }

    /// The error that a connection that was being made ended with, if any.
    pub(crate) fn take_error(&self, token: u32) -> io::Result<()> {
        Ok(self.with_slot(token, |slot| sockopt::socket_error(slot.socket()))??)
    }

    /// Ends what is sent.
    pub(crate) fn finish(&self, token: u32) -> io::Result<()> {
        Ok(self.with_slot(token, |slot| net::shutdown(slot.socket(), Shutdown::Write))?)
    }

    /// Waits from `now` on for sockets, for at most `left` and not beyond `alarm`, and adds the tasks to poll to `ready`.
    pub(crate) fn wait(
        &self,
        now: Instant,
        left: Duration,
        alarm: Option<Instant>,
        ready: &mut Vec<u32>,
    ) -> io::Result<()> {
        if let Some(alarm) = alarm {
            self.timer.borrow_mut().set(alarm, now)?;
        }
        let events = &mut *self.events.borrow_mut();
        events.clear();
        let room = rustix::buffer::spare_capacity(events);
        match epoll::wait(&self.epoll, room, Some(&timeout(left))) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(()),
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
        Ok(())
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

/// What the event loop knows of a socket.
#[derive(Default)]
struct Slot {
    socket: Option<OwnedFd>,
    readable: bool,
    writable: bool,
    /// The peer closed or the connection broke: every read will answer at once, and no further event comes.
    hung_up: bool,
    waiting: Option<u32>,
    /// Which of the sockets that had this slot has it.
    generation: u32,
}

impl Slot {
    fn socket(&self) -> BorrowedFd<'_> {
        // A token is given out with a socket and not used after the socket's removal.
        self.socket.as_ref().expect("a token is of a socket").as_fd()
    }
}

#[derive(Default)]
struct Slots {
    slots: Vec<Slot>,
    free: Vec<u32>,
}

impl Slots {
    fn slot(&mut self, token: u32) -> &mut Slot {
        &mut self.slots[token as usize]
    }

    /// The slot that the next socket will have.
    fn next(&mut self) -> u32 {
        let Some(token) = self.free.last() else {
            self.slots.push(Slot::default());
            self.free.push(self.slots.len() as u32 - 1);
            return self.slots.len() as u32 - 1;
        };
        *token
    }

    /// Gives the slot, which is the next, to `socket`.
    fn take(&mut self, token: u32, socket: OwnedFd) {
        debug_assert_eq!(self.free.last(), Some(&token));
        self.free.pop();
        self.slot(token).socket = Some(socket);
    }

    /// Closes the socket.
    fn free(&mut self, token: u32) {
        let slot = self.slot(token);
        *slot = Slot {
            generation: slot.generation.wrapping_add(1),
            ..Slot::default()
        };
        self.free.push(token);
    }

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

/// Rings for the next sleeper: epoll itself counts in milliseconds.
struct Timer {
    timer: OwnedFd,
    /// What the timer is set to.
    set_to: Option<Instant>,
}

impl Timer {
    fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        Ok(Self {
            timer: timerfd_create(TimerfdClockId::Monotonic, flags)?,
            set_to: None,
        })
    }

    /// Has the timer ring once at `instant`, if it is not to do so already.
    fn set(&mut self, instant: Instant, now: Instant) -> io::Result<()> {
        if self.set_to == Some(instant) {
            return Ok(());
        }
        // Zero would switch it off.
        let left = instant
            .saturating_duration_since(now)
            .max(Duration::from_nanos(1));
        let value = Itimerspec {
            it_interval: Timespec::default(),
            it_value: Timespec {
                tv_sec: left.as_secs() as i64,
                tv_nsec: left.subsec_nanos().into(),
            },
        };
        timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &value)?;
        self.set_to = Some(instant);
        Ok(())
    }
}

impl AsFd for Timer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.timer.as_fd()
    }
}

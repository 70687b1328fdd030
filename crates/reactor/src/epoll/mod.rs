//! Sockets by edge-triggered epoll: each is registered once, for as long as it lives, and a read that did not fill its buffer needs
//! no second one.

mod slot;
mod timer;

use std::cell::RefCell;
use std::io;
use std::os::fd::OwnedFd;
use std::task::Poll;
use std::time::{Duration, Instant};

use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use rustix::net::{self, RecvFlags, SendFlags, Shutdown, sockopt};

use self::slot::{Slot, Slots};
use self::timer::Timer;

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

//! Sockets by io_uring.
//!
//! What tasks send is copied, and handed over in one call that also waits for answers. What arrives is put into a buffer
//! of a pool that the sockets share, and copied to where the task wants it. So no request ever points to memory of a task,
//! which may be dropped at any moment.
//!
//! # What was chosen
//!
//! - **A receive for each wait of a task, and none besides.** A socket so holds one buffer at most, whatever its peer
//!   sends, what nobody waits for is not read, and there is nothing to end when a task waits for something else. A receive
//!   that stays (multishot) would save a queue entry an operation, but let a single peer take the whole pool.
//! - **A buffer that is missing is no error**: where the pool is used up, or a buffer was too small, the socket is read by
//!   a system call, straight to the task. This is also how large answers arrive, with one copy.
//! - **Sends that never wait.** A send that the peer has no room for is cut short (`MSG_DONTWAIT`), and its rest waits for
//!   room. So the kernel has read a batch when the call returns, success needs no answer, and no send is ever under way
//!   when a socket is closed.
//! - **Sockets are not registered with the ring.** A registered one stays open until the ring lets go of it, which some
//!   kernels do late, and its peer would not be told of the end. The bare loop, which has them registered, takes no less
//!   CPU time than this one.
//! - **Nothing runs beside the thread**: requests are carried out while it enters the kernel, so its CPU clock holds all
//!   that they cost. While it waits it does not count as waiting for a disk, which needs Linux 6.15: before, a second of
//!   waiting for a server is up to a second of I/O pressure of the machine.

mod batch;
mod pages;
mod pool;
mod receive;
mod request;
mod ring;
mod send;
mod slot;
mod state;

use std::cell::{Cell, RefCell};
use std::io;
use std::os::fd::OwnedFd;
use std::task::Poll;
use std::time::{Duration, Instant};

use rustix::io::{Errno, ioctl_fionbio};
use rustix::net::{self, AddressFamily, SendFlags, Shutdown, SocketFlags, SocketType, socketpair, sockopt};

use self::batch::SEND_ROOM;
use self::request::Kind;
use self::ring::Enter;
use self::send::NOW;
use self::slot::Slot;
use self::state::State;
use crate::driver::{Driver, Received};
use crate::poll_delay::PollDelay;

/// Sends of a connection that leave at once. A connection is set up by fewer, and the tasks that set up others at the same
/// time compute for long: a password's hash takes milliseconds, in which no one's handshake shall wait.
const SET_UP_BY: u8 = 16;
/// How long what was sent may wait while other tasks have their turn.
const BATCH_TIME: Duration = Duration::from_micros(50);

/// A ring and its sockets.
pub(crate) struct IoUring {
    state: RefCell<State>,
    delay: Cell<PollDelay>,
}

/// Tries whether the kernel allows all that is needed.
///
/// # Errors
/// When it does not: it is too old, or a container or a setting forbids it.
pub(crate) fn probe() -> io::Result<()> {
    let io_uring = IoUring::new()?;
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    let token = io_uring.add(ours)?;
    let mut buffer = [0; 2];
    let waits = io_uring.poll_receive(token, 0, &mut buffer).is_pending();
    net::send(&theirs, b"?", SendFlags::NOSIGNAL)?;
    io_uring.wait(Instant::now(), Duration::from_secs(1), None, &mut Vec::new())?;
    match io_uring.poll_receive(token, 0, &mut buffer) {
        Poll::Ready(Ok(received)) if waits && received.count == 1 && buffer[0] == b'?' => Ok(()),
        _ => Err(io::ErrorKind::Unsupported.into()),
    }
}

impl IoUring {
    /// # Errors
    /// When the kernel gives no ring, or one that cannot do what is needed.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            state: RefCell::new(State::new()?),
            delay: Cell::new(PollDelay::NONE),
        })
    }

    /// Has the socket be asked for something, unless it is already, and the task wait for it.
    fn ask(&self, token: u32, task: u32, kind: Kind) -> io::Result<()> {
        let mut state = self.state.borrow_mut();
        state.ask(token, kind)?;
        state.slot(token).waiting = Some(task);
        Ok(())
    }
}

impl Driver for IoUring {
    fn add(&self, socket: OwnedFd) -> io::Result<u32> {
        // A request for a socket that does not block would fail where it should wait.
        ioctl_fionbio(&socket, false)?;
        Ok(self.state.borrow_mut().add(Slot::new(socket)))
    }

    fn remove(&self, token: u32) {
        self.state.borrow_mut().remove(token);
    }

    fn poll_receive(&self, token: u32, task: u32, buffer: &mut [u8]) -> Poll<io::Result<Received>> {
        if let Some(taken) = self.state.borrow_mut().take(token, buffer) {
            return Poll::Ready(taken);
        }
        match self.ask(token, task, Kind::Receive) {
            Ok(()) => Poll::Pending,
            Err(error) => Poll::Ready(Err(error)),
        }
    }

    fn send(&self, token: u32, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.state.borrow_mut();
        if state.slot(token).under_way.has(Kind::Send) {
            state.enter(Enter::Now)?;
        }
        let slot = state.slot(token);
        if let Some(error) = slot.failure.take() {
            return Err(error.into());
        }
        if slot.finishes {
            return Err(Errno::PIPE.into());
        }
        if slot.under_way.has(Kind::Send) || !slot.unsent.is_empty() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        slot.sends = slot.sends.saturating_add(1);
        slot.unanswered = slot.unanswered.saturating_add(bytes.len());
        // A peer that has answered what was sent before has room for so much more.
        if slot.sends > SET_UP_BY && slot.unanswered <= SEND_ROOM && state.send(token, bytes)? {
            return Ok(bytes.len());
        }
        Ok(net::send(state.slot(token).socket(), bytes, NOW)?)
    }

    fn watch_writable(&self, token: u32) -> io::Result<()> {
        let mut state = self.state.borrow_mut();
        state.slot(token).is_writable = false;
        state.ask(token, Kind::Writable)
    }

    fn poll_writable(&self, token: u32, task: u32) -> Poll<()> {
        let mut state = self.state.borrow_mut();
        let slot = state.slot(token);
        if slot.is_writable {
            return Poll::Ready(());
        }
        slot.waiting = Some(task);
        Poll::Pending
    }

    fn poll_closed(&self, token: u32, task: u32) -> Poll<()> {
        if self.state.borrow_mut().slot(token).has_hung_up {
            return Poll::Ready(());
        }
        match self.ask(token, task, Kind::HangUp) {
            Ok(()) => Poll::Pending,
            // Nobody would ever tell.
            Err(_) => Poll::Ready(()),
        }
    }

    fn take_error(&self, token: u32) -> io::Result<()> {
        Ok(sockopt::socket_error(
            self.state.borrow_mut().slot(token).socket(),
        )??)
    }

    fn finish(&self, token: u32) -> io::Result<()> {
        let mut state = self.state.borrow_mut();
        if state.slot(token).under_way.has(Kind::Send) {
            state.enter(Enter::Now)?;
        }
        let slot = state.slot(token);
        slot.finishes = true;
        match slot.unsent.is_empty() {
            true => Ok(net::shutdown(slot.socket(), Shutdown::Write)?),
            false => Ok(()),
        }
    }

    fn polled(&self) -> io::Result<()> {
        let mut state = self.state.borrow_mut();
        match state.batch_began {
            Some(began) if began.elapsed() > BATCH_TIME => state.enter(Enter::Now),
            _ => Ok(()),
        }
    }

    fn flush(&self) -> io::Result<()> {
        self.state.borrow_mut().flush()
    }

    /// What was sent leaves before the wait, in the same call.
    fn delay(&self, delay: PollDelay) -> io::Result<()> {
        self.delay.set(delay);
        Ok(())
    }

    fn wait(
        &self,
        now: Instant,
        left: Duration,
        alarm: Option<Instant>,
        ready: &mut Vec<u32>,
    ) -> io::Result<()> {
        let left = alarm.map_or(left, |alarm| left.min(alarm.saturating_duration_since(now)));
        let delay = self.delay.replace(PollDelay::NONE).as_micros();
        self.state.borrow_mut().wait(left, delay, ready)
    }
}

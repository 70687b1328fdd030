//! What differs between the event loops: how sockets are waited for, read and written.

use std::io;
use std::os::fd::OwnedFd;
use std::task::Poll;
use std::time::{Duration, Instant};

use crate::poll_delay::PollDelay;

/// The sockets of one thread's event loop, each known by a token. A driver owns their descriptors, so none is closed, and
/// its number given to another socket, before the kernel has forgotten what it was to watch.
///
/// Where a function takes a `task` and answers `Pending`, that task is woken when something happens to the socket: one
/// task a socket, the last that asked. A task may be woken for nothing.
pub(crate) trait Driver {
    /// Takes a socket that does not block.
    fn add(&self, socket: OwnedFd) -> io::Result<u32>;

    /// Closes a socket, now.
    fn remove(&self, token: u32);

    /// Reads what there is into `buffer`.
    fn poll_receive(&self, token: u32, task: u32, buffer: &mut [u8]) -> Poll<io::Result<Received>>;

    /// Takes bytes to send, at most all of them; `WouldBlock` if the socket must be writable first.
    fn send(&self, token: u32, bytes: &[u8]) -> io::Result<usize>;

    /// Has the socket tell once when it can be written to. Hardly any socket must ever wait for that, so none is watched
    /// for it before.
    fn watch_writable(&self, token: u32) -> io::Result<()>;

    /// After [`Driver::watch_writable`]: waits until the socket can be written to, or is broken.
    fn poll_writable(&self, token: u32, task: u32) -> Poll<()>;

    /// Waits until the peer has closed or the connection broke, without reading.
    fn poll_closed(&self, token: u32, task: u32) -> Poll<()>;

    /// The error that a connection that was being made ended with, if any.
    fn take_error(&self, token: u32) -> io::Result<()>;

    /// Ends what is sent.
    fn finish(&self, token: u32) -> io::Result<()>;

    /// Called when a task was polled while others wait for their turn: what it sent must not wait for all of them.
    fn polled(&self) -> io::Result<()>;

    /// Hands over to the kernel what was sent.
    fn flush(&self) -> io::Result<()>;

    /// The next [`Driver::wait`] waits that long for more sockets.
    fn delay(&self, delay: PollDelay) -> io::Result<()>;

    /// Waits from `now` on for sockets, for at most `left` and not beyond `alarm`, and adds the tasks to poll to `ready`.
    fn wait(
        &self,
        now: Instant,
        left: Duration,
        alarm: Option<Instant>,
        ready: &mut Vec<u32>,
    ) -> io::Result<()>;
}

/// What a read took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Received {
    /// 0 means that the peer closed.
    pub(crate) count: usize,
    /// True if more may be waiting, so that a peer that never ends could keep its task from ever waiting.
    pub(crate) has_more: bool,
}

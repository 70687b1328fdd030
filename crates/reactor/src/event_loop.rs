//! Which of the kernel's interfaces an event loop uses.

use std::fmt;
use std::sync::OnceLock;

use crate::io_uring;

/// An interface of the kernel for waiting for many sockets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventLoop {
    /// Sockets tell that they are ready, and are then read and written one by one. On every kernel, in every container.
    Epoll,
    /// Requests of many sockets enter the kernel together. Not where it is older than Linux 6.15, or a container or a
    /// setting forbids it.
    IoUring,
}

impl EventLoop {
    /// The one that all event loops of this process use: io_uring where the kernel allows it. It is tried once.
    pub fn of_this_process() -> Self {
        static CHOSEN: OnceLock<EventLoop> = OnceLock::new();
        *CHOSEN.get_or_init(|| match io_uring::probe() {
            Ok(()) => Self::IoUring,
            Err(_) => Self::Epoll,
        })
    }
}

impl fmt::Display for EventLoop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Epoll => "epoll",
            Self::IoUring => "io_uring",
        })
    }
}

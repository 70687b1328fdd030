//! What the event loop knows of its sockets.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use rustix::io::Errno;

use super::pool::BufferId;
use super::request::Kind;

/// What the event loop knows of a socket.
#[derive(Default)]
pub(super) struct Slot {
    socket: Option<OwnedFd>,
    pub(super) waiting: Option<u32>,
    pub(super) under_way: UnderWay,
    pub(super) inbox: Inbox,
    /// More is waiting in the kernel, perhaps, and is read by a system call.
    pub(super) has_more: bool,
    pub(super) is_writable: bool,
    /// The peer closed or the connection broke: every read answers at once.
    pub(super) has_hung_up: bool,
    /// What sending failed with, until somebody is told.
    pub(super) failure: Option<Errno>,
    /// The rest of what was sent to a peer that takes no more for now. At most what a batch takes from a socket.
    pub(super) unsent: Vec<u8>,
    /// Nothing more is sent but the rest.
    pub(super) finishes: bool,
    /// What was sent since something was received last.
    pub(super) unanswered: usize,
    /// Sends so far, as far as they matter.
    pub(super) sends: u8,
    /// The socket was given up, and its slot is free when nothing is under way any more.
    pub(super) is_closed: bool,
}

/// The requests of a socket that the kernel has not answered, one of a kind at most. A slot belongs to its socket, and
/// its descriptor stays open, until there is none.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct UnderWay(u8);

/// What was received and not yet taken.
#[derive(Default)]
pub(super) enum Inbox {
    #[default]
    Empty,
    /// The bytes of a buffer from one place to another.
    Bytes(BufferId, u16, u16),
    /// The peer closed.
    End,
    Failed(Errno),
}

impl Slot {
    pub(super) fn new(socket: OwnedFd) -> Self {
        Self {
            socket: Some(socket),
            ..Self::default()
        }
    }

    pub(super) fn socket(&self) -> BorrowedFd<'_> {
        // A token is given out with a socket, which stays until the slot is free.
        self.socket.as_ref().expect("a token is of a socket").as_fd()
    }

    pub(super) fn raw(&self) -> RawFd {
        self.socket().as_raw_fd()
    }

    /// True if the slot can have another socket.
    pub(super) fn is_over(&self) -> bool {
        self.is_closed && self.socket.is_some() && self.under_way == UnderWay::default()
    }
}

impl UnderWay {
    pub(super) fn has(self, kind: Kind) -> bool {
        self.0 & 1 << kind as u8 != 0
    }

    pub(super) fn began(&mut self, kind: Kind) {
        self.0 |= 1 << kind as u8;
    }

    pub(super) fn ended(&mut self, kind: Kind) {
        self.0 &= !(1 << kind as u8);
    }
}

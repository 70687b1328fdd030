//! What is asked of the kernel, and how its answers are told apart.

use std::os::fd::RawFd;

use io_uring::opcode;
use io_uring::squeue::{Entry, Flags};
use io_uring::types::{CancelBuilder, Fd};

use super::pool::{BUFFER_SIZE, GROUP};

/// Wait for the socket first, as nothing is there yet (`IORING_RECVSEND_POLL_FIRST`, io_uring_prep_recv(3)).
const POLL_FIRST: u16 = 1;

/// A kind of request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Receive,
    Send,
    Writable,
    HangUp,
    Cancel,
}

impl Kind {
    /// What the kernel says with the answer.
    fn data(self, token: u32) -> u64 {
        (self as u64) << 32 | u64::from(token)
    }

    /// Whose request was answered, and which.
    pub(super) fn of(data: u64) -> (u32, Self) {
        let kinds = [
            Self::Receive,
            Self::Send,
            Self::Writable,
            Self::HangUp,
            Self::Cancel,
        ];
        (data as u32, kinds[(data >> 32) as usize])
    }
}

/// Read once into a buffer of the pool, which is chosen when there is something to read.
pub(super) fn receive(token: u32, socket: RawFd) -> Entry {
    opcode::Recv::new(Fd(socket), std::ptr::null_mut(), BUFFER_SIZE as u32)
        .buf_group(GROUP)
        .ioprio(POLL_FIRST)
        .build()
        .flags(Flags::BUFFER_SELECT)
        .user_data(Kind::Receive.data(token))
}

/// Send all at once. Only what fails, or is cut short, is answered.
pub(super) fn send(token: u32, socket: RawFd, bytes: &[u8]) -> Entry {
    // A send that waits for all and may not wait fails when it is cut short, and so is answered.
    let flags = libc::MSG_DONTWAIT | libc::MSG_WAITALL | libc::MSG_NOSIGNAL;
    opcode::Send::new(Fd(socket), bytes.as_ptr(), bytes.len() as u32)
        .flags(flags)
        .build()
        .flags(Flags::SKIP_SUCCESS)
        .user_data(Kind::Send.data(token))
}

/// Tell once when the socket can be written to, or is broken.
pub(super) fn writable(token: u32, socket: RawFd) -> Entry {
    opcode::PollAdd::new(Fd(socket), libc::POLLOUT as u32)
        .build()
        .user_data(Kind::Writable.data(token))
}

/// Tell once when the peer has closed, or the connection is broken.
pub(super) fn hang_up(token: u32, socket: RawFd) -> Entry {
    opcode::PollAdd::new(Fd(socket), libc::POLLRDHUP as u32)
        .build()
        .user_data(Kind::HangUp.data(token))
}

/// Give up the request of that kind.
pub(super) fn cancel(token: u32, kind: Kind) -> Entry {
    opcode::AsyncCancel2::new(CancelBuilder::user_data(kind.data(token)))
        .build()
        .user_data(Kind::Cancel.data(token))
}

/// Give up all requests.
pub(super) fn cancel_all() -> Entry {
    opcode::AsyncCancel2::new(CancelBuilder::any().all())
        .build()
        .user_data(Kind::Cancel.data(0))
}

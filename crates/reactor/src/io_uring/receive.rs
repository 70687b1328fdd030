//! What was received, on its way to the task that wants it.

use std::io;
use std::mem;

use io_uring::cqueue;
use rustix::io::Errno;
use rustix::net::{self, RecvFlags};

use super::pool::{BUFFER_SIZE, BufferId};
use super::ring::Answer;
use super::slot::Inbox;
use super::state::State;
use crate::driver::Received;

impl State {
    /// Reads what there is. `None` if nothing is.
    pub(super) fn take(&mut self, token: u32, buffer: &mut [u8]) -> Option<io::Result<Received>> {
        let slot = &mut self.slots[token as usize];
        match mem::take(&mut slot.inbox) {
            Inbox::Empty => {}
            Inbox::Bytes(id, from, to) => {
                let bytes = &self.pool.bytes(&id, to.into())[from.into()..];
                let count = bytes.len().min(buffer.len());
                buffer[..count].copy_from_slice(&bytes[..count]);
                let rest = from + count as u16;
                if rest < to {
                    slot.inbox = Inbox::Bytes(id, rest, to);
                } else {
                    self.pool.give(id);
                }
                // Each wait brings one buffer at most, so this is never without end.
                let has_more = false;
                return Some(Ok(Received { count, has_more }));
            }
            Inbox::End => {
                return Some(Ok(Received {
                    count: 0,
                    has_more: false,
                }));
            }
            Inbox::Failed(error) => return Some(Err(error.into())),
        }
        if let Some(error) = slot.failure.take() {
            return Some(Err(error.into()));
        }
        while slot.has_more || slot.has_hung_up {
            match net::recv(slot.socket(), &mut *buffer, RecvFlags::DONTWAIT) {
                Ok((_, count)) => {
                    slot.has_more = count == buffer.len();
                    slot.has_hung_up |= count == 0;
                    slot.unanswered = 0;
                    let has_more = slot.has_more;
                    return Some(Ok(Received { count, has_more }));
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    slot.has_more = false;
                    break;
                }
                Err(error) => return Some(Err(error.into())),
            }
        }
        None
    }

    /// Notes what the kernel answered to a receive.
    pub(super) fn received(&mut self, token: u32, answer: Answer) {
        self.receives -= 1;
        let slot = &mut self.slots[token as usize];
        let mut buffer = BufferId::of(answer.flags);
        match answer.result {
            count @ 1.. if !slot.is_closed => {
                slot.has_more = count as usize == BUFFER_SIZE || cqueue::sock_nonempty(answer.flags);
                slot.unanswered = 0;
                slot.inbox = buffer
                    .take()
                    .map_or(Inbox::Empty, |id| Inbox::Bytes(id, 0, count as u16));
            }
            1.. => {}
            0 => {
                slot.has_hung_up = true;
                slot.inbox = Inbox::End;
            }
            error => match Errno::from_raw_os_error(-error) {
                // Something is there, and no buffer was for it.
                Errno::NOBUFS | Errno::INTR | Errno::AGAIN | Errno::CANCELED => slot.has_more = true,
                error => {
                    slot.has_hung_up = true;
                    slot.inbox = Inbox::Failed(error);
                }
            },
        }
        if let Some(unused) = buffer {
            self.pool.give(unused);
        }
    }
}

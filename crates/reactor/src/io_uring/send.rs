//! What is sent, and what of it could not be.

use std::io;
use std::time::Instant;

use rustix::io::Errno;
use rustix::net::{self, SendFlags, Shutdown};

use super::request::{self, Kind};
use super::state::State;

/// Without waiting for room, and without a signal where the peer is gone.
pub(super) const NOW: SendFlags = SendFlags::NOSIGNAL.union(SendFlags::DONTWAIT);

impl State {
    /// Sends a copy of all `bytes` with the batch. False if there is no room for it.
    pub(super) fn send(&mut self, token: u32, bytes: &[u8]) -> io::Result<bool> {
        let slot = &mut self.slots[token as usize];
        let Some(copy) = self.batch.add(token, bytes) else {
            return Ok(false);
        };
        let request = request::send(token, slot.raw(), copy);
        // SAFETY: the copy stays until the batch is cleared, which is when the ring has taken all.
        if let Err(error) = unsafe { self.ring.push(&request) } {
            self.batch.pop();
            return Err(error);
        }
        slot.under_way.began(Kind::Send);
        self.batch_began.get_or_insert_with(Instant::now);
        Ok(true)
    }

    /// A send of the batch failed, or was cut short.
    pub(super) fn not_sent(&mut self, token: u32, result: i32) {
        let slot = &mut self.slots[token as usize];
        let sent = match result {
            0.. => result as usize,
            error => match Errno::from_raw_os_error(-error) {
                Errno::AGAIN | Errno::INTR => 0,
                error => {
                    slot.failure = Some(error);
                    return;
                }
            },
        };
        if slot.is_closed {
            return;
        }
        let rest = self.batch.of(token).and_then(|bytes| bytes.get(sent..));
        slot.unsent.extend_from_slice(rest.unwrap_or_default());
        self.ask_for_room(token);
    }

    fn ask_for_room(&mut self, token: u32) {
        self.slot(token).is_writable = false;
        if self.ask(token, Kind::Writable).is_err() {
            self.slot(token).failure = Some(Errno::NOBUFS);
        }
    }

    /// Sends what a batch could not.
    pub(super) fn send_rest(&mut self, token: u32) {
        let slot = &mut self.slots[token as usize];
        slot.is_writable = true;
        if slot.unsent.is_empty() {
            return;
        }
        match net::send(slot.socket(), &slot.unsent, NOW) {
            Ok(count) => drop(slot.unsent.drain(..count)),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(error) => {
                slot.failure = Some(error);
                slot.unsent.clear();
            }
        }
        if !slot.unsent.is_empty() {
            self.ask_for_room(token);
        } else if slot.finishes {
            let _ = net::shutdown(slot.socket(), Shutdown::Write);
        }
    }
}

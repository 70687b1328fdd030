//! What the event loop knows of its sockets.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::epoll;

/// What the event loop knows of a socket.
#[derive(Default)]
pub(super) struct Slot {
    socket: Option<OwnedFd>,
    pub(super) readable: bool,
    pub(super) writable: bool,
    /// The peer closed or the connection broke: every read will answer at once, and no further event comes.
    pub(super) hung_up: bool,
    pub(super) waiting: Option<u32>,
    /// Which of the sockets that had this slot has it.
    generation: u32,
}

impl Slot {
    pub(super) fn socket(&self) -> BorrowedFd<'_> {
        // A token is given out with a socket and not used after the socket's removal.
        self.socket.as_ref().expect("a token is of a socket").as_fd()
    }
}

#[derive(Default)]
pub(super) struct Slots {
    slots: Vec<Slot>,
    free: Vec<u32>,
}

impl Slots {
    pub(super) fn slot(&mut self, token: u32) -> &mut Slot {
        &mut self.slots[token as usize]
    }

    /// The slot that the next socket will have.
    pub(super) fn next(&mut self) -> u32 {
        let Some(token) = self.free.last() else {
            self.slots.push(Slot::default());
            self.free.push(self.slots.len() as u32 - 1);
            return self.slots.len() as u32 - 1;
        };
        *token
    }

    /// Gives the slot, which is the next, to `socket`.
    pub(super) fn take(&mut self, token: u32, socket: OwnedFd) {
        debug_assert_eq!(self.free.last(), Some(&token));
        self.free.pop();
        self.slot(token).socket = Some(socket);
    }

    /// Closes the socket.
    pub(super) fn free(&mut self, token: u32) {
        let slot = self.slot(token);
        *slot = Slot {
            generation: slot.generation.wrapping_add(1),
            ..Slot::default()
        };
        self.free.push(token);
    }

    /// What the kernel says with every event of the socket that has the slot.
    pub(super) fn data(&self, token: u32) -> epoll::EventData {
        let generation = self.slots[token as usize].generation;
        epoll::EventData::new_u64(u64::from(generation) << 32 | u64::from(token))
    }

    /// The slot of an event; `None` if its socket is gone. A process that is being started may hold a copy of a closed
    /// socket for a moment, so events of one may still come.
    pub(super) fn of(&mut self, data: epoll::EventData) -> Option<&mut Slot> {
        let slot = self.slots.get_mut(data.u64() as u32 as usize)?;
        (u64::from(slot.generation) == data.u64() >> 32).then_some(slot)
    }
}

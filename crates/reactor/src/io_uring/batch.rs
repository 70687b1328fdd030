//! What is sent when the kernel is entered next.

/// Bytes that a socket may send in a batch. More go by a system call of their own, which copies them once instead of
/// twice.
pub(super) const SEND_ROOM: usize = 4096;
/// Sends that a batch may have, and the memory that it so needs at most: 512 KiB.
const SENDS: u16 = 128;

/// Copies of what tasks sent since the kernel was entered last, one for each socket.
///
/// The kernel reads them while it is entered and not after: the requests say `MSG_DONTWAIT`, so what cannot be sent at
/// once fails, or is cut short.
pub(super) struct Batch {
    bytes: Box<[u8]>,
    free: Vec<u16>,
    /// Whose bytes are under way, where they are, and how many.
    pub(super) sends: Vec<Queued>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Queued {
    pub(super) token: u32,
    place: u16,
    count: u16,
}

impl Batch {
    pub(super) fn new() -> Self {
        Self {
            bytes: vec![0; usize::from(SENDS) * SEND_ROOM].into_boxed_slice(),
            free: (0..SENDS).rev().collect(),
            sends: Vec::with_capacity(usize::from(SENDS)),
        }
    }

    /// Takes a copy for the socket; `None` if there is no room. The copy stays where it is until it is
    /// popped.
    pub(super) fn add(&mut self, token: u32, bytes: &[u8]) -> Option<&[u8]> {
        if bytes.len() > SEND_ROOM {
            return None;
        }
        let place = self.free.pop()?;
        let queued = Queued {
            token,
            place,
            count: bytes.len() as u16,
        };
        self.sends.push(queued);
        let start = usize::from(place) * SEND_ROOM;
        let copy = &mut self.bytes[start..start + bytes.len()];
        copy.copy_from_slice(bytes);
        Some(copy)
    }

    /// What the socket sends.
    pub(super) fn of(&self, token: u32) -> Option<&[u8]> {
        let queued = self.sends.iter().find(|queued| queued.token == token)?;
        let start = usize::from(queued.place) * SEND_ROOM;
        Some(&self.bytes[start..start + usize::from(queued.count)])
    }

    /// The kernel has read the last that was sent; tells whose that was.
    pub(super) fn pop(&mut self) -> Option<u32> {
        let queued = self.sends.pop()?;
        self.free.push(queued.place);
        Some(queued.token)
    }
}

//! Two pipes in memory, one each way.

use std::cell::RefCell;
use std::io::{self, Read, Write};
use std::rc::Rc;

/// Bytes on their way.
#[derive(Default)]
struct Bytes {
    bytes: Vec<u8>,
    read: usize,
}

/// One end: what it writes the other reads. It never blocks.
pub struct Pipe {
    incoming: Rc<RefCell<Bytes>>,
    outgoing: Rc<RefCell<Bytes>>,
}

impl Pipe {
    /// Both ends.
    pub fn pair() -> (Self, Self) {
        let (one, other) = (Rc::default(), Rc::default());
        let near = Self {
            incoming: Rc::clone(&one),
            outgoing: Rc::clone(&other),
        };
        let far = Self {
            incoming: other,
            outgoing: one,
        };
        (near, far)
    }

    /// True if nothing can be read now.
    pub fn is_empty(&self) -> bool {
        let incoming = self.incoming.borrow();
        incoming.read == incoming.bytes.len()
    }
}

impl Read for Pipe {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut incoming = self.incoming.borrow_mut();
        let rest = &incoming.bytes[incoming.read..];
        if rest.is_empty() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        incoming.read += count;
        if incoming.read == incoming.bytes.len() {
            incoming.bytes.clear();
            incoming.read = 0;
        }
        Ok(count)
    }
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.outgoing.borrow_mut().bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

//! Where the bytes of a program or library are read from, a piece at a time.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// More than any section that is read at once has; a file that says otherwise is not believed.
const MAXIMUM: u64 = 64 << 20;

/// A file, or what the kernel gives every program instead of one. It is read, never mapped: a file that is truncated meanwhile
/// then costs names, not this process.
#[derive(Debug)]
pub(super) enum Source {
    /// A file.
    File(File),
    /// What was read of a process's memory.
    Memory(Vec<u8>),
}

impl Source {
    /// Its length in bytes; 0 if that is not known.
    pub(super) fn size(&self) -> u64 {
        match self {
            Self::File(file) => file.metadata().map_or(0, |metadata| metadata.len()),
            Self::Memory(bytes) => bytes.len() as u64,
        }
    }

    /// Fills the buffer from there on; false if there is less.
    pub(super) fn fill(&self, offset: u64, buffer: &mut [u8]) -> bool {
        match self {
            Self::File(file) => file.read_exact_at(buffer, offset).is_ok(),
            Self::Memory(bytes) => match piece(bytes, offset, buffer.len()) {
                Some(piece) => {
                    buffer.copy_from_slice(piece);
                    true
                }
                None => false,
            },
        }
    }

    /// So many bytes from there on; nothing if there are fewer, or more than may be asked for.
    pub(super) fn read(&self, offset: u64, length: u64) -> Option<Vec<u8>> {
        if length > MAXIMUM || offset.checked_add(length)? > self.size() {
            return None;
        }
        let mut bytes = vec![0; usize::try_from(length).ok()?];
        self.fill(offset, &mut bytes).then_some(bytes)
    }

    /// A string that ends with a zero byte, of at most `limit` bytes; nothing if it is longer, empty or not UTF-8.
    pub(super) fn string(&self, offset: u64, limit: usize) -> Option<String> {
        let mut length = 128.min(limit);
        loop {
            let available = usize::try_from(self.size().checked_sub(offset)?).ok()?;
            let bytes = self.read(offset, length.min(available) as u64)?;
            if let Some(end) = bytes.iter().position(|byte| *byte == 0) {
                let text = std::str::from_utf8(&bytes[..end]).ok()?;
                return (!text.is_empty()).then(|| text.to_owned());
            }
            if length >= limit.min(available) {
                return None;
            }
            length = (length * 8).min(limit);
        }
    }
}

fn piece(bytes: &[u8], offset: u64, length: usize) -> Option<&[u8]> {
    let start = usize::try_from(offset).ok()?;
    bytes.get(start..start.checked_add(length)?)
}

/// A number of two bytes, the lowest first.
pub(super) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(
        bytes.get(at..at.checked_add(2)?)?.try_into().ok()?,
    ))
}

/// A number of four bytes, the lowest first.
pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(
        bytes.get(at..at.checked_add(4)?)?.try_into().ok()?,
    ))
}

/// A number of eight bytes, the lowest first.
pub(super) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(
        bytes.get(at..at.checked_add(8)?)?.try_into().ok()?,
    ))
}

//! What a child writes, read without waiting for more.

use std::io::{self, ErrorKind, PipeReader, Read};
use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags};
use rustix::io::ioctl_fionbio;

/// The reading end of a child's standard output or standard error.
#[derive(Debug)]
pub struct ChildPipe {
    /// `None` when nobody writes any more.
    pipe: Option<PipeReader>,
}

impl ChildPipe {
    /// From now on nothing that reads from it waits; `None` is a pipe that nobody writes to.
    ///
    /// # Errors
    /// If it cannot be told not to wait.
    pub fn of(pipe: Option<impl Into<OwnedFd>>) -> io::Result<Self> {
        let pipe = pipe.map(Into::into);
        if let Some(pipe) = &pipe {
            ioctl_fionbio(pipe, true)?;
        }
        Ok(Self {
            pipe: pipe.map(PipeReader::from),
        })
    }

    /// Hands over what is there, but little more than `most` bytes: somebody may write without end.
    pub fn read(&mut self, most: usize, mut take: impl FnMut(&[u8])) {
        let mut buffer = [0; 16 << 10];
        let mut taken = 0;
        while let Some(pipe) = &mut self.pipe
            && taken < most
        {
            match pipe.read(&mut buffer) {
                Ok(count @ 1..) => {
                    take(&buffer[..count]);
                    taken += count;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Ok(0) | Err(_) => self.pipe = None,
            }
        }
    }

    /// What to wait with until there is something to read or nobody writes any more; `None` if nobody does.
    pub fn readable(&self) -> Option<PollFd<'_>> {
        let pipe = self.pipe.as_ref()?;
        Some(PollFd::new(pipe, PollFlags::IN))
    }
}

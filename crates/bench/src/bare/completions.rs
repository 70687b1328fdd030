//! io_uring.

use std::io;
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::time::Instant;

use io_uring::squeue::{Entry, Flags};
use io_uring::types::{Fixed, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode};

use super::exchange::{ANSWER_ROOM, Exchange};
use super::login;
use crate::{Login, Result};

/// Entries of the submission queue: a send and a receive for every connection.
const ENTRIES: u32 = 256;

/// Submissions and completions; each enters the kernel once a round.
pub struct Completions {
    ring: IoUring,
    connections: Vec<Connection>,
    wait_us: u32,
    /// Keeps the registered sockets open.
    _sockets: Vec<TcpStream>,
}

struct Connection {
    exchange: Exchange,
    /// Written by the kernel while a receive is under way; on the heap, where it stays.
    buffer: Box<[u8; ANSWER_ROOM]>,
}

impl Completions {
    /// `wait_us` is how long answers of all connections are waited for before those that are there are taken; 0 takes the
    /// first at once. `None` if the kernel cannot do that, or forbids io_uring.
    ///
    /// # Errors
    /// If the server cannot be reached, or has no such table.
    pub fn connect(login: &Login, connections: u32, wait_us: u32) -> Result<Option<Self>> {
        let built = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .build(ENTRIES);
        let ring = match built {
            Ok(ring) if wait_us == 0 || ring.params().is_feature_min_timeout() => ring,
            Ok(_) => return Ok(None),
            Err(error) => {
                eprintln!("no io_uring: {error}");
                return Ok(None);
            }
        };
        let (mut sockets, mut exchanges) = (Vec::new(), Vec::new());
        for seed in 0..connections {
            let (socket, exchange) = login::blocking(login, seed.into())?;
            // A socket that does not wait would let a receive fail where it should sleep.
            socket.set_nonblocking(false)?;
            sockets.push(socket);
            exchanges.push(Connection {
                exchange,
                buffer: Box::new([0; ANSWER_ROOM]),
            });
        }
        let descriptors: Vec<i32> = sockets.iter().map(AsRawFd::as_raw_fd).collect();
        ring.submitter().register_files(&descriptors)?;
        Ok(Some(Self {
            ring,
            connections: exchanges,
            wait_us,
            _sockets: sockets,
        }))
    }

    /// How many connections it has.
    pub fn connections(&self) -> u32 {
        self.connections.len() as u32
    }

    /// How long it waits for more answers, in microseconds.
    pub fn wait_us(&self) -> u32 {
        self.wait_us
    }

    /// Enters the kernel: submits what was queued and waits for completions.
    fn submit_and_wait(&self, working: usize) -> io::Result<()> {
        let submitter = self.ring.submitter();
        let waited = if self.wait_us == 0 {
            submitter.submit_and_wait(1)
        } else {
            let no_longer = Timespec::new().sec(10);
            let args = SubmitArgs::new().timespec(&no_longer).min_wait_usec(self.wait_us);
            submitter.submit_with_args(working, &args)
        };
        match waited {
            Ok(_) => Ok(()),
            Err(error) if matches!(error.raw_os_error(), Some(libc::ETIME | libc::EINTR)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Keeps every connection busy until `deadline` and lets requests under way finish. Returns the operations done.
    ///
    /// # Errors
    /// If a connection breaks, or answers otherwise than before.
    pub fn run(&mut self, deadline: Instant) -> Result<u64> {
        let mut working = self.connections.len();
        let mut operations = 0;
        for (index, connection) in self.connections.iter_mut().enumerate() {
            let send = connection.send(index);
            push(&mut self.ring, &send)?;
            push(&mut self.ring, &connection.receive(index))?;
        }
        let mut completed = Vec::with_capacity(ENTRIES as usize);
        while working > 0 {
            self.submit_and_wait(working)?;
            completed.clear();
            completed.extend(
                self.ring
                    .completion()
                    .map(|entry| (entry.user_data(), entry.result())),
            );
            for &(index, result) in &completed {
                let index = index as usize;
                let connection = &mut self.connections[index];
                let count = usize::try_from(result).map_err(|_| io::Error::from_raw_os_error(-result))?;
                if connection.exchange.received(&connection.buffer[..count])? {
                    operations += 1;
                    if Instant::now() >= deadline {
                        working -= 1;
                        continue;
                    }
                    let send = connection.send(index);
                    push(&mut self.ring, &send)?;
                }
                push(&mut self.ring, &connection.receive(index))?;
            }
        }
        Ok(operations)
    }
}

impl Connection {
    /// A send whose success is not told: the answer tells it.
    fn send(&mut self, index: usize) -> Entry {
        let request = self.exchange.request();
        opcode::Send::new(Fixed(index as u32), request.as_ptr(), request.len() as u32)
            .flags(libc::MSG_NOSIGNAL)
            .build()
            .flags(Flags::SKIP_SUCCESS)
            .user_data(index as u64)
    }

    fn receive(&mut self, index: usize) -> Entry {
        opcode::Recv::new(Fixed(index as u32), self.buffer.as_mut_ptr(), ANSWER_ROOM as u32)
            .build()
            .user_data(index as u64)
    }
}

fn push(ring: &mut IoUring, entry: &Entry) -> Result<()> {
    // SAFETY: requests and buffers live on the heap, owned by the connections of this ring, and are not touched before
    // the completion of their entry.
    unsafe { ring.submission().push(entry) }.map_err(|_| "the submission queue is full".into())
}

//! A TCP socket in an event loop.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::task::Poll;

use rustix::io::Errno;
use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, sockopt};

use crate::task::{Reactor, Slot};

/// A TCP socket, registered with the event loop of its thread once, for as long as it lives.
pub struct Socket {
    fd: OwnedFd,
    token: u32,
    reactor: Rc<Reactor>,
}

impl Socket {
    /// Connects to `address`; small segments are sent at once (`TCP_NODELAY`).
    ///
    /// # Errors
    /// What the kernel says: refused, unreachable, too many open files, …
    pub async fn connect(reactor: &Rc<Reactor>, address: SocketAddr) -> io::Result<Self> {
        let family = if address.is_ipv4() {
            AddressFamily::INET
        } else {
            AddressFamily::INET6
        };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let fd = net::socket_with(family, SocketType::STREAM, flags, None)?;
        sockopt::set_tcp_nodelay(&fd, true)?;
        let started = net::connect(&fd, &address);
        let token = reactor.register(&fd)?;
        let socket = Self {
            fd,
            token,
            reactor: Rc::clone(reactor),
        };
        match started {
            Ok(()) => {}
            Err(Errno::INPROGRESS) => {
                socket.writable().await;
                sockopt::socket_error(&socket.fd)??;
            }
            Err(error) => return Err(error.into()),
        }
        Ok(socket)
    }

    /// Reads what there is into `buffer`, waiting until there is something. 0 means that the peer closed.
    ///
    /// # Errors
    /// What the kernel says: reset, timed out, …
    pub async fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            self.readable().await;
            match net::recv(&self.fd, &mut *buffer, RecvFlags::empty()) {
                Ok((_, received)) => {
                    // Edge-triggered: a read that did not fill the buffer took all there was (epoll(7)), so the next
                    // one may wait for the event instead of being told EAGAIN.
                    if received < buffer.len() {
                        self.reactor.with_slot(self.token, Slot::drained);
                    } else if self.reactor.is_late() {
                        // More is waiting, perhaps without end, and only a task that waits can be ended.
                        return std::future::pending().await;
                    }
                    return Ok(received);
                }
                Err(Errno::AGAIN) => self.reactor.with_slot(self.token, |slot| slot.readable = false),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Writes all of `bytes`, waiting where the send buffer is full.
    ///
    /// # Errors
    /// What the kernel says: reset, broken pipe, …
    pub async fn send_all(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match net::send(&self.fd, bytes, SendFlags::NOSIGNAL) {
                Ok(sent) => bytes = &bytes[sent..],
                Err(Errno::AGAIN) => {
                    self.reactor.with_slot(self.token, |slot| slot.writable = false);
                    self.writable().await;
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    async fn readable(&self) {
        self.until(|slot| slot.readable).await;
    }

    async fn writable(&self) {
        self.until(|slot| slot.writable).await;
    }

    async fn until(&self, ready: impl Fn(&Slot) -> bool) {
        poll_fn(|_| {
            if self.reactor.with_slot(self.token, |slot| ready(slot)) {
                return Poll::Ready(());
            }
            self.reactor.park(self.token);
            Poll::Pending
        })
        .await;
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.reactor.unregister(&self.fd, self.token);
    }
}

//! A socket in an event loop.

use std::future::{pending, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use rustix::io::{Errno, ioctl_fionbio, retry_on_intr};
use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketFlags, SocketType, sockopt};

use crate::reactor::Reactor;

/// How long a thread waits for room in the queue of a Unix socket's server, at most.
const QUEUE_PATIENCE: Duration = Duration::from_secs(1);

/// A stream socket (TCP or Unix), known to the event loop of its thread for as long as it lives.
pub struct Socket {
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
        match net::connect(&fd, &address) {
            Ok(()) => {}
            // To connect once more asks how far it is (connect(2)): over loopback it is made already.
            Err(Errno::INPROGRESS) => match net::connect(&fd, &address) {
                Ok(()) => {}
                Err(Errno::ALREADY) => return Self::registered(reactor, fd)?.connected().await,
                Err(error) => return Err(error.into()),
            },
            Err(error) => return Err(error.into()),
        }
        Self::registered(reactor, fd)
    }

    /// Waits until a connection that is being made is there.
    async fn connected(self) -> io::Result<Self> {
        self.writable().await?;
        self.reactor.epoll().take_error(self.token)?;
        Ok(self)
    }

    /// Connects to the Unix socket at `path`, or to the abstract one whose name follows an `@`.
    ///
    /// Such a connection is made at once or not at all. Where the server's queue is full no event tells when it has
    /// room, so the whole thread waits for that, up to a second.
    ///
    /// # Errors
    /// What the kernel says: no such file, refused, the path is too long, …
    pub async fn connect_unix(reactor: &Rc<Reactor>, path: &Path) -> io::Result<Self> {
        let address = match path.as_os_str().as_bytes() {
            [b'@', name @ ..] => SocketAddrUnix::new_abstract_name(name)?,
            _ => SocketAddrUnix::new(path)?,
        };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let fd = net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        match net::connect(&fd, &address) {
            Err(Errno::AGAIN) => {
                sockopt::set_socket_timeout(&fd, sockopt::Timeout::Send, Some(QUEUE_PATIENCE))?;
                ioctl_fionbio(&fd, false)?;
                retry_on_intr(|| net::connect(&fd, &address))?;
                ioctl_fionbio(&fd, true)?;
            }
            outcome => outcome?,
        }
        Self::registered(reactor, fd)
    }

    fn registered(reactor: &Rc<Reactor>, fd: OwnedFd) -> io::Result<Self> {
        Ok(Self {
            token: reactor.epoll().add(fd)?,
            reactor: Rc::clone(reactor),
        })
    }

    /// Reads what there is into `buffer`, waiting until there is something. 0 means that the peer closed.
    ///
    /// # Errors
    /// What the kernel says: reset, timed out, …
    pub async fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let reactor = &self.reactor;
        let receive = poll_fn(|_| reactor.epoll().poll_receive(self.token, reactor.task(), buffer));
        let received = receive.await?;
        if received.has_more && reactor.is_late() {
            // More is waiting, perhaps without end, and only a task that waits can be ended.
            return pending().await;
        }
        Ok(received.count)
    }

    /// Writes all of `bytes`, waiting where the send buffer is full.
    ///
    /// # Errors
    /// What the kernel says: reset, broken pipe, …
    pub async fn send_all(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.reactor.epoll().send(self.token, bytes) {
                Ok(sent) => bytes = &bytes[sent..],
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock => self.writable().await?,
                    io::ErrorKind::Interrupted => {}
                    _ => return Err(error),
                },
            }
        }
        Ok(())
    }

    /// Tells the peer that nothing more will be sent.
    ///
    /// # Errors
    /// What the kernel says: not connected any more, …
    pub fn finish(&self) -> io::Result<()> {
        self.reactor.epoll().finish(self.token)
    }

    /// Waits until the peer has closed, or the connection broke. What the peer still says is not read.
    pub async fn closed(&self) {
        let reactor = &self.reactor;
        poll_fn(|_| reactor.epoll().poll_closed(self.token, reactor.task())).await;
    }

    /// Waits for room in the send buffer.
    async fn writable(&self) -> io::Result<()> {
        let reactor = &self.reactor;
        reactor.epoll().watch_writable(self.token)?;
        poll_fn(|_| reactor.epoll().poll_writable(self.token, reactor.task())).await;
        Ok(())
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.reactor.epoll().remove(self.token);
    }
}

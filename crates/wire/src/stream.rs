//! Bytes to and from a server, as plaintext or through TLS.

use std::net::SocketAddr;
use std::path::Path;
use std::rc::Rc;
use std::time::Instant;

use ciphertax_base::PhaseTrace;
use ciphertax_reactor::{Reactor, Socket};

use crate::buffer::ReadBuffer;
use crate::error::{Result, WireError};
use crate::tls::{OUTGOING, Offer, Progress, TlsConnector, TlsSession};
use crate::trace::{Meter, Traffic};

/// A connection, plaintext until [`Stream::start_tls`].
pub struct Stream {
    socket: Socket,
    tls: Option<Box<dyn TlsSession>>,
    meter: Meter,
    /// The peer is on this machine: it was reached over loopback or a Unix socket.
    is_local: bool,
}

impl Stream {
    pub(crate) async fn connect(reactor: &Rc<Reactor>, address: SocketAddr) -> Result<Self> {
        let socket = Socket::connect(reactor, address)
            .await
            .map_err(|source| WireError::Connect {
                address: address.to_string(),
                source,
            })?;
        Ok(Self::connected(
            socket,
            1,
            address.ip().to_canonical().is_loopback(),
        ))
    }

    /// Connects over a Unix socket, which the kernel does without the server.
    pub(crate) async fn connect_unix(reactor: &Rc<Reactor>, path: &Path) -> Result<Self> {
        let socket = Socket::connect_unix(reactor, path)
            .await
            .map_err(|source| WireError::Connect {
                address: path.display().to_string(),
                source,
            })?;
        Ok(Self::connected(socket, 0, true))
    }

    fn connected(socket: Socket, flights: u32, is_local: bool) -> Self {
        Self {
            socket,
            tls: None,
            meter: Meter::new(flights),
            is_local,
        }
    }

    /// True if the peer is on this machine: it was reached over loopback or a Unix socket.
    pub(crate) fn is_local(&self) -> bool {
        self.is_local
    }

    /// Switches to TLS with the server of this host. Returns the CPU time that the client's handshake took, in nanoseconds.
    pub(crate) async fn start_tls(
        &mut self,
        connector: &TlsConnector,
        host: &str,
        offer: Offer,
    ) -> Result<u64> {
        let began = crate::trace::thread_cpu_ns();
        let mut session = connector.session(host, offer)?;
        let mut cpu_ns = crate::trace::thread_cpu_ns() - began;
        let mut has_answered = false;
        loop {
            let before = crate::trace::thread_cpu_ns();
            let progress = session.handshake();
            cpu_ns += crate::trace::thread_cpu_ns() - before;
            // An alert that says why the handshake failed goes out before the error is returned, if anybody listens.
            let sent = send_ciphertext(&self.socket, &mut self.meter, session.as_mut()).await;
            let progress = progress?;
            sent?;
            match progress {
                Progress::Done => break,
                Progress::NeedsInput => {
                    receive_ciphertext(&self.socket, &mut self.meter, session.as_mut()).await?;
                    if !std::mem::replace(&mut has_answered, true)
                        && !begins_like_tls(session.incoming().unread())
                    {
                        return Err(WireError::NotTls);
                    }
                }
            }
        }
        // Certificates are longer than most of what follows.
        session.outgoing().shrink_to(OUTGOING);
        session.incoming().shrink();
        self.tls = Some(session);
        Ok(cpu_ns)
    }

    pub(crate) async fn send(&mut self, bytes: &[u8]) -> Result<()> {
        match &mut self.tls {
            None => {
                self.socket.send_all(bytes).await?;
                self.meter.sent(bytes.len());
            }
            Some(tls) => {
                tls.encrypt(bytes)?;
                send_ciphertext(&self.socket, &mut self.meter, tls.as_mut()).await?;
            }
        }
        Ok(())
    }

    /// Reads until `buffer` holds at least `needed` unread bytes.
    pub(crate) async fn receive(&mut self, buffer: &mut ReadBuffer, needed: usize) -> Result<()> {
        while buffer.unread().len() < needed {
            let count = match &mut self.tls {
                None => {
                    self.meter.waits();
                    let count = self.socket.receive(buffer.spare(needed)).await?;
                    self.meter.received(count)?
                }
                Some(tls) => match tls.decrypt(buffer.spare(needed))? {
                    0 => {
                        receive_ciphertext(&self.socket, &mut self.meter, tls.as_mut()).await?;
                        continue;
                    }
                    count => count,
                },
            };
            buffer.filled(count);
        }
        Ok(())
    }

    /// Sends `farewell` and ends TLS in the same flight, or else ends what is sent where there is no farewell. Tells
    /// what that took.
    pub(crate) async fn leave(&mut self, farewell: &[u8]) -> Result<PhaseTrace> {
        let (began, before) = (Instant::now(), self.traffic());
        match &mut self.tls {
            None if farewell.is_empty() => self.socket.finish()?,
            None => self.send(farewell).await?,
            Some(tls) => {
                if !farewell.is_empty() {
                    tls.encrypt(farewell)?;
                }
                tls.close();
                send_ciphertext(&self.socket, &mut self.meter, tls.as_mut()).await?;
            }
        }
        Ok(self.traffic().phase_since(began, before))
    }

    /// After [`Stream::leave`]: waits until the server has closed or the connection broke, and returns the bytes that
    /// it still sent. So the server has done its part, and where it closes first, as after any farewell, the port is
    /// free for the next connection at once: who closes first keeps it occupied for a minute (`TIME_WAIT`).
    pub(crate) async fn gone(&mut self) -> u64 {
        let before = self.traffic().received;
        self.meter.waits();
        if self.tls.is_none() {
            self.socket.closed().await;
            return 0;
        }
        let mut rest = [0; 512];
        // The server may say goodbye in any way it likes; that it is gone is all that matters.
        while let Ok(count) = self.socket.receive(&mut rest).await {
            if self.meter.received(count).is_err() {
                break;
            }
        }
        self.traffic().received - before
    }

    /// Leaves, and waits until the server has closed.
    pub(crate) async fn close(&mut self, farewell: &[u8]) -> Result<PhaseTrace> {
        let (began, before) = (Instant::now(), self.traffic());
        self.leave(farewell).await?;
        self.gone().await;
        Ok(self.traffic().phase_since(began, before))
    }

    /// What `error` means if the connection ended before the server said anything: it does not want what the client began
    /// with.
    pub(crate) fn hung_up(&self, error: WireError, encrypted: bool) -> WireError {
        if error.is_end() && self.traffic().received == 0 {
            WireError::HungUp { encrypted }
        } else {
            error
        }
    }

    pub(crate) fn tls(&self) -> Option<&dyn TlsSession> {
        self.tls.as_deref()
    }

    pub(crate) fn traffic(&self) -> Traffic {
        self.meter.traffic()
    }
}

/// True if bytes may begin a record that answers a ClientHello (RFC 8446, 5.1): one of the handshake, or an alert.
fn begins_like_tls(bytes: &[u8]) -> bool {
    const ALERT: u8 = 21;
    const HANDSHAKE: u8 = 22;
    const MAJOR: u8 = 3;
    matches!(bytes, [ALERT | HANDSHAKE] | [ALERT | HANDSHAKE, MAJOR, ..])
}

async fn send_ciphertext(socket: &Socket, meter: &mut Meter, tls: &mut dyn TlsSession) -> Result<()> {
    let outgoing = tls.outgoing();
    if !outgoing.is_empty() {
        socket.send_all(outgoing).await?;
        meter.sent(outgoing.len());
        outgoing.clear();
    }
    Ok(())
}

async fn receive_ciphertext(socket: &Socket, meter: &mut Meter, tls: &mut dyn TlsSession) -> Result<()> {
    meter.waits();
    let incoming = tls.incoming();
    let count = socket.receive(incoming.spare(0)).await?;
    incoming.filled(meter.received(count)?);
    Ok(())
}

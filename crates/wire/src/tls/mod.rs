//! TLS as a plug: ciphertext in and out, no sockets.
//!
//! A back end turns plaintext into ciphertext and back on buffers it owns; the stream moves the buffers. So every back
//! end pays for the same system calls, and one `recv` serves as many records as have arrived.

mod certificate;
pub(crate) mod cipher;
mod hello;
mod openssl;
mod pem;
mod policy;
mod rehearsal;
mod rustls;
mod store;

use ciphertax_base::{ChainCertificate, TlsFacts};
use ciphertax_model::{Group, TlsLibrary};

use crate::buffer::ReadBuffer;
use crate::error::Result;

/// Room for the server's first flight, in bytes: most certificate chains fit.
const FLIGHT: usize = 8 * 1024;
/// Room for what is sent, in bytes, which a session keeps after its handshake.
pub(crate) const OUTGOING: usize = 1024;

pub use self::openssl::{library_version, unknown_cipher};
pub use self::pem::damaged;
pub use self::policy::{ClientCertificate, TlsPolicy, Verification};
pub use self::rehearsal::{Pipe, ServerKey, rehearse};
pub use self::rustls::any_certificate;

/// What is cheap to know of a session, so that it can be checked on every connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TlsSummary {
    /// Protocol version.
    pub version: &'static str,
    /// Cipher suite by its OpenSSL name.
    pub cipher: &'static str,
    /// Group of the key exchange; `None` where there was none, or one that no arm can ask for.
    pub group: Option<Group>,
    /// True if the client offered to take up an earlier session.
    pub offered: bool,
    /// True if the server agreed.
    pub resumed: bool,
}

/// Makes TLS sessions of one policy; shared by all threads. Sessions to take up again belong to it: no other connector
/// knows them.
pub struct TlsConnector {
    back_end: BackEnd,
    is_verified: bool,
    shows_certificate: bool,
}

enum BackEnd {
    OpenSsl(self::openssl::Connector),
    Rustls(self::rustls::Connector),
}

impl TlsConnector {
    /// Prepares everything that connections share.
    ///
    /// # Errors
    /// When a file cannot be read or does not hold what it should, or when the library cannot do what the policy asks
    /// for; the message says what it can do instead.
    pub fn new(policy: &TlsPolicy) -> Result<Self> {
        Ok(Self {
            is_verified: policy.verification != Verification::None,
            shows_certificate: policy.client_certificate.is_some(),
            back_end: match policy.library {
                TlsLibrary::OpenSsl => BackEnd::OpenSsl(self::openssl::Connector::new(policy)?),
                TlsLibrary::Rustls => BackEnd::Rustls(self::rustls::Connector::new(policy)?),
            },
        })
    }

    pub(crate) fn is_verified(&self) -> bool {
        self.is_verified
    }

    pub(crate) fn shows_certificate(&self) -> bool {
        self.shows_certificate
    }

    /// A session with the server of this host, which is told the name that it is asked for.
    pub(crate) fn session(&self, host: &str, offer: Offer) -> Result<Box<dyn TlsSession>> {
        match &self.back_end {
            BackEnd::OpenSsl(connector) => connector.session(host, offer),
            BackEnd::Rustls(connector) => connector.session(host, offer),
        }
    }

    /// Connects by `handshake`, which must offer nothing, until `connections` connections at a time find an earlier
    /// session to take up; not at all if none is wanted.
    pub(crate) async fn warm_up<T>(
        &self,
        connections: usize,
        handshake: impl AsyncFn() -> Result<T>,
    ) -> Result<()> {
        match &self.back_end {
            BackEnd::OpenSsl(connector) => match &connector.sessions {
                Some(sessions) => sessions.fill(connections, handshake).await,
                None => Ok(()),
            },
            BackEnd::Rustls(connector) => match &connector.resumable {
                Some(resumable) => resumable.sessions.fill(connections, handshake).await,
                None => Ok(()),
            },
        }
    }
}

/// What a connection offers to take up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Offer {
    /// Nothing: a full handshake, after which there is one more session to take up.
    Nothing,
    /// An earlier session, if the policy asks for it and there is one.
    WhatThereIs,
}

/// How far a handshake got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// The handshake is complete.
    Done,
    /// More ciphertext is needed.
    NeedsInput,
}

/// One TLS session of some back end.
pub(crate) trait TlsSession {
    /// Goes on with the handshake as far as the ciphertext received allows.
    fn handshake(&mut self) -> Result<Progress>;
    /// Turns plaintext into ciphertext in [`TlsSession::outgoing`].
    fn encrypt(&mut self, plaintext: &[u8]) -> Result<()>;
    /// Turns ciphertext in [`TlsSession::incoming`] into plaintext; 0 when there is no whole record.
    fn decrypt(&mut self, plaintext: &mut [u8]) -> Result<usize>;
    /// Says goodbye (`close_notify`) in [`TlsSession::outgoing`].
    fn close(&mut self);
    /// Ciphertext to be sent.
    fn outgoing(&mut self) -> &mut Vec<u8>;
    /// Where received ciphertext goes.
    fn incoming(&mut self) -> &mut ReadBuffer;
    /// What is cheap to know of the session.
    fn summary(&self) -> TlsSummary;
    /// The protocol that the server agreed to, of those that the client offered (ALPN).
    fn alpn(&self) -> Option<&[u8]>;
    /// What a login is tied to that must go over this very session: the hash of the server's certificate
    /// (`tls-server-end-point`, RFC 5929).
    fn end_point(&self) -> Result<Vec<u8>>;
    /// Everything that was negotiated.
    fn facts(&self) -> Result<TlsFacts>;
    fn chain(&self) -> Result<Vec<ChainCertificate>>;
}

/// The group that a library calls so. Both libraries use the names of the registry of IANA, not always in its case.
fn group_called(name: &str) -> Option<Group> {
    let registered = |group| match group {
        Group::X25519 => "x25519",
        Group::P256 => "secp256r1",
        Group::P384 => "secp384r1",
        Group::X25519MlKem768 => "X25519MLKEM768",
    };
    Group::ALL
        .into_iter()
        .find(|group| name.eq_ignore_ascii_case(registered(*group)))
}

//! TLS as a plug: ciphertext in and out, no sockets.
//!
//! A back end turns plaintext into ciphertext and back on buffers it owns; the stream moves the buffers. So every back
//! end pays for the same system calls, and one `recv` serves as many records as have arrived.

mod certificate;
mod hello;
mod openssl;

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use ciphertax_model::TlsVersion;
use ciphertax_model::record::TlsFacts;

use crate::buffer::ReadBuffer;
use crate::error::WireError;

pub use self::openssl::library_version;

/// What a client asks of TLS. The version is pinned: what cannot be had is an error, never something else.
#[derive(Debug, Clone)]
pub struct TlsPolicy {
    /// The only version offered.
    pub version: TlsVersion,
    /// How the server is verified.
    pub verification: Verification,
}

/// How the server's certificate is verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verification {
    /// Not at all: encrypted, but to whom is not known.
    None,
    /// The chain must lead to a certificate in this PEM file.
    Ca(PathBuf),
    /// The chain must lead to a certificate in this PEM file, and the certificate must be for this host name or address.
    HostName(PathBuf, String),
}

impl Verification {
    /// The name used in reports.
    pub fn label(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Ca(_) => "ca",
            Self::HostName(..) => "host name",
        }
    }

    fn ca_file(&self) -> Option<&Path> {
        match self {
            Self::None => None,
            Self::Ca(path) | Self::HostName(path, _) => Some(path),
        }
    }

    fn name(&self) -> Option<Result<IpAddr, &str>> {
        match self {
            Self::HostName(_, name) => Some(name.parse::<IpAddr>().map_err(|_| name.as_str())),
            Self::None | Self::Ca(_) => None,
        }
    }
}

/// What is cheap to know of a session, so that it can be checked on every connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TlsSummary {
    /// Protocol version.
    pub version: &'static str,
    /// Cipher suite by its OpenSSL name.
    pub cipher: &'static str,
    /// True if the session was resumed.
    pub resumed: bool,
}

/// Makes TLS sessions of one policy; shared by all threads.
pub struct TlsConnector {
    back_end: self::openssl::Connector,
}

impl TlsConnector {
    /// Prepares everything that connections share.
    ///
    /// # Errors
    /// When the CA file cannot be read or holds no certificate.
    pub fn new(policy: &TlsPolicy) -> Result<Self, WireError> {
        Ok(Self {
            back_end: self::openssl::Connector::new(policy)?,
        })
    }

    pub(crate) fn session(&self) -> Result<Box<dyn TlsSession>, WireError> {
        self.back_end.session()
    }
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
    fn handshake(&mut self) -> Result<Progress, WireError>;
    /// Turns plaintext into ciphertext in [`TlsSession::outgoing`].
    fn encrypt(&mut self, plaintext: &[u8]) -> Result<(), WireError>;
    /// Turns ciphertext in [`TlsSession::incoming`] into plaintext; 0 when there is no whole record.
    fn decrypt(&mut self, plaintext: &mut [u8]) -> Result<usize, WireError>;
    /// Says goodbye (`close_notify`) in [`TlsSession::outgoing`].
    fn close(&mut self);
    /// Ciphertext to be sent.
    fn outgoing(&mut self) -> &mut Vec<u8>;
    /// Where received ciphertext goes.
    fn incoming(&mut self) -> &mut ReadBuffer;
    /// What is cheap to know of the session.
    fn summary(&self) -> TlsSummary;
    /// Everything that was negotiated.
    fn facts(&self) -> Result<TlsFacts, WireError>;
}

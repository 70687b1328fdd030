//! What TLS sessions really negotiated, from what the server sent unencrypted.

use std::fmt;

use ciphertax_model::TlsVersion;

/// What a server chose for a session. It says so before anything is encrypted, in TLS 1.3 too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Chosen {
    /// As the protocol numbers it: 0x0303 is TLS 1.2.
    version: u16,
    /// IANA's number of the cipher suite.
    pub(super) suite: u16,
}

const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
const SERVER_HELLO: u8 = 2;
const SUPPORTED_VERSIONS: u16 = 43;

/// True if a TLS record of a handshake or an alert begins there (RFC 8446, 5.1). The first answers of a database in plaintext are too
/// short to look so.
pub(super) fn is_tls(answers: &[u8]) -> bool {
    matches!(answers, [ALERT | HANDSHAKE, 3, 1..=3, ..])
}

impl Chosen {
    /// From where TLS begins in what a server sends: with a ServerHello (RFC 8446, 4.1.3; RFC 5246, 7.4.1.3). `None` for a
    /// session in plaintext, and for one that broke off.
    pub(super) fn from_tls(answers: &[u8]) -> Option<Self> {
        let mut bytes = Bytes(answers);
        let record = bytes.take(5)?;
        let hello = bytes.take(4)?;
        if record[0] != HANDSHAKE || record[1] != 3 || hello[0] != SERVER_HELLO {
            return None;
        }
        let version = bytes.number()?;
        bytes.take(32)?; // random
        let session_id = bytes.take(1)?[0];
        bytes.take(session_id.into())?;
        let suite = bytes.number()?;
        bytes.take(1)?; // compression
        let version = bytes.supported_version().unwrap_or(version);
        Some(Self { version, suite })
    }

    pub(super) fn is_of_version(self, other: Self) -> bool {
        self.version == other.version
    }
}

impl fmt::Display for Chosen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbered = (0x0301..).zip(TlsVersion::ALL);
        let version = numbered.into_iter().find(|(number, _)| *number == self.version);
        match version {
            Some((_, version)) => write!(f, "{version} with cipher suite 0x{:04X}", self.suite),
            None => write!(f, "protocol version 0x{:04X}", self.version),
        }
    }
}

/// What is left to read.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u16> {
        let bytes = self.take(2)?;
        Some(u16::from_be_bytes([bytes[0], bytes[1]]))
    }

    /// The version in the extensions of a ServerHello, where TLS 1.3 says it.
    fn supported_version(&mut self) -> Option<u16> {
        let length = self.number()?;
        let mut extensions = Self(self.take(length.into())?);
        loop {
            let (kind, length) = (extensions.number()?, extensions.number()?);
            let mut content = Self(extensions.take(length.into())?);
            if kind == SUPPORTED_VERSIONS {
                return content.number();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ServerHello with these extensions.
    fn answers(version: [u8; 2], extensions: &[u8]) -> Vec<u8> {
        let mut bytes = vec![HANDSHAKE, 3, 3, 0, 0, SERVER_HELLO, 0, 0, 0];
        bytes.extend(version);
        bytes.extend([7; 32]);
        bytes.extend([1, 9, 0x13, 0x02, 0]);
        bytes.extend(extensions);
        bytes
    }

    #[test]
    fn version_and_suite_are_read_from_a_server_hello() {
        let old = Chosen::from_tls(&answers([3, 2], &[])).unwrap();
        assert_eq!(old.to_string(), "TLSv1.1 with cipher suite 0x1302");
        let extensions = [0, 11, 0, 23, 0, 1, 0, 0, 43, 0, 2, 3, 4];
        let new = Chosen::from_tls(&answers([3, 3], &extensions)).unwrap();
        assert_eq!(new.to_string(), "TLSv1.3 with cipher suite 0x1302");
        assert!(!new.is_of_version(old));
    }

    #[test]
    fn what_is_no_server_hello_says_nothing() {
        let hello = answers([3, 3], &[]);
        for length in 0..hello.len() {
            assert_eq!(Chosen::from_tls(&hello[..length]), None, "{length}");
        }
        let plaintext = [7, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0];
        assert_eq!(Chosen::from_tls(&plaintext), None);
        assert_eq!(Chosen::from_tls(&[255; 64]), None);
    }
}

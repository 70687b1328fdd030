//! What ties a login to the TLS session that it goes over.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

/// What ties a login to the TLS session that it goes over (RFC 5802, section 6).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Binding {
    /// Nothing.
    None,
    /// Nothing, because the server does not offer it; one that did learns that somebody between has left it out.
    NotOffered,
    /// The hash of the server's certificate (RFC 5929, section 4).
    EndPoint(Vec<u8>),
}

impl Binding {
    /// How the client's first message begins (RFC 5802, section 7).
    pub(super) fn header(&self) -> &'static str {
        match self {
            Self::None => "n,,",
            Self::NotOffered => "y,,",
            Self::EndPoint(_) => "p=tls-server-end-point,,",
        }
    }

    /// Header and hash, as the last message repeats them.
    pub(super) fn encoded(&self) -> String {
        let mut input = self.header().as_bytes().to_vec();
        if let Self::EndPoint(hash) = self {
            input.extend_from_slice(hash);
        }
        BASE64_STANDARD.encode(input)
    }
}

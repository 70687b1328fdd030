//! The phases of a connect.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A phase of a new connection, in the order they happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Name to address.
    Resolve,
    /// SYN to established.
    Tcp,
    /// Greeting and, for TLS, the request to switch.
    Preface,
    /// The TLS handshake.
    Tls,
    /// The login.
    Auth,
    /// Session settings after the login.
    Setup,
    /// The first query and its whole answer.
    FirstOperation,
    /// Saying goodbye and closing the socket.
    Close,
}

impl Phase {
    /// Every phase in order.
    pub const ALL: [Self; 8] = [
        Self::Resolve,
        Self::Tcp,
        Self::Preface,
        Self::Tls,
        Self::Auth,
        Self::Setup,
        Self::FirstOperation,
        Self::Close,
    ];

    /// Position in [`Phase::ALL`].
    pub fn index(self) -> usize {
        self as usize
    }

    /// The name a reader sees.
    pub fn label(self) -> &'static str {
        match self {
            Self::Resolve => "resolve",
            Self::Tcp => "TCP",
            Self::Preface => "greeting",
            Self::Tls => "TLS handshake",
            Self::Auth => "authentication",
            Self::Setup => "setup",
            Self::FirstOperation => "first query",
            Self::Close => "close",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}

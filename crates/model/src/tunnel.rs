//! What carries a connection besides TCP.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::variants::all;

/// A tunnel between client and server, started, proved, accounted for and stopped with its arm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Tunnel {
    /// A forwarded port of OpenSSH (`ssh -L`) through a private sshd.
    Ssh(SshCipher),
    /// stunnel on both sides.
    Stunnel,
    /// HAProxy on both sides, in TCP mode.
    Haproxy,
}

impl fmt::Display for Tunnel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ssh(cipher) => write!(f, "SSH {}", cipher.name()),
            Self::Stunnel => f.write_str("stunnel"),
            Self::Haproxy => f.write_str("HAProxy"),
        }
    }
}

/// A cipher of SSH, by OpenSSH's name.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
    strum::IntoStaticStr,
    strum::VariantArray,
    strum::EnumString,
)]
pub enum SshCipher {
    /// AES-256 in CBC mode with a MAC of its own.
    #[serde(rename = "aes256-cbc")]
    #[strum(serialize = "aes256-cbc")]
    Aes256Cbc,
    /// AES-256 in counter mode with a MAC of its own.
    #[serde(rename = "aes256-ctr")]
    #[strum(serialize = "aes256-ctr")]
    Aes256Ctr,
    /// AES-256 in Galois/counter mode.
    #[serde(rename = "aes256-gcm@openssh.com")]
    #[strum(serialize = "aes256-gcm@openssh.com")]
    Aes256Gcm,
    /// ChaCha20 and Poly1305.
    #[serde(rename = "chacha20-poly1305@openssh.com")]
    #[strum(serialize = "chacha20-poly1305@openssh.com")]
    ChaCha20Poly1305,
}

impl SshCipher {
    /// Every cipher, in the order help texts list them.
    pub const ALL: [Self; 4] = all();

    /// The name used in study files and by OpenSSH.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

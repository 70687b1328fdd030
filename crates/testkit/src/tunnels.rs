//! Tunnels of every kind.

use ciphertax_model::{SshCipher, Tunnel};

/// Every kind of tunnel. One cipher of SSH stands for all where the cipher does not matter.
pub const EVERY_TUNNEL: [Tunnel; 3] = [
    Tunnel::Ssh(SshCipher::Aes256Gcm),
    Tunnel::Stunnel,
    Tunnel::Haproxy,
];

//! Tunnels of every kind.

use ciphertax_model::{SshCipher, Tunnel};

use crate::{is_root, not_tested};

/// Every kind of tunnel, WireGuard only where it can be. One cipher of SSH stands for all where the cipher does not
/// matter.
#[track_caller]
pub fn every_tunnel() -> Vec<Tunnel> {
    let mut kinds = vec![
        Tunnel::Ssh(SshCipher::Aes256Gcm),
        Tunnel::Stunnel,
        Tunnel::Haproxy,
    ];
    match is_root() {
        true => kinds.push(Tunnel::Wireguard),
        false => not_tested("WireGuard needs root"),
    }
    kinds
}

//! Proof that a tunnel encrypts what it carries.

use std::net::SocketAddr;

use ciphertax_model::Tunnel;
use ciphertax_records::{Proof, Witness};
use rand::RngExt;

use crate::error::{Error, Result};
use crate::relay::Relay;

use super::error::TunnelError;

/// Sends a canary in plaintext to the server behind an address, and gets it back.
pub(super) type Exchange<'a> = dyn FnMut(SocketAddr, &str) -> std::result::Result<(), String> + 'a;

/// What proves a tunnel.
#[derive(Debug)]
pub(super) struct Evidence {
    /// Bytes seen between the halves, none of them the canary.
    pub(super) bytes_between: u64,
    /// What the tunnel's program says.
    pub(super) word: String,
}

impl Evidence {
    pub(super) fn into_proofs(self) -> Vec<Proof> {
        vec![
            Proof {
                witness: Witness::Wire,
                claim: "a canary value that enters the tunnel in plaintext does not travel in plaintext inside it"
                    .into(),
                evidence: format!(
                    "a relay before the tunnel read it; a relay between its halves saw {} bytes and not the canary",
                    self.bytes_between
                ),
            },
            Proof {
                witness: Witness::Tunnel,
                claim: "its program names the cipher".into(),
                evidence: self.word,
            },
        ]
    }
}

/// A value that occurs nowhere else.
pub(super) fn canary() -> String {
    format!("canary{:032x}", rand::rng().random::<u128>())
}

/// Sends a canary through the tunnel that begins at `entry` and in whose middle `between` stands. Returns the number of
/// bytes that passed there.
pub(super) fn send_through(
    tunnel: Tunnel,
    entry: SocketAddr,
    between: &Relay,
    canary: &str,
    exchange: &mut Exchange<'_>,
) -> Result<u64> {
    let before = Relay::start(entry)?;
    exchange(before.address(), canary).map_err(|problem| disproved(tunnel, problem))?;
    if !before.saw(canary.as_bytes())? {
        let problem = "a canary value did not enter it in plaintext, so nothing can be said about its inside";
        return Err(disproved(tunnel, problem));
    }
    if between.saw(canary.as_bytes())? {
        return Err(disproved(
            tunnel,
            "a relay between its halves read a canary value",
        ));
    }
    let bytes = between.bytes_seen();
    if bytes < canary.len() as u64 {
        let problem =
            format!("a canary value reached the server but only {bytes} bytes passed between the halves");
        return Err(disproved(tunnel, problem));
    }
    Ok(bytes)
}

pub(super) fn disproved(tunnel: Tunnel, problem: impl Into<String>) -> Error {
    TunnelError::Disproved {
        tunnel: tunnel.to_string(),
        problem: problem.into(),
    }
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tunnel::testing::{echo, echoed};

    #[test]
    fn a_tunnel_that_does_not_encrypt_is_found_out() {
        let between = Relay::start(echo()).unwrap();
        let error = send(between.address(), &between, &mut echoed).unwrap_err();
        assert!(error.contains("read a canary value"), "{error}");
    }

    #[test]
    fn a_way_around_the_relay_is_found_out() {
        let between = Relay::start(echo()).unwrap();
        let error = send(echo(), &between, &mut echoed).unwrap_err();
        assert!(error.contains("only 0 bytes passed"), "{error}");
    }

    #[test]
    fn a_canary_that_is_encrypted_before_the_tunnel_proves_nothing() {
        let between = Relay::start(echo()).unwrap();
        let error = send(between.address(), &between, &mut |address, canary| {
            echoed(address, &canary.to_uppercase())
        })
        .unwrap_err();
        assert!(error.contains("nothing can be said"), "{error}");
    }

    #[test]
    fn an_exchange_that_fails_is_no_proof() {
        let between = Relay::start(echo()).unwrap();
        let error = send(between.address(), &between, &mut |_, _| {
            Err("nothing came back".into())
        })
        .unwrap_err();
        assert!(
            error.contains("SSH aes256-ctr") && error.contains("nothing came back"),
            "{error}"
        );
    }

    fn send(
        entry: SocketAddr,
        between: &Relay,
        exchange: &mut Exchange<'_>,
    ) -> std::result::Result<u64, String> {
        let tunnel = Tunnel::Ssh(ciphertax_model::SshCipher::Aes256Ctr);
        send_through(tunnel, entry, between, "canary", exchange).map_err(|error| error.to_string())
    }
}

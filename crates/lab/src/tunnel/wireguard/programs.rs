//! What WireGuard needs on the machine.

use std::net::{SocketAddr, SocketAddrV4};

use rustix::process::{Uid, geteuid};

use crate::error::Result;
use crate::link::FarSide;
use crate::tunnel::error::TunnelError;
use crate::tunnel::program::Program;

/// What is needed on the machine.
#[derive(Debug)]
pub(in crate::tunnel) struct Programs {
    pub(super) wireguard: Program,
    pub(super) wg: Program,
    pub(super) nft: Program,
    pub(super) ip: Program,
    pub(super) nsenter: Program,
    pub(super) unshare: Program,
    pub(super) mount: Program,
    pub(super) sleep: Program,
    pub(super) version: String,
    pub(super) target: SocketAddrV4,
    pub(super) far: Option<FarSide>,
}

/// Whether this process may make network devices.
pub(in crate::tunnel) fn check() -> Result<()> {
    check_for(geteuid())
}

fn check_for(user: Uid) -> Result<()> {
    match user.is_root() {
        true => Ok(()),
        false => Err(TunnelError::NeedsRoot.into()),
    }
}

/// The server's address, if a tunnel can lead to it.
fn ipv4(target: SocketAddr, is_far: bool) -> Result<SocketAddrV4> {
    match target {
        SocketAddr::V4(address) if address.ip().is_loopback() || is_far => Ok(address),
        _ => Err(TunnelError::Target {
            tunnel: "WireGuard",
            target,
        }
        .into()),
    }
}

impl Programs {
    pub(in crate::tunnel) fn find(target: SocketAddr, far: Option<FarSide>) -> Result<Self> {
        check()?;
        let target = ipv4(target, far.is_some())?;
        let wireguard = Program::find(&["wireguard-go"], "wireguard-go")?;
        Ok(Self {
            version: wireguard.version("wireguard-go", "--version", "wireguard-go ")?,
            wireguard,
            wg: Program::find(&["wg"], "wireguard-tools")?,
            nft: Program::find(&["nft"], "nftables")?,
            ip: Program::find(&["ip"], "iproute2")?,
            nsenter: Program::find(&["nsenter"], "util-linux")?,
            unshare: Program::find(&["unshare"], "util-linux")?,
            mount: Program::find(&["mount"], "mount")?,
            sleep: Program::find(&["sleep"], "coreutils")?,
            target,
            far,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_root_what_works_is_named() {
        let error = check_for(Uid::from_raw(1000)).unwrap_err().to_string();
        assert!(
            error.contains("needs root") && error.contains("stunnel"),
            "{error}"
        );
        assert!(check_for(Uid::ROOT).is_ok());
    }

    #[test]
    fn a_server_elsewhere_is_refused() {
        for target in ["192.0.2.1:3306", "[::1]:3306"] {
            let error = ipv4(target.parse().unwrap(), false).unwrap_err().to_string();
            assert!(error.contains(target) && error.contains("loopback"), "{error}");
        }
        assert!(ipv4("192.0.2.1:3306".parse().unwrap(), true).is_ok());
    }
}

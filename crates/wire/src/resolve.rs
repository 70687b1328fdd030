//! From a host's name to an address.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};

use crate::error::WireError;

/// The first address of a name. Asks the system's resolver, for which the whole thread waits.
pub(crate) fn resolve(host: &str, port: u16) -> Result<SocketAddr, WireError> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(SocketAddr::new(address, port));
    }
    let failed = |source| WireError::Resolve {
        host: host.to_owned(),
        source,
    };
    let mut addresses = (host, port).to_socket_addrs().map_err(failed)?;
    addresses
        .next()
        .ok_or_else(|| failed(io::Error::other("the name has no address")))
}

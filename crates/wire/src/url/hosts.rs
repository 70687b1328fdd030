//! The hosts of a URL, of which only MongoDB's standard has more than one; drivers and libpq read several for others too.

use std::net::Ipv6Addr;

use super::{TargetError, decoded};
use crate::address::Address;
use crate::tls::Verification;

/// Reads `host`, `host:port`, `[::1]` or `[::1]:port`, or several of them with commas between.
///
/// # Errors
/// When one of them is no host.
pub(super) fn addresses(text: &str, default_port: u16) -> Result<Vec<Address>, TargetError> {
    let addresses = text.split(',').map(|host| address(host, default_port));
    addresses.collect::<Option<_>>().ok_or(TargetError::Hosts)
}

fn address(text: &str, default_port: u16) -> Option<Address> {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok().filter(|port| *port > 0)?),
        _ => (text, default_port),
    };
    let host = match host.strip_prefix('[') {
        Some(host) => host.strip_suffix(']')?.parse::<Ipv6Addr>().ok()?.to_string(),
        None => decoded(host),
    };
    let is_name = |host: &str| !host.is_empty() && !host.contains(['/', '[', ']', ' ', ':']);
    (is_name(&host) || host.parse::<Ipv6Addr>().is_ok()).then_some(Address { host, port })
}

/// Makes sure that certificates of all of them can be held to one name, where they are held to any; `instead` is what holds them
/// to none.
///
/// # Errors
/// [`TargetError::HostNames`].
pub(super) fn have_one_name(
    verification: &Verification,
    others: &[Address],
    instead: &'static str,
) -> Result<(), TargetError> {
    match verification {
        Verification::HostName(_, name) if others.iter().any(|other| other.host != *name) => {
            Err(TargetError::HostNames(instead))
        }
        _ => Ok(()),
    }
}

/// What a URL has after its first host.
pub(super) fn and_others(others: &[Address]) -> String {
    others.iter().map(|other| format!(",{other}")).collect()
}

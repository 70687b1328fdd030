//! Choosing a port for a private server.

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::ops::RangeInclusive;

use rand::RngExt;

use crate::error::{Error, Result};

/// Below this, ports are often taken by well-known services.
const LOWEST: u16 = 20_000;

/// One below Linux's usual ephemeral range.
const HIGHEST: u16 = 32_767;

/// Where private servers listen: below the ephemeral range, because a client that connects to a closed port *in* that
/// range can be given the very same port as its own and so connect to itself.
pub(crate) fn private_range() -> RangeInclusive<u16> {
    let text = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    below(first_ephemeral(&text).unwrap_or(HIGHEST + 1))
}

/// A free port of the [private range](private_range).
pub(crate) fn free() -> Result<u16> {
    free_in(&private_range()).ok_or_else(none_free)
}

/// That every port of the private range that was tried is taken.
pub(crate) fn none_free() -> Error {
    let ports = private_range();
    Error::NoPort {
        low: *ports.start(),
        high: *ports.end(),
    }
}

/// A random port of `range` on which nothing listens on the loopback address. It may be taken by the time it is used.
pub(crate) fn free_in(range: &RangeInclusive<u16>) -> Option<u16> {
    const TRIES: usize = 200;
    let mut rng = rand::rng();
    (0..TRIES)
        .map(|_| rng.random_range(range.clone()))
        .find(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok())
}

fn first_ephemeral(text: &str) -> Option<u16> {
    text.split_whitespace().next()?.parse().ok()
}

/// The ports to use where ephemeral ports begin at `first_ephemeral`. Where hardly anything is below them, the usual
/// ports are used: servers are waited for by their log, so all that can happen is that a port is taken.
fn below(first_ephemeral: u16) -> RangeInclusive<u16> {
    let highest = HIGHEST.min(first_ephemeral.saturating_sub(1));
    match highest {
        ..2_000 => LOWEST..=HIGHEST,
        2_000..21_000 => 1_024..=highest,
        _ => LOWEST..=highest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_below_the_ephemeral_range() {
        assert_eq!(below(32_768), 20_000..=32_767);
        assert_eq!(below(60_000), 20_000..=32_767);
        assert_eq!(below(25_000), 20_000..=24_999);
        assert_eq!(below(15_000), 1_024..=14_999);
    }

    #[test]
    fn without_room_below_the_ephemeral_range_the_usual_ports_are_used() {
        assert_eq!(below(1_024), 20_000..=32_767);
        assert_eq!(below(0), 20_000..=32_767);
    }

    #[test]
    fn the_kernels_text_is_understood() {
        assert_eq!(first_ephemeral("32768\t60999\n"), Some(32_768));
        assert_eq!(first_ephemeral(""), None);
    }

    #[test]
    fn a_taken_port_is_not_offered() {
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = taken.local_addr().unwrap().port();
        assert_eq!(free_in(&(port..=port)), None);
    }
}

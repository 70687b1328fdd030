//! Addresses that nobody on this machine uses.

use std::io;
use std::net::Ipv4Addr;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use rand::RngExt;

use super::settings::ip;

/// Ranges that are never routed on the Internet: for benchmarks of network devices (RFC 2544, RFC 6890), of which some
/// VPN programs take a part or all, and for examples in documents (RFC 5737).
const RANGES: [Prefix; 3] = [
    Prefix::new(Ipv4Addr::new(198, 18, 0, 0), 15),
    Prefix::new(Ipv4Addr::new(198, 51, 100, 0), 24),
    Prefix::new(Ipv4Addr::new(203, 0, 113, 0), 24),
];

/// Length of the prefix of a link's eight addresses.
const BLOCK_LENGTH: u8 = 29;

/// How many blocks of a range are tried.
const TRIES: usize = 200;

/// Eight addresses that belong to one link as long as this lives: four for the delayed way and for the nodes, and four for the
/// direct way.
#[derive(Debug)]
pub(super) struct Block {
    first: Ipv4Addr,
    /// Bound to a name made of the first address: the kernel lets only one process of a network namespace have it,
    /// and frees it when the process ends.
    _claim: UnixListener,
}

impl Block {
    /// Takes a block in which this network namespace has no address and to which it has no route but the default one.
    pub(super) fn claim() -> io::Result<Self> {
        let taken = prefixes_in(&ip(["-4", "route", "show", "table", "all"])?);
        let mut random = rand::rng();
        for range in RANGES {
            for _ in 0..TRIES {
                let block = range.block(random.random());
                if taken.iter().any(|prefix| prefix.overlaps(block)) {
                    continue;
                }
                if let Some(block) = Self::claim_at(block.address)? {
                    return Ok(block);
                }
            }
        }
        Err(io::Error::other(format!(
            "there are no free addresses: this machine has routes to all of {}",
            RANGES
                .map(|range| format!("{}/{}", range.address, range.length))
                .join(", ")
        )))
    }

    /// Takes the block that a device of this kind is named for; `None` if the device is none of a link, or of a link
    /// that is still there.
    pub(super) fn claim_again(device: &str, kind: &str) -> io::Result<Option<Self>> {
        let number = device
            .strip_prefix(&prefix(kind))
            .and_then(|number| u32::from_str_radix(number, 16).ok());
        match number {
            Some(number) => Self::claim_at(Ipv4Addr::from_bits(number)),
            None => Ok(None),
        }
    }

    /// Takes the block that begins here; `None` if somebody has it.
    fn claim_at(first: Ipv4Addr) -> io::Result<Option<Self>> {
        let name = format!("ciphertax-link-{first}");
        match UnixListener::bind_addr(&SocketAddr::from_abstract_name(name)?) {
            Ok(claim) => Ok(Some(Self { first, _claim: claim })),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The link's end of the delayed way in the client's namespace.
    pub(super) fn near_delayed(&self) -> Ipv4Addr {
        self.address(1)
    }

    /// Where a server is reached with delay.
    pub(super) fn far_delayed(&self) -> Ipv4Addr {
        self.address(2)
    }

    /// What the nodes of a server are to each other, and to whoever reaches them by the addresses that they tell.
    pub(super) fn nodes(&self) -> Ipv4Addr {
        self.address(3)
    }

    /// The end of the direct way in the client's namespace.
    pub(super) fn near_direct(&self) -> Ipv4Addr {
        self.address(5)
    }

    /// Where a server is reached without delay.
    pub(super) fn far_direct(&self) -> Ipv4Addr {
        self.address(6)
    }

    /// A name for a device that no other link has: 15 characters, the most that Linux allows.
    pub(super) fn device(&self, kind: &str) -> String {
        format!("{}{:08x}", prefix(kind), self.first.to_bits())
    }

    fn address(&self, offset: u32) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.first.to_bits() + offset)
    }
}

/// How the names of devices of this kind begin.
fn prefix(kind: &str) -> String {
    format!("ct-{kind}-")
}

/// Addresses that begin with the same bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Prefix {
    address: Ipv4Addr,
    length: u8,
}

impl Prefix {
    const fn new(address: Ipv4Addr, length: u8) -> Self {
        Self { address, length }
    }

    /// Reads `a.b.c.d` or `a.b.c.d/n`.
    fn parse(text: &str) -> Option<Self> {
        let (address, length) = text.split_once('/').unwrap_or((text, "32"));
        let length = length.parse().ok().filter(|length| *length <= 32)?;
        Some(Self::new(address.parse().ok()?, length))
    }

    fn overlaps(self, other: Self) -> bool {
        let common = self.length.min(other.length);
        let mask = u32::MAX.checked_shl(32 - u32::from(common)).unwrap_or(0);
        (self.address.to_bits() ^ other.address.to_bits()) & mask == 0
    }

    /// One of the blocks in this range.
    fn block(self, random: u32) -> Self {
        let blocks = 1 << (BLOCK_LENGTH - self.length);
        let offset = (random % blocks) << (32 - BLOCK_LENGTH);
        Self::new(Ipv4Addr::from_bits(self.address.to_bits() + offset), BLOCK_LENGTH)
    }
}

/// What routes lead to, those to the machine's own addresses among them. The default route leads to everything and so
/// says nothing.
fn prefixes_in(routes: &str) -> Vec<Prefix> {
    routes
        .lines()
        .filter_map(|line| {
            // Some kinds of routes are named before their destination.
            line.split_whitespace().take(2).find_map(Prefix::parse)
        })
        .filter(|prefix| prefix.length > 0)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::settings::find_ip;

    fn range(text: &str) -> Prefix {
        Prefix::parse(text).unwrap()
    }

    #[test]
    fn routes_of_every_kind_are_read_but_the_default_route() {
        let routes = "default via 192.0.2.1 dev eth0 \n\
                      198.18.0.0/16 dev vpn0 scope link \n\
                      blackhole 203.0.113.0/24 \n\
                      local 192.0.2.2 dev eth0 table local proto kernel scope host src 192.0.2.2 \n\
                      0.0.0.0/0 dev vpn0 table 7 \n\
                      broadcast 192.0.2.255 dev eth0 table local proto kernel scope link src 192.0.2.2 \n";
        assert_eq!(
            prefixes_in(routes),
            ["198.18.0.0/16", "203.0.113.0/24", "192.0.2.2", "192.0.2.255"].map(range)
        );
    }

    #[test]
    fn prefixes_overlap_if_one_holds_the_other() {
        for (one, other, overlap) in [
            ("198.18.0.0/16", "198.18.7.8/29", true),
            ("198.18.7.12", "198.18.7.8/29", true),
            ("198.18.7.16", "198.18.7.8/29", false),
            ("198.19.0.0/16", "198.18.7.8/29", false),
            ("128.0.0.0/1", "198.18.7.8/29", true),
        ] {
            assert_eq!(range(one).overlaps(range(other)), overlap, "{one} {other}");
            assert_eq!(range(other).overlaps(range(one)), overlap, "{other} {one}");
        }
    }

    #[test]
    fn blocks_lie_in_their_range_and_do_not_overlap() {
        for range in RANGES {
            for random in [0, 1, 12_345, u32::MAX] {
                let block = range.block(random);
                assert!(range.overlaps(block));
                assert_eq!(block.address.to_bits() % 8, 0);
                assert!(!block.overlaps(range.block(random ^ 1)));
            }
        }
    }

    #[test]
    fn a_claimed_block_is_not_claimed_again() {
        if find_ip().is_err() {
            return; // Then there are no links at all.
        }
        let blocks: Vec<Block> = (0..20).map(|_| Block::claim().unwrap()).collect();
        for (index, block) in blocks.iter().enumerate() {
            assert!(blocks[..index].iter().all(|other| other.first != block.first));
            let device = block.device("tun");
            assert!(device.len() <= 15);
            assert!(Block::claim_again(&device, "tun").unwrap().is_none());
        }
    }
}

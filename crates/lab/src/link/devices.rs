//! The namespace and the devices of a link, and addresses that nobody on this machine uses.

use std::ffi::CString;
use std::fs::{self, File};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::PathBuf;

use ciphertax_model as model;
use rand::RngExt;
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

use super::{Endpoints, ip, ip_batch};

pub(super) const TUN: &str = "/dev/net/tun";

/// What kind of device the client's end of the direct way is, in its name.
const VETH: &str = "eth";

/// Packets that the kernel keeps for the link process while that does not run: 50 ms at a gigabit per second. The
/// link's own queue is elsewhere.
const KERNEL_QUEUE: u32 = 5_000;

/// Largest packet in bytes, as on Ethernet.
pub(super) const MTU: usize = 1_500;

/// A namespace, two TUN devices, a veth pair, and a TUN device between nodes if there are to be any. All go when this is dropped.
///
/// When the process is killed the TUN devices go at once. The veth pair goes with the namespace, and that may be held
/// for minutes by connections of a killed server whose last packets nobody carries any more; the next link removes it
/// then.
#[derive(Debug)]
pub(super) struct Devices {
    /// The TUN device in the namespace of this thread.
    pub(super) near: File,
    /// The TUN device in the link's namespace.
    pub(super) far: File,
    /// The device between the nodes in the link's namespace, if they have a distance.
    pub(super) nodes: Option<File>,
    /// The name of the veth device in the namespace of this thread.
    veth: String,
    /// Where the link is; the namespace has its path from the file below.
    pub(super) endpoints: Endpoints,
    _namespace: File,
    _addresses: Block,
}

impl Devices {
    /// Makes them. This thread is in another namespace meanwhile, so it must not be used for anything else if that
    /// fails.
    pub(super) fn make(distances: &model::Distances) -> io::Result<Self> {
        remove_stale().map_err(context("cannot look for devices of earlier links"))?;
        let addresses = Block::claim().map_err(context("finds no addresses"))?;
        let tun = addresses.device("tun");
        let veth = addresses.device(VETH);
        let near = open_tun(&tun).map_err(context("cannot make a TUN device"))?;

        let home = File::open(THIS_NAMESPACE).map_err(context("cannot open its namespace"))?;
        // SAFETY: unlike an unshared table of descriptors, a network namespace changes nothing that other threads rely
        // on.
        unsafe { unshare_unsafe(UnshareFlags::NEWNET) }
            .map_err(io::Error::from)
            .map_err(context("cannot make a network namespace"))?;
        let namespace = File::open(THIS_NAMESPACE).map_err(context("cannot open its namespace"))?;
        let far = open_tun("delayed").map_err(context("cannot make a TUN device"))?;
        let [near_delayed, far_delayed, of_nodes, near_direct, far_direct] = addresses.addresses();
        ip_batch(&[
            "link set dev lo up".to_owned(),
            format!("address add {far_delayed} peer {near_delayed} dev delayed"),
            format!("link set dev delayed mtu {MTU} txqueuelen {KERNEL_QUEUE} up"),
            format!(
                "link add name direct type veth peer name {veth} netns {}",
                path_of(&home).display()
            ),
            format!("address add {far_direct}/30 dev direct"),
            "link set dev direct up".to_owned(),
        ])
        .map_err(context("cannot set up its namespace"))?;
        let nodes = distances
            .between_nodes
            .map(|_| between_nodes(of_nodes))
            .transpose()?;
        move_into_link_name_space(home.as_fd(), Some(LinkNameSpaceType::Network))
            .map_err(io::Error::from)
            .map_err(context("cannot return from its namespace"))?;

        let mut lines = vec![
            format!("address add {near_delayed} peer {far_delayed} dev {tun}"),
            format!("link set dev {tun} mtu {MTU} txqueuelen {KERNEL_QUEUE} up"),
            format!("address add {near_direct}/30 dev {veth}"),
            format!("link set dev {veth} up"),
        ];
        // The load reaches nodes by the address that they tell, as far away as the server is.
        lines.extend(nodes.as_ref().map(|_| match distances.to_servers {
            Some(_) => format!("route add {of_nodes} dev {tun}"),
            None => format!("route add {of_nodes} via {far_direct} dev {veth}"),
        }));
        ip_batch(&lines).map_err(context("cannot set up its devices"))?;
        Ok(Self {
            near,
            far,
            veth,
            endpoints: Endpoints {
                delayed: far_delayed,
                direct: far_direct,
                nodes: nodes.as_ref().map(|_| of_nodes),
                namespace: path_of(&namespace),
            },
            nodes,
            _namespace: namespace,
            _addresses: addresses,
        })
    }
}

impl Drop for Devices {
    fn drop(&mut self) {
        remove(&self.veth);
    }
}

/// The device in the namespace of this thread by which nodes there reach each other at `address`.
///
/// All nodes have the one address, at ports of their own. What is sent to it from here goes into the device instead of the
/// loopback device, since the rule that says so comes before the table of local addresses; what comes out of the device, being
/// from elsewhere, is delivered.
fn between_nodes(address: Ipv4Addr) -> io::Result<File> {
    const DEVICE: &str = "nodes";
    const ROUTING_TABLE: u32 = 100;
    let tun = open_tun(DEVICE).map_err(context("cannot make a TUN device"))?;
    ip_batch(&[
        format!("address add {address}/32 dev {DEVICE}"),
        format!("link set dev {DEVICE} mtu {MTU} txqueuelen {KERNEL_QUEUE} up"),
        format!("route add {address} dev {DEVICE} src {address} table {ROUTING_TABLE}"),
        "rule add pref 20 lookup local".to_owned(),
        "rule del pref 0".to_owned(),
        format!("rule add pref 10 iif lo to {address} lookup {ROUTING_TABLE}"),
    ])
    .map_err(context("cannot lead nodes to each other"))?;
    // Packets from its own address are let in, and not asked whether the way back is the same.
    for (setting, value) in [
        (format!("{DEVICE}/accept_local"), "1"),
        (format!("{DEVICE}/rp_filter"), "0"),
        ("all/rp_filter".to_owned(), "0"),
    ] {
        // `/proc/sys` shows the namespace of the thread that opens it.
        fs::write(format!("/proc/sys/net/ipv4/conf/{setting}"), value)
            .map_err(context("cannot let nodes hear each other"))?;
    }
    Ok(tun)
}

/// Removes a veth pair by the name of one of its ends.
fn remove(veth: &str) {
    // It may be gone, as the namespace may.
    let _ = ip(["link", "delete", "dev", veth]);
}

/// Removes what links left here whose processes have been killed.
fn remove_stale() -> io::Result<()> {
    let devices = ip(["-o", "link", "show", "type", "veth"])?;
    // `7: ct-eth-c6120008@if3: <BROADCAST,…`
    let names = devices
        .lines()
        .filter_map(|line| line.split_whitespace().nth(1)?.split(['@', ':']).next());
    for name in names {
        // Held until the device is gone, so that no other link can begin to use the name.
        if let Some(_claim) = Block::claim_again(name, VETH)? {
            remove(name);
        }
    }
    Ok(())
}

/// The network namespace of the calling thread, which need not be that of its process.
const THIS_NAMESPACE: &str = "/proc/thread-self/ns/net";

/// A path by which other processes open the same file.
fn path_of(file: &File) -> PathBuf {
    format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd()).into()
}

/// Makes a TUN device in the namespace of this thread. It carries bare IP packets, is read without blocking, and goes
/// when the file is closed.
fn open_tun(name: &str) -> io::Result<File> {
    let file = File::options()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(TUN)?;
    let name = CString::new(name)?;
    // SAFETY: all zeros is a valid value of this plain structure.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(name.as_bytes()) {
        *to = *from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
    // SAFETY: TUNSETIFF reads and writes one `ifreq`, which outlives the call.
    match unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw mut request) } {
        0 => Ok(file),
        _ => Err(io::Error::last_os_error()),
    }
}

fn context(what: &'static str) -> impl FnOnce(io::Error) -> io::Error {
    move |error| io::Error::new(error.kind(), format!("{what}: {error}"))
}

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

    /// The link's end of the delayed way in the client's namespace; where a server is reached with delay; what the nodes of a server
    /// are to each other, and to whoever reaches them by the addresses that they tell; the end of the direct way in the client's
    /// namespace; where a server is reached without delay.
    fn addresses(&self) -> [Ipv4Addr; 5] {
        [1, 2, 3, 5, 6].map(|offset| Ipv4Addr::from_bits(self.first.to_bits() + offset))
    }

    /// A name for a device that no other link has: 15 characters, the most that Linux allows.
    pub(super) fn device(&self, kind: &str) -> String {
        format!("{}{:08x}", prefix(kind), self.first.to_bits())
    }
}

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
    use crate::link::find_ip;

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

//! The namespace and the devices of a link.

use std::ffi::CString;
use std::fs::{self, File};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use ciphertax_model as model;
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

use super::addresses::Block;
use super::settings::{ip, ip_batch};

/// Where TUN devices are made.
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
    /// Keeps the namespace alive and gives it a path.
    namespace: File,
    addresses: Block,
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
        let (near_delayed, far_delayed) = (addresses.near_delayed(), addresses.far_delayed());
        let (near_direct, far_direct) = (addresses.near_direct(), addresses.far_direct());
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
            .map(|_| between_nodes(addresses.nodes()))
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
            Some(_) => format!("route add {} dev {tun}", addresses.nodes()),
            None => format!("route add {} via {far_direct} dev {veth}", addresses.nodes()),
        }));
        ip_batch(&lines).map_err(context("cannot set up its devices"))?;
        Ok(Self {
            near,
            far,
            nodes,
            veth,
            namespace,
            addresses,
        })
    }

    /// Where a server in the namespace is reached with delay.
    pub(super) fn delayed_address(&self) -> Ipv4Addr {
        self.addresses.far_delayed()
    }

    /// Where a server in the namespace is reached without delay.
    pub(super) fn direct_address(&self) -> Ipv4Addr {
        self.addresses.far_direct()
    }

    /// What the nodes inside are to each other; `None` if they have no distance.
    pub(super) fn nodes_address(&self) -> Option<Ipv4Addr> {
        self.nodes.as_ref().map(|_| self.addresses.nodes())
    }

    /// The namespace, as long as this process lives.
    pub(super) fn namespace(&self) -> PathBuf {
        path_of(&self.namespace)
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
    const TABLE: u32 = 100;
    let tun = open_tun(DEVICE).map_err(context("cannot make a TUN device"))?;
    ip_batch(&[
        format!("address add {address}/32 dev {DEVICE}"),
        format!("link set dev {DEVICE} mtu {MTU} txqueuelen {KERNEL_QUEUE} up"),
        format!("route add {address} dev {DEVICE} src {address} table {TABLE}"),
        "rule add pref 20 lookup local".to_owned(),
        "rule del pref 0".to_owned(),
        format!("rule add pref 10 iif lo to {address} lookup {TABLE}"),
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

//! WireGuard in user space, a process on each side.
//!
//! Client threads and the server are on the same machine, and the kernel delivers what goes to an address of the
//! machine without asking any tunnel. So one end is in a network namespace of its own:
//!
//! ```text
//! namespace of the machine                   namespace of the tunnel
//!
//! client ── device of the client's end ····· wireguard-go ─┐
//!   (an address that only this device leads to)            │ UDP on the loopback device of the namespace
//!                                            wireguard-go ─┘
//!                                                 │
//! server ── veth ─────────────────────────── veth ┴ device of the server's end
//!   (127.0.0.1)
//! ```
//!
//! Both wireguard-go run in the tunnel's namespace, so that their UDP sockets, which listen on every address, are
//! reachable from nowhere else; only the device of the client's end is moved out of it. What comes out of the server's
//! end is routed to a veth, and its addresses are rewritten there so that it reaches the server at the loopback address
//! where it listens anyway. The rewriting is done in the kernel, packet by packet and without tracking connections: a
//! copy of four bytes and a sum. A TCP forwarder in its place would cost more than the tunnel. Nothing of the machine is
//! changed: the two devices are new, so is what is set for them, and they lead to addresses of a range reserved for
//! measurements (RFC 2544).
//!
//! The namespace has no name and is held by processes of the guard alone. When they end, so does everything in it, and
//! with it both devices.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{io, thread};

use ciphertax_model::Tunnel;
use openssl::pkey::{PKey, Private};
use rand::RngExt;
use rustix::process::geteuid;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::error::{Error, Result};
use crate::guard::{Guard, Helper, User};

use super::Side;
use super::datagram_relay::DatagramRelay;
use super::error::TunnelError;
use super::half::{Half, STARTUP};
use super::program::{Program, run_to_success};
use super::proof::{Evidence, Exchange, disproved, send_through};

/// What wireguard-go gives its devices: 1500 bytes less its headers over IPv6.
const MTU: u16 = 1420;

/// The only cipher that WireGuard has.
const CIPHER: &str = "ChaCha20-Poly1305";

/// UDP ports of the client's and of the server's end. Nobody else is in their namespace.
const CLIENT_PORT: u16 = 51_821;
const SERVER_PORT: u16 = 51_822;

/// The Ethernet address of both ends of the veth: being the same, nobody has to ask for it.
const ETHERNET: &str = "02:63:74:61:78:01";

/// How long the devices may take to go when the processes have ended.
const VANISHING: Duration = Duration::from_secs(5);

/// How long a connection through the tunnel may take while it is tried whether it leads anywhere.
const TRIAL: Duration = Duration::from_millis(250);

/// What is needed on the machine.
#[derive(Debug)]
pub(super) struct Programs {
    wireguard: Program,
    wg: Program,
    nft: Program,
    ip: Program,
    nsenter: Program,
    unshare: Program,
    mount: Program,
    sleep: Program,
    version: String,
    target: SocketAddrV4,
}

impl Programs {
    pub(super) fn find(target: SocketAddr) -> Result<Self> {
        if !geteuid().is_root() {
            return Err(TunnelError::NeedsRoot.into());
        }
        let target = match target {
            SocketAddr::V4(address) if address.ip().is_loopback() => address,
            _ => {
                return Err(TunnelError::Target {
                    tunnel: "WireGuard",
                    target,
                }
                .into());
            }
        };
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
        })
    }
}

/// Both ends, and the way between them.
#[derive(Debug)]
pub(super) struct Wireguard {
    programs: Programs,
    namespace: Namespace,
    devices: Devices,
    addresses: Addresses,
    client_key: PublicKey,
    server_key: PublicKey,
}

impl Wireguard {
    pub(super) fn start(
        programs: Programs,
        guard: &mut Guard,
        target: SocketAddr,
    ) -> Result<(Self, SocketAddr, Vec<Half>)> {
        let namespace = Namespace::start(&programs, guard)?;
        let (client_key, server_key) = (Key::new()?, Key::new()?);
        let wireguard = Self {
            namespace,
            devices: Devices::new(),
            addresses: Addresses::unused()?,
            client_key: client_key.public()?,
            server_key: server_key.public()?,
            programs,
        };
        wireguard.make_way_to_server()?;
        let server = wireguard.start_end(guard, Side::Server, &server_key)?;
        wireguard.connect_server_end()?;
        let client = wireguard.start_end(guard, Side::Client, &client_key)?;
        wireguard.connect_client_end()?;
        wireguard.wait_until_passable(&[&client, &server])?;
        let address = SocketAddr::from((wireguard.addresses.entry, target.port()));
        Ok((wireguard, address, vec![client, server]))
    }

    pub(super) fn facts(&self) -> BTreeMap<String, String> {
        [
            ("program", self.programs.version.clone()),
            ("cipher", CIPHER.into()),
            (
                "topology",
                format!(
                    "two user-space ends, MTU {MTU}, UDP on loopback; behind the server's end a veth and stateless \
                     rewriting of addresses, no TCP forwarder"
                ),
            ),
        ]
        .map(|(name, fact)| (name.to_owned(), fact))
        .into()
    }

    /// Sends a canary through the tunnel while a relay stands between its ends. Each end sends to the relay because it
    /// is told to, and straight to the other again afterwards.
    pub(super) fn prove(
        &self,
        address: SocketAddr,
        canary: &str,
        exchange: &mut Exchange<'_>,
    ) -> Result<Evidence> {
        let [client, server] =
            [CLIENT_PORT, SERVER_PORT].map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        let socket = self
            .namespace
            .inside("bind a socket", || UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)))?;
        let failed = |cause| TunnelError::System {
            what: "start a relay".into(),
            cause,
        };
        let middle = socket.local_addr().map_err(failed)?;
        let between = DatagramRelay::start(socket, [client, server]).map_err(failed)?;
        let outcome = self
            .send_to(middle, middle)
            .and_then(|()| send_through(Tunnel::Wireguard, address, &between, canary, exchange));
        // First, so that nothing more comes from there.
        drop(between);
        self.send_to(server, client)?;
        let bytes_between = outcome?;
        Ok(Evidence {
            bytes_between,
            word: self.word()?,
        })
    }

    /// Waits until the devices have gone, which they do by themselves soon after the processes have ended.
    pub(super) fn wait_until_gone(&self) -> Result<()> {
        let deadline = Instant::now() + VANISHING;
        loop {
            let Some(device) = self
                .devices
                .outside()
                .into_iter()
                .find(|device| device_exists(device))
            else {
                return Ok(());
            };
            if Instant::now() > deadline {
                return Err(Error::LeftBehind {
                    folder: network_device(device),
                    problem: "the kernel keeps it although its processes have ended".into(),
                });
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// The veth from the tunnel's namespace to the server, and the rewriting of addresses.
    fn make_way_to_server(&self) -> Result<()> {
        let Devices { inner, outer, .. } = &self.devices;
        let Addresses {
            client,
            entry,
            beyond,
        } = self.addresses;
        let server = self.programs.target.ip();
        self.namespace.inside("route between devices", || {
            fs::write("/proc/sys/net/ipv4/ip_forward", "1")?;
            without_ipv6("default")
        })?;
        self.ip_inside(&format!(
            "link set lo up\n\
             link add {inner} address {ETHERNET} mtu {MTU} type veth peer name {outer} address {ETHERNET} mtu {MTU}\n\
             link set {inner} arp off up\n\
             link set {outer} netns {owner}\n\
             route add {entry}/32 dev {inner}\n",
            owner = std::process::id()
        ))?;
        let rules = format!(
            "table ip ciphertax {{\n\
             chain there {{\n\
             type filter hook postrouting priority 300;\n\
             oifname \"{inner}\" ip daddr {entry} ip saddr set {beyond} ip daddr set {server}\n\
             }}\n\
             chain back {{\n\
             type filter hook prerouting priority -300;\n\
             iifname \"{inner}\" ip saddr {server} ip saddr set {entry} ip daddr set {client}\n\
             }}\n\
             }}\n"
        );
        run_to_success(
            &self
                .namespace
                .command_line(self.programs.nft.command_line(["-f", "-"])),
            &rules,
        )?;
        self.configure(outer, || {
            without_ipv6(outer)?;
            // Else the kernel drops what has a loopback address and is not from the loopback device.
            fs::write(format!("/proc/sys/net/ipv4/conf/{outer}/route_localnet"), "1")
        })?;
        self.ip_outside(&format!(
            "link set {outer} arp off up\n\
             route add {beyond}/32 dev {outer}\n"
        ))
    }

    /// Starts one end and gives it its keys.
    fn start_end(&self, guard: &mut Guard, side: Side, key: &Key) -> Result<Half> {
        let (device, log) = match side {
            Side::Client => (&self.devices.client, "wireguard-client.log"),
            Side::Server => (&self.devices.server, "wireguard-server.log"),
        };
        let half = Half::start(
            guard,
            "wireguard-go",
            side,
            Helper {
                command_line: self
                    .namespace
                    .command_line(self.programs.wireguard.command_line(["-f", device])),
                log: log.into(),
                user: User::Owner,
            },
        )?;
        let socket = self.namespace.path(&format!("run/wireguard/{device}.sock"));
        wait_until(&half, || socket.exists())?;
        self.wg(&["setconf", device, "/dev/stdin"], &self.settings(side, key)?)?;
        Ok(half)
    }

    fn settings(&self, side: Side, key: &Key) -> Result<String> {
        let key = key.base64()?;
        let Addresses { client, entry, .. } = self.addresses;
        let (port, peer, allowed, endpoint) = match side {
            Side::Client => (CLIENT_PORT, &self.server_key, entry, SERVER_PORT),
            Side::Server => (SERVER_PORT, &self.client_key, client, CLIENT_PORT),
        };
        Ok(format!(
            "[Interface]\n\
             PrivateKey = {key}\n\
             ListenPort = {port}\n\
             [Peer]\n\
             PublicKey = {peer}\n\
             AllowedIPs = {allowed}/32\n\
             Endpoint = 127.0.0.1:{endpoint}\n",
            peer = peer.0
        ))
    }

    fn connect_server_end(&self) -> Result<()> {
        let device = &self.devices.server;
        let client = self.addresses.client;
        self.ip_inside(&format!(
            "link set {device} mtu {MTU} up\n\
             route add {client}/32 dev {device}\n"
        ))
    }

    /// Moves the device of the client's end to the machine's namespace.
    fn connect_client_end(&self) -> Result<()> {
        let device = &self.devices.client;
        let Addresses { client, entry, .. } = self.addresses;
        self.ip_inside(&format!("link set {device} netns {}\n", std::process::id()))?;
        self.configure(device, || without_ipv6(device))?;
        self.ip_outside(&format!(
            "addr add {client}/32 dev {device}\n\
             link set {device} mtu {MTU} up\n\
             route add {entry}/32 dev {device}\n"
        ))
    }

    fn wait_until_passable(&self, halves: &[&Half]) -> Result<()> {
        let deadline = Instant::now() + STARTUP;
        while !self.is_passable()? {
            for half in halves {
                if half.has_ended() {
                    return Err(half.ended());
                }
                if Instant::now() > deadline {
                    return Err(half.not_ready());
                }
            }
        }
        Ok(())
    }

    /// Connects through the tunnel to a listener of our own, so that the server is left in peace.
    fn is_passable(&self) -> Result<bool> {
        let server = IpAddr::V4(*self.programs.target.ip());
        let failed = |cause| TunnelError::System {
            what: "listen behind the tunnel".into(),
            cause,
        };
        let listener = TcpListener::bind((server, 0)).map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        let entry = SocketAddr::from((self.addresses.entry, port));
        Ok(TcpStream::connect_timeout(&entry, TRIAL).is_ok())
    }

    /// Tells each end where to send, again and again until both do: an end that still hears from the other by the old
    /// way goes on to answer there.
    fn send_to(&self, from_client: SocketAddr, from_server: SocketAddr) -> Result<()> {
        let ways = [
            (&self.devices.client, &self.server_key, from_client.to_string()),
            (&self.devices.server, &self.client_key, from_server.to_string()),
        ];
        let deadline = Instant::now() + STARTUP;
        while Instant::now() < deadline {
            for (device, peer, endpoint) in &ways {
                self.wg(&["set", device, "peer", &peer.0, "endpoint", endpoint], "")?;
            }
            let passable = self.is_passable()?;
            let mut taken = true;
            for (device, _, endpoint) in &ways {
                let now = self.wg(&["show", device, "endpoints"], "")?;
                taken &= now.split_whitespace().nth(1) == Some(endpoint);
            }
            if passable && taken {
                return Ok(());
            }
        }
        Err(TunnelError::System {
            what: "lead the ends of WireGuard to each other".into(),
            cause: io::ErrorKind::TimedOut.into(),
        }
        .into())
    }

    /// What `wg` says of the client's end: that a handshake was made with the server's key, and that bytes went both ways.
    fn word(&self) -> Result<String> {
        let device = &self.devices.client;
        let handshakes = self.wg(&["show", device, "latest-handshakes"], "")?;
        let transfer = self.wg(&["show", device, "transfer"], "")?;
        let of_peer = |table: &str| -> Option<Vec<u64>> {
            let line = table
                .lines()
                .find_map(|line| line.strip_prefix(&self.server_key.0))?;
            line.split_whitespace().map(|field| field.parse().ok()).collect()
        };
        match (of_peer(&handshakes).as_deref(), of_peer(&transfer).as_deref()) {
            (Some(&[handshake]), Some(&[received, sent])) if handshake > 0 && received > 0 && sent > 0 => {
                Ok(format!(
                    "wg: handshake with the key of the server's end at {handshake} s, {received} bytes received, \
                     {sent} sent; WireGuard has no cipher but {CIPHER}"
                ))
            }
            _ => Err(disproved(
                Tunnel::Wireguard,
                format!(
                    "wg knows of no handshake or no bytes: {} {}",
                    handshakes.trim(),
                    transfer.trim()
                ),
            )),
        }
    }

    fn wg(&self, arguments: &[&str], input: &str) -> Result<String> {
        run_to_success(
            &self
                .namespace
                .command_line(self.programs.wg.command_line(arguments)),
            input,
        )
    }

    fn ip_inside(&self, commands: &str) -> Result<()> {
        let ip = self.programs.ip.command_line(["-batch", "-"]);
        run_to_success(&self.namespace.command_line(ip), commands).map(drop)
    }

    fn ip_outside(&self, commands: &str) -> Result<()> {
        run_to_success(&self.programs.ip.command_line(["-batch", "-"]), commands).map(drop)
    }

    /// Sets something for a new device of ours in the machine's namespace.
    fn configure(&self, device: &str, work: impl FnOnce() -> io::Result<()>) -> Result<()> {
        work().map_err(|cause| {
            TunnelError::System {
                what: format!("configure the new network device {device}"),
                cause,
            }
            .into()
        })
    }
}

/// A network namespace and a mount namespace without names, held by a process that sleeps.
#[derive(Debug)]
struct Namespace {
    holder: Half,
    nsenter: Program,
}

impl Namespace {
    fn start(programs: &Programs, guard: &mut Guard) -> Result<Self> {
        let mut words = programs.unshare.command_line(["--net", "--mount", "--"]);
        words.extend(programs.sleep.command_line(["infinity"]));
        let helper = Helper {
            command_line: words,
            log: "namespace.log".into(),
            user: User::Owner,
        };
        let holder = Half::start(guard, "unshare", Side::Server, helper)?;
        let namespace = Self {
            nsenter: programs.nsenter.clone(),
            holder,
        };
        // unshare becomes sleep once it has done its work.
        let program = namespace.process().join("comm");
        wait_until(&namespace.holder, || {
            fs::read_to_string(&program).is_ok_and(|name| name.trim() == "sleep")
        })?;
        // Programs put their sockets into /run: it is one of our own here, and goes with the namespace.
        let mount = programs
            .mount
            .command_line(["-t", "tmpfs", "-o", "mode=0755,size=1m", "tmpfs", "/run"]);
        run_to_success(&namespace.command_line(mount), "")?;
        Ok(namespace)
    }

    /// The words that run a command in here.
    fn command_line(&self, command: Vec<OsString>) -> Vec<OsString> {
        let target = format!("--target={}", self.holder.pid());
        let mut words = self.nsenter.command_line([&target, "--net", "--mount", "--"]);
        words.extend(command);
        words
    }

    /// Does something in a thread that is in the network namespace, though not in the mount namespace.
    fn inside<T: Send>(&self, what: &str, work: impl FnOnce() -> io::Result<T> + Send) -> Result<T> {
        let enter = || {
            let namespace = File::open(self.process().join("ns/net"))?;
            move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?;
            work()
        };
        thread::scope(|scope| scope.spawn(enter).join())
            .unwrap_or_else(|_| Err(io::Error::other("the thread panicked")))
            .map_err(|cause| {
                TunnelError::System {
                    what: format!("{what} in the network namespace"),
                    cause,
                }
                .into()
            })
    }

    /// A file as it is seen in here.
    fn path(&self, below_root: &str) -> PathBuf {
        self.process().join("root").join(below_root)
    }

    fn process(&self) -> PathBuf {
        Path::new("/proc").join(self.holder.pid().to_string())
    }
}

/// Names of network devices that nobody else uses.
#[derive(Debug)]
struct Devices {
    client: String,
    server: String,
    /// The ends of the veth, in the tunnel's namespace and in the machine's.
    inner: String,
    outer: String,
}

impl Devices {
    fn new() -> Self {
        let number: u32 = rand::rng().random();
        let name = |end| format!("ctax{number:08x}{end}");
        Self {
            client: name('c'),
            server: name('s'),
            inner: name('i'),
            outer: name('o'),
        }
    }

    /// Those in the machine's namespace.
    fn outside(&self) -> [&str; 2] {
        [&self.client, &self.outer]
    }
}

/// Three neighbouring addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Addresses {
    /// The client's own.
    client: Ipv4Addr,
    /// Where the client connects to.
    entry: Ipv4Addr,
    /// The client as the server sees it.
    beyond: Ipv4Addr,
}

impl Addresses {
    /// Reserved for measurements between networks (RFC 2544, RFC 6890): 198.18.0.0/15.
    const NETWORK: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 0);

    /// Groups of four addresses in the network.
    const GROUPS: u32 = 1 << 15;

    /// Addresses that no route of the machine names.
    fn unused() -> Result<Self> {
        const TRIES: usize = 100;
        let path = Path::new("/proc/net/route");
        let routes = fs::read_to_string(path).map_err(Error::read(path))?;
        let mut rng = rand::rng();
        (0..TRIES)
            .map(|_| Self::of_group(rng.random_range(0..Self::GROUPS)))
            .find(|addresses| !addresses.occur_in(&routes))
            .ok_or_else(|| {
                TunnelError::System {
                    what: "find unused addresses in 198.18.0.0/15".into(),
                    cause: io::ErrorKind::AddrInUse.into(),
                }
                .into()
            })
    }

    fn of_group(group: u32) -> Self {
        let first = u32::from(Self::NETWORK) + 4 * group;
        let [client, entry, beyond] = [1, 2, 3].map(|offset| Ipv4Addr::from(first + offset));
        Self {
            client,
            entry,
            beyond,
        }
    }

    /// The kernel writes destinations in hexadecimal as they lie in memory.
    fn occur_in(&self, routes: &str) -> bool {
        [self.client, self.entry, self.beyond].iter().any(|address| {
            let destination = format!("{:08X}", u32::from_ne_bytes(address.octets()));
            routes
                .lines()
                .any(|line| line.split_whitespace().nth(1) == Some(&destination))
        })
    }
}

/// An end's secret.
struct Key(PKey<Private>);

impl Key {
    fn new() -> Result<Self> {
        Ok(Self(PKey::generate_x25519()?))
    }

    fn public(&self) -> Result<PublicKey> {
        Ok(PublicKey(openssl::base64::encode_block(
            &self.0.raw_public_key()?,
        )))
    }

    fn base64(&self) -> Result<String> {
        Ok(openssl::base64::encode_block(&self.0.raw_private_key()?))
    }
}

/// In Base64, as `wg` has it.
#[derive(Debug)]
struct PublicKey(String);

/// Keeps the kernel from announcing a device to neighbours that are not there. Fails for no kernel without IPv6.
fn without_ipv6(device: &str) -> io::Result<()> {
    match fs::write(format!("/proc/sys/net/ipv6/conf/{device}/disable_ipv6"), "1") {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn network_device(device: &str) -> PathBuf {
    Path::new("/sys/class/net").join(device)
}

fn device_exists(device: &str) -> bool {
    network_device(device).exists()
}

/// Waits for something that a program does after its start.
fn wait_until(half: &Half, done: impl Fn() -> bool) -> Result<()> {
    let deadline = Instant::now() + STARTUP;
    while !done() {
        if half.has_ended() {
            return Err(half.ended());
        }
        if Instant::now() > deadline {
            return Err(half.not_ready());
        }
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_of_the_reserved_network_and_apart() {
        let [first, last] = [0, Addresses::GROUPS - 1].map(Addresses::of_group);
        assert_eq!(first.client, Ipv4Addr::new(198, 18, 0, 1));
        assert_eq!(first.beyond, Ipv4Addr::new(198, 18, 0, 3));
        assert_eq!(last.beyond, Ipv4Addr::new(198, 19, 255, 255));
    }

    #[test]
    fn addresses_that_a_route_names_are_not_used() {
        let routes = "Iface\tDestination\tGateway\nctaxc\t020012C6\t00000000\n";
        assert!(Addresses::of_group(0).occur_in(routes));
        assert!(!Addresses::of_group(1).occur_in(routes));
    }

    #[test]
    fn names_fit_what_the_kernel_allows() {
        const LONGEST: usize = 15;
        let Devices {
            client,
            server,
            inner,
            outer,
        } = Devices::new();
        for name in [client, server, inner, outer] {
            assert!(name.len() <= LONGEST, "{name}");
        }
    }

    #[test]
    fn a_server_elsewhere_is_refused() {
        if !geteuid().is_root() {
            return; // Everything is refused.
        }
        for target in ["192.0.2.1:3306", "[::1]:3306"] {
            let error = Programs::find(target.parse().unwrap()).unwrap_err().to_string();
            assert!(error.contains(target) && error.contains("loopback"), "{error}");
        }
    }
}

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
//! copy of four bytes and a sum. A TCP forwarder in its place would cost more than the tunnel. Nothing of the machine
//! is changed: the two devices are new, so is what is set for them, and they lead to addresses of a range reserved for
//! measurements (RFC 2544).
//!
//! Over a link it is simpler. The server is in a namespace already, and so its end is put there too and is given the
//! address that clients connect to, so that nothing has to be rewritten:
//!
//! ```text
//! namespace of the machine                   namespace of the link
//!
//! client ── device of the client's end       device of the server's end ── server
//!                        │                        │
//!                   wireguard-go ── UDP, link ── wireguard-go
//! ```
//!
//! Then the UDP socket of the client's end is on every address of the machine, as WireGuard's always is; it answers
//! nobody who does not have the other end's key.
//!
//! The namespace has no name and is held by processes of the guard alone. When they end, so does everything in it, and
//! with it both devices.

mod key;
mod names;
mod programs;
mod shelter;

use std::collections::BTreeMap;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::time::{Duration, Instant};
use std::{io, thread};

use ciphertax_model::Tunnel;
use ciphertax_reactor::stop;
use ciphertax_supervise::guard::{Ending, Guard, Helper, User};
use ciphertax_supervise::namespace::inside;

use crate::error::{Error, Result};
use crate::link::FarSide;

use super::datagram_relay::DatagramRelay;
use super::error::TunnelError;
use super::half::{Half, STARTUP};
use super::process::Side;
use super::program::run_to_success;
use super::proof::{Evidence, Exchange, disproved, send_through};
use key::{Key, PublicKey};
use names::{Addresses, Devices};
pub(super) use programs::{Programs, check};
use shelter::Shelter;

/// What wireguard-go gives its devices: 1500 bytes less its headers over IPv6.
const MTU: u16 = 1420;

/// The only cipher that WireGuard has.
const CIPHER: &str = "ChaCha20-Poly1305";

/// UDP ports of the client's and of the server's end without a link. Nobody else is in their namespace.
const CLIENT_PORT: u16 = 51_821;
const SERVER_PORT: u16 = 51_822;

/// The Ethernet address of both ends of the veth: being the same, nobody has to ask for it.
const ETHERNET: &str = "02:63:74:61:78:01";

/// How long the devices may take to go when the processes have ended.
const VANISHING: Duration = Duration::from_secs(5);

/// How long a connection through the tunnel may take while it is tried whether it leads anywhere; over a link longer.
const TRIAL: Duration = Duration::from_millis(250);
const DISTANT_TRIAL: Duration = Duration::from_secs(3);

/// Both ends, and the way between them.
#[derive(Debug)]
pub(super) struct Wireguard {
    programs: Programs,
    shelter: Shelter,
    devices: Devices,
    addresses: Addresses,
    ends: Ends,
    client_key: PublicKey,
    server_key: PublicKey,
}

impl Wireguard {
    pub(super) fn start(
        programs: Programs,
        guard: &mut Guard,
        target: SocketAddr,
    ) -> Result<(Self, SocketAddr, Vec<Half>)> {
        let shelter = Shelter::start(&programs, guard)?;
        let (client_key, server_key) = (Key::new()?, Key::new()?);
        let wireguard = Self {
            shelter,
            devices: Devices::new(),
            addresses: Addresses::unused()?,
            ends: Ends::of(programs.far.as_ref())?,
            client_key: client_key.public()?,
            server_key: server_key.public()?,
            programs,
        };
        if wireguard.programs.far.is_none() {
            wireguard.make_way_to_server()?;
        }
        let server = wireguard.start_end(guard, Side::Server, &server_key)?;
        wireguard.connect_server_end()?;
        let client = wireguard.start_end(guard, Side::Client, &client_key)?;
        wireguard.connect_client_end()?;
        wireguard.wait_until_passable(&[&client, &server])?;
        let address = SocketAddr::from((wireguard.addresses.entry, target.port()));
        Ok((wireguard, address, vec![client, server]))
    }

    pub(super) fn facts(&self) -> BTreeMap<String, String> {
        let way = match self.programs.far {
            None => {
                "UDP on loopback; behind the server's end a veth and stateless rewriting of addresses, no TCP forwarder"
            }
            Some(_) => "UDP over the link; the server's end beside the server, no TCP forwarder",
        };
        [
            ("program", self.programs.version.clone()),
            ("cipher", CIPHER.into()),
            ("topology", format!("two user-space ends, MTU {MTU}, {way}")),
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
        let Ends { client, server } = self.ends;
        let socket = self.relay_socket()?;
        let failed = |cause| system("start a relay", cause);
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

    /// Where both ends can send to.
    fn relay_socket(&self) -> Result<UdpSocket> {
        let ip = self.ends.client.ip();
        let bind = || UdpSocket::bind((ip, 0));
        match self.shelter.network(Side::Client) {
            Some(network) => inside(&network, bind),
            None => bind(),
        }
        .map_err(|cause| system("bind a socket for a relay", cause))
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
                return Err(TunnelError::DeviceLeft {
                    device: device.to_owned(),
                }
                .into());
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
        self.at_server("route between devices", || {
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
        let nft = self.programs.nft.command_line(["-f", "-"]);
        run_to_success(&self.shelter.command_line(Side::Server, nft), &rules)?;
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
                    .shelter
                    .command_line(side, self.programs.wireguard.command_line(["-f", device])),
                log: log.into(),
                user: User::Owner,
                namespace: None,
                ending: Ending::Terminate,
            },
        )?;
        let socket = self.shelter.path(&format!("run/wireguard/{device}.sock"));
        half.wait_until(|| socket.exists())?;
        self.wg(&["setconf", device, "/dev/stdin"], &self.settings(side, key)?)?;
        Ok(half)
    }

    fn settings(&self, side: Side, key: &Key) -> Result<String> {
        let key = key.base64()?;
        let Addresses { client, entry, .. } = self.addresses;
        let ends = &self.ends;
        let (own, peer, allowed, endpoint) = match side {
            Side::Client => (ends.client, &self.server_key, entry, ends.server),
            Side::Server => (ends.server, &self.client_key, client, ends.client),
        };
        Ok(format!(
            "[Interface]\n\
             PrivateKey = {key}\n\
             ListenPort = {port}\n\
             [Peer]\n\
             PublicKey = {peer}\n\
             AllowedIPs = {allowed}/32\n\
             Endpoint = {endpoint}\n",
            port = own.port(),
            peer = peer.0
        ))
    }

    fn connect_server_end(&self) -> Result<()> {
        let device = &self.devices.server;
        let Addresses { client, entry, .. } = self.addresses;
        if self.programs.far.is_some() {
            self.at_server("configure a device", || without_ipv6(device))?;
            self.ip_inside(&format!("addr add {entry}/32 dev {device}\n"))?;
        }
        self.ip_inside(&format!(
            "link set {device} mtu {MTU} up\n\
             route add {client}/32 dev {device}\n"
        ))
    }

    /// Puts the device of the client's end where the client is: into the machine's namespace.
    fn connect_client_end(&self) -> Result<()> {
        let device = &self.devices.client;
        let Addresses { client, entry, .. } = self.addresses;
        if self.programs.far.is_none() {
            self.ip_inside(&format!("link set {device} netns {}\n", std::process::id()))?;
        }
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
                if stop::is_over(deadline) {
                    return Err(half.not_ready());
                }
            }
        }
        Ok(())
    }

    /// Connects through the tunnel to a listener of our own, so that the server is left in peace.
    fn is_passable(&self) -> Result<bool> {
        let listener = match &self.programs.far {
            None => TcpListener::bind((*self.programs.target.ip(), 0)),
            Some(far) => inside(&far.namespace, || TcpListener::bind((self.addresses.entry, 0))),
        };
        let failed = |cause| system("listen behind the tunnel", cause);
        let listener = listener.map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        let entry = SocketAddr::from((self.addresses.entry, port));
        let patience = if self.programs.far.is_some() {
            DISTANT_TRIAL
        } else {
            TRIAL
        };
        Ok(TcpStream::connect_timeout(&entry, patience).is_ok())
    }

    /// Tells each end where to send, again and again until both do: an end that still hears from the other by the old
    /// way goes on to answer there.
    fn send_to(&self, from_client: SocketAddr, from_server: SocketAddr) -> Result<()> {
        let ways = [
            (&self.devices.client, &self.server_key, from_client.to_string()),
            (&self.devices.server, &self.client_key, from_server.to_string()),
        ];
        let deadline = Instant::now() + STARTUP;
        while !stop::is_over(deadline) {
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
        Err(system(
            "lead the ends of WireGuard to each other",
            io::ErrorKind::TimedOut.into(),
        ))
    }

    /// What `wg` says of the client's end: that a handshake was made with the server's key, and that bytes went both
    /// ways.
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

    /// `wg` speaks with the programs over sockets in the shelter, wherever their devices are.
    fn wg(&self, arguments: &[&str], input: &str) -> Result<String> {
        let wg = self.programs.wg.command_line(arguments);
        run_to_success(&self.shelter.command_line(Side::Server, wg), input)
    }

    fn ip_inside(&self, commands: &str) -> Result<()> {
        let ip = self.programs.ip.command_line(["-batch", "-"]);
        run_to_success(&self.shelter.command_line(Side::Server, ip), commands).map(drop)
    }

    /// Does something in the network namespace of the server's end.
    fn at_server(&self, what: &str, work: impl FnOnce() -> io::Result<()> + Send) -> Result<()> {
        match self.shelter.network(Side::Server) {
            Some(network) => inside(&network, work),
            None => work(),
        }
        .map_err(|cause| system(&format!("{what} in the network namespace"), cause))
    }

    fn ip_outside(&self, commands: &str) -> Result<()> {
        run_to_success(&self.programs.ip.command_line(["-batch", "-"]), commands).map(drop)
    }

    /// Sets something for a new device of ours in the machine's namespace.
    fn configure(&self, device: &str, work: impl FnOnce() -> io::Result<()>) -> Result<()> {
        work().map_err(|cause| system(&format!("configure the new network device {device}"), cause))
    }
}

/// Where each end is reached by the other.
#[derive(Debug, Clone, Copy)]
struct Ends {
    client: SocketAddr,
    server: SocketAddr,
}

impl Ends {
    /// Over a link, on ports that are free on its two sides.
    fn of(far: Option<&FarSide>) -> Result<Self> {
        let Some(far) = far else {
            let [client, server] =
                [CLIENT_PORT, SERVER_PORT].map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
            return Ok(Self { client, server });
        };
        let free = |ip: Ipv4Addr| UdpSocket::bind((ip, 0))?.local_addr();
        let failed = |cause| system("find a free UDP port", cause);
        Ok(Self {
            client: free(far.near).map_err(failed)?,
            server: inside(&far.namespace, || free(far.delayed)).map_err(failed)?,
        })
    }
}

fn system(what: &str, cause: io::Error) -> Error {
    TunnelError::System {
        what: what.into(),
        cause,
    }
    .into()
}

/// Keeps the kernel from announcing a device to neighbours that are not there. Fails for no kernel without IPv6.
fn without_ipv6(device: &str) -> io::Result<()> {
    match fs::write(format!("/proc/sys/net/ipv6/conf/{device}/disable_ipv6"), "1") {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn device_exists(device: &str) -> bool {
    Path::new("/sys/class/net").join(device).exists()
}

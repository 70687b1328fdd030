//! Addresses of servers, and connections to them.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::path::Path;
use std::rc::Rc;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{fmt, io};

use ciphertax_base::Phase;
use ciphertax_reactor::Reactor;

use crate::error::{Result, WireError};
use crate::stream::Stream;
use crate::trace::Tracer;
use crate::url::decoded;

/// Where a server listens for TCP, as a URL or the configuration of a replica set says.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address {
    /// Host name or address.
    pub host: String,
    /// TCP port.
    pub port: u16,
}

impl Address {
    /// Reads `host:port`, with brackets around an IPv6 address.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (host, port) = text.rsplit_once(':')?;
        let host = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'))
            .unwrap_or(host);
        Some(Self {
            host: host.to_owned(),
            port: port.parse().ok()?,
        })
    }

    /// From a URL: `host`, `host:port`, `[::1]` or `[::1]:port`.
    pub(crate) fn read(text: &str, default_port: u16) -> Option<Self> {
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok().filter(|port| *port > 0)?),
            _ => (text, default_port),
        };
        let is_name = |host: &str| !host.is_empty() && !host.contains(['/', '[', ']', ' ', ':']);
        let host = match host.strip_prefix('[') {
            Some(host) => {
                let host = decoded(host.strip_suffix(']')?);
                // A link-local address names its link too: `[fe80::1%25eth0]` (RFC 6874).
                let (address, zone) = match host.split_once('%') {
                    Some((address, zone)) => (address, is_name(zone).then(|| format!("%{zone}"))?),
                    None => (&*host, String::new()),
                };
                address.parse::<Ipv6Addr>().ok()?.to_string() + &zone
            }
            None => Some(decoded(host)).filter(|host| is_name(host) || host.parse::<Ipv6Addr>().is_ok())?,
        };
        Some(Self { host, port })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// How long an address may be silent before the next of the same name is tried.
const NEXT_ADDRESS: Duration = Duration::from_secs(5);

/// The addresses that answered of names that have several. The whole process shares them, so that all its connections go to the same
/// server, and none that is measured tries an address in vain.
static ANSWERED: Mutex<BTreeSet<SocketAddr>> = Mutex::new(BTreeSet::new());

fn answered() -> MutexGuard<'static, BTreeSet<SocketAddr>> {
    ANSWERED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The addresses of a name, in the resolver's order; where one of them has answered, that alone. Asks the system's resolver, for which
/// the whole thread waits.
///
/// # Errors
/// When the name has no address.
pub fn resolve(host: &str, port: u16) -> Result<Vec<SocketAddr>> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    let failed = |source| WireError::Resolve {
        host: host.to_owned(),
        source,
    };
    let addresses = (host, port).to_socket_addrs().map_err(failed)?;
    let mut addresses: Vec<SocketAddr> = addresses.collect();
    let known = addresses.iter().position(|address| answered().contains(address));
    if let Some(known) = known {
        addresses = vec![addresses[known]];
    }
    match addresses.is_empty() {
        true => Err(failed(io::Error::other("the name has no address"))),
        false => Ok(addresses),
    }
}

/// Connects to the first of these addresses that answers.
async fn connect_to_one(reactor: &Rc<Reactor>, addresses: &[SocketAddr]) -> Result<Stream> {
    let mut failure = None;
    for (place, address) in addresses.iter().enumerate() {
        let connect = Stream::connect(reactor, *address);
        let outcome = match place + 1 == addresses.len() {
            true => connect.await,
            false => {
                let deadline = Instant::now() + NEXT_ADDRESS;
                let silent = || WireError::Connect {
                    address: address.to_string(),
                    source: io::ErrorKind::TimedOut.into(),
                };
                let outcome = reactor.until(deadline, connect).await;
                outcome.unwrap_or_else(|| Err(silent()))
            }
        };
        match outcome {
            Ok(stream) => {
                if addresses.len() > 1 {
                    answered().insert(*address);
                }
                return Ok(stream);
            }
            Err(error) => failure = Some(error),
        }
    }
    Err(failure.unwrap_or_else(|| WireError::Request("there is no address to connect to".into())))
}

/// Where a server is reached: through a relay, over its Unix socket or else by its name.
pub(crate) struct Place<'a> {
    pub(crate) relay: Option<SocketAddr>,
    pub(crate) socket: Option<&'a Path>,
    pub(crate) host: &'a str,
    pub(crate) port: u16,
}

/// Connects. Over a Unix socket there is no name to resolve, and the phase `tcp` is that of its connect.
pub(crate) async fn reach(reactor: &Rc<Reactor>, place: Place<'_>, tracer: &mut Tracer) -> Result<Stream> {
    let stream = match (place.relay, place.socket) {
        (Some(relay), _) => Stream::connect(reactor, relay).await?,
        (None, Some(path)) => Stream::connect_unix(reactor, path).await?,
        (None, None) => {
            let addresses = resolve(place.host, place.port)?;
            tracer.end(Phase::Resolve, Default::default(), None);
            connect_to_one(reactor, &addresses).await?
        }
    };
    tracer.end(Phase::Tcp, stream.traffic(), None);
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn the_first_address_that_answers_is_connected_to() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let there = listener.local_addr().unwrap();
        // No other test listens on addresses of this network (RFC 3330), nor does the machine.
        let nowhere = SocketAddr::new([127, 77, 0, 1].into(), there.port());
        let reactor = Reactor::new().unwrap();
        let peer = |addresses: &[SocketAddr]| {
            let connected = connect_to_one(&reactor, addresses);
            let deadline = Instant::now() + ciphertax_testkit::PATIENCE;
            reactor.run_one(connected, deadline).unwrap().unwrap()
        };
        assert!(peer(&[nowhere, there]).is_ok());
        assert_eq!(listener.accept().unwrap().0.local_addr().unwrap(), there);
        assert!(answered().contains(&there));
        let WireError::Connect { address, .. } = peer(&[nowhere]).err().unwrap() else {
            panic!("another error");
        };
        assert_eq!(address, nowhere.to_string());
    }
}

//! Addresses of servers, and connections to them.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::Path;
use std::rc::Rc;
use std::{fmt, io};

use ciphertax_base::Phase;
use ciphertax_reactor::Reactor;

use crate::error::{Result, WireError};
use crate::stream::Stream;
use crate::trace::Tracer;

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

/// The first address of a name. Asks the system's resolver, for which the whole thread waits.
pub(crate) fn resolve(host: &str, port: u16) -> Result<SocketAddr> {
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
            let address = resolve(place.host, place.port)?;
            tracer.end(Phase::Resolve, Default::default(), None);
            Stream::connect(reactor, address).await?
        }
    };
    tracer.end(Phase::Tcp, stream.traffic(), None);
    Ok(stream)
}

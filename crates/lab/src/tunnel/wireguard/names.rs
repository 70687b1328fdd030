//! Names and addresses that nobody else on this machine uses.

use std::net::Ipv4Addr;

use procfs::net::RouteEntry;
use rand::RngExt;

use crate::error::Result;
use crate::tunnel::error::TunnelError;

/// Names of network devices that nobody else uses.
#[derive(Debug)]
pub(super) struct Devices {
    pub(super) client: String,
    pub(super) server: String,
    /// The ends of the veth, in the tunnel's namespace and in the machine's.
    pub(super) inner: String,
    pub(super) outer: String,
}

impl Devices {
    pub(super) fn new() -> Self {
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
    pub(super) fn outside(&self) -> [&str; 2] {
        [&self.client, &self.outer]
    }
}

/// Three neighbouring addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Addresses {
    /// The client's own.
    pub(super) client: Ipv4Addr,
    /// Where the client connects to.
    pub(super) entry: Ipv4Addr,
    /// The client as the server sees it.
    pub(super) beyond: Ipv4Addr,
}

impl Addresses {
    /// Reserved for measurements between networks (RFC 2544, RFC 6890): 198.18.0.0/15.
    const NETWORK: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 0);

    /// Groups of four addresses in the network.
    const GROUPS: u32 = 1 << 15;

    /// Addresses that no route of the machine names.
    pub(super) fn unused() -> Result<Self> {
        const TRIES: usize = 100;
        let routes = procfs::net::route().map_err(|cause| TunnelError::System {
            what: "read the machine's routes".into(),
            cause: std::io::Error::other(cause),
        })?;
        let mut rng = rand::rng();
        (0..TRIES)
            .map(|_| Self::of_group(rng.random_range(0..Self::GROUPS)))
            .find(|addresses| !addresses.occur_in(&routes))
            .ok_or_else(|| {
                TunnelError::System {
                    what: "find unused addresses in 198.18.0.0/15".into(),
                    cause: std::io::ErrorKind::AddrInUse.into(),
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

    fn occur_in(&self, routes: &[RouteEntry]) -> bool {
        let own = [self.client, self.entry, self.beyond];
        routes.iter().any(|route| own.contains(&route.destination))
    }
}

#[cfg(test)]
mod tests {
    use procfs::FromRead;
    use procfs::net::RouteEntries;

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
        let table = "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\n\
                     ctaxc 020012C6 00000000 0005 0 0 0 FFFFFFFF 0 0 0\n";
        let RouteEntries(routes) = RouteEntries::from_read(table.as_bytes()).unwrap();
        assert!(Addresses::of_group(0).occur_in(&routes));
        assert!(!Addresses::of_group(1).occur_in(&routes));
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
}

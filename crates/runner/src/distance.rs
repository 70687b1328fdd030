//! The distance between the load and a private server.

use std::net::SocketAddr;

use ciphertax_lab::{DelayRelay, LinkReport, PrivateServer, RunningLink};
use ciphertax_model::{Link, LinkKind, Site, Study};
use ciphertax_records::LinkRecord;
use ciphertax_supervise::GuardProgram;

use crate::error::RunError;

/// What keeps a server at a distance. It is none at first, so that everything is prepared quickly.
pub(crate) struct Distance {
    line: Line,
    now: Link,
    /// All that it is set to, each once.
    all: Vec<Link>,
}

/// How it is made.
enum Line {
    Tun(RunningLink),
    Relay(DelayRelay),
}

impl Distance {
    /// A link, with room for a server inside; `None` for a site without one.
    pub(crate) fn link(
        study: &Study,
        site: &Site,
        guard: &GuardProgram,
    ) -> Result<Option<RunningLink>, RunError> {
        if !site.distant || study.link_by != LinkKind::Tun {
            return Ok(None);
        }
        Ok(Some(RunningLink::start(&Link::NONE, guard)?))
    }

    /// The distance of a server that is inside `link`, or has to be reached by a relay; `None` for a site without one.
    pub(crate) fn to(
        server: &PrivateServer,
        link: Option<RunningLink>,
        study: &Study,
        site: &Site,
        guard: &GuardProgram,
    ) -> Result<Option<Self>, RunError> {
        let line = match link {
            Some(link) => Line::Tun(link),
            None if site.distant => Line::Relay(DelayRelay::start(&Link::NONE, server.address(), guard)?),
            None => return Ok(None),
        };
        let mut all = Vec::new();
        let cells = study.cells.iter().filter(|cell| study.site(cell) == *site);
        for distance in cells.filter_map(|cell| study.link(cell)) {
            if !all.contains(&distance) {
                all.push(distance);
            }
        }
        Ok(Some(Self {
            line,
            now: Link::NONE,
            all,
        }))
    }

    /// Where the server is reached at this distance.
    pub(crate) fn address(&self, server: &PrivateServer) -> SocketAddr {
        match &self.line {
            Line::Tun(link) => (link.delayed_address(), server.address().port()).into(),
            Line::Relay(relay) => relay.address(),
        }
    }

    /// Changes it for all that is sent from now on; false if it is so already.
    pub(crate) fn set(&mut self, wanted: Link) -> Result<bool, RunError> {
        if self.now == wanted {
            return Ok(false);
        }
        match &self.line {
            Line::Tun(link) => link.set(&wanted)?,
            Line::Relay(relay) => relay.set(&wanted)?,
        }
        self.now = wanted;
        Ok(true)
    }

    /// How exactly it was kept, here and by other relays at the same distance; `None` if what kept it is gone. Of several
    /// relays the latest counts.
    pub(crate) fn record(&self, others: impl Iterator<Item = LinkReport>) -> Option<LinkRecord> {
        let own = match &self.line {
            Line::Tun(link) => link.report(),
            Line::Relay(relay) => relay.report(),
        }
        .ok()?;
        let LinkReport {
            kind,
            packets,
            lateness_median_us,
            lateness_p99_us,
            lateness_max_us,
            drops,
        } = others.fold(own, |one, other| LinkReport {
            kind: one.kind,
            packets: one.packets + other.packets,
            lateness_median_us: one.lateness_median_us.max(other.lateness_median_us),
            lateness_p99_us: one.lateness_p99_us.max(other.lateness_p99_us),
            lateness_max_us: one.lateness_max_us.max(other.lateness_max_us),
            drops: one.drops + other.drops,
        });
        Some(LinkRecord {
            by: kind,
            distances: self.all.clone(),
            packets,
            lateness_median_us,
            lateness_p99_us,
            lateness_max_us,
            dropped: drops,
        })
    }

    /// Removes all it had.
    pub(crate) fn stop(self) -> ciphertax_lab::Result<()> {
        match self.line {
            Line::Tun(link) => link.stop(),
            Line::Relay(relay) => relay.stop(),
        }
    }
}

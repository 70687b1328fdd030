//! The distance between the load and private servers.

use std::net::SocketAddr;

use ciphertax_lab::{DelayRelay, LinkReport, RunningLink};
use ciphertax_model::{Link, LinkKind, Site, Study};
use ciphertax_records::LinkRecord;
use ciphertax_supervise::GuardProgram;

use crate::error::RunError;

/// What keeps servers at a distance. It is none at first, so that everything is prepared quickly.
pub(crate) struct Distance {
    line: Line,
    now: Link,
    /// All that it is set to, each once.
    all: Vec<Link>,
}

/// How it is made.
enum Line {
    Tun(RunningLink),
    /// One before each server.
    Relays(Vec<DelayRelay>),
}

impl Distance {
    /// A link, with room for servers inside; `None` for a spec without one.
    pub(crate) fn link(
        study: &Study,
        spec: &Site,
        guard: &GuardProgram,
    ) -> Result<Option<RunningLink>, RunError> {
        if !spec.distant || study.link_by != LinkKind::Tun {
            return Ok(None);
        }
        Ok(Some(RunningLink::start(&Link::NONE, guard)?))
    }

    /// The distance of servers that are inside `link`, or have to be reached by relays; `None` for a spec without one.
    pub(crate) fn to(
        servers: &[SocketAddr],
        link: Option<RunningLink>,
        study: &Study,
        spec: &Site,
        guard: &GuardProgram,
    ) -> Result<Option<Self>, RunError> {
        let line = match link {
            Some(link) => Line::Tun(link),
            None if spec.distant => {
                let relays = servers
                    .iter()
                    .map(|server| DelayRelay::start(&Link::NONE, *server, guard));
                Line::Relays(relays.collect::<Result<_, _>>()?)
            }
            None => return Ok(None),
        };
        let mut all = Vec::new();
        let cells = study.cells.iter().filter(|cell| study.site(cell) == *spec);
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

    /// Where the servers are reached at this distance, in the same order.
    pub(crate) fn addresses(&self, servers: &[SocketAddr]) -> Vec<SocketAddr> {
        match &self.line {
            Line::Tun(link) => {
                let delayed = link.delayed_address();
                servers
                    .iter()
                    .map(|server| (delayed, server.port()).into())
                    .collect()
            }
            Line::Relays(relays) => relays.iter().map(DelayRelay::address).collect(),
        }
    }

    /// Where servers at these addresses reach each other, in the same order.
    pub(crate) fn among_themselves(&self, servers: &[SocketAddr]) -> Vec<SocketAddr> {
        match &self.line {
            // They are inside of it.
            Line::Tun(_) => self.addresses(servers),
            Line::Relays(_) => servers.to_vec(),
        }
    }

    /// Changes it for all that is sent from now on; false if it is so already.
    pub(crate) fn set(&mut self, wanted: Link) -> Result<bool, RunError> {
        if self.now == wanted {
            return Ok(false);
        }
        match &self.line {
            Line::Tun(link) => link.set(&wanted)?,
            Line::Relays(relays) => relays.iter().try_for_each(|relay| relay.set(&wanted))?,
        }
        self.now = wanted;
        Ok(true)
    }

    /// How exactly it was kept, here and by other relays at the same distance; `None` if what kept it is gone. Of several
    /// relays the latest counts.
    pub(crate) fn record(&self, others: impl Iterator<Item = LinkReport>) -> Option<LinkRecord> {
        let own: Vec<LinkReport> = match &self.line {
            Line::Tun(link) => vec![link.report().ok()?],
            Line::Relays(relays) => {
                let reports = relays.iter().map(|relay| relay.report().ok());
                reports.collect::<Option<_>>()?
            }
        };
        let LinkReport {
            kind,
            packets,
            lateness_median_us,
            lateness_p99_us,
            lateness_max_us,
            drops,
        } = own.into_iter().chain(others).reduce(|one, other| LinkReport {
            kind: one.kind,
            packets: one.packets + other.packets,
            lateness_median_us: one.lateness_median_us.max(other.lateness_median_us),
            lateness_p99_us: one.lateness_p99_us.max(other.lateness_p99_us),
            lateness_max_us: one.lateness_max_us.max(other.lateness_max_us),
            drops: one.drops + other.drops,
        })?;
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
            Line::Relays(relays) => {
                let stopped = relays.into_iter().map(DelayRelay::stop);
                stopped.fold(Ok(()), Result::and)
            }
        }
    }
}

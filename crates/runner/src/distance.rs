//! The distances between the load and private servers, and between the nodes of these.

use std::net::SocketAddr;

use ciphertax_lab::{DelayRelay, LinkReport, RunningLink};
use ciphertax_model::{Distances, Link, LinkKind, ServerSpec, Study};
use ciphertax_records::LinkRecord;
use ciphertax_supervise::GuardProgram;

use crate::error::RunError;

/// What keeps servers at a distance. There is none at first, so that everything is prepared quickly.
pub(crate) struct Distance {
    line: Line,
    now: Distances,
    /// All that those to the servers are set to, each once.
    to_servers: Vec<Link>,
    /// All that those between nodes are set to, each once.
    between_nodes: Vec<Link>,
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
        spec: &ServerSpec,
        guard: &GuardProgram,
    ) -> Result<Option<RunningLink>, RunError> {
        let wanted = none_yet(spec);
        if wanted == Distances::default() || study.link_by != LinkKind::Tun {
            return Ok(None);
        }
        Ok(Some(RunningLink::start(&wanted, guard)?))
    }

    /// The distance of servers that are inside `link`, or have to be reached by relays; `None` for a spec without one.
    pub(crate) fn to(
        servers: &[SocketAddr],
        link: Option<RunningLink>,
        study: &Study,
        spec: &ServerSpec,
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
        let cells = study.cells.iter().filter(|cell| study.server_spec(cell) == *spec);
        let (mut to_servers, mut between_nodes) = (Vec::new(), Vec::new());
        for distances in cells.map(|cell| study.distances(cell)) {
            add_new(distances.to_servers, &mut to_servers);
            add_new(distances.between_nodes, &mut between_nodes);
        }
        Ok(Some(Self {
            line,
            now: none_yet(spec),
            to_servers,
            between_nodes,
        }))
    }

    /// Where the servers are reached at this distance, in the same order.
    pub(crate) fn addresses(&self, servers: &[SocketAddr]) -> Vec<SocketAddr> {
        match &self.line {
            Line::Tun(link) => {
                let measured = link.measured_address();
                servers
                    .iter()
                    .map(|server| (measured, server.port()).into())
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
    pub(crate) fn set(&mut self, wanted: Distances) -> Result<bool, RunError> {
        if self.now == wanted {
            return Ok(false);
        }
        match &self.line {
            Line::Tun(link) => link.set(&wanted)?,
            Line::Relays(relays) => {
                let wanted = wanted.to_servers.unwrap_or(Link::NONE);
                relays.iter().try_for_each(|relay| relay.set(&wanted))?;
            }
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
            distances: self.to_servers.clone(),
            node_distances: self.between_nodes.clone(),
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

/// The distances that servers with this spec have, each of them zero.
fn none_yet(spec: &ServerSpec) -> Distances {
    Distances {
        to_servers: spec.distant.then_some(Link::NONE),
        between_nodes: spec.nodes_distant.then_some(Link::NONE),
    }
}

fn add_new(distance: Option<Link>, all: &mut Vec<Link>) {
    all.extend(distance.filter(|distance| !all.contains(distance)));
}

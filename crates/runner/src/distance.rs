//! The distances between the load and private servers, and between the nodes of these.

use std::net::SocketAddr;

use ciphertax_lab::{LinkReport, RunningLink};
use ciphertax_model::{Distances, Link, ServerSpec, Study};
use ciphertax_records::LinkRecord;
use ciphertax_supervise::GuardProgram;

use crate::error::RunError;

/// What keeps servers at a distance. There is none at first, so that everything is prepared quickly.
pub(crate) struct Distance {
    link: RunningLink,
    now: Distances,
    /// All that those to the servers are set to, each once.
    to_servers: Vec<Link>,
    /// All that those between nodes are set to, each once.
    between_nodes: Vec<Link>,
}

impl Distance {
    /// A link, with room for servers inside; `None` for a spec without one.
    pub(crate) fn link(spec: &ServerSpec, guard: &GuardProgram) -> Result<Option<RunningLink>, RunError> {
        let wanted = none_yet(spec);
        let start = || RunningLink::start(&wanted, guard);
        Ok((wanted != Distances::default()).then(start).transpose()?)
    }

    /// The distance of servers with this spec that are inside `link`.
    pub(crate) fn over(link: RunningLink, study: &Study, spec: &ServerSpec) -> Self {
        let cells = study.cells.iter().filter(|cell| study.server_spec(cell) == *spec);
        let (mut to_servers, mut between_nodes) = (Vec::new(), Vec::new());
        for distances in cells.map(|cell| study.distances(cell)) {
            add_new(distances.to_servers, &mut to_servers);
            add_new(distances.between_nodes, &mut between_nodes);
        }
        Self {
            link,
            now: none_yet(spec),
            to_servers,
            between_nodes,
        }
    }

    /// Where the servers are reached at this distance, in the same order.
    pub(crate) fn addresses(&self, servers: &[SocketAddr]) -> Vec<SocketAddr> {
        let measured = self.link.measured_address();
        servers
            .iter()
            .map(|server| (measured, server.port()).into())
            .collect()
    }

    /// Changes it for all that is sent from now on.
    pub(crate) fn set(&mut self, wanted: Distances) -> Result<(), RunError> {
        if self.now != wanted {
            self.link.set(&wanted)?;
            self.now = wanted;
        }
        Ok(())
    }

    /// How exactly it was kept; `None` if what kept it is gone.
    pub(crate) fn record(&self) -> Option<LinkRecord> {
        let LinkReport {
            packets,
            lateness_median_us,
            lateness_p99_us,
            lateness_max_us,
            drops,
        } = self.link.report().ok()?;
        Some(LinkRecord {
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
        self.link.stop()
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

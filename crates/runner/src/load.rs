//! What makes the load of a cell, where private servers run, and at what distance.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use ciphertax_base::CpuTime;
use ciphertax_engine::{Engine, Failure, SliceYield};
use ciphertax_lab::{LinkReport, RunningLink};
use ciphertax_model::{Distances, Link, ServerSpec, Study};
use ciphertax_observe::placement;
use ciphertax_records::{LinkRecord, VoidReason};
use ciphertax_supervise::GuardProgram;
use ciphertax_workload::{Access, Job};

use crate::check::not_spoken;
use crate::error::{Result, RunError};
use crate::meter::ServerMeter;

/// What makes the load of a cell: load threads, or a program of the user's own.
pub(crate) trait Load {
    /// Load threads of ciphertax.
    fn workers(&self) -> u32;

    /// Makes sure that an arm can be measured. The inner error is a reason for a void slice.
    fn prepare(&mut self, arm: usize) -> Result<Result<(), Failure>>;

    /// Closes the connections of an arm, which [`Load::prepare`] then opens anew; false where they stay.
    fn close(&mut self, _arm: usize) -> Result<bool> {
        Ok(false)
    }

    /// Load on one arm for `duration`, or for as long as a batch or a program takes. Whoever wants to stop cuts it short. The
    /// `seed` is that of the block, the same for every arm.
    fn slice(&mut self, arm: usize, duration: Duration, seed: u64) -> Result<Slice>;

    /// Holds a slice to its arm by what was seen of it elsewhere. Load threads see for themselves.
    fn judge(&self, _arm: usize, _slice: &mut Slice, _seen: &Seen<'_>) {}
}

/// What a slice yielded, and why it does not count if that is known already.
pub(crate) struct Slice {
    pub(crate) yielded: SliceYield,
    pub(crate) void: Option<VoidReason>,
}

/// What was seen of a slice besides its yield.
pub(crate) struct Seen<'a> {
    /// The server's own counters at its end.
    pub(crate) counters: &'a BTreeMap<String, i64>,
    /// What they rose by.
    pub(crate) change: &'a BTreeMap<String, i64>,
    /// CPU time of the arm's tunnel; `None` without one.
    pub(crate) tunnel_cpu: Option<CpuTime>,
}

impl Load for Engine {
    fn workers(&self) -> u32 {
        self.workers()
    }

    fn prepare(&mut self, arm: usize) -> Result<Result<(), Failure>> {
        Ok(self.prepare(arm)?)
    }

    fn close(&mut self, arm: usize) -> Result<bool> {
        Ok(self.close(arm)?)
    }

    fn slice(&mut self, arm: usize, duration: Duration, seed: u64) -> Result<Slice> {
        Ok(Slice {
            yielded: self.slice_of(seed, arm, duration)?,
            void: None,
        })
    }
}

/// Starts the load threads of a cell for arms that are reached so.
pub(crate) fn start<A: Access>(job: &Job<'_>, arms: impl Iterator<Item = A>) -> Result<Engine> {
    let engine = A::start(job, arms.collect())?;
    engine.ok_or_else(|| {
        let refusal = not_spoken(A::NAME, A::VOCABULARIES, job.cell);
        RunError::Impossible(vec![refusal.about(format!("cell {:?}", job.cell.name))])
    })
}

/// Keeps a private server, whose first process is `pid`, on one CPU, and says on which: the same for all.
pub(crate) fn confined(pid: u32, server: &ServerMeter) -> Result<usize> {
    let cpu = placement::last_allowed_cpu().map_err(RunError::Placement)?;
    // What it starts from now on stays there too; what it has started is found afterwards.
    placement::confine_process(pid, cpu).map_err(RunError::Placement)?;
    for started in server.members()? {
        match placement::confine_process(started, cpu) {
            // It has ended meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            confined => confined.map_err(RunError::Placement)?,
        }
    }
    Ok(cpu)
}

/// What keeps servers at a distance. There is none at first, so that everything is prepared quickly.
pub(crate) struct Distance {
    pub(crate) link: RunningLink,
    now: Distances,
    /// All that those to the servers are set to, each once.
    to_servers: Vec<Link>,
    /// All that those between nodes are set to, each once.
    between_nodes: Vec<Link>,
}

impl Distance {
    /// A link, with room for servers inside; `None` for a spec without one.
    pub(crate) fn link(spec: &ServerSpec, guard: &GuardProgram) -> Result<Option<RunningLink>> {
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
        let measured = self.link.endpoints.measured();
        servers
            .iter()
            .map(|server| (measured, server.port()).into())
            .collect()
    }

    /// Changes it for all that is sent from now on.
    pub(crate) fn set(&mut self, wanted: Distances) -> Result<()> {
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

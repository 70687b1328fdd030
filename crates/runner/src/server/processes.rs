//! The processes of a server.

use std::collections::BTreeSet;

use ciphertax_base::joined;
use ciphertax_lab::PrivateServer;
use ciphertax_model::{Placement, ServerSpec, Study};
use ciphertax_observe::{ProcessTree, Unmetered};
use ciphertax_records::CpuSource;
use ciphertax_wire::Client as _;

use crate::database::{Control, Database, Endpoint};
use crate::error::{Result, RunError};
use crate::load::confined;
use crate::meter::{ServedBy, ServerMeter};
use crate::remote_cpu::RemoteCpu;
use crate::server_process::{Asker, ServerProcess};

pub(super) struct Processes {
    pub(super) meters: Vec<ServerMeter>,
    /// What tells of them from another machine.
    pub(super) remote: Option<RemoteCpu>,
    /// Why there are none.
    pub(super) unread: Option<Unmetered>,
    /// How many of them, the first ones, elect who takes writes.
    voters: usize,
    pub(super) same_host: bool,
    /// What listens in their place and passes connections on.
    pub(super) through: Option<String>,
    /// What reads that, for a single server; it is billed as a pooler is.
    pub(super) between: Option<ProcessTree>,
    /// The only CPU of private servers, where the load must run too.
    pub(super) confined_to: Option<usize>,
}

impl Processes {
    /// Those of private servers, which have one for each member.
    pub(super) fn of_private(
        server: &PrivateServer,
        study: &Study,
        spec: &ServerSpec,
        served_by: ServedBy,
    ) -> Result<Self> {
        let pids = server.pids();
        let meters = pids.iter().map(|pid| ServerMeter::open(served_by, *pid));
        let meters: Vec<ServerMeter> = meters.collect::<Result<_, _>>()?;
        let confined_to = match study.placement {
            Placement::Free => None,
            Placement::Together => {
                let each = pids.iter().zip(&meters).map(|(pid, meter)| confined(*pid, meter));
                each.collect::<Result<Vec<_>, _>>()?.pop()
            }
        };
        Ok(Self {
            meters,
            remote: None,
            unread: None,
            // The read-only member, which comes last, has no vote.
            voters: spec.replica_set.map_or(pids.len(), |set| set.members.into()),
            same_host: true,
            through: None,
            between: None,
            confined_to,
        })
    }

    /// Those of the user's own servers, as far as they can be seen from here.
    pub(super) fn looked_for<D: Database>(control: &Control<D>, endpoints: &[Endpoint]) -> Result<Self> {
        let asker = match endpoints.len() {
            1 => Asker::Run,
            _ => Asker::RunOnSeveral,
        };
        let (mut meters, mut unread, mut same_host, mut through) = (Vec::new(), None, true, BTreeSet::new());
        let mut between = None;
        for (endpoint, way) in endpoints.iter().zip(&control.ways) {
            let look = async |session: &mut D::Session| {
                let seen = session.seen_by_server().await?;
                Ok(ServerProcess::of(endpoint, &seen, D::SERVED_BY, asker))
            };
            let found = match control.visit(way, look) {
                Err(RunError::Stopped) => return Err(RunError::Stopped),
                Err(error) => ServerProcess {
                    process: Err(error.to_string()),
                    same_host: false,
                    through: None,
                    between: None,
                },
                Ok(found) => found,
            };
            same_host &= found.same_host;
            through.extend(found.through);
            between = found.between.filter(|_| endpoints.len() == 1);
            match (found.process, endpoints.len()) {
                (Ok(process), _) => meters.push(process),
                (Err(reason), 1) => unread = Some(reason),
                (Err(reason), _) => unread = Some(format!("{endpoint}: {reason}")),
            }
        }
        // Of several only all processes together say what they cost.
        if meters.len() < endpoints.len() {
            meters.clear();
        }
        Ok(Self {
            voters: meters.len(),
            meters,
            remote: None,
            unread: unread.map(|reason| Unmetered { reason }),
            same_host,
            through: (!through.is_empty()).then(|| joined(through, ", ")),
            between,
            confined_to: None,
        })
    }

    /// The same servers, of which something on another machine tells.
    pub(super) fn told_by(&self, remote: RemoteCpu) -> Self {
        Self {
            same_host: remote.is_here().unwrap_or(self.same_host),
            through: self.through.clone(),
            between: None,
            meters: Vec::new(),
            remote: Some(remote),
            unread: None,
            voters: 0,
            confined_to: None,
        }
    }

    /// What tells of them from another machine, and how exactly so far.
    pub(super) fn cpu_from(&self) -> Option<CpuSource> {
        self.remote.as_ref().map(RemoteCpu::record)
    }

    /// Why too few of them live to be measured; `None` if enough do, or that cannot be seen from here.
    pub(super) fn death(&self) -> Option<String> {
        if let Some(remote) = &self.remote {
            return remote.ended();
        }
        let voters = self.meters.iter().take(self.voters);
        let alive = voters.filter(|process| process.root.is_alive()).count();
        if self.meters.is_empty() || 2 * alive > self.voters {
            return None;
        }
        let ended = match self.meters.len() {
            1 => "its process ended",
            _ => "most of its processes ended",
        };
        Some(ended.to_owned())
    }
}

//! What tells the CPU time of a server that runs on another machine.

mod exposition;
mod program;
mod resolution;
mod source;
#[cfg(test)]
mod tests;

use ciphertax_base::SeenByServer;
use ciphertax_model::{AgentAddress, Study};
use ciphertax_observe::Meter;
use ciphertax_records::{CpuSource, SampleLog, ServerRecord};

use crate::agent::{AgentMeter, AgentOptions, Reach};
use crate::database::Endpoint;
use crate::meter::ServedBy;
use crate::ranks::Ranks;
use source::CounterMeter;

pub(crate) use resolution::{AT_MOST as RESOLUTION_AT_MOST, LONGEST_TOLD_S, check_pace, resolution};

/// What tells the CPU time of a server that runs on another machine.
pub(crate) enum RemoteCpu {
    Agent(Box<AgentMeter>),
    Counter(CounterMeter),
}

impl RemoteCpu {
    /// What the study says; `None` where it says nothing. `seen` is of a session that is open, and `ranks` are the load generators, of
    /// which one may be the agent.
    pub(crate) fn open(
        study: &Study,
        endpoints: &[Endpoint],
        seen: SeenByServer,
        served_by: ServedBy,
        ranks: Option<&Ranks>,
    ) -> Result<Option<Self>, String> {
        if let Some(address) = study.agent() {
            let [
                Endpoint {
                    host,
                    port,
                    socket: None,
                },
            ] = endpoints
            else {
                return Err("an agent reads one server, which listens on a port; leave agent out".into());
            };
            let meter = AgentMeter::open(AgentOptions {
                reach: reach(address, ranks)?,
                host: host.clone(),
                port: *port,
                served_by,
                seen,
                profile: study.profile,
                slice: study.slice(),
            })?;
            return Ok(Some(Self::Agent(Box::new(meter))));
        }
        let counter = study.server_cpu.as_ref().map(CounterMeter::open);
        Ok(counter.transpose()?.map(Self::Counter))
    }

    /// True if it is the same machine as this; `None` where that cannot be told.
    pub(crate) fn is_here(&self) -> Option<bool> {
        match self {
            Self::Agent(agent) => Some(agent.is_here()),
            Self::Counter(_) => None,
        }
    }

    /// Why it cannot be asked now; `None` if it can.
    pub(crate) fn lost(&self) -> Option<String> {
        match self {
            Self::Agent(agent) => agent.lost(),
            Self::Counter(counter) => counter.lost(),
        }
    }

    /// That the server's process has ended, as far as it is known.
    pub(crate) fn ended(&self) -> Option<String> {
        match self {
            Self::Agent(agent) => agent.ended(),
            Self::Counter(_) => None,
        }
    }

    /// What it is, and how exactly it has read so far.
    pub(crate) fn record(&self) -> CpuSource {
        match self {
            Self::Agent(agent) => CpuSource::Agent(agent.record()),
            Self::Counter(counter) => CpuSource::Counter(counter.record()),
        }
    }

    /// Reads what the server uses.
    pub(crate) fn meter(&self) -> &dyn Meter {
        match self {
            Self::Agent(agent) => agent.as_ref(),
            Self::Counter(counter) => counter,
        }
    }
}

fn reach(address: AgentAddress, ranks: Option<&Ranks>) -> Result<Reach, String> {
    match (address, ranks) {
        (AgentAddress::Ssh(address), _) => Ok(Reach::Ssh {
            program: "ssh".into(),
            address,
        }),
        (AgentAddress::Rank(host), Some(ranks)) => Ok(Reach::Rank {
            ranks: ranks.clone(),
            host,
        }),
        (AgentAddress::Rank(host), None) => Err(format!(
            "rank://{host} is one of several load generators, and this one is alone; start them with mpirun ciphertax-mpi, or name the \
             agent by ssh://{host}"
        )),
    }
}

/// Says of agents what share of the CPU time of slices was not their own, now that it is known how much that was.
pub(crate) fn tell_errors(servers: &mut [ServerRecord], log: &SampleLog) {
    let used = log.samples.iter().filter_map(|sample| sample.server.server_cpu);
    let used: Vec<f64> = used.map(|cpu| cpu.total_ns as f64 / 1_000.0).collect();
    let mean_us = used.iter().sum::<f64>() / used.len() as f64;
    for server in servers {
        if let Some(CpuSource::Agent(agent)) = &mut server.cpu_from {
            agent.error_share = Some(agent.error_us() / mean_us).filter(|share| share.is_finite());
        }
    }
}

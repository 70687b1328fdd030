//! One slice of the engine, in the units of the tables.

use std::time::Duration;

use ciphertax_engine::{Engine, SliceYield, Workload};
use ciphertax_model::Load;
use ciphertax_observe::{Meter as _, ProcessMeter};
use ciphertax_stats::histogram;
use hdrhistogram::Histogram;

use crate::{Measured, Result};

/// CPU time of a private server's process in nanoseconds, read when it is quiet.
pub fn quiet_ns(server: &ProcessMeter) -> Result<u64> {
    server.settle(Duration::from_millis(1), Duration::from_millis(50))?;
    Ok(server.cpu()?.total_ns)
}

/// How ciphertax loads this many connections: from so many on, more sockets are waited for.
pub fn load(connections: u32) -> Load {
    const MANY: u32 = 64;
    const POLL_DELAY_US: u32 = 100;
    Load {
        poll_delay_us: if connections < MANY { 0 } else { POLL_DELAY_US },
        ..Load::closed(connections)
    }
}

/// An engine of such a load with these arms.
pub fn start<W: Workload>(load: &Load, arms: impl IntoIterator<Item = Result<W>>) -> Result<Engine> {
    let arms = arms.into_iter().collect::<Result<_>>()?;
    Ok(Engine::start(arms, load, 1)?)
}

/// What a slice without a fault yielded, operations of all kinds together.
pub struct Slice {
    /// What its turn measured.
    pub turn: Measured,
    /// Operations.
    pub operations: u64,
    /// Statements.
    pub queries: u64,
    /// Latencies in nanoseconds.
    pub latency: Histogram<u64>,
}

impl Slice {
    /// Measures one slice of an arm, with both clocks read when the server is quiet.
    pub fn measure(
        server: &ProcessMeter,
        engine: &mut Engine,
        arm: usize,
        duration: Duration,
    ) -> Result<Self> {
        prepare(engine, arm)?;
        let before = quiet_ns(server)?;
        let yielded = engine.slice(arm, duration)?;
        let server_ns = quiet_ns(server)? - before;
        Self::of(&yielded, server_ns)
    }

    /// Measures one slice of an arm that has no server.
    pub fn without_server(engine: &mut Engine, arm: usize, duration: Duration) -> Result<Self> {
        prepare(engine, arm)?;
        Self::of(&engine.slice(arm, duration)?, 0)
    }

    fn of(yielded: &SliceYield, server_ns: u64) -> Result<Self> {
        if let Some(failure) = &yielded.first_failure {
            return Err(failure.message().into());
        }
        let (mut count, mut latency_sum_ns, mut latency) = (0, 0, histogram::empty());
        for kind in &yielded.operations {
            count += kind.count;
            latency_sum_ns += kind.latency_sum_ns;
            latency.add(histogram::decode(&kind.latency)?)?;
        }
        if count == 0 || yielded.unfinished > 0 {
            return Err("operations did not finish".into());
        }
        let operations = count as f64;
        let us = |ns: u64| ns as f64 / operations / 1e3;
        Ok(Self {
            turn: Measured {
                kernel_us: us(yielded.client_cpu.system_ns),
                server_us: us(server_ns),
                throughput: operations / (yielded.duration_ns as f64 / 1e9),
                statements: yielded.queries as f64 / operations,
                mean_us: us(latency_sum_ns),
                ..Measured::client(us(yielded.client_cpu.total_ns))
            },
            operations: count,
            queries: yielded.queries,
            latency,
        })
    }
}

/// Opens the arm's connections that are not open.
pub fn prepare(engine: &mut Engine, arm: usize) -> Result<()> {
    engine
        .prepare(arm)?
        .map_err(|failure| failure.message().to_owned().into())
}

//! Clients and sysbench in turns, on the same server.

use std::time::{Duration, Instant};

use ciphertax_engine::Engine;
use ciphertax_model::{Load, Transport};
use ciphertax_observe::ThreadUsage;
use ciphertax_stats::BalancedOrder;

use crate::bare::Completions;
use crate::sysbench::{Call, Limit, Run, Sysbench};
use crate::{Ground, Repeats, Result, Slice};

/// What one contestant measured. An operation of the engine is a transaction of sysbench.
#[derive(Default)]
pub struct Contestant {
    /// Client CPU per transaction in microseconds.
    pub client_us: Repeats,
    /// Transactions per second.
    pub throughput: Repeats,
    /// Mean latency in microseconds.
    pub mean_us: Repeats,
}

/// Who is measured beside sysbench.
pub trait Client {
    /// Loads the server for so long.
    ///
    /// # Errors
    /// If anything fails.
    fn measure(&mut self, ground: &Ground, duration: Duration) -> Result<Measured>;
}

/// What a client measured.
pub struct Measured {
    client_us: f64,
    throughput: f64,
    mean_us: f64,
}

impl Client for Engine {
    fn measure(&mut self, ground: &Ground, duration: Duration) -> Result<Measured> {
        let slice = Slice::measure(ground.cpu(), self, 0, duration)?;
        Ok(Measured {
            client_us: slice.client_us,
            throughput: slice.throughput,
            mean_us: slice.mean_us,
        })
    }
}

impl Client for Box<dyn Client> {
    fn measure(&mut self, ground: &Ground, duration: Duration) -> Result<Measured> {
        self.as_mut().measure(ground, duration)
    }
}

/// On the thread that asks.
impl Client for Completions {
    fn measure(&mut self, _ground: &Ground, duration: Duration) -> Result<Measured> {
        let (before, began) = (ThreadUsage::now(), Instant::now());
        let operations = self.run(began + duration)? as f64;
        let seconds = began.elapsed().as_secs_f64();
        let cpu_ns = ThreadUsage::now().since(&before).cpu.total_ns;
        Ok(Measured {
            client_us: cpu_ns as f64 / operations / 1e3,
            throughput: operations / seconds,
            mean_us: mean_us(self.connections(), operations / seconds),
        })
    }
}

/// A closed loop: every connection always has one transaction under way (Little's law).
fn mean_us(connections: u32, throughput: f64) -> f64 {
    f64::from(connections) / throughput * 1e6
}

/// How `ciphertax` loads this many connections: from so many on, more sockets are waited for.
pub fn load(connections: u32) -> Load {
    const MANY: u32 = 64;
    const POLL_DELAY_US: u32 = 100;
    Load {
        poll_delay_us: if connections < MANY { 0 } else { POLL_DELAY_US },
        ..Load::closed(connections)
    }
}

/// Makes sure that both have sessions that are what the transport says, and says what those are.
///
/// # Errors
/// If they are not, or differ.
pub fn prove(ground: &Ground, sysbench: &Sysbench, transport: Transport) -> Result<String> {
    let ours = ground.servers_word(transport)?;
    let theirs = sysbench.servers_word(transport)?;
    let is_encrypted = !ours.is_empty();
    if ours != theirs || is_encrypted != transport.is_encrypted() {
        return Err(format!("{transport}: ciphertax has {ours:?}, sysbench {theirs:?}").into());
    }
    Ok(if is_encrypted {
        format!("both {ours}")
    } else {
        "both in plaintext".to_owned()
    })
}

/// Measures sysbench and each client in turns, for so many seconds each; sysbench comes first in the result.
///
/// # Errors
/// If anything fails.
pub fn in_turns(
    ground: &mut Ground,
    sysbench: &Sysbench,
    call: &Call<'_>,
    clients: &mut [impl Client],
    seconds: u32,
    repeats: u32,
) -> Result<Vec<Contestant>> {
    let count = 1 + clients.len();
    let mut contestants: Vec<Contestant> = (0..count).map(|_| Contestant::default()).collect();
    let orders = BalancedOrder::new(count, 1).take(repeats as usize);
    for (repeat, order) in orders.enumerate() {
        for index in order {
            let contestant = &mut contestants[index];
            match index.checked_sub(1) {
                None => contestant.push_run(&run(ground, sysbench, call, seconds)?, call.connections),
                Some(index) => {
                    let duration = Duration::from_secs(seconds.into());
                    contestant.push(&clients[index].measure(ground, duration)?);
                }
            }
        }
        eprintln!(
            "{}, {} connections, {}: repeat {} of {repeats}: client CPU ciphertax/sysbench {}",
            call.scenario,
            call.connections,
            call.transport,
            repeat + 1,
            contestants[1..]
                .iter()
                .map(|ours| format!("{:.2}", ours.client_us.over(&contestants[0].client_us)))
                .collect::<Vec<_>>()
                .join(", ")
        );
    }
    Ok(contestants)
}

/// The share of sysbench's CPU that its starting took, as a fraction, in a run of so many seconds.
///
/// # Errors
/// If sysbench fails.
pub fn share_of_starting(
    sysbench: &Sysbench,
    call: &Call<'_>,
    theirs: &Contestant,
    seconds: u32,
) -> Result<f64> {
    let runs = (0..3).map(|_| Ok(sysbench.startup(call)?.as_secs_f64() * 1e6));
    let starting_us = runs.collect::<Result<Repeats>>()?.median();
    let transactions = theirs.throughput.median() * f64::from(seconds);
    Ok(starting_us / (theirs.client_us.median() * transactions))
}

impl Contestant {
    fn push(&mut self, measured: &Measured) {
        self.client_us.push(measured.client_us);
        self.throughput.push(measured.throughput);
        self.mean_us.push(measured.mean_us);
    }

    fn push_run(&mut self, run: &Run, connections: u32) {
        self.client_us
            .push(run.cpu.as_secs_f64() * 1e6 / run.transactions as f64);
        self.throughput.push(run.throughput);
        self.mean_us.push(mean_us(connections, run.throughput));
    }
}

/// One run of sysbench, whose sessions were what the transport says.
fn run(ground: &mut Ground, sysbench: &Sysbench, call: &Call<'_>, seconds: u32) -> Result<Run> {
    let before = ground.counter("Ssl_accepts")?;
    let run = sysbench.run(call, Limit::Seconds(seconds))?;
    let accepted = ground.counter("Ssl_accepts")? - before;
    let is_right = if call.transport.is_encrypted() {
        accepted >= call.connections.into()
    } else {
        accepted == 0
    };
    if !is_right {
        return Err(format!(
            "sysbench made {accepted} TLS sessions in the cell {}",
            call.transport
        )
        .into());
    }
    Ok(run)
}

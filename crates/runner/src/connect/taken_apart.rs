//! One connection, from nothing to the goodbye.

use std::rc::Rc;
use std::time::Instant;

use ciphertax_base::{ChainCertificate, ConnectTrace, Phase, PhaseTrace, SessionFacts};
use ciphertax_estimate::connection::SeenConnection;
use ciphertax_observe::{ThreadUsage, Usage};
use ciphertax_reactor::Reactor;
use ciphertax_wire::{Client, WireError};

use super::server_cpu;

/// What a connection negotiated.
pub(super) struct Negotiation {
    pub(super) facts: SessionFacts,
    pub(super) chain: Vec<ChainCertificate>,
}

/// Connects, asks the least there is to ask, and says goodbye. `server` reads the server's CPU clock once it is quiet: after
/// the first answer, and before it is asked what was negotiated, which no client asks.
///
/// # Errors
/// Those of connecting and of the connection.
pub(super) async fn taken_apart<S: Client>(
    reactor: &Rc<Reactor>,
    options: &S::Options,
    server: impl Fn() -> Result<Usage, String>,
) -> Result<(SeenConnection, Negotiation), WireError> {
    let server_before = server();
    let (began, cpu) = (Instant::now(), ThreadUsage::now());
    let (mut session, mut trace): (S, ConnectTrace) = S::connect(reactor, options).await?;
    let (before, cpu_before) = (session.traffic(), ThreadUsage::now());
    session.ask().await?;
    let asked = session.traffic().phase_since(began, before);
    let asked = PhaseTrace {
        thread_cpu_ns: Some(cpu_since(&cpu_before)),
        ..asked
    };
    trace.set_until_now(Phase::FirstOperation, asked.wall_ns, asked);
    let client_cpu_ns = cpu_since(&cpu);
    let server_cpu_ns = server_cpu::between(server_before, server());

    let login = session.authentication().clone();
    let negotiation = Negotiation {
        chain: session.chain()?,
        facts: session.facts().await?,
    };
    let cpu = ThreadUsage::now();
    let close = session.close().await?;
    let close = PhaseTrace {
        thread_cpu_ns: Some(cpu_since(&cpu)),
        ..close
    };
    trace.set(Phase::Close, close);
    Ok((
        SeenConnection {
            trace,
            client_cpu_ns,
            server_cpu_ns,
            login,
        },
        negotiation,
    ))
}

/// CPU time of the calling thread in nanoseconds.
fn cpu_since(before: &ThreadUsage) -> u64 {
    ThreadUsage::now().since(before).cpu.total_ns
}

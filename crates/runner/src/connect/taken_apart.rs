//! One connection, from nothing to the goodbye.

use std::rc::Rc;
use std::time::{Duration, Instant};

use ciphertax_base::{ChainCertificate, ConnectTrace, Phase, PhaseTrace, SeenByServer, SessionFacts};
use ciphertax_estimate::connection::SeenConnection;
use ciphertax_observe::{Meter, ThreadUsage, Usage};
use ciphertax_reactor::Reactor;
use ciphertax_wire::{Client, WireError};

/// How long the server's CPU clock must stand still before and after a connection, and how long that is waited for.
const QUIET: Duration = Duration::from_millis(2);
const QUIET_AT_MOST: Duration = Duration::from_millis(50);

pub(super) struct Negotiation {
    pub(super) facts: SessionFacts,
    pub(super) chain: Vec<ChainCertificate>,
}

/// Connects, asks the least there is to ask, and says goodbye. `server` reads the server's CPU clock once it is quiet: after
/// the first answer, and before it is asked what was negotiated, which no client asks. `look` hears then what the server says of the
/// session, which is still open.
pub(super) async fn taken_apart<S: Client>(
    reactor: &Rc<Reactor>,
    options: &S::Options,
    server: impl Fn() -> Result<Usage, String>,
    look: impl FnOnce(&SeenByServer),
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
    let server_cpu_ns = between(server_before, server());

    let login = session.authentication().clone();
    let negotiation = Negotiation {
        chain: session.chain()?,
        facts: session.facts().await?,
    };
    look(&session.seen_by_server().await?);
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

/// Reads the server's CPU clock, but only once it stands still: the other work of one that goes on would be in the
/// difference of two readings, and there is no telling how much of it.
pub(super) fn when_quiet(meter: Result<&impl Meter, &String>) -> Result<Usage, String> {
    let meter = meter.map_err(Clone::clone)?;
    match meter.settle(QUIET, QUIET_AT_MOST) {
        Ok(true) => meter.read().map_err(|error| error.to_string()),
        Ok(false) => Err(format!(
            "it has other work, of other clients or of its own, and was not quiet for {} ms; to have it, connect when it has less",
            QUIET.as_millis()
        )),
        Err(error) => Err(error.to_string()),
    }
}

/// CPU time in nanoseconds between two readings.
fn between(before: Result<Usage, String>, after: Result<Usage, String>) -> Result<u64, String> {
    let cpu = after?.since(&before?).cpu;
    cpu.map(|cpu| cpu.total_ns)
        .ok_or_else(|| "one of its processes was lost meanwhile".to_owned())
}

#[cfg(test)]
mod tests {
    use ciphertax_observe::{OwnThreads, Result};

    use super::*;

    /// A server that is always, or never, busy.
    struct Server {
        is_quiet: bool,
    }

    impl Meter for Server {
        fn read(&self) -> Result<Usage> {
            OwnThreads.read()
        }

        fn settle(&self, _quiet_for: Duration, _at_most: Duration) -> Result<bool> {
            Ok(self.is_quiet)
        }
    }

    #[test]
    fn a_server_with_other_work_has_no_figure_but_a_reason() {
        let read = |is_quiet| when_quiet(Ok(&Server { is_quiet }));
        assert!(between(read(true), read(true)).is_ok());
        for (before, after) in [(true, false), (false, true)] {
            let unread = between(read(before), read(after)).unwrap_err();
            assert!(unread.contains("other work"), "{unread}");
        }
        let elsewhere = "on another machine".to_owned();
        let unread = when_quiet(Err::<&Server, _>(&elsewhere)).unwrap_err();
        assert_eq!(unread, elsewhere);
    }
}

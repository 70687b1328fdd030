//! Who runs transactions: the engine, or another program.

use ciphertax_bench::{Ground, Repeats, Result, Slice, TpccPeer};
use ciphertax_engine::Engine;

use crate::SLICE;

/// One way to load the server, and what it cost, repeat by repeat.
pub(crate) struct Contestant<'a> {
    pub(crate) name: &'static str,
    who: Who<'a>,
    pub(crate) client_us: Repeats,
    pub(crate) client_statement_us: Repeats,
    pub(crate) statements: Repeats,
    pub(crate) server_us: Repeats,
    pub(crate) throughput: Repeats,
}

enum Who<'a> {
    Engine(Box<Engine>),
    Peer(&'a TpccPeer, u32),
}

/// One measurement: microseconds and statements by transaction, transactions by second.
struct Measured {
    client_us: f64,
    statements: f64,
    server_us: f64,
    throughput: f64,
}

impl<'a> Contestant<'a> {
    pub(crate) fn ours(name: &'static str, engine: Engine) -> Self {
        Self::new(name, Who::Engine(Box::new(engine)))
    }

    pub(crate) fn peer(peer: &'a TpccPeer, terminals: u32) -> Self {
        Self::new(peer.name, Who::Peer(peer, terminals))
    }

    fn new(name: &'static str, who: Who<'a>) -> Self {
        Self {
            name,
            who,
            client_us: Repeats::default(),
            client_statement_us: Repeats::default(),
            statements: Repeats::default(),
            server_us: Repeats::default(),
            throughput: Repeats::default(),
        }
    }

    pub(crate) fn is_peer(&self) -> bool {
        matches!(self.who, Who::Peer(..))
    }

    /// The first measurement prepares statements and fills caches, and `counts` for nothing.
    pub(crate) fn measure(&mut self, ground: &mut Ground, counts: bool) -> Result<()> {
        let measured = match &mut self.who {
            Who::Engine(engine) => of_slice(&Slice::measure(ground.cpu(), engine, 0, SLICE)?),
            Who::Peer(peer, terminals) => of_peer(peer, ground, *terminals)?,
        };
        if counts {
            self.client_us.push(measured.client_us);
            self.client_statement_us
                .push(measured.client_us / measured.statements);
            self.statements.push(measured.statements);
            self.server_us.push(measured.server_us);
            self.throughput.push(measured.throughput);
        }
        Ok(())
    }
}

fn of_slice(slice: &Slice) -> Measured {
    Measured {
        client_us: slice.client_us,
        statements: slice.queries as f64 / slice.operations as f64,
        server_us: slice.server_us,
        throughput: slice.throughput,
    }
}

fn of_peer(peer: &TpccPeer, ground: &mut Ground, terminals: u32) -> Result<Measured> {
    let counted = peer.measure(ground, terminals, SLICE)?;
    if counted.transactions == 0 {
        return Err(format!("{} did not finish a transaction", peer.name).into());
    }
    let transactions = counted.transactions as f64;
    Ok(Measured {
        client_us: counted.client_ns as f64 / 1e3 / transactions,
        statements: counted.statements as f64 / transactions,
        server_us: counted.server_ns as f64 / 1e3 / transactions,
        throughput: transactions / counted.seconds,
    })
}

//! Full TLS connects with SCRAM, beside libpq's and Rust's.

use std::time::Duration;

use ciphertax_bench::pgbench::{Call, Limit, Pgbench, Script};
use ciphertax_bench::{PostgresqlGround, Repeats, Result, Slice, Table, child};
use ciphertax_engine::Engine;
use ciphertax_model::{Arm, AuthenticationMethod, PasswordCache, TlsLibrary, Transport};
use ciphertax_stats::BalancedOrder;

use crate::driver::{self, Answer, Task};
use crate::{SECONDS, arm, engine};

/// Connections being opened at a time.
const AT_A_TIME: u32 = 2;
/// The fewest connects per second and core, over those of the better of the two others.
const BAR: f64 = 1.5;
const METHOD: AuthenticationMethod = AuthenticationMethod::ScramSha256Plus;

/// What was measured.
pub(crate) struct Tables {
    /// Of ciphertax's arms each, beside the better of the others.
    pub(crate) bar: Table,
    /// Everybody.
    pub(crate) all: Table,
}

/// Who connects.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Contestant {
    Ciphertax(TlsLibrary, PasswordCache),
    Pgbench,
    TokioPostgres,
}

/// Ours come first, in the order of the engine.
const CONTESTANTS: [Contestant; 6] = [
    Contestant::Ciphertax(TlsLibrary::Rustls, PasswordCache::Cold),
    Contestant::Ciphertax(TlsLibrary::Rustls, PasswordCache::Warm),
    Contestant::Ciphertax(TlsLibrary::OpenSsl, PasswordCache::Cold),
    Contestant::Ciphertax(TlsLibrary::OpenSsl, PasswordCache::Warm),
    Contestant::Pgbench,
    Contestant::TokioPostgres,
];

impl Contestant {
    fn derives(self) -> bool {
        !matches!(self, Self::Ciphertax(_, PasswordCache::Warm))
    }

    fn arm(self) -> Option<Arm> {
        match self {
            Self::Ciphertax(library, cache) => Some(arm(Transport::Tls13, library, METHOD, cache)),
            Self::Pgbench | Self::TokioPostgres => None,
        }
    }

    fn label(self) -> String {
        let keys = if self.derives() { "derived" } else { "kept" };
        match self {
            Self::Ciphertax(library, _) => format!("ciphertax, {}, keys {keys}", library.name()),
            Self::Pgbench => format!("pgbench, libpq, keys {keys}"),
            Self::TokioPostgres => format!("Rust, tokio-postgres over rustls, keys {keys}"),
        }
    }
}

/// What one contestant measured.
#[derive(Default)]
struct Measured {
    client_us: Repeats,
    rate: Repeats,
}

/// Measures all in turns.
pub(crate) fn tables(
    ground: &mut PostgresqlGround,
    pgbench: &Pgbench,
    derivation_us: &Repeats,
    repeats: u32,
) -> Result<Tables> {
    let login = ground.login(METHOD, Transport::Tls13)?;
    pgbench.servers_word(ground, &login)?;
    let arms: Vec<Arm> = CONTESTANTS.into_iter().filter_map(Contestant::arm).collect();
    let mut engine = engine(ground, &arms, AT_A_TIME)?;
    let mut measured: Vec<Measured> = CONTESTANTS.iter().map(|_| Measured::default()).collect();
    let orders = BalancedOrder::new(CONTESTANTS.len(), 1).take(repeats as usize);
    for (repeat, order) in orders.enumerate() {
        for index in order {
            let before = ground.sessions()?;
            let (connects, client_us, rate) = match CONTESTANTS[index] {
                Contestant::Ciphertax(..) => of_slice(&mut engine, index)?,
                Contestant::Pgbench => {
                    let call = Call {
                        login: &login,
                        script: Script::Connect,
                        connections: AT_A_TIME,
                        threads: AT_A_TIME,
                    };
                    let run = pgbench.run(&call, Limit::Seconds(SECONDS))?;
                    let us = run.cpu.as_secs_f64() * 1e6 / run.transactions as f64;
                    (run.transactions, us, run.throughput)
                }
                Contestant::TokioPostgres => of_driver(&Task {
                    login: login.clone(),
                    seconds: SECONDS,
                    at_a_time: AT_A_TIME,
                })?,
            };
            ground.check_sessions_since(before, connects)?;
            measured[index].client_us.push(client_us);
            measured[index].rate.push(rate);
        }
        let figures = CONTESTANTS.iter().zip(&measured).map(|(contestant, measured)| {
            format!("{} {:.0}", contestant.label(), measured.client_us.median())
        });
        eprintln!(
            "connects: repeat {} of {repeats}: client µs: {}",
            repeat + 1,
            figures.collect::<Vec<_>>().join("; ")
        );
    }
    Ok(Tables {
        bar: bar(&measured),
        all: all(&measured, derivation_us),
    })
}

fn of_slice(engine: &mut Engine, arm: usize) -> Result<(u64, f64, f64)> {
    let slice = Slice::without_server(engine, arm, Duration::from_secs(SECONDS.into()))?;
    Ok((slice.operations, slice.client_us, slice.throughput))
}

fn of_driver(task: &Task) -> Result<(u64, f64, f64)> {
    let finished = child::run(
        &mut ciphertax_bench::driver::command(driver::PART),
        &serde_json::to_string(task)?,
    )?;
    let answer: Answer = serde_json::from_str(&finished.output)?;
    if !answer.word.starts_with("TLSv1.3") || answer.connects == 0 {
        return Err(format!("the driver's session is {:?}", answer.word).into());
    }
    let connects = answer.connects as f64;
    Ok((
        answer.connects,
        finished.cpu.as_secs_f64() * 1e6 / connects,
        connects / answer.seconds,
    ))
}

fn bar(measured: &[Measured]) -> Table {
    let mut table = Table::new(&[
        "ciphertax",
        "connects per second and core, ciphertax / better other",
        "bar",
        "met",
        "ciphertax per second and core",
        "better other per second and core",
    ]);
    let others = CONTESTANTS
        .iter()
        .zip(measured)
        .filter(|(contestant, _)| contestant.arm().is_none());
    let best = others
        .map(|(_, other)| &other.client_us)
        .min_by(|this, that| this.median().total_cmp(&that.median()))
        .expect("there are two others");
    for (contestant, this) in CONTESTANTS.iter().zip(measured) {
        if contestant.arm().is_none() {
            continue;
        }
        let ratio = best.over(&this.client_us);
        table.row([
            contestant.label(),
            format!("{ratio:.2}"),
            format!("≥ {BAR:.1}"),
            if ratio.median() >= BAR { "yes" } else { "**no**" }.to_owned(),
            format!("{:.0}", 1e6 / this.client_us.median()),
            format!("{:.0}", 1e6 / best.median()),
        ]);
    }
    table
}

fn all(measured: &[Measured], derivation_us: &Repeats) -> Table {
    let mut table = Table::new(&[
        "client",
        "client CPU µs",
        "of it the bare derivation",
        "without it",
        "per second and core",
        "connections/s",
    ]);
    for (contestant, this) in CONTESTANTS.iter().zip(measured) {
        let us = this.client_us.median();
        let derivation = if contestant.derives() {
            derivation_us.median()
        } else {
            0.0
        };
        table.row([
            contestant.label(),
            format!("{:.0}", this.client_us),
            format!("{derivation:.0}, {:.0} %", 100.0 * derivation / us),
            format!("{:.0}", us - derivation),
            format!("{:.0}", 1e6 / us),
            format!("{:.0}", this.rate),
        ]);
    }
    table
}

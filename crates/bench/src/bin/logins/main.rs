//! Logins to MongoDB: what each mechanism costs client and server, and how near the client is to what it cannot do without.

use std::process::ExitCode;
use std::time::Duration;

use ciphertax_bench::{Document, MongodbGround, Repeats, Result, Slice, Table, derivation};
use ciphertax_engine::Engine;
use ciphertax_lab::PrivateServer;
use ciphertax_lab::catalogue::MONGODB;
use ciphertax_model::{Arm, AuthenticationMethod, Load, PasswordCache, Transport};
use ciphertax_stats::BalancedOrder;
use ciphertax_workload::connect::{Connect, Nothing};
use clap::Parser;

/// Length of one measurement in seconds.
const SECONDS: u32 = 2;
/// Connections being opened at a time. With more, derivations would take the CPU's shared parts from each other and from the
/// server, which they would be billed for.
const AT_A_TIME: u32 = 1;
/// The most client CPU for a login by SCRAM-SHA-256, over that of the bare derivation and of a connection without a login.
const BAR: f64 = 1.2;

/// CPU per login to MongoDB by mechanism: one Markdown document on standard output.
#[derive(Parser)]
struct Arguments {
    /// How often each figure is measured
    #[arg(long, default_value_t = 7)]
    repeats: u32,
}

/// The servers: without logins, and with nothing else.
struct Grounds {
    open: MongodbGround,
    locked: MongodbGround,
}

/// What one arm measured.
#[derive(Default)]
struct Measured {
    client_us: Repeats,
    server_us: Repeats,
    mean_us: Repeats,
}

fn main() -> ExitCode {
    ciphertax_bench::main(|| {
        let Arguments { repeats } = Arguments::parse();
        let mut grounds = Grounds::prepare()?;
        let iterations = grounds.iterations()?;
        let mut document = Document::new("CPU per login to MongoDB", "logins");
        document.fact("server of the logins", grounds.locked.identity()?);
        document.fact("server without logins", grounds.open.identity()?);
        let asked = format!(
            "connect, log in, disconnect; {AT_A_TIME} at a time, {repeats} repeats of {SECONDS} s in turns; SCRAM-SHA-256 with \
             {iterations} iterations"
        );
        document.fact("asked", asked);
        let arms = arms();
        let (derivation_us, measured) = in_turns(&mut grounds, &arms, iterations, repeats)?;
        document.table("The bar", &bar(&arms, &measured, &derivation_us)?);
        for transport in [Transport::Plain, Transport::Tls13] {
            let heading = format!("By mechanism, {transport}");
            document.table(&heading, &mechanisms(&arms, &measured, transport)?);
        }
        document.paragraph(
            "A login is *cold* when the client derives SCRAM's keys from the password, and *warm* when it has kept them from an \
             earlier one. The bare derivation is PBKDF2 with HMAC-SHA-256 by the OpenSSL that ciphertax is built with, in a loop \
             on one thread. The client's CPU is that of its load thread. *Of the login* is the difference to connections without \
             one over the same transport, which go to another server that has no access control: two processes are compared. \
             Logins begin along with the greeting, TLS handshakes are full ones by OpenSSL with an ECDSA P-256 certificate of the \
             server's, and for MONGODB-X509 also one of the client's. Per second and core is 1 / client CPU. The server counted \
             every login and every handshake as its row says.",
        );
        print!("{document}");
        Ok(())
    })
}

fn arms() -> Vec<Arm> {
    let arm = |name: &str, transport, method, password_cache| {
        let mut arm = Arm::new(name, transport);
        arm.authentication.method = Some(method);
        arm.authentication.password_cache = password_cache;
        arm
    };
    let mut arms = Vec::new();
    for transport in [Transport::Plain, Transport::Tls13] {
        let none = AuthenticationMethod::NoLogin;
        arms.push(arm("none", transport, none, PasswordCache::Warm));
        for method in [AuthenticationMethod::ScramSha1, AuthenticationMethod::ScramSha256] {
            for (word, cache) in [("cold", PasswordCache::Cold), ("warm", PasswordCache::Warm)] {
                arms.push(arm(&format!("{method}, {word}"), transport, method, cache));
            }
        }
    }
    let x509 = AuthenticationMethod::MongodbX509;
    arms.push(arm(x509.name(), Transport::Tls13, x509, PasswordCache::Warm));
    arms
}

impl Grounds {
    fn prepare() -> Result<Self> {
        let locked = PrivateServer::builder(&MONGODB)
            .account(AuthenticationMethod::ScramSha1)
            .account(AuthenticationMethod::ScramSha256)
            .account(AuthenticationMethod::MongodbX509);
        Ok(Self {
            open: MongodbGround::prepare(PrivateServer::builder(&MONGODB).access_control(false))?,
            locked: MongodbGround::prepare(locked)?,
        })
    }

    /// How often a login by SCRAM-SHA-256 hashes.
    fn iterations(&self) -> Result<usize> {
        Ok(self.locked.server().settings()["scramSHA256IterationCount"].parse()?)
    }

    fn of(&mut self, arm: &Arm) -> &mut MongodbGround {
        match arm.authentication.method {
            Some(AuthenticationMethod::NoLogin) => &mut self.open,
            _ => &mut self.locked,
        }
    }
}

/// Measures the bare derivation and all arms in turns; returns the client CPU of one derivation in microseconds, and what the
/// arms measured.
fn in_turns(
    grounds: &mut Grounds,
    arms: &[Arm],
    iterations: usize,
    repeats: u32,
) -> Result<(Repeats, Vec<Measured>)> {
    let workloads = arms.iter().map(|arm| {
        Ok(Connect {
            access: grounds.of(arm).access(arm, AT_A_TIME as usize)?,
            task: Nothing,
        })
    });
    let workloads = workloads.collect::<Result<Vec<_>>>()?;
    let mut engine = Engine::start(workloads, &Load::closed(AT_A_TIME), 1)?;
    let duration = Duration::from_secs(SECONDS.into());
    let mut derivation_us = Repeats::default();
    let mut measured: Vec<Measured> = arms.iter().map(|_| Measured::default()).collect();
    let orders = BalancedOrder::new(arms.len() + 1, 1).take(repeats as usize);
    for (repeat, order) in orders.enumerate() {
        for index in order {
            let Some(arm) = arms.get(index) else {
                derivation_us.push(derivation::measure_us(iterations, duration)?);
                continue;
            };
            let ground = grounds.of(arm);
            let before = ground.counters()?;
            let slice = Slice::measure(ground.cpu(), &mut engine, index, duration)?;
            ground.check_since(&before, arm, slice.operations)?;
            measured[index].push(&slice);
        }
        let figures = arms.iter().zip(&measured).map(|(arm, measured)| {
            format!(
                "{}, {} {:.0}",
                arm.name,
                arm.transport,
                measured.client_us.median()
            )
        });
        eprintln!(
            "repeat {} of {repeats}: client µs: derivation {:.0}; {}",
            repeat + 1,
            derivation_us.median(),
            figures.collect::<Vec<_>>().join("; ")
        );
    }
    Ok((derivation_us, measured))
}

fn bar(arms: &[Arm], measured: &[Measured], derivation_us: &Repeats) -> Result<Table> {
    let mut table = Table::new(&[
        "SCRAM-SHA-256, cold",
        "client CPU, login / (derivation + connection)",
        "bar",
        "met",
        "login µs",
        "derivation µs",
        "connection µs",
        "logins per second and core",
        "by derivation and connection alone",
    ]);
    for transport in [Transport::Plain, Transport::Tls13] {
        let of = |method, cache| find(arms, measured, transport, method, cache);
        let login = of(AuthenticationMethod::ScramSha256, PasswordCache::Cold)?;
        let connection = of(AuthenticationMethod::NoLogin, PasswordCache::Warm)?;
        let least_us = connection.client_us.plus(derivation_us);
        let ratio = login.client_us.over(&least_us);
        table.row([
            transport.to_string(),
            format!("{ratio:.2}"),
            format!("≤ {BAR:.1}"),
            if ratio.median() <= BAR { "yes" } else { "**no**" }.to_owned(),
            format!("{:.0}", login.client_us),
            format!("{derivation_us:.0}"),
            format!("{:.0}", connection.client_us),
            format!("{:.0}", 1e6 / login.client_us.median()),
            format!("{:.0}", 1e6 / least_us.median()),
        ]);
    }
    Ok(table)
}

fn mechanisms(arms: &[Arm], measured: &[Measured], transport: Transport) -> Result<Table> {
    let none = find(
        arms,
        measured,
        transport,
        AuthenticationMethod::NoLogin,
        PasswordCache::Warm,
    )?;
    let mut table = Table::new(&[
        "mechanism",
        "client CPU µs",
        "of the login",
        "per second and core",
        "server CPU µs",
        "of the login",
        "mean latency µs",
    ]);
    for (arm, this) in arms.iter().zip(measured) {
        if arm.transport != transport {
            continue;
        }
        let of_login = |this: &Repeats, none: &Repeats| match arm.authentication.method {
            Some(AuthenticationMethod::NoLogin) => "–".to_owned(),
            _ => format!("{:.0}", this.minus(none)),
        };
        table.row([
            arm.name.clone(),
            format!("{:.0}", this.client_us),
            of_login(&this.client_us, &none.client_us),
            format!("{:.0}", 1e6 / this.client_us.median()),
            format!("{:.0}", this.server_us),
            of_login(&this.server_us, &none.server_us),
            format!("{:.0}", this.mean_us),
        ]);
    }
    Ok(table)
}

fn find<'a>(
    arms: &[Arm],
    measured: &'a [Measured],
    transport: Transport,
    method: AuthenticationMethod,
    cache: PasswordCache,
) -> Result<&'a Measured> {
    let position = arms.iter().position(|arm| {
        let authentication = &arm.authentication;
        arm.transport == transport
            && authentication.method == Some(method)
            && authentication.password_cache == cache
    });
    Ok(position
        .map(|index| &measured[index])
        .ok_or("every arm was measured")?)
}

impl Measured {
    fn push(&mut self, slice: &Slice) {
        self.client_us.push(slice.client_us);
        self.server_us.push(slice.server_us);
        self.mean_us.push(slice.mean_us);
    }
}

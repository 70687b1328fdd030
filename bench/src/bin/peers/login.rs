//! Logins by SCRAM, and how near the client is to what it cannot do without: the derivation of its keys, and a connection.

use std::hint::black_box;
use std::time::Duration;

use ciphertax_bench::{
    Document, Figures, Measured, MongodbGround, PostgresqlGround, Repeats, Result, Slice, Table, at_most,
    cpu_of_call, in_turns, start,
};
use ciphertax_lab::PrivateServer;
use ciphertax_lab::catalogue::MONGODB;
use ciphertax_model::{Arm, AuthenticationMethod, Load, PasswordCache, TlsLibrary, Transport};
use ciphertax_workload::connect::{Connect, Nothing};
use openssl::hash::MessageDigest;
use openssl::pkcs5::pbkdf2_hmac;

use crate::beside_pgbench;

/// Length of one measurement.
const TURN: Duration = Duration::from_secs(2);
/// Connections being opened at a time. With more, derivations would take the CPU's shared parts from each other and from the
/// server, which they would be billed for.
const AT_A_TIME: u32 = 1;
/// The most client CPU for a login by SCRAM-SHA-256, over that of the bare derivation and of a connection without a login.
const BAR: f64 = 1.2;
/// Iterations of SCRAM that PostgreSQL asks for by default.
const ITERATIONS: usize = 4096;
const TRANSPORTS: [Transport; 2] = [Transport::Plain, Transport::Tls13];
/// How the progress names what is not of an arm.
const DERIVATION: &str = "the bare derivation";

/// Arms on one database, and what they and the bare derivation measured.
struct Logins {
    database: &'static str,
    arms: Vec<Arm>,
    figures: Vec<Figures>,
    derivation_us: Repeats,
}

pub(crate) fn measure(document: &mut Document, repeats: u32) -> Result<()> {
    let mongodb = on_mongodb(document, repeats)?;
    let postgresql = on_postgresql(document, repeats)?;
    let mut table = Table::new(
        "SCRAM-SHA-256 | client CPU, login / (derivation + connection) | bar | met | login µs, keys derived | login µs, keys kept \
         | derivation µs | connection µs, no login | logins per second and core",
    );
    for logins in [&mongodb, &postgresql] {
        logins.add_bars(&mut table)?;
    }
    document.table("Bars", &table);
    document.table("MongoDB, by mechanism", &mongodb.mechanisms()?);
    document.paragraph(
        "Keys are *derived* from the password for each login, or *kept* from an earlier one. The bare derivation is PBKDF2 with \
         HMAC-SHA-256 by the OpenSSL that ciphertax is built with, in a loop on one thread; who derives cannot be faster. The \
         client's CPU is that of its load thread. *Of the login* is the difference to connections without one over the same \
         transport: on MongoDB they go to another server without access control, so two processes are compared, on PostgreSQL they \
         are trusted. TLS handshakes are full ones by OpenSSL with an ECDSA P-256 certificate of the server's, and for MONGODB-X509 \
         also one of the client's; on PostgreSQL a login over TLS is tied to its session (SCRAM-SHA-256-PLUS). Per second and core is \
         1 / client CPU. The servers counted every login.",
    );
    Ok(())
}

fn on_mongodb(document: &mut Document, repeats: u32) -> Result<Logins> {
    let locked = PrivateServer::builder(&MONGODB)
        .account(AuthenticationMethod::ScramSha1)
        .account(AuthenticationMethod::ScramSha256)
        .account(AuthenticationMethod::MongodbX509);
    let mut open = MongodbGround::prepare(PrivateServer::builder(&MONGODB).access_control(false))?;
    let mut locked = MongodbGround::prepare(locked)?;
    document.fact("MongoDB of the logins", &locked.identity);
    document.fact("MongoDB without logins", &open.identity);
    let iterations = locked.server.settings()["scramSHA256IterationCount"].parse()?;
    let asked = format!("{iterations}, {AT_A_TIME} connection at a time, {TURN:?} a turn");
    document.fact("iterations of MongoDB", asked);
    let (cold, warm) = (PasswordCache::Cold, PasswordCache::Warm);
    let mut arms = Vec::new();
    for transport in TRANSPORTS {
        arms.push(arm(transport, AuthenticationMethod::NoLogin, warm));
        for method in [AuthenticationMethod::ScramSha1, AuthenticationMethod::ScramSha256] {
            arms.extend([cold, warm].map(|cache| arm(transport, method, cache)));
        }
    }
    arms.push(arm(Transport::Tls13, AuthenticationMethod::MongodbX509, warm));
    let workloads = arms.iter().map(|arm| {
        let ground = if has_login(arm) { &locked } else { &open };
        let (access, task) = (ground.access(arm, AT_A_TIME as usize)?, Nothing);
        Ok(Connect { access, task })
    });
    let mut engine = start(&Load::closed(AT_A_TIME), workloads)?;
    Logins::measure("MongoDB", arms, iterations, repeats, |index, arm| {
        let ground = if has_login(arm) { &mut locked } else { &mut open };
        let before = ground.counters()?;
        let slice = Slice::measure(&ground.cpu, &mut engine, index, TURN)?;
        ground.check_since(&before, arm, slice.operations)?;
        Ok(slice)
    })
}

fn on_postgresql(document: &mut Document, repeats: u32) -> Result<Logins> {
    let mut ground = PostgresqlGround::prepare()?;
    document.fact("PostgreSQL", &ground.identity);
    document.fact("iterations of PostgreSQL", ITERATIONS.to_string());
    let arms_over = |transport: Transport| {
        // The default account's; in plaintext there is nothing that a login could be tied to.
        let scram = match transport.is_encrypted() {
            true => AuthenticationMethod::ScramSha256Plus,
            false => AuthenticationMethod::ScramSha256,
        };
        [
            arm(transport, AuthenticationMethod::Trust, PasswordCache::Warm),
            arm(transport, scram, PasswordCache::Cold),
            arm(transport, scram, PasswordCache::Warm),
        ]
    };
    let arms: Vec<Arm> = TRANSPORTS.into_iter().flat_map(arms_over).collect();
    let workloads = arms.iter().map(|arm| {
        let (access, task) = (ground.access(arm, AT_A_TIME as usize)?, Nothing);
        Ok(Connect { access, task })
    });
    let mut engine = start(&Load::closed(AT_A_TIME), workloads)?;
    Logins::measure("PostgreSQL", arms, ITERATIONS, repeats, |index, _| {
        let before = ground.sessions()?;
        let slice = Slice::without_server(&mut engine, index, TURN)?;
        ground.check_sessions_since(before, slice.operations)?;
        Ok(slice)
    })
}

/// An arm that logs in by this method, with OpenSSL; its name is the method with what becomes of SCRAM's keys.
fn arm(transport: Transport, method: AuthenticationMethod, password_cache: PasswordCache) -> Arm {
    use AuthenticationMethod::{MongodbX509, NoLogin, Trust};
    let keys = match (method, password_cache) {
        (NoLogin | Trust | MongodbX509, _) => "",
        (_, PasswordCache::Cold) => ", derived",
        (_, PasswordCache::Warm) => ", kept",
    };
    Arm {
        name: format!("{method}{keys}, {transport}"),
        ..beside_pgbench::arm(transport, TlsLibrary::OpenSsl, method, password_cache)
    }
}

fn has_login(arm: &Arm) -> bool {
    let method = arm.authentication.method;
    method.is_none_or(AuthenticationMethod::proves_identity)
}

impl Logins {
    /// Measures the arms and the bare derivation of so many iterations in turns.
    fn measure(
        database: &'static str,
        arms: Vec<Arm>,
        iterations: usize,
        repeats: u32,
        mut slice: impl FnMut(usize, &Arm) -> Result<Slice>,
    ) -> Result<Self> {
        let mut names: Vec<&str> = arms.iter().map(|arm| arm.name.as_str()).collect();
        names.push(DERIVATION);
        let mut figures = in_turns(database, &names, repeats, |index| match arms.get(index) {
            None => Ok(Measured::client(derivation_us(iterations)?)),
            Some(arm) => Ok(slice(index, arm)?.turn),
        })?;
        let derivation = figures.pop().unwrap_or_default();
        Ok(Self {
            database,
            arms,
            figures,
            derivation_us: derivation.client_us(),
        })
    }

    /// A bar for each transport.
    fn add_bars(&self, table: &mut Table) -> Result<()> {
        for transport in TRANSPORTS {
            let connection_us = self.without_login(transport)?.client_us();
            let of = |cache| {
                self.find(|arm| {
                    let authentication = &arm.authentication;
                    arm.transport == transport
                        && authentication.password_cache == cache
                        && matches!(
                            authentication.method,
                            Some(AuthenticationMethod::ScramSha256 | AuthenticationMethod::ScramSha256Plus)
                        )
                })
            };
            let derived_us = of(PasswordCache::Cold)?.client_us();
            let kept_us = of(PasswordCache::Warm)?.client_us();
            let ratio = derived_us.over(&connection_us.plus(&self.derivation_us));
            let (bar, per_s) = (at_most(&ratio, BAR), 1e6 / derived_us.median());
            table.row(&format!(
                "{}, {transport} | {ratio:.2} | {bar} | {derived_us:.0} | {kept_us:.0} | {:.0} | {connection_us:.0} | {per_s:.0}",
                self.database, self.derivation_us
            ));
        }
        Ok(())
    }

    /// What each arm costs both sides.
    fn mechanisms(&self) -> Result<Table> {
        let mut table = Table::new(
            "mechanism | client CPU µs | of the login | per second and core | server CPU µs | of the login | mean latency µs",
        );
        for (arm, figures) in self.arms.iter().zip(&self.figures) {
            let without = self.without_login(arm.transport)?;
            let of_login = |with: Repeats, without: Repeats| match has_login(arm) {
                true => format!("{:.0}", with.minus(&without)),
                false => "–".to_owned(),
            };
            let (client_us, server_us) = (figures.client_us(), figures.server_us());
            let of_client = of_login(client_us.clone(), without.client_us());
            let of_server = of_login(server_us.clone(), without.server_us());
            let (per_s, latency_us) = (1e6 / client_us.median(), figures.of(|turn| turn.mean_us));
            table.row(&format!(
                "{} | {client_us:.0} | {of_client} | {per_s:.0} | {server_us:.0} | {of_server} | {latency_us:.0}",
                arm.name
            ));
        }
        Ok(table)
    }

    fn without_login(&self, transport: Transport) -> Result<&Figures> {
        self.find(|arm| arm.transport == transport && !has_login(arm))
    }

    fn find(&self, is_it: impl Fn(&Arm) -> bool) -> Result<&Figures> {
        let position = self.arms.iter().position(is_it);
        Ok(position
            .map(|index| &self.figures[index])
            .ok_or("every arm was measured")?)
    }
}

/// CPU time of one bare derivation of SCRAM-SHA-256 in microseconds: the mean of as many as this thread does in a turn.
fn derivation_us(iterations: usize) -> Result<f64> {
    /// Characters of the accounts' passwords.
    const PASSWORD: [u8; 32] = [b'p'; 32];
    /// Bytes of a salt as MongoDB makes it.
    const SALT: [u8; 28] = [7; 28];
    /// Bytes of the derived key: one output of SHA-256.
    const KEY: usize = 32;
    cpu_of_call(TURN, &[()], |()| {
        let mut key = [0; KEY];
        pbkdf2_hmac(&PASSWORD, &SALT, iterations, MessageDigest::sha256(), &mut key)?;
        black_box(key);
        Ok(())
    })
}

//! New connections to PostgreSQL: TLS and SCRAM, beside pgbench and Rust's driver, and beside what a login cannot do without.

mod connects;
mod driver;
mod logins;

use std::process::ExitCode;

use ciphertax_bench::pgbench::Pgbench;
use ciphertax_bench::{Document, PostgresqlGround, Result};
use ciphertax_engine::Engine;
use ciphertax_lab::PrivateServer;
use ciphertax_lab::catalogue::POSTGRESQL;
use ciphertax_model::{
    Arm, AuthenticationMethod, CertificateKind, Load, PasswordCache, TlsLibrary, Transport,
};
use ciphertax_workload::connect::{Connect, Nothing};
use ciphertax_workload::postgresql::PostgresqlAccess;
use clap::{Parser, Subcommand};

/// Length of one measurement in seconds.
const SECONDS: u32 = 2;
/// Iterations of SCRAM that PostgreSQL asks for by default.
const ITERATIONS: usize = 4096;

/// Client CPU per new connection to PostgreSQL: one Markdown document on standard output.
#[derive(Parser)]
struct Arguments {
    /// How often each figure is measured
    #[arg(long, default_value_t = 5)]
    repeats: u32,
    #[command(subcommand)]
    part: Option<Part>,
}

#[derive(Subcommand)]
enum Part {
    /// Connects by Rust's driver; reads what to do from standard input
    #[command(hide = true)]
    TokioPostgres,
}

fn main() -> ExitCode {
    ciphertax_bench::main(|| {
        let arguments = Arguments::parse();
        match arguments.part {
            Some(Part::TokioPostgres) => driver::main(),
            None => compare(arguments.repeats),
        }
    })
}

fn compare(repeats: u32) -> Result<()> {
    let server = PrivateServer::builder(&POSTGRESQL)
        .certificate(CertificateKind::EcdsaP256)
        .account(AuthenticationMethod::Trust)
        .account(AuthenticationMethod::ScramSha256Plus);
    let mut ground = PostgresqlGround::prepare(server)?;
    let pgbench = Pgbench::set_up(&mut ground)?;
    let mut document = Document::new("New connections to PostgreSQL", "postgres-connects");
    document.fact("server", ground.identity()?);
    document.fact("pgbench", format!("{}, --connect", pgbench.version()?));
    document.fact("Rust", driver::VERSION);
    let asked = format!(
        "connect, log in, disconnect; {repeats} repeats of {SECONDS} s in turns; SCRAM-SHA-256 with {ITERATIONS} iterations"
    );
    document.fact("asked", asked);
    let (logins, derivation_us) = logins::table(&mut ground, repeats)?;
    let connects = connects::tables(&mut ground, &pgbench, &derivation_us, repeats)?;
    document.table("Bar: full TLS connects with SCRAM", &connects.bar);
    document.table("Full TLS connects with SCRAM", &connects.all);
    document.table("Bar: logins by SCRAM", &logins);
    document.paragraph(
        "*Derived* is a login that derives SCRAM's keys from the password, by PBKDF2 with HMAC-SHA-256, as every login of libpq \
         and of tokio-postgres does; with *kept* keys only the first of a run does, as pools and drivers of other databases have \
         it. Who derives cannot be faster than the derivation: the bare one, by the OpenSSL that ciphertax is built with, in a \
         loop on one thread, is in the tables, and *without it* is what is left of each client. libpq hashes by an own loop over \
         OpenSSL's digests. ciphertax's CPU is that of its load thread; that of the others is of their whole process (user and \
         system, from `wait4`), starting included. All verify the server's certificate, ECDSA P-256, against the private \
         authority, and make full handshakes: PostgreSQL gives no sessions to resume. ciphertax and libpq tie the login to the \
         TLS session (SCRAM-SHA-256-PLUS), tokio-postgres over rustls does not. The server counted every connection.",
    );
    print!("{document}");
    Ok(())
}

/// An arm that connects by a library, whose SCRAM takes its keys from there.
fn arm(
    transport: Transport,
    library: TlsLibrary,
    method: AuthenticationMethod,
    password_cache: PasswordCache,
) -> Arm {
    let mut arm = Arm::new("ciphertax", transport);
    arm.tls.library = library;
    arm.authentication.method = Some(method);
    arm.authentication.password_cache = password_cache;
    arm
}

/// An engine that makes connections of these arms, so many at a time.
fn engine(ground: &PostgresqlGround, arms: &[Arm], at_a_time: u32) -> Result<Engine> {
    let workloads = arms.iter().map(|arm| {
        Ok(Connect {
            access: ground.access(arm, at_a_time as usize)?,
            task: Nothing,
        })
    });
    let workloads: Vec<Connect<PostgresqlAccess, Nothing>> = workloads.collect::<Result<_>>()?;
    Ok(Engine::start(workloads, &Load::closed(at_a_time), 1)?)
}

//! Client CPU per transaction: the engine beside sysbench, on the same server.

use std::process::ExitCode;
use std::time::Duration;

use ciphertax_bench::beside_sysbench::{in_turns, load, prove, share_of_starting};
use ciphertax_bench::sysbench::{Call, Limit, Sysbench};
use ciphertax_bench::{Document, Ground, Result, Slice, TABLES, Table};
use ciphertax_engine::Engine;
use ciphertax_model::{CertificateKind, Resumption, TlsLibrary, Transport};
use ciphertax_workload::sql::{Oltp, Scenario};
use clap::Parser;

/// Length of one measurement in seconds.
const SECONDS: u32 = 5;
const CONNECTIONS: u32 = 64;
/// The most that ciphertax may take of sysbench's CPU per transaction.
const BAR: f64 = 0.7;

/// Client CPU per transaction, ciphertax beside sysbench: one Markdown document on standard output.
#[derive(Parser)]
struct Arguments {
    /// How often each cell is measured
    #[arg(long, default_value_t = 7)]
    repeats: u32,
}

fn main() -> ExitCode {
    ciphertax_bench::main(|| {
        let arguments = Arguments::parse();
        let mut ground = Ground::prepare(CertificateKind::EcdsaP256)?;
        let sysbench = Sysbench::set_up(&mut ground)?;
        let mut document = Document::new("Client CPU per transaction, beside sysbench", "transactions");
        document.fact("server", ground.identity()?);
        document.fact("sysbench", Sysbench::version()?);
        let asked = format!(
            "prepared statements, {CONNECTIONS} connections, poll delay {} µs, {} repeats of {SECONDS} s in turns",
            load(CONNECTIONS).poll_delay_us,
            arguments.repeats
        );
        document.fact("asked", asked);
        for transport in [Transport::Plain, Transport::Tls13] {
            let seen = prove(&ground, &sysbench, transport)?;
            document.fact(&format!("{transport}, by the server's word"), seen);
        }
        compare(&mut ground, &sysbench, &mut document, arguments.repeats)?;
        print!("{document}");
        Ok(())
    })
}

fn compare(ground: &mut Ground, sysbench: &Sysbench, document: &mut Document, repeats: u32) -> Result<()> {
    let mut table = Table::new(&[
        "scenario, transport, library",
        "client CPU, ciphertax / sysbench",
        "bar",
        "met",
        "without sysbench's starting",
        "ciphertax µs/transaction",
        "sysbench µs/transaction",
        "ciphertax transactions/s",
        "sysbench transactions/s",
        "statements/transaction",
    ]);
    for (name, scenario) in [
        ("oltp_read_only", Scenario::ReadOnly),
        ("oltp_read_write", Scenario::ReadWrite),
    ] {
        for (transport, libraries) in [
            (Transport::Plain, [None].as_slice()),
            (
                Transport::Tls13,
                &[Some(TlsLibrary::OpenSsl), Some(TlsLibrary::Rustls)],
            ),
        ] {
            let call = Call {
                scenario: name,
                dataset: &TABLES.dataset,
                transport,
                connections: CONNECTIONS,
            };
            let mut engines = libraries
                .iter()
                .map(|library| engine(ground, transport, *library, scenario))
                .collect::<Result<Vec<Engine>>>()?;
            let statements = statements(ground, sysbench, &call, &mut engines[0])?;
            let contestants = in_turns(ground, sysbench, &call, &mut engines, SECONDS, repeats)?;
            let (theirs, ours) = contestants.split_first().ok_or("a cell has contestants")?;
            let share = share_of_starting(sysbench, &call, theirs, SECONDS)?;
            for (library, ours) in libraries.iter().zip(ours) {
                let ratio = ours.client_us.over(&theirs.client_us);
                let library = library.map_or(String::new(), |library| format!(" by {}", library.name()));
                table.row([
                    format!("{name}, {transport}{library}"),
                    format!("{ratio:.2}"),
                    format!("≤ {BAR:.1}"),
                    if ratio.median() <= BAR { "yes" } else { "**no**" }.to_owned(),
                    format!("{:.2}", ratio.median() / (1.0 - share)),
                    format!("{:.1}", ours.client_us),
                    format!("{:.1}", theirs.client_us),
                    format!("{:.0}", ours.throughput),
                    format!("{:.0}", theirs.throughput),
                    statements.to_string(),
                ]);
            }
        }
    }
    document.paragraph(
        "sysbench's CPU is that of its whole process (user and system, from `wait4`), starting and connecting included; \
         ciphertax's is that of its load threads in the slice, both divided by their transactions. *Without sysbench's starting* \
         is the median ratio after what a run of sysbench with one transaction a connection takes was taken off its CPU. \
         Ratios are taken within a repeat. Both send the same statements, one at a time.",
    );
    document.table("Bars", &table);
    Ok(())
}

/// Statements of a transaction, which must be as many on both sides.
fn statements(ground: &Ground, sysbench: &Sysbench, call: &Call<'_>, engine: &mut Engine) -> Result<u64> {
    let one = Call {
        connections: 1,
        ..*call
    };
    let theirs = sysbench.run(&one, Limit::Transactions(10))?;
    let theirs = theirs.queries / theirs.transactions;
    let slice = Slice::measure(ground.cpu(), engine, 0, Duration::from_millis(100))?;
    // What a transaction that was begun anew had sent before comes on top.
    let ours = slice.queries / slice.operations;
    if ours != theirs {
        return Err(format!("sysbench sends {theirs} statements a transaction, ciphertax {ours}").into());
    }
    Ok(ours)
}

fn engine(
    ground: &Ground,
    transport: Transport,
    library: Option<TlsLibrary>,
    scenario: Scenario,
) -> Result<Engine> {
    let workload = Oltp {
        access: ground
            .login(transport)
            .access_by(library.unwrap_or_default(), Resumption::Off)?,
        tables: TABLES,
        scenario,
    };
    Ok(Engine::start(vec![workload], &load(CONNECTIONS), 1)?)
}

//! Ten thousand connections: how soon they are open, what memory they take, and whether response times suffer.

mod memory;
mod responses;

use std::process::ExitCode;

use ciphertax_bench::{Document, Ground, Result, TABLES};
use ciphertax_lab::PrivateServer;
use ciphertax_lab::catalogue::MARIADB;
use ciphertax_model::CertificateKind;
use ciphertax_supervise::child::raise_limit_of_files;
use clap::{Parser, Subcommand};

/// Ten thousand connections: how soon they are open, what memory they take, and whether response times suffer.
#[derive(Parser)]
struct Arguments {
    /// How often each figure is measured
    #[arg(long, default_value_t = 5)]
    repeats: u32,
    /// Connections
    #[arg(long, default_value_t = 10_000)]
    connections: u32,
    #[command(subcommand)]
    part: Option<Part>,
}

#[derive(Subcommand)]
enum Part {
    /// Opens connections and tells the memory they take; reads where to from standard input
    #[command(hide = true)]
    Memory,
    /// Sends back what it gets
    #[command(hide = true)]
    Echo,
}

fn main() -> ExitCode {
    ciphertax_bench::main(|| {
        let arguments = Arguments::parse();
        raise_limit_of_files()?;
        match arguments.part {
            Some(Part::Memory) => memory::tell(),
            Some(Part::Echo) => responses::serve(),
            None => measure(&arguments),
        }
    })
}

fn measure(arguments: &Arguments) -> Result<()> {
    let Arguments {
        repeats, connections, ..
    } = *arguments;
    let server = PrivateServer::builder(&MARIADB)
        .certificate(CertificateKind::EcdsaP256)
        .connections(connections + 100);
    let mut ground = Ground::prepare_on(server, &TABLES.dataset)?;
    let mut document = Document::new("Ten thousand connections", "connections");
    document.fact("server", ground.identity()?);
    document.fact("asked", format!("{repeats} repeats, {connections} connections"));
    document.paragraph(
        "Opened: connections per second, each logged in and with its statement prepared, to a MariaDB on the same CPUs, with its thread \
         pool beyond 2,000, and the CPU time that takes the client. Memory: growth of the resident set of a process (`VmRSS`) by the \
         open connections, and after every one of them has asked for a row at least once. OpenSSL gives the buffers of idle \
         connections back here, as it does where a cell has more than 1,000 connections.",
    );
    document.table(
        "Opening and memory",
        &memory::measure(&ground, connections, repeats)?,
    );
    document.paragraph(&format!(
        "Response times: a server of our own that sends back what it gets, {} operations begun per second at even distances, by {} and by \
         {connections} connections in turns. The ratio is that of the same repeat.",
        responses::RATE,
        responses::FEW,
    ));
    document.table("Response times", &responses::measure(connections, repeats)?);
    print!("{document}");
    Ok(())
}

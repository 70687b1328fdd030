//! What the load engine itself takes: CPU time per operation, memory per connection, and whether many connections are
//! served as soon as few.
//!
//! ```sh
//! cargo run --release --manifest-path bench/Cargo.toml --bin engine > record/engine.md
//! ```
//!
//! It opens ten thousand connections to a private MariaDB, which takes about 1 GiB; `--connections` asks for fewer.

mod cost;
mod memory;
mod responses;

use std::process::ExitCode;

use ciphertax_bench::{Document, MariadbGround, Result, TABLES};
use ciphertax_lab::PrivateServer;
use ciphertax_lab::catalogue::MARIADB;
use ciphertax_model::CertificateKind;
use ciphertax_supervise::child::raise_limit_of_files;
use clap::{Parser, Subcommand};

/// The load engine's own cost, and many connections: one Markdown document on standard output.
#[derive(Parser)]
struct Arguments {
    /// How often each figure is measured
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..))]
    repeats: u32,
    /// Connections where there are many
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..))]
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
    let ground = MariadbGround::prepare_on(server, &TABLES.dataset)?;
    let mut document = Document::new("The engine's own cost, and many connections", "engine");
    document.fact("server", &ground.identity);
    let asked = format!("{repeats} repeats, up to {connections} connections");
    document.fact("asked", asked);
    cost::measure(&mut document, &ground, repeats)?;
    memory::measure(&mut document, &ground, connections, repeats)?;
    responses::measure(&mut document, connections, repeats)?;
    print!("{document}");
    Ok(())
}

//! What the method's choices bring, and cost: the figures behind METHODOLOGY.md.
//!
//! ```sh
//! cargo run --release --manifest-path bench/Cargo.toml --bin methodology -- --question pairing > record/pairing.md
//! ```
//!
//! | question | what is measured |
//! |---|---|
//! | `pairing` | the error of "one, then the other", of pairs, and of blocks and their location as in a run; draws `docs/pairing.svg` |
//! | `placement` | figures and their noise by where the threads of server and load run |
//! | `poll-delay` | what a poll delay does to latency, to the client's cost, and to the measured cost of TLS |
//! | `looking` | what profiling a server, and watching what its threads wait for, costs it, and how much of it has a name |
//!
//! All of them ask a private MariaDB for rows of one table by their ids, in plaintext and over TLS 1.3.

mod figure;
mod looking;
mod pairing;
mod placement;
mod poll_delay;

use std::process::ExitCode;

use ciphertax_bench::{Document, MariadbGround, Result, TABLES};
use ciphertax_model::Transport;
use ciphertax_workload::mysql::MysqlAccess;
use ciphertax_workload::sql::PointSelect;
use clap::{Parser, ValueEnum};

/// What the method's choices bring, and cost: one Markdown document on standard output.
#[derive(Parser)]
struct Arguments {
    /// Which choice
    #[arg(long, value_enum)]
    question: Question,
    /// How often each figure is measured [default: 10 for pairing, 15 for placement, 40 for poll-delay, 30 for looking]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    repeats: Option<u32>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Question {
    Pairing,
    Placement,
    PollDelay,
    Looking,
}

fn main() -> ExitCode {
    ciphertax_bench::main(|| {
        let arguments = Arguments::parse();
        let (title, repeats, measure): (_, _, fn(&mut Document, u32) -> Result<()>) = match arguments.question
        {
            Question::Pairing => ("What pairing buys", 10, pairing::measure),
            Question::Placement => ("Where the threads run", 15, placement::measure),
            Question::PollDelay => ("What a poll delay does", 40, poll_delay::measure),
            Question::Looking => ("What looking into a server costs", 30, looking::measure),
        };
        let mut document = Document::new(title, "methodology");
        measure(&mut document, arguments.repeats.unwrap_or(repeats))?;
        print!("{document}");
        Ok(())
    })
}

/// An arm for each transport.
fn point_selects(ground: &MariadbGround, transports: &[Transport]) -> Result<Vec<PointSelect<MysqlAccess>>> {
    let arm = |transport: &Transport| {
        Ok(PointSelect {
            access: ground.access(*transport)?,
            tables: TABLES,
        })
    };
    transports.iter().map(arm).collect()
}

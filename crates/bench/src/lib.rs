//! Parts shared by the benchmarks.
//!
//! Each program of this crate measures one thing, tells its progress on standard error and prints a Markdown document
//! for `record/` on standard output. What is compared is measured in turns, several times, and given as the median of
//! the ratios within a repeat: an absolute figure, or a single run, says nothing about another machine.

pub mod bare;
pub mod beside_sysbench;
pub mod child;
mod client_certificate;
pub mod derivation;
mod document;
pub mod driver;
mod go_program;
mod ground;
mod mongodb_ground;
pub mod pgbench;
mod postgresql_ground;
mod repeats;
mod server_cpu;
mod slice;
pub mod sysbench;
mod tpcc_peer;

use std::error::Error;
use std::process::ExitCode;

pub use document::{Document, Table};
pub use go_program::GoProgram;
pub use ground::{Ground, Login, ROWS, TABLES};
pub use mongodb_ground::MongodbGround;
pub use postgresql_ground::PostgresqlGround;
pub use repeats::Repeats;
pub use server_cpu::ServerCpu;
pub use slice::Slice;
pub use tpcc_peer::{Counted, TpccPeer};

/// Result of a benchmark; its errors are for a reader alone.
pub type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The `main` of every benchmark: it is the guard of its own private server too (see [`ciphertax_supervise::guard`]).
pub fn main(run: impl FnOnce() -> Result<()>) -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some("guard") {
        return ciphertax_supervise::guard::main();
    }
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

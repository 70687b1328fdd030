//! Parts shared by the programs that measure ciphertax itself.
//!
//! - `peers` sets ciphertax beside its best peer, workload by workload: client CPU per operation;
//! - `engine` says what the load engine itself takes: CPU time per operation, memory per connection, many connections;
//! - `methodology` says what the method's choices bring and cost: pairing, placement, poll delay, looking into a server.
//!
//! Each tells its progress on standard error and prints a Markdown document for `record/` on standard output. What is
//! compared is measured in turns, several times, and given as the median of the ratios within a repeat: an absolute
//! figure, or a single run, says nothing about another machine.

mod document;
mod ground;
mod repeats;
mod slice;
mod turns;

use std::error::Error;
use std::process::ExitCode;

pub use document::{Document, Table};
pub use ground::{Ground, Login, MariadbGround, MongodbGround, PostgresqlGround, ROWS, TABLES};
pub use repeats::Repeats;
pub use slice::{Slice, load, prepare, quiet_ns, start};
pub use turns::{
    Figures, Measured, NO_BAR, PeerTable, at_least, at_most, billing, cpu_of_call, in_turns, met,
};

/// Result of a benchmark; its errors are for a reader alone.
pub type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The `main` of every program: it is the guard of its own private server too (see [`ciphertax_supervise::guard`]).
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

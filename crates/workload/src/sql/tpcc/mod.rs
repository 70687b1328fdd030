//! TPC-C's five transactions (revision 5.11, clause 2), in the shape of BenchmarkSQL's statements.

mod ask;
mod columns;
mod deck;
mod delivery;
mod inputs;
mod new_order;
mod payment;
mod read_only;
mod statements;
mod terminal;
#[cfg(test)]
mod tests;
mod values;

use ciphertax_engine::{Engine, EngineError};

use super::session::SqlSession;
use crate::dataset::tpcc::{TableNames, TpccContents};
use crate::driver::{Access, Job};

pub(super) use statements::MOST_STATEMENTS;
pub use terminal::{Terminal, Terminals};

/// Draws the constants of a run from those of its tables: the same for all cells, whose orders lie in the same tables.
const RUN: u64 = 1;

/// Starts the load threads: a terminal a connection, fixed to its warehouse and district.
pub(crate) fn start<C: Access<Session: SqlSession>>(
    job: &Job<'_>,
    clients: &[C],
) -> Result<Option<Engine>, EngineError> {
    let contents = TpccContents::of(job.study);
    let arms = (0..).zip(clients).map(|(arm, access)| {
        let columns = job.columns.get(arm).cloned().unwrap_or_default();
        Terminals {
            access: access.clone(),
            tables: job.study.tpcc,
            names: names(&contents, columns.set),
            columns,
            seed: RUN,
        }
    });
    job.start(arms)
}

/// What the tables of an arm are called.
fn names(contents: &TpccContents, set: u32) -> TableNames {
    let own = contents.sets.get(set as usize).or(contents.sets.first());
    own.map_or(TableNames::ONLY, |set| set.names)
}

//! TPC-C's tables (revision 5.11, clauses 1.3 and 4.3): one set of them, or one for each arm where arms store cells of their own.

mod check;
mod config;
mod contents;
pub(super) mod load;
mod population;
mod random;
mod state;
mod table;
mod writer;

use std::rc::Rc;

use ciphertax_reactor::Reactor;

use super::mark::{DatasetError, SCHEMA};
use crate::sql::SqlSession;

pub use check::{ConditionResult, Counted, Outcome, When, check, same_contents};
pub use config::Constants;
pub use contents::{TpccContents, TpccSet};
pub use random::{LAST_NAME_LENGTH, LastName, last_name, nurand};
pub use state::{GROWN, growth};
pub use table::TableNames;

/// Makes all sets anew, over sessions of its own, as they were before anything was asked. `opened` gets the numbers of the sessions,
/// which a server may still work for when this was given up. `progress` hears the rows that are there, each time that it is more.
///
/// # Errors
/// When the server refuses, or somebody wants to stop: what is there then is made whole by the next load.
pub async fn restore<S: SqlSession>(
    reactor: &Rc<Reactor>,
    options: &S::Options,
    contents: &TpccContents,
    opened: &mut Vec<u32>,
    progress: &mut dyn FnMut(u64),
) -> Result<(), DatasetError> {
    let inside = S::within(options, Some(SCHEMA));
    load::restore::<S>(reactor, &inside, contents, opened, progress).await
}

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

pub use check::{ConditionResult, Counted, Outcome, When, check, same_contents};
pub use config::Constants;
pub use contents::{TpccContents, TpccSet};
pub use load::restore;
pub use random::{LAST_NAME_LENGTH, LastName, last_name, nurand};
pub use state::{GROWN, growth};
pub use table::TableNames;

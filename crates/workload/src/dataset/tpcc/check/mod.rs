//! Whether TPC-C's tables are consistent: the twelve conditions of clause 3.3.2 (revision 5.11), and what they cannot see.
//!
//! The conditions are asked of four kinds of rows, each joined with sums of the other tables, so that no table is read more
//! often than there are kinds of rows that need it. A server plans these joins well only where it has counted the tables
//! (`ANALYZE`): without, they take thirty times as long.
//!
//! Condition 11 (clause 3.3.2.11) holds as it is written only before the first delivery: a district has 2,100 more orders than
//! new orders. It is asked here as what holds at all times: as many more as were delivered when it was loaded, and as its
//! customers have had delivered since (`c_delivery_cnt`). All others hold at all times as they are written.
//!
//! The six queries of the published study are parts of conditions 1 (in both directions), 2 (against both tables), 3 and 4.

mod condition;
mod counted;
mod examination;
mod population;
mod query;
#[cfg(test)]
mod real_servers;
mod same_contents;
mod skew;
mod subject;
mod subjects;
mod totals;

use ciphertax_model::Tpcc;

use self::examination::{Examination, Examined};
use self::population::Population;
use super::names::TableNames;
use crate::dataset::mark::DatasetError;
use crate::sql::session::SqlSession;

pub use condition::{ConditionResult, Outcome};
pub use counted::{Counted, When};
pub use same_contents::same_contents;

/// Makes sure that a set of tables is consistent, and tells which conditions hold and which could not be asked. Nobody may
/// write meanwhile. `encrypted` are the columns that hold cells, each with its table: they are compared for equality where
/// they are keys, and no condition that computes with one is asked.
///
/// # Errors
/// [`DatasetError::Inconsistent`] when a condition does not hold; or the server refuses.
pub async fn check(
    session: &mut impl SqlSession,
    names: TableNames,
    tables: &Tpcc,
    when: When,
    encrypted: &[(&str, &str)],
) -> Result<Vec<ConditionResult>, DatasetError> {
    let examination = Examination {
        names,
        population: Population::of(tables),
        when,
        encrypted,
    };
    derive_once(session).await?;
    let examined = examination.of(session).await?;
    verdict(examined)
}

/// MariaDB would otherwise sum up all lines for each customer once its statistics are a little different, which takes hours.
async fn derive_once<S: SqlSession>(session: &mut S) -> Result<(), DatasetError> {
    let Some(statement) = S::DIALECT.derive_once else {
        return Ok(());
    };
    match session.command(statement).await {
        Err(error) if !error.is_refusal() => Err(error.into()),
        _ => Ok(()),
    }
}

/// What holds and what was not asked; or the first condition that does not hold, and the clauses of all others.
fn verdict(examined: Vec<Examined>) -> Result<Vec<ConditionResult>, DatasetError> {
    let mut results = Vec::with_capacity(examined.len());
    let mut broken = Vec::new();
    for Examined {
        clause,
        condition,
        in_study,
        verdict,
    } in examined
    {
        match verdict {
            Ok(outcome) => results.push(ConditionResult {
                clause,
                condition,
                in_study,
                outcome,
            }),
            Err(rows) => broken.push((clause, condition, rows)),
        }
    }
    let mut broken = broken.into_iter();
    match broken.next() {
        None => Ok(results),
        Some((clause, condition, rows)) => Err(DatasetError::Inconsistent {
            condition,
            clause,
            rows,
            others: broken.map(|(clause, ..)| clause).collect(),
        }),
    }
}

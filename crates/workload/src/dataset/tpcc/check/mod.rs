//! Consistency of TPC-C's tables: the twelve conditions of clause 3.3.2 (revision 5.11), and what they cannot see.
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
#[cfg(test)]
mod real_servers;
mod subjects;
mod totals;

use std::collections::HashMap;

use ciphertax_model::Tpcc;

use self::totals::Population;
use super::table::TableNames;
use crate::dataset::SCHEMA;
use crate::dataset::mark::{DatasetError, Result};
use crate::sql::session::{SqlSession, TextRow};
use condition::{Condition, Measure, Query, Subject};
use subjects::SUBJECTS;
use totals::Measured;

pub use condition::{ConditionResult, Counted, Outcome, When};

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
) -> Result<Vec<ConditionResult>> {
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
async fn derive_once<S: SqlSession>(session: &mut S) -> Result<()> {
    let Some(statement) = S::DIALECT.derive_once else {
        return Ok(());
    };
    match session.command(statement).await {
        Err(error) if !error.is_refusal() => Err(error.into()),
        _ => Ok(()),
    }
}

/// What holds and what was not asked; or the first condition that does not hold, and the clauses of all others.
fn verdict(examined: Vec<Examined>) -> Result<Vec<ConditionResult>> {
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

/// What is asked of which tables.
struct Examination<'a> {
    names: TableNames,
    population: Population,
    when: When,
    encrypted: &'a [(&'a str, &'a str)],
}

/// A condition, and what came of it: the rows where it is broken.
#[derive(Debug)]
struct Examined {
    clause: &'static str,
    condition: &'static str,
    in_study: bool,
    verdict: Result<Outcome, Vec<String>>,
}

impl Examination<'_> {
    /// Asks all conditions, in the order of [`SUBJECTS`], and then those about all rows together.
    async fn of(&self, session: &mut impl SqlSession) -> Result<Vec<Examined>> {
        let mut examined = Vec::new();
        let mut measured = Measured::default();
        for subject in SUBJECTS {
            self.ask(session, subject, &mut examined, &mut measured).await?;
        }
        examined.push(self.count_items(session).await?);
        examined.extend(totals::examine(&self.population, self.when, &measured));
        Ok(examined)
    }

    async fn ask(
        &self,
        session: &mut impl SqlSession,
        subject: &'static Subject,
        examined: &mut Vec<Examined>,
        measured: &mut Measured,
    ) -> Result<()> {
        let query = Query {
            subject,
            names: self.names,
            population: self.population,
            encrypted: self.encrypted,
        };
        let in_the_way = |condition: &Condition| {
            let mut reasons = condition
                .values
                .iter()
                .filter_map(|value| query.in_the_way(value));
            reasons.next()
        };
        let conditions: Vec<(&Condition, Option<String>)> = subject
            .conditions
            .iter()
            .map(|condition| (condition, in_the_way(condition)))
            .collect();
        let asked: Vec<&Condition> = conditions
            .iter()
            .filter_map(|(condition, in_the_way)| in_the_way.is_none().then_some(*condition))
            .collect();
        let mut measures: Vec<&Measure> = Vec::new();
        for measure in subject.measures {
            match query.in_the_way(measure.of) {
                None => measures.push(measure),
                Some(because) => measured.miss(measure.name, because),
            }
        }
        let rows = session.query(&query.summary(&asked, &measures)).await?;
        let number = |column: usize| rows.first().and_then(|row| row.text(column).parse::<f64>().ok());
        let of = number(0).unwrap_or_default();
        // Over no rows, sums are NULL.
        let mut sums = (1..).map(|column| number(column).unwrap_or_default());
        let mut broken: HashMap<&str, bool> = HashMap::new();
        for condition in &asked {
            broken.insert(condition.says, sums.next().is_some_and(|rows| rows != 0.0));
        }
        for (measure, sum) in measures.iter().zip(sums) {
            measured.set(measure.name, sum);
        }
        measured.set(subject.table, of);
        for (condition, in_the_way) in conditions {
            let verdict = match in_the_way {
                Some(because) => Ok(Outcome::NotAsked { because }),
                None if broken[condition.says] => Err(self.broken_rows(session, &query, condition).await?),
                None => Ok(Outcome::Holds { of: of as u64 }),
            };
            examined.push(Examined {
                clause: condition.clause,
                condition: condition.says,
                in_study: condition.in_study,
                verdict,
            });
        }
        Ok(())
    }

    /// As `w_id = 1, w_ytd = 300000.00, districts_ytd = 300000.01`.
    async fn broken_rows(
        &self,
        session: &mut impl SqlSession,
        query: &Query<'_>,
        condition: &Condition,
    ) -> Result<Vec<String>> {
        let (names, question) = query.broken(condition);
        let rows = session.query(&question).await?;
        let value = |row: &TextRow, column| match row.text(column) {
            text if text.is_empty() => "NULL".to_owned(),
            text if text.contains(|c: char| c.is_control() || c == char::REPLACEMENT_CHARACTER) => {
                "(a cell)".to_owned()
            }
            text => text,
        };
        let told = |row| {
            let values = names.iter().enumerate();
            let values: Vec<String> = values
                .map(|(column, name)| format!("{name} = {}", value(row, column)))
                .collect();
            values.join(", ")
        };
        Ok(rows.iter().map(told).collect())
    }

    async fn count_items(&self, session: &mut impl SqlSession) -> Result<Examined> {
        let item = self.names.of("item");
        let question = format!("SELECT COUNT(*) FROM {}.{item}", SCHEMA.quoted());
        let rows = session.query(&question).await?;
        let found = rows.first().map(|row| row.text(0)).unwrap_or_default();
        let expected = self.population.items;
        Ok(Examined {
            clause: "1.2.1",
            condition: "all items are there",
            in_study: false,
            verdict: match found == expected.to_string() {
                true => Ok(Outcome::Holds { of: expected.into() }),
                false => Err(vec![format!("{item} has {found} rows, expected {expected}")]),
            },
        })
    }
}

/// Tables with their columns that are summed up, or counted where they are not NULL. What depends on the order in which concurrent
/// transactions came is none of them: which orders are delivered, and so balances and dates.
const SUMS: [(&str, &[&str]); 9] = [
    ("warehouse", &["w_ytd", "w_tax"]),
    ("district", &["d_ytd", "d_tax", "d_next_o_id"]),
    (
        "customer",
        &["c_ytd_payment", "c_payment_cnt", "c_delivery_cnt", "c_discount"],
    ),
    ("history", &["h_amount"]),
    ("new_order", &["no_o_id"]),
    ("oorder", &["o_id", "o_c_id", "o_ol_cnt", "o_all_local"]),
    (
        "order_line",
        &[
            "ol_number",
            "ol_i_id",
            "ol_supply_w_id",
            "ol_quantity",
            "ol_amount",
        ],
    ),
    ("item", &["i_im_id", "i_price"]),
    ("stock", &["s_quantity", "s_ytd", "s_order_cnt", "s_remote_cnt"]),
];

/// Makes sure that sets of tables hold the same, by counts and sums of the columns that hold cells in none of them: `encrypted` are
/// those that do in any, each with its table. Nobody may write meanwhile.
///
/// # Errors
/// [`DatasetError::Inconsistent`] with what differs; or the server refuses.
pub async fn same_contents(
    session: &mut impl SqlSession,
    sets: &[TableNames],
    encrypted: &[(&str, &str)],
) -> Result<()> {
    let Some((first, others)) = sets.split_first() else {
        return Ok(());
    };
    let mut differences = Vec::new();
    for (table, columns) in SUMS {
        let is_plain = |column: &&&str| !encrypted.contains(&(table, **column));
        let sums = columns
            .iter()
            .filter(is_plain)
            .map(|column| format!("SUM({column})"));
        let asked: Vec<String> = std::iter::once("COUNT(*)".to_owned()).chain(sums).collect();
        let expected = sums_of(session, *first, table, &asked).await?;
        for other in others {
            let found = sums_of(session, *other, table, &asked).await?;
            let all = asked.iter().zip(expected.iter().zip(&found));
            let differing = all.filter(|(_, (expected, found))| expected != found);
            differences.extend(differing.map(|(what, (expected, found))| {
                let (here, there) = (first.of(table), other.of(table));
                format!("{what} is {expected} of {here}, {found} of {there}")
            }));
        }
    }
    match differences.is_empty() {
        true => Ok(()),
        false => {
            differences.truncate(5);
            Err(DatasetError::Inconsistent {
                condition: "all sets of tables hold the same after the same transactions",
                clause: "4.3.3.1",
                rows: differences,
                others: Vec::new(),
            })
        }
    }
}

async fn sums_of(
    session: &mut impl SqlSession,
    set: TableNames,
    table: &'static str,
    asked: &[String],
) -> Result<Vec<String>> {
    let name = set.of(table);
    let rows = session
        .query(&format!(
            "SELECT {} FROM {}.{name}",
            asked.join(", "),
            SCHEMA.quoted()
        ))
        .await?;
    let text = |column| rows.first().map(|row| row.text(column)).unwrap_or_default();
    Ok((0..asked.len()).map(text).collect())
}

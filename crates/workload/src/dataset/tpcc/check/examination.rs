//! All conditions, asked of a set of tables.

use std::collections::HashMap;

use super::condition::{Condition, Outcome};
use super::counted::When;
use super::population::Population;
use super::query::Query;

use super::subject::{Measure, Subject};
use super::subjects::SUBJECTS;
use super::totals::{self, Measured};
use crate::dataset::mark::DatasetError;
use crate::dataset::tpcc::names::TableNames;
use crate::sql::session::{SqlSession, TextRow};

/// What is asked of which tables.
pub(super) struct Examination<'a> {
    pub(super) names: TableNames,
    pub(super) population: Population,
    pub(super) when: When,
    pub(super) encrypted: &'a [(&'a str, &'a str)],
}

/// A condition, and what came of it: the rows where it is broken.
#[derive(Debug)]
pub(super) struct Examined {
    pub(super) clause: &'static str,
    pub(super) condition: &'static str,
    pub(super) in_study: bool,
    pub(super) verdict: Result<Outcome, Vec<String>>,
}

impl Examination<'_> {
    /// Asks all conditions, in the order of [`SUBJECTS`], and then those about all rows together.
    pub(super) async fn of(&self, session: &mut impl SqlSession) -> Result<Vec<Examined>, DatasetError> {
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
    ) -> Result<(), DatasetError> {
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
    ) -> Result<Vec<String>, DatasetError> {
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

    async fn count_items(&self, session: &mut impl SqlSession) -> Result<Examined, DatasetError> {
        let item = self.names.of("item");
        let question = format!("SELECT COUNT(*) FROM {}.{item}", crate::dataset::SCHEMA);
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

//! The questions that conditions are asked by.

use ciphertax_model::tpcc::TABLES;

use super::condition::Condition;
use super::population::Population;
use super::subject::{Join, Measure, Side, Subject, Value};
use crate::dataset::mark::SCHEMA;
use crate::dataset::tpcc::names::TableNames;

/// Rows that are told of a broken condition.
const TOLD: u32 = 5;

/// Asks for one kind of rows of a set of tables.
pub(super) struct Query<'a> {
    pub(super) subject: &'static Subject,
    pub(super) names: TableNames,
    pub(super) population: Population,
    pub(super) encrypted: &'a [(&'a str, &'a str)],
}

impl Query<'_> {
    /// Why a value cannot be computed with, as `order_line.ol_quantity holds cells`; `None` where it can.
    pub(super) fn in_the_way(&self, value: &str) -> Option<String> {
        let of_row = self.subject.values.iter().find(|known| known.name == value);
        let cells = match (of_row, self.side_of(value)) {
            (Some(value), _) => self.cells(value.columns),
            (None, Some((side, value))) => self.cells_of_side(side).or(self.cells(value.columns)),
            (None, None) => None,
        };
        cells.map(|column| format!("{column} holds cells"))
    }

    /// Counts all rows, those that break each of these conditions, and the measures, in this order.
    pub(super) fn summary(&self, conditions: &[&Condition], measures: &[&Measure]) -> String {
        let broken = conditions
            .iter()
            .map(|condition| format!("SUM({})", self.is_broken(condition)));
        let counts: Vec<String> = std::iter::once("COUNT(*)".to_owned())
            .chain(broken)
            .chain(measures.iter().map(|measure| measure.sql.to_owned()))
            .collect();
        let values = conditions
            .iter()
            .flat_map(|condition| condition.values.iter().copied());
        let values: Vec<&str> = values.chain(measures.iter().map(|measure| measure.of)).collect();
        format!(
            "SELECT {} FROM ({}) subjects",
            counts.join(", "),
            self.rows(&values)
        )
    }

    /// The first rows that break a condition: the names of what is told of each, and the question.
    pub(super) fn broken(&self, condition: &Condition) -> (Vec<&'static str>, String) {
        let keys = self.subject.keys;
        let told: Vec<&'static str> = keys.iter().chain(condition.values).copied().collect();
        let question = format!(
            "SELECT {} FROM ({}) subjects WHERE {} = 1 ORDER BY {} LIMIT {TOLD}",
            told.join(", "),
            self.rows(condition.values),
            self.is_broken(condition),
            keys.join(", "),
        );
        (told, question)
    }

    /// 1 for a row that breaks a condition; what is not known does.
    fn is_broken(&self, condition: &Condition) -> String {
        let holds = self.filled(condition.holds);
        format!("CASE WHEN {holds} THEN 0 ELSE 1 END")
    }

    /// All rows with their keys and these values.
    fn rows(&self, values: &[&str]) -> String {
        let mut selected: Vec<String> = self.subject.keys.iter().map(|key| (*key).to_owned()).collect();
        let mut joined = String::new();
        let is_asked = |value: &&Value| values.contains(&value.name);
        for Value { name, sql, .. } in self.subject.values.iter().filter(is_asked) {
            selected.push(format!("{sql} AS {name}"));
        }
        for (number, side) in self.subject.sides.iter().enumerate() {
            let values: Vec<&Value> = side.values.iter().filter(is_asked).collect();
            if !values.is_empty() {
                selected.extend(values.iter().map(|value| value.name.to_owned()));
                joined.push_str(&self.joined(side, &values, number));
            }
        }
        let table = format!("{{{}}}", self.subject.table);
        self.filled(&format!("SELECT {} FROM {table}{joined}", selected.join(", ")))
    }

    fn joined(&self, side: &Side, values: &[&Value], number: usize) -> String {
        let keys: Vec<&str> = side.keys.iter().map(|(own, _)| *own).collect();
        let keys = keys.join(", ");
        let values: Vec<String> = values
            .iter()
            .map(|Value { name, sql, .. }| format!("{sql} AS {name}"))
            .collect();
        let equal: Vec<String> = side
            .keys
            .iter()
            .map(|(own, of_row)| format!("{own} = {of_row}"))
            .collect();
        format!(
            " LEFT JOIN (SELECT {keys}, {} FROM {} GROUP BY {keys}) side{number} ON {}",
            values.join(", "),
            side.from,
            equal.join(" AND ")
        )
    }

    /// With the names of tables and numbers of rows in the place of `{customer}`, `{orders}` and so on.
    fn filled(&self, sql: &str) -> String {
        let Population {
            customers,
            orders,
            delivered,
            items,
            ..
        } = self.population;
        let numbers = [
            ("{customers}", customers),
            ("{orders}", orders),
            ("{delivered}", delivered),
            ("{items}", items),
        ];
        let sql = numbers.iter().fold(sql.to_owned(), |sql, (name, number)| {
            sql.replace(name, &number.to_string())
        });
        TABLES.into_iter().fold(sql, |sql, table| {
            let name = format!("{SCHEMA}.{}", self.names.of(table));
            sql.replace(&format!("{{{table}}}"), &name)
        })
    }

    fn side_of(&self, value: &str) -> Option<(&'static Side, &'static Value)> {
        self.subject.sides.iter().find_map(|side| {
            let found = side.values.iter().find(|known| known.name == value)?;
            Some((side, found))
        })
    }

    /// A column of a side's own that its sums need and that holds cells, or that is compared with such a column but holds none.
    fn cells_of_side(&self, side: &Side) -> Option<String> {
        let differ = |(one, other): &Join| match (self.cells(&[one]), self.cells(&[other])) {
            (Some(_), Some(_)) => None,
            (one, other) => one.or(other),
        };
        let keys = side.keys.iter().chain(side.inner_keys);
        keys.into_iter().find_map(differ).or(self.cells(side.columns))
    }

    /// The first of these columns that holds cells, with its table.
    fn cells(&self, columns: &[&str]) -> Option<String> {
        let holds_cells = |name: &&str| self.encrypted.iter().find(|(_, column)| column == name);
        let (table, column) = columns.iter().find_map(holds_cells)?;
        Some(format!("{table}.{column}"))
    }
}

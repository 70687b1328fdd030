//! Conditions, the rows that they are about, the questions that they are asked by, and what came of them.

use ciphertax_model::tpcc::TABLES;

use super::totals::Population;
use crate::dataset::SCHEMA;
use crate::dataset::tpcc::table::TableNames;

/// A condition that every row of a kind meets.
#[derive(Debug, Clone, Copy)]
pub(super) struct Condition {
    pub(super) clause: &'static str,
    pub(super) says: &'static str,
    /// True if the published study asks it too.
    pub(super) in_study: bool,
    /// The values that it is about, by their names.
    pub(super) values: &'static [&'static str],
    /// What is true of them.
    pub(super) holds: &'static str,
}

/// A condition that holds, or was not asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConditionResult {
    /// The clause of the specification that demands it: `3.3.2.1` to `3.3.2.12` for the twelve conditions, another for what they
    /// cannot see.
    pub clause: &'static str,
    /// What it says.
    pub condition: &'static str,
    /// True if the published study asks it too.
    pub in_study: bool,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of a condition that is not broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It holds.
    Holds {
        /// For so many rows, or draws.
        of: u64,
    },
    /// It was not asked.
    NotAsked {
        /// Why: for example `order_line.ol_quantity holds cells`.
        because: String,
    },
}

/// Rows of a table that conditions are about.
#[derive(Debug)]
pub(super) struct Subject {
    pub(super) table: &'static str,
    pub(super) keys: &'static [&'static str],
    /// Of the row itself.
    pub(super) values: &'static [Value],
    pub(super) sides: &'static [Side],
    pub(super) conditions: &'static [Condition],
    /// Values that are summed up over all rows.
    pub(super) measures: &'static [Measure],
}

/// What is summed up of another table for each row of a [`Subject`].
#[derive(Debug)]
pub(super) struct Side {
    /// The columns that it is grouped by, each with the one of the row that it equals.
    pub(super) keys: &'static [Join],
    /// The same of tables that it is joined of.
    pub(super) inner_keys: &'static [Join],
    /// Columns that it computes with besides those of its values.
    pub(super) columns: &'static [&'static str],
    /// What stands between its values and `GROUP BY`, tables as `{customer}`.
    pub(super) from: &'static str,
    pub(super) values: &'static [Value],
}

/// Two columns that are compared with each other.
pub(super) type Join = (&'static str, &'static str);

/// A value of a row, or of all rows of a group.
#[derive(Debug)]
pub(super) struct Value {
    pub(super) name: &'static str,
    pub(super) sql: &'static str,
    /// The columns that it computes with; being NULL or not is no computation.
    pub(super) columns: &'static [&'static str],
}

/// A number about all rows of a [`Subject`].
#[derive(Debug)]
pub(super) struct Measure {
    pub(super) name: &'static str,
    pub(super) sql: &'static str,
    /// The value that it is about, by its name.
    pub(super) of: &'static str,
}

/// A column as it is.
pub(super) const fn column(of: &'static [&'static str; 1]) -> Value {
    value(of[0], of[0], of)
}

pub(super) const fn value(name: &'static str, sql: &'static str, columns: &'static [&'static str]) -> Value {
    Value { name, sql, columns }
}

pub(super) const fn measure(name: &'static str, sql: &'static str, of: &'static str) -> Measure {
    Measure { name, sql, of }
}

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
            let name = format!("{}.{}", SCHEMA.quoted(), self.names.of(table));
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

/// When tables are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Before anything was asked of them.
    AfterLoad,
    /// After transactions, with what they counted since the load. `None` where not all of that is known, as of tables that another
    /// run has left: then nothing is asked that rests on it.
    AfterRun(Option<Counted>),
}

/// What a run counted of one set of tables, in all its slices since the load, those that no sample is made of too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counted {
    /// New-orders that were committed.
    pub new_orders: u64,
    /// New-orders that were rolled back because of an unused item (clause 2.4.1.4).
    pub rolled_back: u64,
    /// Payments that were committed.
    pub payments: u64,
    /// Orders that were delivered; a delivery delivers one in each district that has any.
    pub deliveries: u64,
    /// Transactions that write whose end nobody saw: the tables may show them or not.
    pub undecided: u64,
    /// How often each list of transactions was played against these tables: 1, or the number of arms that share them where a
    /// slice is a batch with one list for all arms. What was drawn once then shows so often.
    pub repeats: u32,
}

/// Of tables that nobody has asked anything yet.
impl Default for Counted {
    fn default() -> Self {
        Self {
            new_orders: 0,
            rolled_back: 0,
            payments: 0,
            deliveries: 0,
            undecided: 0,
            repeats: 1,
        }
    }
}

/// The share of new-orders that are rolled back (clause 2.4.1.4).
pub(super) const ROLLED_BACK: f64 = 0.01;
/// The share of lines from another warehouse, where there is one (clause 2.4.1.5).
pub(super) const REMOTE_LINES: f64 = 0.01;
/// The share of payments by customers of another warehouse, where there is one (clause 2.5.1.2).
pub(super) const REMOTE_PAYMENTS: f64 = 0.15;

//! Statements as they are written here: `{customer}` is a table of the set, `:c_id` a value for that column, and what stands in
//! brackets is there once for each row.

use ciphertax_model::tpcc::{COLUMNS, SqlType, TpccColumn};

use crate::dataset::tpcc::TableNames;
use crate::sql::dialect::Dialect;

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Integer,
    /// Money or a rate.
    Decimal,
    Text,
    /// With its time, to the second.
    Date,
}

/// A column, or a value that is computed with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    /// `None` for what is no column's value.
    pub(super) known: Option<&'static TpccColumn>,
}

impl Column {
    /// The column of this name, which no other table has.
    pub(super) fn of(name: &'static str) -> Self {
        let known = COLUMNS.iter().find(|known| known.column == name);
        let kind = match known.map(|known| known.sql_type) {
            Some(SqlType::Integer) => Kind::Integer,
            Some(SqlType::Char(_) | SqlType::Varchar(_)) => Kind::Text,
            Some(SqlType::Timestamp) => Kind::Date,
            Some(SqlType::Decimal(..)) | None => Kind::Decimal,
        };
        Self { name, kind, known }
    }
}

/// A statement with its parameters and what its result has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Text {
    /// What stands before each parameter, and after the last.
    pub(super) pieces: Vec<String>,
    pub(super) parameters: Vec<Column>,
    /// The columns of its result; none of a statement that writes.
    pub(super) results: Vec<Column>,
}

impl Text {
    /// The statement of a template for so many rows.
    ///
    /// # Panics
    /// If the template is none, which a test of all rules out.
    pub(super) fn of(template: &'static str, rows: usize, names: TableNames, dialect: &Dialect) -> Self {
        let mut text = Self {
            pieces: vec![String::new()],
            parameters: Vec::new(),
            results: results(template),
        };
        match template.split_once('[') {
            None => text.push(template, names, dialect),
            Some((before, rest)) => {
                let (row, after) = rest.split_once(']').expect("every bracket is closed");
                text.push(before, names, dialect);
                for number in 0..rows {
                    if number > 0 {
                        text.push(",", names, dialect);
                    }
                    text.push(row, names, dialect);
                }
                text.push(after, names, dialect);
            }
        }
        text
    }

    /// With a mark for each parameter, as it is prepared.
    pub(super) fn prepared(&self, dialect: &Dialect) -> String {
        dialect.prepared(&self.pieces.join("?"))
    }

    fn push(&mut self, mut template: &'static str, names: TableNames, dialect: &Dialect) {
        while let Some(place) = template.find([':', '{']) {
            self.literally(&template[..place]);
            let rest = &template[place + 1..];
            if template.as_bytes()[place] == b':' {
                let end = rest
                    .find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
                    .unwrap_or(rest.len());
                self.parameters.push(Column::of(&rest[..end]));
                self.pieces.push(String::new());
                template = &rest[end..];
            } else {
                let (word, after) = rest.split_once('}').expect("every brace is closed");
                match word {
                    "for update" => self.literally(dialect.for_update),
                    "rows" => self.literally(dialect.before_rows),
                    table => self.literally(&names.of(table).to_string()),
                }
                template = after;
            }
        }
        self.literally(template);
    }

    fn literally(&mut self, text: &str) {
        if let Some(last) = self.pieces.last_mut() {
            last.push_str(text);
        }
    }
}

/// What a select asks for.
fn results(template: &'static str) -> Vec<Column> {
    let list = template
        .strip_prefix("SELECT ")
        .and_then(|rest| rest.split_once(" FROM "));
    let Some((list, _)) = list else {
        return Vec::new();
    };
    list.split(", ").map(Column::of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::mock::{MYSQL, POSTGRESQL};

    const LIST: &str = "SELECT s_i_id, SUM(s_ytd) FROM {stock} WHERE s_quantity < :s_quantity AND (s_w_id, s_i_id) IN \
         ({rows}[(:s_w_id, :s_i_id)]){for update}";

    #[test]
    fn a_template_becomes_a_statement_of_the_set_for_so_many_rows() {
        let text = Text::of(LIST, 2, TableNames::of_set(3), &MYSQL);
        let expected = "SELECT s_i_id, SUM(s_ytd) FROM stock_3 WHERE s_quantity < ? AND (s_w_id, s_i_id) IN ((?, ?),(?, ?)) FOR UPDATE";
        assert_eq!(text.prepared(&MYSQL), expected);
        let names = |columns: &[Column]| columns.iter().map(|column| column.name).collect::<Vec<_>>();
        let parameters = names(&text.parameters);
        assert_eq!(parameters, ["s_quantity", "s_w_id", "s_i_id", "s_w_id", "s_i_id"]);
        assert_eq!(names(&text.results), ["s_i_id", "SUM(s_ytd)"]);
        assert_eq!(text.results[0].known.map(|known| known.table), Some("stock"));
        assert_eq!(text.results[1].known, None);
        let text = Text::of(LIST, 1, TableNames::ONLY, &POSTGRESQL);
        let ending = "< $1 AND (s_w_id, s_i_id) IN (($2, $3)) FOR UPDATE";
        assert!(text.prepared(&POSTGRESQL).ends_with(ending));
    }
}

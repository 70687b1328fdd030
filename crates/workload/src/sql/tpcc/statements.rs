//! The statements of the five transactions, in BenchmarkSQL's shape: the same selects and writes in the same order, and as many
//! round trips.

use ciphertax_model::StatementKind;
use ciphertax_model::tpcc::{COLUMNS, SqlType, TpccColumn};
use ciphertax_wire::WireError;

use super::ask::{Ask, Asker, Bound};
use super::inputs::MOST_LINES;
use crate::dataset::tpcc::TableNames;
use crate::sql::Dialect;
use crate::sql::session::{SqlSession, Trouble};

/// Where statements are asked, and how.
#[derive(Debug, Clone, Copy)]
pub(super) struct Style {
    pub(super) names: TableNames,
    pub(super) kind: StatementKind,
}

/// The statements of a session.
pub(super) struct Statements<S: SqlSession> {
    pub(super) buyer: Ask<S>,
    pub(super) next_order: Ask<S>,
    pub(super) count_order: Ask<S>,
    pub(super) insert_order: Ask<S>,
    pub(super) insert_new_order: Ask<S>,
    pub(super) update_stock: Ask<S>,
    pub(super) pay_district: Ask<S>,
    pub(super) district: Ask<S>,
    pub(super) pay_warehouse: Ask<S>,
    pub(super) warehouse: Ask<S>,
    pub(super) payer: Ask<S>,
    pub(super) payer_data: Ask<S>,
    pub(super) pay: Ask<S>,
    pub(super) pay_with_data: Ask<S>,
    pub(super) insert_history: Ask<S>,
    pub(super) inquirer: Ask<S>,
    pub(super) last_order: Ask<S>,
    pub(super) lines: Ask<S>,
    pub(super) oldest: Ask<S>,
    pub(super) bill: Ask<S>,
    pub(super) low_stock: Ask<S>,
    pub(super) by_last_name: Ask<S>,
    pub(super) items: Many<S>,
    pub(super) stock: Many<S>,
    pub(super) insert_lines: Many<S>,
    pub(super) delete_oldest: Many<S>,
    pub(super) buyers: Many<S>,
    pub(super) carry: Many<S>,
    pub(super) deliver: Many<S>,
    pub(super) amounts: Many<S>,
}

/// Statements that a terminal has prepared, at most: those about one row, and those about several for each number of them, of lines for
/// three and of districts for five.
pub(crate) const MOST_STATEMENTS: u64 = 22 + 3 * MOST_LINES as u64 + 5 * 10;

impl<S: SqlSession> Statements<S> {
    /// Prepares those that are about one row; the others follow when they are needed.
    pub(super) async fn open(asker: &mut Asker<S>, style: Style) -> Result<Self, WireError> {
        let by_last_name = match asker.cells.are_stored(Column::of("c_first")) {
            true => BY_LAST_NAME_UNSORTED,
            false => BY_LAST_NAME,
        };
        Ok(Self {
            buyer: one(asker, style, BUYER).await?,
            next_order: one(asker, style, NEXT_ORDER).await?,
            count_order: one(asker, style, COUNT_ORDER).await?,
            insert_order: one(asker, style, INSERT_ORDER).await?,
            insert_new_order: one(asker, style, INSERT_NEW_ORDER).await?,
            update_stock: one(asker, style, UPDATE_STOCK).await?,
            pay_district: one(asker, style, PAY_DISTRICT).await?,
            district: one(asker, style, DISTRICT).await?,
            pay_warehouse: one(asker, style, PAY_WAREHOUSE).await?,
            warehouse: one(asker, style, WAREHOUSE).await?,
            payer: one(asker, style, PAYER).await?,
            payer_data: one(asker, style, PAYER_DATA).await?,
            pay: one(asker, style, PAY).await?,
            pay_with_data: one(asker, style, PAY_WITH_DATA).await?,
            insert_history: one(asker, style, INSERT_HISTORY).await?,
            inquirer: one(asker, style, INQUIRER).await?,
            last_order: one(asker, style, LAST_ORDER).await?,
            lines: one(asker, style, LINES).await?,
            oldest: one(asker, style, OLDEST).await?,
            bill: one(asker, style, BILL).await?,
            low_stock: one(asker, style, LOW_STOCK).await?,
            by_last_name: one(asker, style, by_last_name).await?,
            items: Many::new(style, ITEMS),
            stock: Many::new(style, STOCK),
            insert_lines: Many::new(style, INSERT_LINES),
            delete_oldest: Many::new(style, DELETE_OLDEST),
            buyers: Many::new(style, BUYERS),
            carry: Many::new(style, CARRY),
            deliver: Many::new(style, DELIVER),
            amounts: Many::new(style, AMOUNTS),
        })
    }
}

async fn one<S: SqlSession>(
    asker: &mut Asker<S>,
    style: Style,
    template: &'static str,
) -> Result<Ask<S>, WireError> {
    let text = Text::of(template, 1, style.names, &S::DIALECT);
    Ask::open(asker, text, style.kind).await
}

/// A statement about several rows, which is another for each number of them.
pub(super) struct Many<S: SqlSession> {
    style: Style,
    template: &'static str,
    /// By the number of rows; each is prepared when it is needed first.
    asks: [Option<Ask<S>>; MOST_LINES + 1],
}

impl<S: SqlSession> Many<S> {
    fn new(style: Style, template: &'static str) -> Self {
        Self {
            style,
            template,
            asks: std::array::from_fn(|_| None),
        }
    }

    /// The statement about so many rows, which takes their values.
    pub(super) async fn bind<'a>(
        &'a mut self,
        asker: &'a mut Asker<S>,
        rows: usize,
    ) -> Result<Bound<'a, S>, Trouble> {
        let ask = &mut self.asks[rows];
        if ask.is_none() {
            let text = Text::of(self.template, rows, self.style.names, &S::DIALECT);
            *ask = Some(Ask::open(asker, text, self.style.kind).await?);
        }
        // It was just put there.
        let ask = ask.as_mut().ok_or(Trouble::Restart)?;
        Ok(ask.bind(asker))
    }
}

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
///
/// Statements as they are written here: `{customer}` is a table of the set, `:c_id` a value for that column, and what stands in brackets
/// is there once for each row.
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

pub(super) const BUYER: &str = "SELECT c_discount, c_last, c_credit, w_tax FROM {customer} JOIN {warehouse} ON w_id = c_w_id \
     WHERE c_w_id = :c_w_id AND c_d_id = :c_d_id AND c_id = :c_id";
pub(super) const NEXT_ORDER: &str =
    "SELECT d_tax, d_next_o_id FROM {district} WHERE d_w_id = :d_w_id AND d_id = :d_id{for update}";
pub(super) const COUNT_ORDER: &str =
    "UPDATE {district} SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = :d_w_id AND d_id = :d_id";
pub(super) const INSERT_ORDER: &str = "INSERT INTO {oorder} (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) \
     VALUES (:o_id, :o_d_id, :o_w_id, :o_c_id, :o_entry_d, :o_ol_cnt, :o_all_local)";
pub(super) const INSERT_NEW_ORDER: &str =
    "INSERT INTO {new_order} (no_o_id, no_d_id, no_w_id) VALUES (:no_o_id, :no_d_id, :no_w_id)";
pub(super) const ITEMS: &str = "SELECT i_id, i_price, i_name, i_data FROM {item} WHERE i_id IN ([:i_id])";
/// Locked in the order of the primary key, so that no two orders wait for each other.
pub(super) const STOCK: &str = "SELECT s_i_id, s_w_id, s_quantity, s_data, s_dist_01, s_dist_02, s_dist_03, s_dist_04, \
     s_dist_05, s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10 FROM {stock} WHERE (s_w_id, s_i_id) IN ({rows}[(:s_w_id, \
     :s_i_id)]) ORDER BY s_w_id, s_i_id{for update}";
pub(super) const UPDATE_STOCK: &str = "UPDATE {stock} SET s_quantity = :s_quantity, s_ytd = s_ytd + :s_ytd, s_order_cnt = \
     s_order_cnt + 1, s_remote_cnt = s_remote_cnt + :s_remote_cnt WHERE s_w_id = :s_w_id AND s_i_id = :s_i_id";
pub(super) const INSERT_LINES: &str = "INSERT INTO {order_line} (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, \
     ol_quantity, ol_amount, ol_dist_info) VALUES [(:ol_o_id, :ol_d_id, :ol_w_id, :ol_number, :ol_i_id, :ol_supply_w_id, \
     :ol_quantity, :ol_amount, :ol_dist_info)]";

pub(super) const PAY_DISTRICT: &str = "UPDATE {district} SET d_ytd = d_ytd + CAST(:amount AS DECIMAL(12,2)) WHERE d_w_id = \
     :d_w_id AND d_id = :d_id";
pub(super) const DISTRICT: &str = "SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM {district} WHERE d_w_id = \
     :d_w_id AND d_id = :d_id";
pub(super) const PAY_WAREHOUSE: &str =
    "UPDATE {warehouse} SET w_ytd = w_ytd + CAST(:amount AS DECIMAL(12,2)) WHERE w_id = :w_id";
pub(super) const WAREHOUSE: &str =
    "SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM {warehouse} WHERE w_id = :w_id";
pub(super) const BY_LAST_NAME: &str = "SELECT c_id FROM {customer} WHERE c_w_id = :c_w_id AND c_d_id = :c_d_id AND c_last = \
     :c_last ORDER BY c_first";
/// Where first names are cells, the client sorts by them.
pub(super) const BY_LAST_NAME_UNSORTED: &str = "SELECT c_id, c_first FROM {customer} WHERE c_w_id = :c_w_id AND c_d_id = \
     :c_d_id AND c_last = :c_last";
pub(super) const PAYER: &str = "SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, \
     c_since, c_credit, c_credit_lim, c_discount, c_balance FROM {customer} WHERE c_w_id = :c_w_id AND c_d_id = :c_d_id AND \
     c_id = :c_id{for update}";
pub(super) const PAYER_DATA: &str =
    "SELECT c_data FROM {customer} WHERE c_w_id = :c_w_id AND c_d_id = :c_d_id AND c_id = :c_id";
pub(super) const PAY: &str = "UPDATE {customer} SET c_balance = c_balance - CAST(:amount AS DECIMAL(12,2)), c_ytd_payment = \
     c_ytd_payment + CAST(:amount AS DECIMAL(12,2)), c_payment_cnt = c_payment_cnt + 1 WHERE c_w_id = :c_w_id AND c_d_id = \
     :c_d_id AND c_id = :c_id";
pub(super) const PAY_WITH_DATA: &str = "UPDATE {customer} SET c_balance = c_balance - CAST(:amount AS DECIMAL(12,2)), \
     c_ytd_payment = c_ytd_payment + CAST(:amount AS DECIMAL(12,2)), c_payment_cnt = c_payment_cnt + 1, c_data = :c_data WHERE \
     c_w_id = :c_w_id AND c_d_id = :c_d_id AND c_id = :c_id";
pub(super) const INSERT_HISTORY: &str = "INSERT INTO {history} (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, \
     h_data) VALUES (:h_c_id, :h_c_d_id, :h_c_w_id, :h_d_id, :h_w_id, :h_date, :h_amount, :h_data)";

pub(super) const INQUIRER: &str = "SELECT c_first, c_middle, c_last, c_balance FROM {customer} WHERE c_w_id = :c_w_id AND \
     c_d_id = :c_d_id AND c_id = :c_id";
pub(super) const LAST_ORDER: &str = "SELECT o_id, o_entry_d, o_carrier_id FROM {oorder} WHERE o_w_id = :o_w_id AND o_d_id = \
     :o_d_id AND o_c_id = :o_c_id ORDER BY o_id DESC LIMIT 1";
pub(super) const LINES: &str = "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM {order_line} WHERE \
     ol_w_id = :ol_w_id AND ol_d_id = :ol_d_id AND ol_o_id = :ol_o_id";

pub(super) const OLDEST: &str = "SELECT no_o_id FROM {new_order} WHERE no_w_id = :no_w_id AND no_d_id = :no_d_id ORDER BY \
     no_o_id LIMIT 1{for update}";
pub(super) const DELETE_OLDEST: &str = "DELETE FROM {new_order} WHERE (no_w_id, no_d_id, no_o_id) IN ({rows}[(:no_w_id, \
     :no_d_id, :no_o_id)])";
pub(super) const BUYERS: &str = "SELECT o_d_id, o_c_id FROM {oorder} WHERE (o_w_id, o_d_id, o_id) IN ({rows}[(:o_w_id, :o_d_id, \
     :o_id)])";
pub(super) const CARRY: &str = "UPDATE {oorder} SET o_carrier_id = :o_carrier_id WHERE (o_w_id, o_d_id, o_id) IN \
     ({rows}[(:o_w_id, :o_d_id, :o_id)])";
pub(super) const DELIVER: &str = "UPDATE {order_line} SET ol_delivery_d = :ol_delivery_d WHERE (ol_w_id, ol_d_id, ol_o_id) IN \
     ({rows}[(:ol_w_id, :ol_d_id, :ol_o_id)])";
pub(super) const AMOUNTS: &str = "SELECT ol_d_id, SUM(ol_amount) FROM {order_line} WHERE (ol_w_id, ol_d_id, ol_o_id) IN \
     ({rows}[(:ol_w_id, :ol_d_id, :ol_o_id)]) GROUP BY ol_d_id";
pub(super) const BILL: &str = "UPDATE {customer} SET c_balance = c_balance + CAST(:amount AS DECIMAL(12,2)), c_delivery_cnt = \
     c_delivery_cnt + 1 WHERE c_w_id = :c_w_id AND c_d_id = :c_d_id AND c_id = :c_id";

pub(super) const LOW_STOCK: &str = "SELECT COUNT(DISTINCT s_i_id) FROM {district} JOIN {order_line} ON ol_w_id = d_w_id AND \
     ol_d_id = d_id AND ol_o_id >= d_next_o_id - 20 AND ol_o_id < d_next_o_id JOIN {stock} ON s_w_id = d_w_id AND s_i_id = \
     ol_i_id WHERE d_w_id = :d_w_id AND d_id = :d_id AND s_quantity < :s_quantity";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::mock::{MYSQL, POSTGRESQL};

    const LIST: &str = "SELECT s_i_id, SUM(s_ytd) FROM {stock} WHERE s_quantity < :s_quantity AND (s_w_id, s_i_id) IN \
         ({rows}[(:s_w_id, :s_i_id)]){for update}";

    #[test]
    fn a_template_becomes_a_statement_of_the_set_for_so_many_rows() {
        let text = Text::of(LIST, 2, TableNames::of_set(3), &MYSQL);
        assert_eq!(
            text.prepared(&MYSQL),
            "SELECT s_i_id, SUM(s_ytd) FROM stock_3 WHERE s_quantity < ? AND (s_w_id, s_i_id) IN ((?, ?),(?, ?)) FOR UPDATE"
        );
        let names = |columns: &[Column]| columns.iter().map(|column| column.name).collect::<Vec<_>>();
        let found = names(&text.parameters);
        assert_eq!(found, ["s_quantity", "s_w_id", "s_i_id", "s_w_id", "s_i_id"]);
        assert_eq!(names(&text.results), ["s_i_id", "SUM(s_ytd)"]);
        assert_eq!(text.results[0].known.map(|known| known.table), Some("stock"));
        assert_eq!(text.results[1].known, None);
        let text = Text::of(LIST, 1, TableNames::ONLY, &POSTGRESQL);
        assert!(
            text.prepared(&POSTGRESQL)
                .ends_with("< $1 AND (s_w_id, s_i_id) IN (($2, $3)) FOR UPDATE")
        );
    }
}

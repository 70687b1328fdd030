//! What the transactions ask, as functions of their inputs, and how they take what is answered.

mod asked;
mod bounds;
mod cells;
mod counts;
mod derivation;
mod faults;
mod stored_use;

use ciphertax_model::{StatementKind, Tpcc};

use super::inputs::{Input, Inputs, Place};
use super::terminal::{Session, Terminals};
use crate::dataset::tpcc::{Constants, TableNames};
use crate::driver::ArmColumns;
use crate::sql::mock::{Asked, Mock, MockSession, Rows, Value};

const CONSTANTS: Constants = Constants {
    c_last: 100,
    c_id: 500,
    ol_i_id: 4000,
};

fn tables(statements: StatementKind) -> Tpcc {
    Tpcc {
        statements,
        ..Tpcc::default()
    }
}

fn inputs(tables: &Tpcc) -> Inputs {
    Inputs::new(tables, Place::of(0, tables.warehouses), CONSTANTS, 1)
}

fn session<const POSTGRES: bool>(mock: &Mock<POSTGRES>, tables: Tpcc) -> Session<MockSession<POSTGRES>> {
    mock.answers(Box::new(answer));
    let session = run(terminals(mock, tables, ArmColumns::default()).ask_over(mock.session())).unwrap();
    mock.asked();
    session
}

fn terminals<const POSTGRES: bool>(
    mock: &Mock<POSTGRES>,
    tables: Tpcc,
    columns: ArmColumns,
) -> Terminals<Mock<POSTGRES>> {
    Terminals {
        access: mock.clone(),
        tables,
        names: TableNames::ONLY,
        columns,
        seed: 1,
    }
}

/// A mock never waits.
fn run<T>(task: impl Future<Output = T>) -> T {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match std::pin::pin!(task).poll(&mut context) {
        std::task::Poll::Ready(value) => value,
        std::task::Poll::Pending => panic!("the mock waits"),
    }
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

/// The values of a statement, whether they were bound or stand in its text.
fn values(asked: &Asked) -> (String, Vec<i64>) {
    match asked {
        Asked::Prepare(sql) => (sql.clone(), Vec::new()),
        Asked::Execute(sql, values) => {
            let integer = |value: &Value| match value {
                Value::Integer(value) => Some(*value),
                Value::Text(_) => None,
            };
            (sql.clone(), values.iter().filter_map(integer).collect())
        }
        Asked::Text(sql) => {
            let after = sql.split_once("WHERE").map_or("", |(_, after)| after);
            let numbers = after.split(|letter: char| !letter.is_ascii_digit());
            (
                sql.clone(),
                numbers.filter_map(|digits| digits.parse().ok()).collect(),
            )
        }
    }
}

/// A database whose every third customer has bad credit, and in which all names have four bearers.
fn answer(asked: &Asked) -> Rows {
    let (sql, values) = values(asked);
    let rows = sql.matches("),(").count() as u64 + 1;
    let is = |beginning| sql.starts_with(beginning);
    let credit = if values.last().is_some_and(|customer| customer % 3 == 0) {
        "BC"
    } else {
        "GC"
    };
    Rows::Read(if is("SELECT c_discount") {
        vec![vec![
            text("0.1000"),
            text("BARBARBAR"),
            text(credit),
            text("0.0750"),
        ]]
    } else if is("SELECT d_tax") {
        vec![vec![text("0.1250"), Value::Integer(3001)]]
    } else if is("SELECT i_id") {
        let known = values.iter().filter(|item| **item <= 100_000);
        known
            .map(|item| vec![Value::Integer(*item), text("12.50"), text("item"), text("data")])
            .collect()
    } else if is("SELECT s_i_id") {
        let row = |pair: &[i64]| {
            let info = |number| text(&format!("info of {number:02}"));
            let first = [
                Value::Integer(pair[1]),
                Value::Integer(pair[0]),
                Value::Integer(15),
                text(""),
            ];
            first.into_iter().chain((1..=10).map(info)).collect()
        };
        values.chunks_exact(2).map(row).collect()
    } else if is("SELECT d_name") || is("SELECT w_name") {
        vec![std::iter::repeat_n(text("name"), 6).collect()]
    } else if is("SELECT c_id, c_first") {
        [46, 44, 42, 40]
            .map(|number| vec![Value::Integer(number), text(&format!("first {number}"))])
            .into()
    } else if is("SELECT c_id") {
        [40, 42, 44, 46].map(|number| vec![Value::Integer(number)]).into()
    } else if is("SELECT c_first, c_middle, c_last, c_street_1") {
        let mut row = vec![text("text"); 14];
        row[10] = text(credit);
        (row[11], row[12], row[13]) = (text("50000.00"), text("0.5"), text("-10.00"));
        vec![row]
    } else if is("SELECT c_data") {
        vec![vec![text("it's old\\")]]
    } else if is("SELECT c_first") {
        vec![vec![text("a"), text("OE"), text("b"), text("-10.00")]]
    } else if is("SELECT o_id") {
        vec![vec![
            Value::Integer(2999),
            text("2026-01-01 00:00:00"),
            Value::Integer(1),
        ]]
    } else if is("SELECT ol_i_id") {
        let row = vec![
            Value::Integer(1),
            Value::Integer(1),
            Value::Integer(5),
            text("1.00"),
            text("then"),
        ];
        vec![row; 5]
    } else if is("SELECT no_o_id") {
        vec![vec![Value::Integer(2101)]]
    } else if is("SELECT o_d_id") {
        let row = |key: &[i64]| vec![Value::Integer(key[1]), Value::Integer(7)];
        values.chunks_exact(3).map(row).collect()
    } else if is("SELECT ol_d_id") {
        let row = |key: &[i64]| vec![Value::Integer(key[1]), text("123.45")];
        values.chunks_exact(3).map(row).collect()
    } else if is("SELECT COUNT(DISTINCT s_i_id)") {
        vec![vec![Value::Integer(3)]]
    } else if is("UPDATE") || is("DELETE") || is("INSERT") {
        return Rows::Written(rows);
    } else {
        return Rows::Written(0);
    })
}

/// An order of 5 lines without anything special.
fn order(inputs: &mut Inputs) -> Input {
    loop {
        let order = inputs.new_order();
        let is_plain = order.is_local() && !order.is_rolled_back() && order.lines().len() == 5;
        if is_plain {
            return Input::NewOrder(order);
        }
    }
}

//! Which columns of TPC-C cannot be stored as cells, because of what its statements have the server do with them.
//!
//! Systems of the field answer such statements all the same, and wrongly: a range over encrypted values finds other rows.

use super::super::found::{Found, Path};
use super::cells::are_deterministic;
use crate::arm::Arm;
use crate::columns::{ColumnEncryption, ColumnFeature};
use crate::tpcc::{COLUMNS, StoredUse, TpccColumn};

/// Columns that the server compares with each other: both hold cells, or neither does.
const JOINS: [([&str; 2], &str); 5] = [
    (
        ["warehouse.w_id", "customer.c_w_id"],
        "new-order: JOIN warehouse ON w_id = c_w_id",
    ),
    (
        ["order_line.ol_w_id", "district.d_w_id"],
        "stock-level: JOIN order_line ON ol_w_id = d_w_id",
    ),
    (
        ["order_line.ol_d_id", "district.d_id"],
        "stock-level: JOIN order_line ON ol_d_id = d_id",
    ),
    (
        ["stock.s_w_id", "district.d_w_id"],
        "stock-level: JOIN stock ON s_w_id = d_w_id",
    ),
    (
        ["stock.s_i_id", "order_line.ol_i_id"],
        "stock-level: JOIN stock ON s_i_id = ol_i_id",
    ),
];

/// `path` is that of what the arm encrypts.
pub(super) fn check_stored(arm: &Arm, columns: &ColumnEncryption, path: &Path, found: &mut Found) {
    if columns.feature != ColumnFeature::Stored {
        return;
    }
    let name = &arm.name;
    let encrypted: Vec<&TpccColumn> = COLUMNS
        .iter()
        .filter(|column| column.is_in(&columns.columns))
        .collect();
    let mut contradicted = encrypted
        .iter()
        .filter_map(|column| Some((full_name(column), contradiction(column)?)));
    if let Some((column, statement)) = contradicted.next() {
        let others: Vec<String> = contradicted.map(|(column, _)| column).collect();
        let others = match others.is_empty() {
            true => String::new(),
            false => format!("; nor can {}", others.join(", ")),
        };
        let message = format!(
            "arm {name:?}: {column} cannot be stored as a cell: {statement}{others}; take columns = \"payload\", or those names that \
             are only compared for equality"
        );
        found.add(path.key("columns"), message);
    }
    let is_compared = |column: &&&TpccColumn| column.stored_use == StoredUse::Equality;
    if let (Some(column), false) = (encrypted.iter().find(is_compared), are_deterministic(columns)) {
        let column = full_name(column);
        let message = format!(
            "arm {name:?}: {column} is compared for equality in the server, and random cells of equal values differ, so that no row \
             would be found; take mode = \"deterministic\", or columns = \"payload\""
        );
        found.add(path.key("columns"), message);
    }
    let is_encrypted = |name: &str| encrypted.iter().any(|column| full_name(column) == name);
    for ([one, other], statement) in JOINS {
        let (with_cells, without) = match (is_encrypted(one), is_encrypted(other)) {
            (true, false) => (one, other),
            (false, true) => (other, one),
            (true, true) | (false, false) => continue,
        };
        let message = format!(
            "arm {name:?}: {with_cells} would be stored as a cell and {without} not, and the server compares them ({statement}): \
             encrypt both or neither"
        );
        found.add(path.key("columns"), message);
    }
}

/// Why no cell can be stored in a column.
fn contradiction(column: &TpccColumn) -> Option<&'static str> {
    match column.stored_use {
        StoredUse::Payload | StoredUse::Equality => None,
        StoredUse::Order | StoredUse::Arithmetic => Some(match column.column {
            "w_ytd" => "payment adds to it in the server (UPDATE … SET w_ytd = w_ytd + ?)",
            "d_ytd" => "payment adds to it in the server (UPDATE … SET d_ytd = d_ytd + ?)",
            "d_next_o_id" => {
                "new-order adds to it in the server (UPDATE … SET d_next_o_id = d_next_o_id + 1)"
            }
            "c_balance" => "payment subtracts from it in the server (UPDATE … SET c_balance = c_balance - ?)",
            "c_ytd_payment" => {
                "payment adds to it in the server (UPDATE … SET c_ytd_payment = c_ytd_payment + ?)"
            }
            "c_payment_cnt" => {
                "payment adds to it in the server (UPDATE … SET c_payment_cnt = c_payment_cnt + 1)"
            }
            "c_delivery_cnt" => {
                "delivery adds to it in the server (UPDATE … SET c_delivery_cnt = c_delivery_cnt + 1)"
            }
            "ol_amount" => "delivery sums it up in the server (SELECT … SUM(ol_amount))",
            "s_ytd" => "new-order adds to it in the server (UPDATE … SET s_ytd = s_ytd + ?)",
            "s_order_cnt" => {
                "new-order adds to it in the server (UPDATE … SET s_order_cnt = s_order_cnt + 1)"
            }
            "s_remote_cnt" => {
                "new-order adds to it in the server (UPDATE … SET s_remote_cnt = s_remote_cnt + ?)"
            }
            "no_o_id" => "delivery asks for the smallest (ORDER BY no_o_id LIMIT 1)",
            "o_id" => "order-status asks for the largest (ORDER BY o_id DESC LIMIT 1)",
            "ol_o_id" => {
                "stock-level asks for a range (ol_o_id >= d_next_o_id - 20 AND ol_o_id < d_next_o_id)"
            }
            "s_quantity" => "stock-level asks for a range (s_quantity < ?)",
            _ => match column.stored_use {
                StoredUse::Order => "the server orders by it",
                _ => "the server computes with it",
            },
        }),
    }
}

fn full_name(column: &TpccColumn) -> String {
    format!("{}.{}", column.table, column.column)
}

//! Every kind of statement on a column that is stored as cells: answered rightly, or refused.

use crate::study::Study;
use crate::tpcc::{COLUMNS, StoredUse};

/// What is said of an arm that stores these columns of TPC-C in this mode.
fn refusal(columns: &[&str], mode: &str) -> Option<String> {
    let text = format!(
        "name = \"mine\"\nquestion = \"?\"\ntime_s = 1\n[[arm]]\nname = \"plain\"\ntransport = \"plain\"\n[[arm]]\n\
         name = \"stored\"\ntransport = \"plain\"\ncolumns = {{ feature = \"stored\", format = \"aead_cbc_hmac\", \
         mode = \"{mode}\", columns = {columns:?} }}\n[[cell]]\nname = \"only\"\nworkload = \"tpcc\"\n\
         load = {{ connections = 1, batch = 100 }}\n"
    );
    Study::from_toml(&text).err().map(|error| error.to_string())
}

/// By statement: what it asks, of which columns, and whether random and deterministic cells answer it rightly.
#[test]
fn every_kind_of_statement_on_stored_cells_is_answered_rightly_or_refused() {
    for (asked, columns, random, deterministic) in [
        ("kept and read", vec!["customer.c_data"], true, true),
        (
            "NULL or not",
            vec!["oorder.o_carrier_id", "order_line.ol_delivery_d"],
            true,
            true,
        ),
        ("counted", vec!["history.h_amount"], true, true),
        // By the client.
        ("sorted", vec!["customer.c_first"], true, true),
        ("equality", vec!["customer.c_last"], false, true),
        ("equality", vec!["item.i_id"], false, true),
        ("join", vec!["stock.s_i_id", "order_line.ol_i_id"], false, true),
        ("join with what is plain", vec!["stock.s_i_id"], false, false),
        (
            "join with what is plain",
            vec!["order_line.ol_i_id"],
            false,
            false,
        ),
        ("join with what is plain", vec!["customer.c_w_id"], false, false),
        ("range", vec!["stock.s_quantity"], false, false),
        ("range", vec!["order_line.ol_o_id"], false, false),
        ("smallest", vec!["new_order.no_o_id"], false, false),
        ("largest", vec!["oorder.o_id"], false, false),
        ("addition", vec!["warehouse.w_ytd"], false, false),
        ("subtraction", vec!["customer.c_balance"], false, false),
        ("sum", vec!["order_line.ol_amount"], false, false),
    ] {
        for (mode, is_right) in [("random", random), ("deterministic", deterministic)] {
            let refusal = refusal(&columns, mode);
            assert_eq!(
                refusal.is_none(),
                is_right,
                "{asked} of {mode} cells: {refusal:?}"
            );
            if let Some(refusal) = refusal {
                assert!(columns.iter().any(|column| refusal.contains(column)), "{refusal}");
            }
        }
    }
}

#[test]
fn every_column_that_no_cell_can_be_stored_in_has_its_statement() {
    for column in COLUMNS {
        let stands_alone = match column.stored_use {
            StoredUse::Payload => true,
            // Some are joined, and cannot be encrypted alone.
            StoredUse::Equality => continue,
            StoredUse::Order | StoredUse::Arithmetic => false,
        };
        let name = format!("{}.{}", column.table, column.column);
        match refusal(&[&name], "deterministic") {
            None => assert!(stands_alone, "{name}"),
            Some(refusal) => {
                assert!(!stands_alone, "{refusal}");
                let statement = refusal.split_once('(').map(|(_, statement)| statement);
                assert!(
                    statement.is_some_and(|statement| statement.contains(column.column)),
                    "{refusal}"
                );
            }
        }
    }
}

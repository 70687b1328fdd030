//! A tiny set of TPC-C's tables, made by hand: two warehouses of two districts of three customers and three orders.

use super::super::totals::Population;
use crate::dataset::tpcc::TableNames;
use crate::sql::session::SqlSession;

pub(super) const POPULATION: Population = Population {
    warehouses: 2,
    districts: 2,
    customers: 3,
    orders: 3,
    delivered: 2,
    items: 4,
};

const TABLES: [(&str, &str); 9] = [
    (
        "warehouse",
        "w_id INTEGER NOT NULL PRIMARY KEY, w_ytd DECIMAL(12, 2), w_tax DECIMAL(4, 4)",
    ),
    (
        "district",
        "d_w_id INTEGER NOT NULL, d_id INTEGER NOT NULL, d_ytd DECIMAL(12, 2), d_tax DECIMAL(4, 4), d_next_o_id INTEGER, \
         PRIMARY KEY (d_w_id, d_id)",
    ),
    (
        "customer",
        "c_w_id INTEGER NOT NULL, c_d_id INTEGER NOT NULL, c_id INTEGER NOT NULL, c_discount DECIMAL(4, 4), \
         c_balance DECIMAL(12, 2), c_ytd_payment DECIMAL(12, 2), c_payment_cnt INTEGER, c_delivery_cnt INTEGER, \
         PRIMARY KEY (c_w_id, c_d_id, c_id)",
    ),
    (
        "history",
        "h_c_id INTEGER, h_c_d_id INTEGER, h_c_w_id INTEGER, h_d_id INTEGER, h_w_id INTEGER, h_amount DECIMAL(6, 2)",
    ),
    (
        "new_order",
        "no_w_id INTEGER NOT NULL, no_d_id INTEGER NOT NULL, no_o_id INTEGER NOT NULL, \
         PRIMARY KEY (no_w_id, no_d_id, no_o_id)",
    ),
    (
        "oorder",
        "o_w_id INTEGER NOT NULL, o_d_id INTEGER NOT NULL, o_id INTEGER NOT NULL, o_c_id INTEGER, o_carrier_id INTEGER, \
         o_ol_cnt INTEGER, o_all_local INTEGER, PRIMARY KEY (o_w_id, o_d_id, o_id)",
    ),
    (
        "order_line",
        "ol_w_id INTEGER NOT NULL, ol_d_id INTEGER NOT NULL, ol_o_id INTEGER NOT NULL, ol_number INTEGER NOT NULL, \
         ol_i_id INTEGER, ol_delivery_d TIMESTAMP NULL, ol_amount DECIMAL(6, 2), ol_supply_w_id INTEGER, ol_quantity INTEGER, \
         PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number)",
    ),
    (
        "item",
        "i_id INTEGER NOT NULL PRIMARY KEY, i_im_id INTEGER, i_price DECIMAL(5, 2)",
    ),
    (
        "stock",
        "s_w_id INTEGER NOT NULL, s_i_id INTEGER NOT NULL, s_quantity INTEGER, s_ytd INTEGER, s_order_cnt INTEGER, \
         s_remote_cnt INTEGER, PRIMARY KEY (s_w_id, s_i_id)",
    ),
];

/// Makes it as it is loaded.
pub(super) async fn make(session: &mut impl SqlSession, names: TableNames) {
    for (table, columns) in TABLES {
        let name = names.of(table);
        command(session, &format!("CREATE TABLE ciphertax.{name} ({columns})")).await;
    }
    let mut insert = async |table, rows: Vec<String>| {
        let name = names.of(table);
        let rows = rows.join(", ");
        command(session, &format!("INSERT INTO ciphertax.{name} VALUES {rows}")).await;
    };
    insert(
        "item",
        (1..=4).map(|item| format!("({item}, {item}, 3.50)")).collect(),
    )
    .await;
    for w in 1..=2 {
        insert("warehouse", vec![format!("({w}, 60, 0.1)")]).await;
        insert(
            "stock",
            (1..=4)
                .map(|item| format!("({w}, {item}, 50, 0, 0, 0)"))
                .collect(),
        )
        .await;
        for d in 1..=2 {
            insert("district", vec![format!("({w}, {d}, 30, 0.1, 4)")]).await;
            insert("new_order", vec![format!("({w}, {d}, 3)")]).await;
            for c in 1..=3 {
                insert("customer", vec![format!("({w}, {d}, {c}, 0.2, -10, 10, 1, 0)")]).await;
                insert("history", vec![format!("({c}, {d}, {w}, {d}, {w}, 10)")]).await;
                let (o, carrier, date, amount) = match c {
                    3 => (c, "NULL", "NULL", "10.50"),
                    _ => (c, "7", "'2026-01-01 00:00:00'", "0.00"),
                };
                insert("oorder", vec![format!("({w}, {d}, {o}, {c}, {carrier}, 2, 1)")]).await;
                let line = |number| format!("({w}, {d}, {o}, {number}, {number}, {date}, {amount}, {w}, 5)");
                insert("order_line", (1..=2).map(line).collect()).await;
            }
        }
    }
}

/// One new-order of two lines, one of them remote, one remote payment, and a delivery in one district.
pub(super) const TRANSACTIONS: &[&str] = &[
    "UPDATE district SET d_next_o_id = 5 WHERE d_w_id = 1 AND d_id = 1",
    "INSERT INTO oorder VALUES (1, 1, 4, 1, NULL, 2, 0)",
    "INSERT INTO new_order VALUES (1, 1, 4)",
    "INSERT INTO order_line VALUES (1, 1, 4, 1, 1, NULL, 10.50, 1, 3), (1, 1, 4, 2, 2, NULL, 14.00, 2, 4)",
    "UPDATE stock SET s_quantity = 47, s_ytd = 3, s_order_cnt = 1 WHERE s_w_id = 1 AND s_i_id = 1",
    "UPDATE stock SET s_quantity = 46, s_ytd = 4, s_order_cnt = 1, s_remote_cnt = 1 WHERE s_w_id = 2 AND s_i_id = 2",
    "UPDATE warehouse SET w_ytd = w_ytd + 5 WHERE w_id = 1",
    "UPDATE district SET d_ytd = d_ytd + 5 WHERE d_w_id = 1 AND d_id = 1",
    "UPDATE customer SET c_balance = c_balance - 5, c_ytd_payment = c_ytd_payment + 5, c_payment_cnt = 2 \
     WHERE c_w_id = 2 AND c_d_id = 1 AND c_id = 2",
    "INSERT INTO history VALUES (2, 1, 2, 1, 1, 5)",
    "DELETE FROM new_order WHERE no_w_id = 1 AND no_d_id = 1 AND no_o_id = 3",
    "UPDATE oorder SET o_carrier_id = 3 WHERE o_w_id = 1 AND o_d_id = 1 AND o_id = 3",
    "UPDATE order_line SET ol_delivery_d = '2026-01-02 00:00:00' WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id = 3",
    "UPDATE customer SET c_balance = c_balance + 21, c_delivery_cnt = 1 WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = 3",
];

/// Runs statements about tables of the only set, which are named without their schema.
pub(super) async fn run(session: &mut impl SqlSession, statements: &[&str]) {
    for statement in statements {
        let qualified: Vec<String> = statement
            .split(' ')
            .map(|word| match TABLES.iter().any(|(table, _)| *table == word) {
                true => format!("ciphertax.{word}"),
                false => word.to_owned(),
            })
            .collect();
        command(session, &qualified.join(" ")).await;
    }
}

pub(super) async fn command(session: &mut impl SqlSession, statement: &str) {
    let done = session.command(statement).await;
    done.unwrap_or_else(|error| panic!("{statement}: {error}"));
}

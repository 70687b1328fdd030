//! What clause 4.3.3.1 says of each column, asked of the server.

use std::collections::HashMap;

use ciphertax_workload::dataset;
use ciphertax_workload::dataset::tpcc::{Outcome, last_name};

use super::ground::{Ground, mariadb, mysql, one_warehouse, postgresql};
use crate::common::*;

#[test]
fn mariadb_is_populated_as_the_specification_says() {
    is_populated_as_specified(&mariadb());
}

fn is_populated_as_specified<S: SqlSession>(ground: &Ground<S>) {
    let contents = one_warehouse();
    let heard = ground.prepare(&contents).unwrap();
    assert_eq!(heard.len(), 9, "a chunk a table: {heard:?}");
    let is_in_order = heard.is_sorted() && heard.last() == Some(&contents.rows());
    assert!(is_in_order, "{heard:?}");
    let kept = ground.prepare(&contents).unwrap();
    assert_eq!(kept, [contents.rows()], "it is kept");

    has_as_many_rows(ground);
    every_row_is_in_its_range(ground);
    orders_are_as_they_must(ground);
    values_are_distributed_as_they_must(ground);
    last_names_are_drawn_with_the_constant_of_the_load(ground);
    indexes_are_there(ground);
    all_conditions_hold(ground);
    let grown = ground.with_session(async |session| growth(session, TableNames::ONLY).await.unwrap());
    assert!((grown - 1.0).abs() < f64::EPSILON, "{grown}");

    ground.with_session(async |session| {
        assert!(dataset::remove(session).await.unwrap());
        assert!(!dataset::remove(session).await.unwrap(), "nothing is left");
    });
}

fn all_conditions_hold<S: SqlSession>(ground: &Ground<S>) {
    let tables = one_warehouse().tables;
    let results = ground.with_session(async |session| {
        let checked = check(session, TableNames::ONLY, &tables, When::AfterLoad, &[]).await;
        checked.unwrap()
    });
    for result in results {
        assert!(matches!(result.outcome, Outcome::Holds { .. }), "{result:?}");
    }
}

fn has_as_many_rows<S: SqlSession>(ground: &Ground<S>) {
    for (table, rows) in [
        ("warehouse", 1),
        ("district", 10),
        ("customer", 30_000),
        ("history", 30_000),
        ("new_order", 9000),
        ("oorder", 30_000),
        ("item", 100_000),
        ("stock", 100_000),
    ] {
        let count = ground.ask(&format!("SELECT COUNT(*) FROM ciphertax.{table}"));
        assert_eq!(count, [rows.to_string()], "{table}");
    }
}

fn every_row_is_in_its_range<S: SqlSession>(ground: &Ground<S>) {
    let matches = ground.matches;
    let letters = |column: &str, least: u32, most: u32| {
        format!("({column} {matches} '^[A-Za-z0-9]+$' AND CHAR_LENGTH({column}) BETWEEN {least} AND {most})")
    };
    let address = |prefix: &str| {
        let street = |column: &str| letters(&format!("{prefix}_{column}"), 10, 20);
        format!(
            "{} AND {} AND {} AND {prefix}_state {matches} '^[A-Za-z][A-Za-z]$' \
             AND {prefix}_zip {matches} '^[0-9][0-9][0-9][0-9]11111$'",
            street("street_1"),
            street("street_2"),
            street("city")
        )
    };
    let dists: Vec<String> = (1..=10)
        .map(|number| letters(&format!("s_dist_{number:02}"), 24, 24))
        .collect();
    let ranges = [
        ("item", "i_id BETWEEN 1 AND 100000 AND i_im_id BETWEEN 1 AND 10000 AND i_price BETWEEN 1 AND 100".to_owned()),
        ("item", format!("{} AND {}", letters("i_name", 14, 24), letters("i_data", 26, 50))),
        ("warehouse", format!("w_id = 1 AND w_ytd = 300000 AND w_tax BETWEEN 0 AND 0.2 AND {}", letters("w_name", 6, 10))),
        ("warehouse", address("w")),
        ("district", "d_w_id = 1 AND d_id BETWEEN 1 AND 10 AND d_ytd = 30000 AND d_next_o_id = 3001".to_owned()),
        ("district", format!("d_tax BETWEEN 0 AND 0.2 AND {} AND {}", letters("d_name", 6, 10), address("d"))),
        ("stock", "s_w_id = 1 AND s_i_id BETWEEN 1 AND 100000 AND s_quantity BETWEEN 10 AND 100".to_owned()),
        ("stock", format!("s_ytd = 0 AND s_order_cnt = 0 AND s_remote_cnt = 0 AND {}", letters("s_data", 26, 50))),
        ("stock", dists.join(" AND ")),
        ("customer", "c_w_id = 1 AND c_d_id BETWEEN 1 AND 10 AND c_id BETWEEN 1 AND 3000".to_owned()),
        ("customer", format!("{} AND c_middle = 'OE' AND {}", letters("c_first", 8, 16), address("c"))),
        ("customer", format!("c_phone {matches} '^[0-9]{{16}}$' AND c_credit IN ('GC', 'BC') AND c_credit_lim = 50000")),
        ("customer", "c_discount BETWEEN 0 AND 0.5 AND c_balance = -10 AND c_ytd_payment = 10".to_owned()),
        ("customer", format!("c_payment_cnt = 1 AND c_delivery_cnt = 0 AND {}", letters("c_data", 300, 500))),
        ("customer", "c_since = (SELECT loaded_at FROM ciphertax.tpcc_config)".to_owned()),
        ("history", "h_c_w_id = 1 AND h_w_id = 1 AND h_c_d_id = h_d_id AND h_d_id BETWEEN 1 AND 10".to_owned()),
        ("history", format!("h_c_id BETWEEN 1 AND 3000 AND h_amount = 10 AND {}", letters("h_data", 12, 24))),
        ("history", "h_date = (SELECT loaded_at FROM ciphertax.tpcc_config)".to_owned()),
        ("oorder", "o_w_id = 1 AND o_d_id BETWEEN 1 AND 10 AND o_id BETWEEN 1 AND 3000 AND o_c_id BETWEEN 1 AND 3000".to_owned()),
        ("oorder", "o_ol_cnt BETWEEN 5 AND 15 AND o_all_local = 1".to_owned()),
        ("oorder", "o_entry_d = (SELECT loaded_at FROM ciphertax.tpcc_config)".to_owned()),
        ("oorder", "CASE WHEN o_id < 2101 THEN o_carrier_id BETWEEN 1 AND 10 ELSE o_carrier_id IS NULL END".to_owned()),
        ("order_line", "ol_w_id = 1 AND ol_supply_w_id = 1 AND ol_d_id BETWEEN 1 AND 10 AND ol_o_id BETWEEN 1 AND 3000".to_owned()),
        ("order_line", format!("ol_i_id BETWEEN 1 AND 100000 AND ol_quantity = 5 AND {}", letters("ol_dist_info", 24, 24))),
        (
            "order_line",
            "CASE WHEN ol_o_id < 2101 THEN ol_amount = 0 AND ol_delivery_d = (SELECT loaded_at FROM ciphertax.tpcc_config) \
             ELSE ol_amount BETWEEN 0.01 AND 9999.99 AND ol_delivery_d IS NULL END"
                .to_owned(),
        ),
        ("new_order", "no_w_id = 1 AND no_d_id BETWEEN 1 AND 10 AND no_o_id BETWEEN 2101 AND 3000".to_owned()),
    ];
    for (table, range) in ranges {
        // A condition that is unknown does not hold either.
        let outside =
            format!("SELECT COUNT(*) FROM ciphertax.{table} WHERE CASE WHEN {range} THEN 0 ELSE 1 END = 1");
        assert_eq!(ground.ask(&outside), ["0"], "{table}: {range}");
    }
}

fn orders_are_as_they_must<S: SqlSession>(ground: &Ground<S>) {
    for [question, expected] in rows(
        "
        // Each customer has one order in a district, in no order, and one row of history.
        SELECT COUNT(*) FROM (SELECT DISTINCT o_d_id, o_c_id FROM ciphertax.oorder) AS o → 30000
        SELECT COUNT(*) FROM (SELECT DISTINCT h_d_id, h_c_id FROM ciphertax.history) AS h → 30000
        // Exactly a tenth.
        SELECT COUNT(*) FROM ciphertax.item WHERE i_data LIKE '%ORIGINAL%' → 10000
        SELECT COUNT(*) FROM ciphertax.stock WHERE s_data LIKE '%ORIGINAL%' → 10000
        // The last names of all numbers are there before any comes again.
        SELECT COUNT(*) FROM (SELECT DISTINCT c_d_id, c_last FROM ciphertax.customer WHERE c_id <= 1000) AS c → 10000
        SELECT DISTINCT c_last FROM ciphertax.customer WHERE c_id = 372 → PRICALLYOUGHT
        SELECT DISTINCT c_last FROM ciphertax.customer WHERE c_id = 1000 → EINGEINGEING
        SELECT COUNT(DISTINCT o_carrier_id) FROM ciphertax.oorder → 10
        SELECT COUNT(DISTINCT o_ol_cnt) FROM ciphertax.oorder → 11
        SELECT COUNT(DISTINCT s_quantity) FROM ciphertax.stock → 91
        SELECT COUNT(DISTINCT i_name) FROM ciphertax.item → 100000
        ",
    ) {
        assert_eq!(ground.ask(question), [expected], "{question}");
    }
    // Each order has the lines that it says, numbered from 1.
    let lines = "SELECT COUNT(*) FROM (SELECT o_d_id, o_id, o_ol_cnt FROM ciphertax.oorder JOIN ciphertax.order_line \
                 ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id GROUP BY o_d_id, o_id, o_ol_cnt \
                 HAVING COUNT(*) = o_ol_cnt AND MIN(ol_number) = 1 AND MAX(ol_number) = o_ol_cnt) AS lines_of_orders";
    let credit = "SELECT COUNT(*) FROM (SELECT c_d_id FROM ciphertax.customer WHERE c_credit = 'BC' GROUP BY c_d_id \
                  HAVING COUNT(*) = 300) AS d";
    for (question, expected) in [(lines, "30000"), (credit, "10")] {
        assert_eq!(ground.ask(question), [expected], "{question}");
    }
    let in_order = "SELECT COUNT(*) FROM ciphertax.oorder WHERE o_c_id = o_id";
    let are_few = ground.number(in_order) < 50.0;
    assert!(are_few, "10 of a permutation stay where they are");
}

fn values_are_distributed_as_they_must<S: SqlSession>(ground: &Ground<S>) {
    for [what, table, mean, tolerance] in rows(
        "
        o_ol_cnt → oorder → 10.0 → 0.1
        o_carrier_id → oorder → 5.5 → 0.1
        ol_i_id → order_line → 50000 → 300
        CASE WHEN ol_o_id > 2100 THEN ol_amount END → order_line → 5000 → 50
        i_im_id → item → 5000 → 50
        i_price → item → 50.5 → 0.5
        CHAR_LENGTH(i_name) → item → 19 → 0.1
        CHAR_LENGTH(i_data) → item → 38 → 0.2
        s_quantity → stock → 55 → 0.5
        c_discount → customer → 0.25 → 0.005
        CHAR_LENGTH(c_data) → customer → 400 → 2
        CHAR_LENGTH(c_first) → customer → 12 → 0.1
        CHAR_LENGTH(h_data) → history → 18 → 0.2
        CASE WHEN c_credit = 'BC' THEN c_id END → customer → 1500 → 80
        ",
    ) {
        let [mean, tolerance] = [mean, tolerance].map(|number| number.parse::<f64>().unwrap());
        let found = ground.number(&format!("SELECT AVG({what}) FROM ciphertax.{table}"));
        assert!((found - mean).abs() < tolerance, "{what}: {found}");
    }
}

/// A chi-square test of 20,000 names against NURand's definition.
fn last_names_are_drawn_with_the_constant_of_the_load<S: SqlSession>(ground: &Ground<S>) {
    let c_load = ground.number("SELECT c_load FROM ciphertax.tpcc_config") as u32;
    let mut expected: HashMap<String, f64> = HashMap::new();
    for low in 0..=255 {
        for high in 0..=999 {
            let name = last_name(((low | high) + c_load) % 1000);
            let name = String::from_utf8(name.as_bytes().to_vec()).unwrap();
            *expected.entry(name).or_default() += 20_000.0 / 256_000.0;
        }
    }
    let names =
        ground.ask("SELECT c_last, COUNT(*) FROM ciphertax.customer WHERE c_id > 1000 GROUP BY c_last");
    let mut found: HashMap<String, f64> = HashMap::new();
    for row in names {
        let (name, count) = row.split_once(' ').unwrap();
        found.insert(name.to_owned(), count.parse().unwrap());
    }
    assert!(found.keys().all(|name| expected.contains_key(name)));
    let cells = expected.len() as f64;
    let chi_square: f64 = expected
        .iter()
        .map(|(name, expected)| (found.get(name).unwrap_or(&0.0) - expected).powi(2) / expected)
        .sum();
    let is_near = (chi_square - cells).abs() < 6.0 * (2.0 * cells).sqrt();
    assert!(is_near, "{chi_square} of {cells}");
}

fn indexes_are_there<S: SqlSession>(ground: &Ground<S>) {
    for (table, index, columns) in [
        (
            "customer",
            "by_name_of_customer",
            vec!["c_w_id", "c_d_id", "c_last", "c_first"],
        ),
        (
            "oorder",
            "by_customer_of_oorder",
            vec!["o_w_id", "o_d_id", "o_c_id", "o_id"],
        ),
    ] {
        let question = (S::DIALECT.index_columns)("ciphertax", table, index);
        assert_eq!(ground.ask(&question), columns);
    }
    for (table, columns) in [
        ("warehouse", 1),
        ("district", 2),
        ("customer", 3),
        ("new_order", 3),
        ("oorder", 3),
        ("order_line", 4),
        ("item", 1),
        ("stock", 2),
    ] {
        let question = (S::DIALECT.index_columns)("ciphertax", table, &(S::DIALECT.primary_key)(table));
        assert_eq!(ground.ask(&question).len(), columns, "{table}");
    }
}

mod test_all {
    use super::*;

    #[test]
    fn mysql_is_populated_as_the_specification_says() {
        let Some(ground) = mysql() else { return };
        is_populated_as_specified(&ground);
    }

    #[test]
    fn postgresql_is_populated_as_the_specification_says() {
        let Some(ground) = postgresql() else { return };
        is_populated_as_specified(&ground);
    }
}

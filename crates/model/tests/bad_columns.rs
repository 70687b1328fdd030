//! Columns that cannot be encrypted as a study says are refused, each with its reason and its place.

use ciphertax_model::{Study, StudyText};

use crate::refused;

const STUDY: &str = r#"name = "columns"
question = "What do encrypted columns cost?"
time_s = 10

[[arm]]
name = "plain"
transport = "plain"

[[arm]]
name = "cells"
transport = "plain"
columns = { feature = "in_results", columns = "half" }

[[cell]]
name = "terminals"
workload = "tpcc"
load = { connections = 8, batch = 400 }
"#;

/// The study with what is changed in it, parted by ` ; `: what becomes what, or what the columns of `cells` are.
fn study(changes: &str) -> String {
    let changes = changes.trim().replace(" ¶ ", "\n");
    changes.split(" ; ").fold(STUDY.to_owned(), |study, change| {
        let (from, to) = change.split_once(" ⇒").unwrap_or((IN_RESULTS, change));
        assert!(study.contains(from), "{from}");
        study.replacen(from, to.trim(), 1)
    })
}

fn refusal(changes: &str) -> String {
    let study = StudyText::new("study.toml", &study(changes)).study();
    study.unwrap_err().to_string()
}

const IN_RESULTS: &str = r#"{ feature = "in_results", columns = "half" }"#;

#[test]
fn policies_that_nothing_contradicts_are_taken() {
    let good = r#"
        { feature = "in_results", columns = "half" }
        { feature = "in_results", algorithm = "wrapped", columns = "all" }
        { feature = "in_results", columns = ["stock.s_quantity"] }
        { feature = "in_results", columns = "none" } ; , batch = 400 ⇒
        { feature = "stored", columns = "payload" }
        { feature = "stored", algorithm = "sm4_ecb", columns = ["customer.c_last"] }
        { feature = "stored", mode = "deterministic", columns = ["customer.c_last"] }
        { feature = "stored", columns = ["field0", "field9"] } ; tpcc ⇒ ycsb_a
        { feature = "stored", format = "csfle", columns = "all" } ; tpcc ⇒ ycsb_a ; time_s ⇒ server = "mongodb" ¶ time_s
    "#;
    for changes in good.trim().lines() {
        StudyText::new("study.toml", &study(changes)).study().unwrap();
    }
}

#[test]
fn what_no_statement_or_server_could_answer_is_refused() {
    let cases = r#"
        { feature = "in_results", columns = ["customer.c_lats", "c_last", "field0"] }
            → unknown column "customer.c_lats"; did you mean "customer.c_last"?
        { feature = "in_results", columns = [] } → arm "cells": it names no columns; take columns = "none"
        { feature = "in_results", columns = ["item.i_id", "item.i_id"] } → arm "cells": it names column "item.i_id" twice
        workload = "tpcc" ⇒ workload = "oltp_point_select"
            → has cells in results, which tpcc alone decrypts so far, and not oltp_point_select
        workload = "tpcc" ⇒ workload = "ycsb_a" → has cells in results, which tpcc alone decrypts so far, and not ycsb_a
        { feature = "stored", columns = "payload" } ; "tpcc" ⇒ "ycsb_a"
            → encrypts payload columns of TPC-C, which ycsb_a does not ask; take columns = "all"
        { feature = "stored", columns = ["fields0"] } ; "tpcc" ⇒ "ycsb_a" → unknown column "fields0"; did you mean "field0"?
        { feature = "stored", mode = "deterministic", columns = "keys" }
            → new_order.no_o_id cannot be stored as a cell: delivery asks for the smallest (ORDER BY no_o_id LIMIT 1)
            → ; nor can oorder.o_id, order_line.ol_o_id;
        { feature = "stored", columns = ["customer.c_last"] }
            → customer.c_last is compared for equality in the server, and random cells of equal values differ
        { feature = "stored", mode = "deterministic", columns = ["stock.s_i_id"] }
            → stock.s_i_id would be stored as a cell and order_line.ol_i_id not
        columns = ⇒ pooler = { program = "pgpool", pool_mode = "session" } ¶ columns = → columns are measured without a pooler alone, so far
    "#;
    refused(cases, refusal);
}

#[test]
fn cells_that_protect_nothing_add_no_protection() {
    let adds = |columns: &str| {
        let study = study(columns);
        Study::from_toml(&study).unwrap().adds_protection("cells")
    };
    assert!(adds(IN_RESULTS));
    assert!(adds(r#"{ feature = "stored", columns = "payload" }"#));
    assert!(!adds(r#"{ feature = "in_results", columns = "none" }"#));
    assert!(!adds(
        r#"{ feature = "in_results", algorithm = "wrapped", columns = "all" }"#
    ));
    assert!(!adds(
        r#"{ feature = "stored", algorithm = "wrapped", columns = "payload" }"#
    ));
}

//! Columns that cannot be encrypted as a study says are refused, each with its reason and its place.

use ciphertax_model::{Study, StudyText};

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

fn study(changes: &[(&str, &str)]) -> String {
    changes.iter().fold(STUDY.to_owned(), |study, (from, to)| {
        assert!(study.contains(from), "{from}");
        study.replacen(from, to, 1)
    })
}

fn refusal(changes: &[(&str, &str)]) -> String {
    let study = StudyText::new("study.toml", &study(changes)).study();
    study.unwrap_err().to_string()
}

const IN_RESULTS: &str = r#"{ feature = "in_results", columns = "half" }"#;
const PLAIN: &str = "transport = \"plain\"\ncolumns";

#[test]
fn policies_that_nothing_contradicts_are_taken() {
    for changes in [
        &[][..],
        &[(
            IN_RESULTS,
            r#"{ feature = "in_results", algorithm = "wrapped", columns = "all" }"#,
        )],
        &[(
            IN_RESULTS,
            r#"{ feature = "in_results", columns = ["stock.s_quantity"] }"#,
        )],
        &[
            (IN_RESULTS, r#"{ feature = "in_results", columns = "none" }"#),
            (", batch = 400", ""),
        ],
        &[(IN_RESULTS, r#"{ feature = "stored", columns = "payload" }"#)],
        &[(
            IN_RESULTS,
            r#"{ feature = "stored", algorithm = "sm4_ecb", columns = ["customer.c_last"] }"#,
        )],
        &[(
            IN_RESULTS,
            r#"{ feature = "stored", mode = "deterministic", columns = ["customer.c_last"] }"#,
        )],
        &[
            (
                IN_RESULTS,
                r#"{ feature = "stored", columns = ["field0", "field9"] }"#,
            ),
            ("tpcc", "ycsb_a"),
        ],
        &[
            (
                IN_RESULTS,
                r#"{ feature = "stored", format = "csfle", columns = "all" }"#,
            ),
            ("tpcc", "ycsb_a"),
            ("time_s", "server = \"mongodb\"\ntime_s"),
        ],
    ] {
        StudyText::new("study.toml", &study(changes)).study().unwrap();
    }
}

#[test]
fn what_no_statement_or_server_could_answer_is_refused() {
    for (changes, expected) in [
        (
            &[(
                IN_RESULTS,
                r#"{ feature = "in_results", columns = ["customer.c_lats", "c_last", "field0"] }"#,
            )][..],
            r#"unknown column "customer.c_lats"; did you mean "customer.c_last"?"#,
        ),
        (
            &[(IN_RESULTS, r#"{ feature = "in_results", columns = [] }"#)],
            r#"arm "cells" names no columns; take columns = "none""#,
        ),
        (
            &[(
                IN_RESULTS,
                r#"{ feature = "in_results", columns = ["item.i_id", "item.i_id"] }"#,
            )],
            r#"arm "cells" names column "item.i_id" twice"#,
        ),
        (
            &[("workload = \"tpcc\"", "workload = \"oltp_point_select\"")],
            r#"has cells in results, which tpcc alone decrypts so far, and not oltp_point_select"#,
        ),
        (
            &[("workload = \"tpcc\"", "workload = \"ycsb_a\"")],
            r#"has cells in results, which tpcc alone decrypts so far, and not ycsb_a"#,
        ),
        (
            &[
                (IN_RESULTS, r#"{ feature = "stored", columns = "payload" }"#),
                ("\"tpcc\"", "\"ycsb_a\""),
            ],
            r#"encrypts payload columns of TPC-C, which ycsb_a does not ask; take columns = "all""#,
        ),
        (
            &[
                (IN_RESULTS, r#"{ feature = "stored", columns = ["fields0"] }"#),
                ("\"tpcc\"", "\"ycsb_a\""),
            ],
            r#"unknown column "fields0"; did you mean "field0"?"#,
        ),
        (
            &[
                (IN_RESULTS, r#"{ feature = "stored", columns = "all" }"#),
                ("\"tpcc\"", "\"oltp_read_only\""),
            ],
            r#"stores cells, which tpcc and YCSB's workloads can, and not oltp_read_only"#,
        ),
        (
            &[("\"tpcc\"", "\"tpcc\"\nserver = \"postgresql\"")],
            r#"over MySQL's protocol alone so far, and postgresql is PostgreSQL"#,
        ),
        (
            &[("time_s", "server = \"mongodb\"\ntime_s")],
            r#"over MySQL's protocol alone so far, and mongodb is MongoDB"#,
        ),
        (
            &[(
                IN_RESULTS,
                r#"{ feature = "in_results", format = "csfle", columns = "all" }"#,
            )],
            r#"csfle is what a client stores in MongoDB"#,
        ),
        (
            &[(
                IN_RESULTS,
                r#"{ feature = "stored", format = "csfle", columns = "payload" }"#,
            )],
            r#"cells of csfle are stored in MongoDB alone, and mariadb is of MySQL's family"#,
        ),
        (
            &[
                (IN_RESULTS, r#"{ feature = "stored", columns = "all" }"#),
                ("\"tpcc\"", "\"ycsb_a\"\nserver = \"mongodb\""),
            ],
            r#"cells in MongoDB are those of csfle, and not of encdb"#,
        ),
        (
            &[(
                IN_RESULTS,
                r#"{ feature = "stored", format = "aead_cbc_hmac", algorithm = "aes128_gcm", columns = "payload" }"#,
            )],
            r#"only cells of encdb have algorithms to choose, and aead_cbc_hmac has one of its own"#,
        ),
        (
            &[(
                IN_RESULTS,
                r#"{ feature = "in_results", mode = "deterministic", columns = "all" }"#,
            )],
            r#"GCM must never have one vector for two values"#,
        ),
        (
            &[(
                IN_RESULTS,
                r#"{ feature = "stored", columns = ["customer.c_balance"] }"#,
            )],
            "customer.c_balance cannot be stored as a cell: payment subtracts from it in the server (UPDATE … SET c_balance = c_balance \
             - ?); take",
        ),
        (
            &[(
                IN_RESULTS,
                r#"{ feature = "stored", mode = "deterministic", columns = "keys" }"#,
            )],
            "new_order.no_o_id cannot be stored as a cell: delivery asks for the smallest (ORDER BY no_o_id LIMIT 1); nor can \
             oorder.o_id, order_line.ol_o_id;",
        ),
        (
            &[(
                IN_RESULTS,
                r#"{ feature = "stored", columns = ["customer.c_last"] }"#,
            )],
            r#"customer.c_last is compared for equality in the server, and random cells of equal values differ"#,
        ),
        (
            &[(
                IN_RESULTS,
                r#"{ feature = "stored", mode = "deterministic", columns = ["stock.s_i_id"] }"#,
            )],
            r#"stock.s_i_id would be stored as a cell and order_line.ol_i_id not"#,
        ),
        (
            &[
                (IN_RESULTS, r#"{ feature = "stored", columns = "payload" }"#),
                (", batch = 400", ""),
            ],
            r#"take load = { connections = 8, batch = 400 }"#,
        ),
        (
            &[(PLAIN, "transport = \"tls1.3\"\ncolumns")],
            r#"reads what the server sends, which TLS hides"#,
        ),
        (
            &[(PLAIN, "transport = \"plain\"\ntunnel = \"stunnel\"\ncolumns")],
            r#"columns are measured without a tunnel alone, so far"#,
        ),
        (
            &[
                ("\"tpcc\"", "\"ycsb_a\""),
                (
                    PLAIN,
                    "transport = \"plain\"\nat_rest = { columns = \"aes_encrypt\" }\ncolumns",
                ),
                (IN_RESULTS, r#"{ feature = "stored", columns = "all" }"#),
            ],
            r#"at_rest.columns by the server's functions; leave one of them out"#,
        ),
        (
            &[(
                PLAIN,
                "transport = \"plain\"\npooler = { pgbouncer = \"transaction\" }\ncolumns",
            )],
            r#"columns are measured without a pooler alone, so far"#,
        ),
        (
            &[(
                PLAIN,
                "transport = \"plain\"\nauthentication = { method = \"unix_socket\" }\ncolumns",
            )],
            r#"where a login by unix_socket does not pass"#,
        ),
        (
            &[(
                "[[cell]]",
                "[[arm]]\nname = \"stored\"\ntransport = \"plain\"\ncolumns = { feature = \"stored\", columns = \"payload\" }\n\n[[cell]]",
            )],
            r#"arm "cells" shares its tables with the baseline, and arm "stored" stores cells in tables of its own"#,
        ),
    ] {
        let found = refusal(changes);
        assert!(found.contains(expected), "{changes:?}: {found}");
    }
}

#[test]
fn cells_that_protect_nothing_add_no_protection() {
    let adds = |columns: &str| {
        let study = study(&[(IN_RESULTS, columns)]);
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

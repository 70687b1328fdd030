//! pgbench's scripts on a MySQL-compatible server.

use ciphertax_model::Pgbench;
use ciphertax_wire::mysql::Session;

use crate::common::*;

#[test]
fn the_tables_are_made_once_and_transactions_keep_the_balances_equal() {
    let server = empty_server();
    let tables = Pgbench { scale: 1 };
    assert!(prepared(&server, tables).len() > 10);
    assert_eq!(prepared(&server, tables), [tables.rows()], "it is kept");

    let select = SelectOnly {
        access: access(&server, None),
        tables,
    };
    let yielded = slice(select, SLICE);
    assert!(yielded.failures == 0 && yielded.operations[0].count > 0);
    let tpcb = TpcbLike {
        access: access(&server, None),
        tables,
    };
    let yielded = slice(tpcb, SLICE);
    assert_eq!(yielded.failures, 0, "{:?}", yielded.first_failure);
    let sum =
        |what: &str, table: &str| administer(&server, &[&format!("SELECT {what} FROM ciphertax.{table}")]);
    let transactions = yielded.operations[0].count;
    assert_eq!(sum("COUNT(*)", "pgbench_history"), [transactions.to_string()]);
    let changed = sum("SUM(delta)", "pgbench_history");
    assert_eq!(sum("SUM(abalance)", "pgbench_accounts"), changed);
    assert_eq!(sum("SUM(tbalance)", "pgbench_tellers"), changed);
    assert_eq!(sum("SUM(bbalance)", "pgbench_branches"), changed);
}

#[test]
fn what_several_load_a_part_of_each_is_kept_if_it_is_whole() {
    const SUMS: &str =
        "CHECKSUM TABLE ciphertax.pgbench_branches, ciphertax.pgbench_tellers, ciphertax.pgbench_accounts";
    let tables = Pgbench { scale: 1 };
    let contents = crate::common::pgbench(tables);
    let alone = empty_server();
    prepared(&alone, tables);
    for parts in [3, 2] {
        let server = empty_server();
        let options = plain(&server);
        assert!(begin::<Session>(&options, &contents));
        assert!(begin::<Session>(&options, &contents), "nothing is written yet");
        let written = (0..parts).map(|index| load_part::<Session>(&options, &contents, index, 3));
        let rows: u64 = written.filter_map(|heard| heard.last().copied()).sum();
        assert!(!begin::<Session>(&options, &contents));
        let heard = prepared(&server, tables);
        match parts {
            3 => assert_eq!((rows, heard), (tables.rows(), vec![tables.rows()])),
            // A part is missing.
            _ => assert!(rows < tables.rows() && heard.len() > 10, "{heard:?}"),
        }
        assert_eq!(administer(&server, &[SUMS]), administer(&alone, &[SUMS]));
        // As an interruption leaves it that came before the keys.
        administer(
            &server,
            &["ALTER TABLE ciphertax.pgbench_accounts DROP PRIMARY KEY"],
        );
        assert_eq!(prepared(&server, tables), [tables.rows()], "its rows are kept");
        let keys = "SHOW INDEX FROM ciphertax.pgbench_accounts";
        assert_eq!(administer(&server, &[keys]).len(), 1);
    }
}

/// Makes the data set, and returns what progress was heard.
fn prepared(server: &PrivateServer, tables: Pgbench) -> Vec<u64> {
    crate::common::prepared::<Session>(&plain(server), &crate::common::pgbench(tables)).unwrap()
}

//! pgbench's scripts on a MySQL-compatible server.

use ciphertax_lab::PrivateServer;
use ciphertax_model::Pgbench;
use ciphertax_wire::mysql::Session;
use ciphertax_workload::dataset::{self, Contents};
use ciphertax_workload::sql::{SelectOnly, TpcbLike};

use crate::common::{SLICE, access, administer, empty_server, options, run, slice};

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

/// Makes the data set, and returns what progress was heard.
fn prepared(server: &PrivateServer, tables: Pgbench) -> Vec<u64> {
    let mut heard = Vec::new();
    run(async |reactor| {
        let (contents, options) = (Contents::from(tables), options(server, None, None));
        let progress = |rows| heard.push(rows);
        dataset::prepare_contents::<Session>(reactor, &options, &contents, &mut Vec::new(), progress).await
    })
    .unwrap();
    heard
}

//! Tables that are right, and tables with one thing wrong, on real servers.

mod breaks;
mod tiny;

use ciphertax_lab::PrivateServer;
use ciphertax_lab::catalogue::{Entry, MARIADB, MYSQL, POSTGRESQL};
use ciphertax_testkit::{fetched, plain, plain_postgresql, run};
use ciphertax_wire::{Session as _, mysql, postgresql};

use self::breaks::BREAKS;
use self::tiny::{POPULATION, TRANSACTIONS, command};
use super::{ConditionResult, Counted, Examination, Outcome, When, same_contents, verdict};
use crate::dataset::mark::{DatasetError, Result};
use crate::dataset::tpcc::TableNames;
use crate::sql::session::SqlSession;

/// What the transactions of the tiny tables are counted as.
const COUNTED: Counted = Counted {
    new_orders: 1,
    rolled_back: 0,
    payments: 1,
    deliveries: 1,
    undecided: 0,
    repeats: 1,
};

#[test]
fn on_mariadb_tables_pass_and_what_breaks_a_condition_breaks_no_other() {
    on_mariadb(async |session| every_break(session).await);
}

#[test]
fn on_mysql_tables_pass_and_what_breaks_a_condition_breaks_no_other() {
    on_mysqls(&MYSQL, async |session| every_break(session).await);
}

#[test]
fn on_postgresql_tables_pass_and_what_breaks_a_condition_breaks_no_other() {
    on_postgresql(async |session| every_break(session).await);
}

async fn every_break(session: &mut impl SqlSession) {
    tiny::make(session, TableNames::ONLY).await;
    let loaded = check(session, When::AfterLoad, &[]).await.unwrap();
    let twelve = loaded.iter().filter(|result| result.clause.starts_with("3.3.2."));
    assert_eq!(twelve.count(), 12);
    let is_asked = |result: &ConditionResult| matches!(result.outcome, Outcome::Holds { .. });
    assert!(loaded.iter().all(is_asked), "{loaded:?}");
    let in_study = loaded.iter().filter(|result| result.in_study);
    let in_study: Vec<&str> = in_study.map(|result| result.clause).collect();
    assert_eq!(in_study, ["3.3.2.1", "3.3.2.2", "3.3.2.3", "3.3.2.4"]);

    tiny::run(session, TRANSACTIONS).await;
    let after = check(session, When::AfterRun(Some(COUNTED)), &[]).await.unwrap();
    assert!(after.iter().all(is_asked), "{after:?}");
    let unknown = check(session, When::AfterRun(None), &[]).await.unwrap();
    assert_eq!(unknown.iter().filter(|result| !is_asked(result)).count(), 7);
    for broken in BREAKS {
        command(session, "BEGIN").await;
        tiny::run(session, broken.by).await;
        match check(session, When::AfterRun(None), &[]).await {
            Err(DatasetError::Inconsistent {
                clause, rows, others, ..
            }) => {
                assert_eq!(
                    (clause, rows),
                    (
                        broken.clause,
                        broken.told.iter().map(|row| (*row).to_owned()).collect()
                    )
                );
                assert!(others.is_empty(), "{clause}: {others:?}");
            }
            other => panic!("{}: {other:?}", broken.clause),
        }
        command(session, "ROLLBACK").await;
    }
    check(session, When::AfterRun(Some(COUNTED)), &[]).await.unwrap();
}

#[test]
fn what_a_run_counted_is_in_the_tables() {
    on_mariadb(async |session| {
        tiny::make(session, TableNames::ONLY).await;
        tiny::run(session, TRANSACTIONS).await;
        let refused = check(session, When::AfterLoad, &[])
            .await
            .unwrap_err()
            .to_string();
        assert!(
            refused.contains("13 in the tables, 12 counted; nor do 2.5.2.2, 2.7.4.2"),
            "{refused}"
        );
        for (clause, counted) in [
            (
                "2.4.2.2",
                Counted {
                    new_orders: 2,
                    ..COUNTED
                },
            ),
            (
                "2.5.2.2",
                Counted {
                    payments: 0,
                    ..COUNTED
                },
            ),
            (
                "2.7.4.2",
                Counted {
                    deliveries: 2,
                    ..COUNTED
                },
            ),
        ] {
            match check(session, When::AfterRun(Some(counted)), &[]).await {
                Err(DatasetError::Inconsistent {
                    clause: found,
                    others,
                    ..
                }) => {
                    assert_eq!((found, others.len()), (clause, 0));
                }
                other => panic!("{clause}: {other:?}"),
            }
        }
        let undecided = Counted {
            payments: 0,
            undecided: 1,
            ..COUNTED
        };
        check(session, When::AfterRun(Some(undecided)), &[])
            .await
            .unwrap();
    });
}

#[test]
fn tables_without_rows_are_not_consistent() {
    on_postgresql(async |session| {
        tiny::make(session, TableNames::ONLY).await;
        for table in [
            "history",
            "order_line",
            "new_order",
            "oorder",
            "customer",
            "district",
            "warehouse",
        ] {
            tiny::run(session, &[&format!("DELETE FROM {table}")]).await;
        }
        let refused = check(session, When::AfterRun(None), &[])
            .await
            .unwrap_err()
            .to_string();
        assert!(refused.contains("warehouse has 0 rows, expected 2"), "{refused}");
    });
}

#[test]
fn on_mariadb_conditions_that_compute_with_cells_are_named_and_not_asked() {
    on_mariadb(async |session| {
        let cells = ["ALTER TABLE", "MODIFY COLUMN", "VARBINARY(40)"];
        let cell = |column: &str| format!("CONCAT(X'01', 'cell of ', {column})");
        some_cells(session, cells, cell).await;
    });
}

#[test]
fn on_postgresql_conditions_that_compute_with_cells_are_named_and_not_asked() {
    on_postgresql(async |session| {
        let cells = ["ALTER TABLE", "ALTER COLUMN", "TYPE BYTEA USING NULL"];
        let cell = |column: &str| format!("convert_to('cell of ' || {column}, 'UTF8')");
        some_cells(session, cells, cell).await;
    });
}

/// Cells in all columns of warehouses, the same for the same; and in some that conditions compute with.
async fn some_cells(
    session: &mut impl SqlSession,
    [alter, modify, to_bytes]: [&str; 3],
    cell: impl Fn(&str) -> String,
) {
    const KEYS: [(&str, &str); 10] = [
        ("warehouse", "w_id"),
        ("district", "d_w_id"),
        ("customer", "c_w_id"),
        ("history", "h_w_id"),
        ("history", "h_c_w_id"),
        ("new_order", "no_w_id"),
        ("oorder", "o_w_id"),
        ("order_line", "ol_w_id"),
        ("order_line", "ol_supply_w_id"),
        ("stock", "s_w_id"),
    ];
    const COMPUTED: [(&str, &str); 2] = [("history", "h_amount"), ("oorder", "o_ol_cnt")];
    tiny::make(session, TableNames::ONLY).await;
    tiny::run(session, TRANSACTIONS).await;
    for (table, column) in KEYS.into_iter().chain(COMPUTED) {
        let cells = cell(column);
        let statement = match to_bytes.strip_suffix("NULL") {
            Some(using) => format!("{alter} {table} {modify} {column} {using}{cells}"),
            None => format!("{alter} {table} {modify} {column} {to_bytes}"),
        };
        tiny::run(session, &[&statement]).await;
        if !to_bytes.ends_with("NULL") {
            tiny::run(session, &[&format!("UPDATE {table} SET {column} = {cells}")]).await;
        }
    }
    let encrypted: Vec<(&str, &str)> = KEYS.into_iter().chain(COMPUTED).collect();
    let results = check(session, When::AfterRun(Some(COUNTED)), &encrypted)
        .await
        .unwrap();
    let not_asked: Vec<(&str, &str)> = results
        .iter()
        .filter_map(|result| match &result.outcome {
            Outcome::NotAsked { because } => Some((result.clause, because.as_str())),
            Outcome::Holds { .. } => None,
        })
        .collect();
    let amount = "history.h_amount holds cells";
    let count = "oorder.o_ol_cnt holds cells";
    assert_eq!(
        not_asked,
        [
            ("3.3.2.8", amount),
            ("3.3.2.4", count),
            ("3.3.2.9", amount),
            ("3.3.2.6", count),
            ("3.3.2.10", amount),
            ("2.4.1.5", "order_line.ol_supply_w_id holds cells"),
            ("2.5.1.2", "history.h_c_w_id holds cells"),
        ]
    );
    tiny::run(session, &["UPDATE warehouse SET w_ytd = 1"]).await;
    let broken = check(session, When::AfterRun(None), &encrypted)
        .await
        .unwrap_err()
        .to_string();
    assert!(
        broken.contains("3.3.2.1 ") && broken.contains("w_ytd = 1.00, districts_ytd = "),
        "{broken}"
    );
    // Where only one side holds cells, nothing can be compared.
    let one_side = [("district", "d_w_id")];
    let results = check(session, When::AfterRun(None), &one_side).await;
    assert!(results.is_err() || results.unwrap().iter().any(|result| result.clause == "3.3.2.1"));
}

#[test]
fn sets_that_differ_are_told_apart() {
    on_mariadb(async |session| sets(session).await);
    on_postgresql(async |session| sets(session).await);
}

async fn sets(session: &mut impl SqlSession) {
    let names = [0, 1, 2].map(TableNames::of_set);
    for set in names {
        tiny::make(session, set).await;
    }
    same_contents(session, &names, &[]).await.unwrap();
    command(
        session,
        "UPDATE ciphertax.stock_2 SET s_quantity = 49 WHERE s_w_id = 1 AND s_i_id = 3",
    )
    .await;
    command(
        session,
        "DELETE FROM ciphertax.history_1 WHERE h_c_id = 1 AND h_d_id = 1 AND h_w_id = 1",
    )
    .await;
    let told = same_contents(session, &names, &[]).await.unwrap_err().to_string();
    for difference in [
        "COUNT(*) is 12 of history_0, 11 of history_1",
        "SUM(h_amount) is 120.00 of history_0, 110.00 of history_1",
        "SUM(s_quantity) is 400 of stock_0, 399 of stock_2",
    ] {
        assert!(told.contains(difference), "{told}");
    }
    let encrypted = [("stock", "s_quantity")];
    same_contents(session, &[names[0], names[2]], &encrypted)
        .await
        .unwrap();
}

async fn check(
    session: &mut impl SqlSession,
    when: When,
    encrypted: &[(&str, &str)],
) -> Result<Vec<ConditionResult>> {
    let examination = Examination {
        names: TableNames::ONLY,
        population: POPULATION,
        when,
        encrypted,
    };
    verdict(examination.of(session).await?)
}

fn on_mariadb(task: impl AsyncFnOnce(&mut mysql::Session)) {
    on_mysqls(&MARIADB, task);
}

fn on_mysqls(entry: &'static Entry, task: impl AsyncFnOnce(&mut mysql::Session)) {
    let Some(server) = server(entry) else { return };
    run(async |reactor| {
        let (mut session, _) = mysql::Session::connect(reactor, &plain(&server)).await.unwrap();
        command(&mut session, "CREATE SCHEMA ciphertax").await;
        task(&mut session).await;
    });
}

fn on_postgresql(task: impl AsyncFnOnce(&mut postgresql::Session)) {
    let Some(server) = server(&POSTGRESQL) else { return };
    let options = plain_postgresql(&server);
    run(async |reactor| {
        let (mut session, _) = postgresql::Session::connect(reactor, &options).await.unwrap();
        command(&mut session, "CREATE SCHEMA ciphertax").await;
        task(&mut session).await;
    });
}

#[track_caller]
fn server(entry: &'static Entry) -> Option<PrivateServer> {
    fetched(entry)?;
    Some(PrivateServer::builder(entry).start().unwrap())
}

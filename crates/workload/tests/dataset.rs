//! The data set: made, checked and removed; and nobody else's schema is touched.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod common;

use ciphertax_lab::PrivateServer;
use ciphertax_workload::dataset::{self, DatasetError, Size};

use common::{administer, empty_server, server, with_session};

const SIZE: Size = Size { rows: 2_500 };

#[test]
#[ignore = "the guard of the private servers in these tests"]
fn guard() {
    ciphertax_lab::guard::main();
}

#[test]
fn what_is_prepared_passes_the_check_and_can_be_prepared_again_and_removed() {
    let server = empty_server();
    for _ in 0..2 {
        let mut heard = Vec::new();
        with_session(&server, async |session| {
            dataset::prepare(session, SIZE, |rows| heard.push(rows))
                .await
                .unwrap();
            dataset::check(session, SIZE).await.unwrap();
        });
        assert_eq!(heard, [1000, 2000, 2500]);
        assert_eq!(
            tables(&server),
            ["bulk 16", "made_by_ciphertax 1", "sbtest1 2500"]
        );
    }
    for _ in 0..2 {
        with_session(&server, async |session| dataset::remove(session).await.unwrap());
        assert!(tables(&server).is_empty());
    }
}

#[test]
fn the_same_data_are_made_every_time() {
    let checksums = || {
        let server = server(SIZE.rows);
        administer(&server, &["CHECKSUM TABLE ciphertax.sbtest1, ciphertax.bulk"])
    };
    assert_eq!(checksums(), checksums());
}

#[test]
fn the_check_notices_every_change() {
    let server = server(SIZE.rows);
    for (change, repair, told) in [
        (
            "DELETE FROM ciphertax.sbtest1 WHERE id = 77",
            "INSERT INTO ciphertax.sbtest1 SELECT 77, k, c, pad FROM ciphertax.sbtest1 WHERE id = 78",
            "sbtest1",
        ),
        (
            "INSERT INTO ciphertax.sbtest1 SELECT 2501, k, c, pad FROM ciphertax.sbtest1 WHERE id = 1",
            "DELETE FROM ciphertax.sbtest1 WHERE id = 2501",
            "sbtest1",
        ),
        (
            "UPDATE ciphertax.sbtest1 SET id = 9999 WHERE id = 2500",
            "UPDATE ciphertax.sbtest1 SET id = 2500 WHERE id = 9999",
            "sbtest1",
        ),
        (
            "UPDATE ciphertax.sbtest1 SET c = LEFT(c, 118) WHERE id = 5",
            "UPDATE ciphertax.sbtest1 SET c = CONCAT(c, '0') WHERE id = 5",
            "sbtest1",
        ),
        (
            "UPDATE ciphertax.bulk SET payload = LEFT(payload, 65535) WHERE id = 3",
            "UPDATE ciphertax.bulk SET payload = CONCAT(payload, '0') WHERE id = 3",
            "bulk",
        ),
        ("DELETE FROM ciphertax.bulk WHERE id = 0", "DO 0", "bulk"),
    ] {
        administer(&server, &[change]);
        match with_session(&server, async |session| dataset::check(session, SIZE).await) {
            Err(DatasetError::Wrong(problem)) => assert!(problem.starts_with(told), "{problem}"),
            other => panic!("{change}: {other:?}"),
        }
        administer(&server, &[repair]);
    }
}

#[test]
fn a_schema_of_somebody_else_is_refused_and_left_as_it_is() {
    let server = empty_server();
    for made in [
        vec![],
        vec!["CREATE TABLE ciphertax.orders AS SELECT 1 AS id, 'precious' AS what"],
        vec!["CREATE TABLE ciphertax.sbtest1 AS SELECT 1 AS id, 'precious' AS c"],
        vec!["CREATE TABLE ciphertax.made_by_ciphertax (mark VARCHAR(100))"],
        vec!["CREATE TABLE ciphertax.made_by_ciphertax AS SELECT 'another mark' AS mark"],
        vec!["CREATE TABLE ciphertax.made_by_ciphertax AS SELECT 'precious' AS something"],
        vec!["CREATE VIEW ciphertax.made_by_ciphertax AS SELECT NULL AS mark"],
    ] {
        administer(&server, &["CREATE DATABASE ciphertax"]);
        administer(&server, &made);
        let before = contents(&server);
        let outcomes = with_session(&server, async |session| {
            [
                dataset::prepare(session, SIZE, |_| ()).await,
                dataset::remove(session).await,
            ]
        });
        for outcome in outcomes {
            let problem = outcome.expect_err("it was taken for ours").to_string();
            // A marker table of another shape is told by the server.
            let told = ["left alone", "Unknown column 'mark'"];
            assert!(
                told.iter().any(|told| problem.contains(told)),
                "{made:?}: {problem}"
            );
        }
        assert_eq!(contents(&server), before);
        administer(&server, &["DROP DATABASE ciphertax"]);
    }
}

#[test]
fn schemas_of_similar_names_are_no_obstacle_and_stay() {
    let server = empty_server();
    let others = ["CIPHERTAX", "ciphertax2", "cipherta_", "cipher%"];
    for other in others {
        administer(&server, &[&format!("CREATE DATABASE `{other}`")]);
    }
    with_session(&server, async |session| {
        dataset::prepare(session, SIZE, |_| ()).await.unwrap();
        dataset::remove(session).await.unwrap();
    });
    let left = administer(&server, &["SHOW DATABASES"]);
    for other in others {
        assert!(left.iter().any(|name| name == other), "{other} is gone: {left:?}");
    }
    assert!(!left.iter().any(|name| name == dataset::SCHEMA));
}

/// Tables of the schema and their rows.
fn tables(server: &PrivateServer) -> Vec<String> {
    let question =
        "SELECT table_name FROM information_schema.tables WHERE table_schema = 'ciphertax' ORDER BY 1";
    let count = |table: String| {
        let rows = administer(server, &[&format!("SELECT COUNT(*) FROM ciphertax.{table}")]).remove(0);
        format!("{table} {rows}")
    };
    administer(server, &[question]).into_iter().map(count).collect()
}

/// Everything in the schema, and whether there is one.
fn contents(server: &PrivateServer) -> Vec<String> {
    let mut contents = administer(server, &["SHOW DATABASES LIKE 'ciphertax'"]);
    for table in administer(server, &["SHOW TABLES FROM ciphertax"]) {
        contents.extend(administer(
            server,
            &[&format!("SHOW CREATE TABLE ciphertax.{table}")],
        ));
        contents.extend(administer(server, &[&format!("SELECT * FROM ciphertax.{table}")]));
    }
    contents
}

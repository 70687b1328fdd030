//! The data set: made, taken up again, checked and removed; and nobody else's schema is touched.

use ciphertax_wire::mysql::Session;
use ciphertax_workload::dataset;

use crate::common::*;

const DATASET: Dataset = Dataset {
    tables: 2,
    table_size: 2_500,
    distribution: Distribution::Uniform,
};

#[test]
fn what_is_prepared_passes_the_check_and_can_be_removed() {
    let server = empty_server();
    for _ in 0..2 {
        let heard = prepare(&server, &DATASET).unwrap();
        assert_eq!(heard.len(), 6, "three chunks a table: {heard:?}");
        assert!(heard.is_sorted() && heard.last() == Some(&5000), "{heard:?}");
        check_tables(&server, &DATASET).unwrap();
        assert_eq!(
            tables(&server),
            ["bulk 16", "made_by_ciphertax 1", "sbtest1 2500", "sbtest2 2500"]
        );
        for _ in 0..2 {
            remove(&server).unwrap();
            assert!(tables(&server).is_empty());
        }
    }
}

#[test]
fn the_same_data_are_made_every_time_and_every_table_has_its_own() {
    let made = || checksums(&server_with(&DATASET));
    let (first, second) = (made(), made());
    assert_eq!(first, second);
    let found = first[0].split_once(' ').unwrap().1;
    assert_ne!(found, first[1].split_once(' ').unwrap().1);
}

#[test]
fn the_indexed_column_is_distributed_as_asked() {
    for (distribution, least, most) in [
        (Distribution::Uniform, 0.0, 0.1),
        (Distribution::Special, 0.7, 0.9),
    ] {
        let dataset = Dataset {
            distribution,
            ..DATASET
        };
        let server = server_with(&dataset);
        let middle = "SELECT COUNT(*) FROM ciphertax.sbtest1 WHERE k BETWEEN 1230 AND 1270";
        let share = administer(&server, &[middle])[0].parse::<f64>().unwrap() / 2500.0;
        assert!((least..most).contains(&share), "{distribution:?}: {share}");
    }
}

#[test]
fn what_several_load_a_part_of_each_is_whole_and_what_none_of_them_did_is_made() {
    for parts in [3, 2] {
        let server = empty_server();
        let contents = crate::common::sbtest(DATASET);
        let options = plain(&server);
        assert!(begin::<Session>(&options, &contents));
        let rows = (0..parts).flat_map(|index| load_part::<Session>(&options, &contents, index, 3));
        // Six chunks, dealt out in turns; the last of each table is half as large.
        let expected = [1000, 2000, 1000, 2000, 500, 1000];
        assert_eq!(rows.collect::<Vec<_>>(), expected[..2 * parts as usize]);
        assert!(!begin::<Session>(&options, &contents));
        let heard = prepare(&server, &DATASET).unwrap();
        match parts {
            3 => assert_eq!(heard, [5000]),
            // The third part is the last chunk of each table.
            _ => assert!(
                heard.len() == 3 && heard[0] == 4000 && heard[2] == 5000,
                "{heard:?}"
            ),
        }
        assert_eq!(checksums(&server), checksums(&server_with(&DATASET)));
    }
}

#[test]
fn what_an_interrupted_load_left_is_kept() {
    let server = empty_server();
    interrupted_load(&server, 2000);
    let written = || -> u64 {
        let counter = administer(&server, &["SHOW GLOBAL STATUS LIKE 'Com_replace'"]);
        counter[0].split_once(' ').unwrap().1.parse().unwrap()
    };
    // What its connections have asked last the server does all the same.
    let loading = "SELECT COUNT(*) FROM information_schema.processlist WHERE db = 'ciphertax'";
    assert!(within(PATIENCE, || administer(&server, &[loading]) == ["0"]));
    let before = written();
    let heard = prepare(&server, &DATASET).unwrap();
    assert!(heard[0] >= 2000, "{heard:?}");
    assert!(written() - before <= 4, "of six chunks two at least were there");
    assert_eq!(checksums(&server), checksums(&server_with(&DATASET)));
}

#[test]
fn what_is_wrong_is_made_anew_and_the_rest_is_kept() {
    let server = server_with(&DATASET);
    let right = checksums(&server);
    let inserted = || administer(&server, &["SHOW GLOBAL STATUS LIKE 'Handler_write'"]);
    let others = [
        ("DROP INDEX k_2 ON ciphertax.sbtest2", 0),
        ("DROP TABLE ciphertax.bulk", 0),
    ];
    for (damage, chunks) in DAMAGE.into_iter().chain(others) {
        administer(&server, &[damage]);
        let heard = prepare(&server, &DATASET).unwrap();
        assert_eq!(heard.len(), chunks + 1, "{damage}: {heard:?}");
        assert_eq!(checksums(&server), right, "{damage}");
    }
    let before = inserted();
    prepare(&server, &DATASET).unwrap();
    assert_eq!(inserted(), before, "what is right is not written again");
}

#[test]
fn another_data_set_takes_the_place_of_one_of_ours() {
    let server = server_with(&DATASET);
    let smaller = Dataset {
        tables: 1,
        table_size: 700,
        distribution: Distribution::Zipfian,
    };
    let heard = prepare(&server, &smaller).unwrap();
    assert_eq!(heard, [700]);
    assert_eq!(tables(&server), ["bulk 16", "made_by_ciphertax 1", "sbtest1 700"]);
}

#[test]
fn the_check_notices_every_change() {
    let server = server_with(&DATASET);
    for [table, change, repair] in rows(
        "
        sbtest1 → DELETE FROM T WHERE id = 77 → INSERT INTO T SELECT 77, k, c, pad FROM T WHERE id = 78
        sbtest1 → INSERT INTO T SELECT 2501, k, c, pad FROM T WHERE id = 1 → DELETE FROM T WHERE id = 2501
        sbtest1 → UPDATE T SET id = 9999 WHERE id = 2500 → UPDATE T SET id = 2500 WHERE id = 9999
        sbtest1 → UPDATE T SET c = LEFT(c, 118) WHERE id = 5 → UPDATE T SET c = CONCAT(c, '0') WHERE id = 5
        bulk → UPDATE T SET payload = LEFT(payload, 65535) WHERE id = 3 → UPDATE T SET payload = CONCAT(payload, '0') WHERE id = 3
        sbtest2 → DROP INDEX k_2 ON T → CREATE INDEX k_2 ON T(k)
        bulk → DELETE FROM T WHERE id = 0 → DO 0
        ",
    ) {
        let [change, repair] = [change, repair].map(|sql| sql.replace(" T", &format!(" ciphertax.{table}")));
        administer(&server, &[&change]);
        match check_tables(&server, &DATASET) {
            Err(DatasetError::Wrong(problem)) => assert!(problem.starts_with(table), "{problem}"),
            other => panic!("{change}: {other:?}"),
        }
        administer(&server, &[&repair]);
    }
}

#[test]
fn a_schema_of_somebody_else_is_refused_and_left_as_it_is() {
    let server = empty_server();
    for made in [
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
        let outcomes = [prepare(&server, &DATASET).map(drop), remove(&server).map(drop)];
        for outcome in outcomes {
            let problem = outcome.expect_err("it was taken for ours").to_string();
            assert!(problem.contains("left alone"), "{made:?}: {problem}");
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
    prepare(&server, &DATASET).unwrap();
    remove(&server).unwrap();
    let left = administer(&server, &["SHOW DATABASES"]);
    for other in others {
        assert!(left.iter().any(|name| name == other), "{other} is gone: {left:?}");
    }
    assert!(!left.iter().any(|name| *name == *dataset::SCHEMA));
}

/// Begins to make the data set and ends in the middle, as one who is killed, when so many rows are there.
fn interrupted_load(server: &PrivateServer, rows: u64) {
    run(async |reactor| {
        let reached = Cell::new(false);
        let options = options(server, None, None);
        let mut progress = |there| reached.set(there >= rows);
        let (contents, mut opened) = (crate::common::sbtest(DATASET), Vec::new());
        let mut load = pin!(dataset::prepare_contents::<Session>(
            reactor,
            &options,
            &contents,
            &mut opened,
            &mut progress
        ));
        poll_fn(|context| match load.as_mut().poll(context) {
            Poll::Ready(outcome) => panic!("it was not interrupted: {outcome:?}"),
            Poll::Pending if reached.get() => Poll::Ready(()),
            Poll::Pending => Poll::Pending,
        })
        .await;
    });
}

fn checksums(server: &PrivateServer) -> Vec<String> {
    let all = "CHECKSUM TABLE ciphertax.sbtest1, ciphertax.sbtest2, ciphertax.bulk";
    administer(server, &[all])
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

#[test]
fn a_schema_whose_mark_was_not_written_yet_is_ours() {
    let server = empty_server();
    administer(
        &server,
        &[
            "CREATE DATABASE ciphertax",
            "CREATE TABLE ciphertax.made_by_ciphertax (mark VARCHAR(100) NOT NULL, dataset VARCHAR(200) NOT NULL)",
        ],
    );
    assert!(remove(&server).unwrap());
    assert!(!remove(&server).unwrap());
}

#[test]
fn an_empty_schema_of_the_name_is_taken_over_unless_somebody_wrote_a_routine_or_a_view() {
    let server = empty_server();
    // What is left of a run that was killed between making the schema and marking it.
    administer(&server, &["CREATE DATABASE ciphertax"]);
    assert!(remove(&server).unwrap());
    for object in ["PROCEDURE ciphertax.p() SELECT 1", "VIEW ciphertax.v AS SELECT 1"] {
        administer(
            &server,
            &["CREATE DATABASE ciphertax", &format!("CREATE {object}")],
        );
        let refused = remove(&server);
        assert!(matches!(refused, Err(DatasetError::NotOurs(_))), "{refused:?}");
        administer(&server, &["DROP DATABASE ciphertax"]);
    }
}

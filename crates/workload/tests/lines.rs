//! The same lines fill the same table on every database that takes any.

use ciphertax_lab::catalogue::MYSQL_5_6;
use ciphertax_testkit::temporary_folder;
use ciphertax_wire::Session as _;
use ciphertax_wire::{WireError, sqlite};
use ciphertax_workload::sql::Value;

use crate::common::*;

/// What means something in lines is escaped.
const LINES: &[u8] =
    b"1\t12345.67\tplain\n2\t-0.05\t\xC3\xBCn\xC3\xAFc\xC3\xB6d\xC3\xA9\n3\t\\N\t\\N\n4\t0\ttab\\tline\\nslash\\\\N\n";

#[test]
fn the_same_lines_are_the_same_rows_on_every_database() {
    for entry in [&MARIADB, &MYSQL] {
        let Some(_) = fetched(entry) else { continue };
        let server = PrivateServer::builder(entry).start().unwrap();
        run(async |reactor| {
            let options = mysql::Session::that_loads(&plain(&server));
            let (mut session, _) = mysql::Session::connect(reactor, &options).await.unwrap();
            session.command("SET GLOBAL local_infile = 1").await.unwrap();
            // Bytes are taken as they are, so the columns must be in the lines' own character set.
            session
                .command("SET character_set_server = utf8mb4")
                .await
                .unwrap();
            loads(&mut session).await;
            session.command("SET GLOBAL local_infile = 0").await.unwrap();
            let refused = session
                .load_lines("of_lines.t (id, amount, word)", [LINES])
                .await
                .unwrap_err();
            assert!(refused.is_lines_refused(), "{refused}");
        });
    }
    let server = lease(&POSTGRESQL);
    run(async |reactor| {
        let options = plain_postgresql(&server);
        let options = postgresql::Session::that_loads(&options);
        let (mut session, _) = postgresql::Session::connect(reactor, &options).await.unwrap();
        loads(&mut session).await;
    });
}

#[test]
fn a_file_takes_no_lines() {
    let folder = temporary_folder();
    let options = sqlite::ConnectOptions::new(&folder.path().join("file"), None, 1 << 20);
    let mut session = sqlite::Session::create(&options).unwrap();
    run(async |_| {
        let refused = session
            .load_lines("t (id)", [b"1\n".as_slice()])
            .await
            .unwrap_err();
        assert!(refused.is_lines_refused());
    });
}

/// The column of a key where the server wants one: as none of these does, it is made here.
#[test]
fn a_wanted_key_is_made_by_servers_that_know_no_invisible_columns() {
    let [_, column] = mysql::Session::DIALECT.wanted_key.unwrap();
    for entry in [&MARIADB, &MYSQL_5_6] {
        let Some(_) = fetched(entry) else { continue };
        let server = PrivateServer::builder(entry).start().unwrap();
        run(async |reactor| {
            let (mut session, _) = mysql::Session::connect(reactor, &plain(&server)).await.unwrap();
            for sql in [
                "CREATE SCHEMA of_key",
                &format!("CREATE TABLE of_key.t (a INTEGER, {column})"),
                "INSERT INTO of_key.t (a) VALUES (7), (8)",
            ] {
                session.command(sql).await.unwrap();
            }
            let rows = session.query("SELECT id FROM of_key.t ORDER BY a").await.unwrap();
            assert_eq!(rows.iter().map(|row| row.text(0)).collect::<Vec<_>>(), ["1", "2"]);
        });
    }
}

async fn loads<S: SqlSession>(session: &mut S) {
    for sql in [
        "CREATE SCHEMA of_lines",
        "CREATE TABLE of_lines.t (id INTEGER PRIMARY KEY, word VARCHAR(24), amount DECIMAL(12,2))",
    ] {
        session.command(sql).await.unwrap();
    }
    // In another order than the table's.
    let into = "of_lines.t (id, amount, word)";
    assert_eq!(session.load_lines(into, [LINES]).await.unwrap(), 4);
    assert_eq!(session.load_lines(into, [b"".as_slice()]).await.unwrap(), 0);
    let mut rows = Vec::new();
    let keep = |row: &[Value<'_>]| {
        rows.push(row.iter().map(text).collect::<Vec<_>>());
        Ok(())
    };
    let sql = "SELECT id, amount, word FROM of_lines.t ORDER BY id";
    let mut statement = session.prepare(sql, &[]).await.unwrap();
    session.execute_values(&mut statement, keep).await.unwrap();
    let expected = [
        ["1", "12345.67", "plain"].map(Some),
        ["2", "-0.05", "ünïcödé"].map(Some),
        [Some("3"), None, None],
        ["4", "0.00", "tab\tline\nslash\\N"].map(Some),
    ];
    assert_eq!(
        rows,
        expected.map(|row| row.map(|value| value.map(str::to_owned)).to_vec())
    );

    session.command("BEGIN").await.unwrap();
    let again = session
        .load_lines(into, [b"9\t1\tx\n4\t1\tx\n".as_slice()])
        .await
        .unwrap_err();
    assert!(again.is_duplicate() && !again.is_lines_refused(), "{again}");
    session.command("ROLLBACK").await.unwrap();
    let count = session.query("SELECT COUNT(*) FROM of_lines.t").await.unwrap();
    assert_eq!(count[0].text(0), "4");
    let missing: WireError = session
        .load_lines("of_lines.nothing (id)", [LINES])
        .await
        .unwrap_err();
    let is_neither = !missing.is_lines_refused() && !missing.is_duplicate();
    assert!(is_neither, "{missing}");
}

fn text(value: &Value<'_>) -> Option<String> {
    match value {
        Value::Null => None,
        Value::Integer(value) => Some(value.to_string()),
        Value::Text(text) => Some(String::from_utf8(text.to_vec()).unwrap()),
    }
}

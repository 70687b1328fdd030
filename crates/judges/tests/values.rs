//! The values of rows that our clients hand over are those that drivers get which everybody uses.

use std::future::Future;

use ciphertax_lab::catalogue::{Entry, MARIADB, MYSQL, MYSQL_5_6};
use ciphertax_testkit::fetched;
use ciphertax_wire::sql::{SqlSession as _, Statement as _};
use ciphertax_wire::{Session as _, Value, WireError, mysql, postgresql};
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, OptsBuilder, Row};
use tokio_postgres::NoTls;

use crate::common::packets::{end_of_rows, one_column, packet, welcome};
use crate::common::postgres::postgres;
use crate::common::*;
use crate::postgresql::texts;

/// A row as texts; NULL is `None`.
type Texts = Vec<Option<String>>;

/// Every type at its ends, one row a value; floating numbers come last.
const COLUMNS: &str = r"
    TINYINT → -128 → 127 → 0 → 1
    TINYINT UNSIGNED → 0 → 255 → 128 → 1
    SMALLINT → -32768 → 32767 → 0 → -1
    SMALLINT UNSIGNED → 0 → 65535 → 32768 → 1
    MEDIUMINT → -8388608 → 8388607 → 0 → -1
    MEDIUMINT UNSIGNED → 0 → 16777215 → 8388608 → 1
    INT → -2147483648 → 2147483647 → 0 → -1
    INT UNSIGNED → 0 → 4294967295 → 2147483648 → 1
    BIGINT → -9223372036854775808 → 9223372036854775807 → 0 → -1
    BIGINT UNSIGNED → 0 → 18446744073709551615 → 9223372036854775808 → 1
    YEAR → 1901 → 2155 → 2026 → 1999
    DECIMAL(12,2) → -9999999999.99 → 9999999999.99 → 0 → 0.05
    CHAR(10) → '' → 'abc' → 'ünïcödé' → 'NULL'
    VARCHAR(500) → '' → REPEAT('a', 250) → REPEAT('b', 251) → '\t\n'
    MEDIUMTEXT → '' → REPEAT('c', 65535) → REPEAT('d', 65536) → '漢字'
    BLOB → '' → 'b' → REPEAT('b', 300) → '0'
    ENUM('x', 'y') → 'x' → 'y' → 'x' → 'y'
    DATE → '0000-00-00' → '1000-01-01' → '9999-12-31' → '2026-02-28'
    DATETIME → '0000-00-00' → '1000-01-01' → '9999-12-31 23:59:59' → '2026-02-28 00:00:01'
    DATETIME(6) → '0000-00-00' → '2026-01-01' → '9999-12-31 23:59:59.999999' → '2026-02-28 10:00:00'
    DATETIME(3) → '2026-01-01 00:00:00.5' → '2026-01-01' → '2026-01-01 00:00:00.001' → 0
    TIMESTAMP(2) NULL → '2026-01-01 00:00:00.5' → '2026-01-01' → '2026-01-01 12:00:00.25' → 0
    TIME → '-838:59:59' → '838:59:59' → '00:00:00' → '100:00:00'
    TIME(6) → '-00:00:00.000001' → '99:59:59.999999' → '00:00:00' → '24:00:00'
    FLOAT → -1.5 → 3.4e38 → 0 → 1e-30
    DOUBLE → -1.5 → 1.7976931348623157e308 → 0 → 2.2250738585072014e-308
";
const COUNT: usize = 26;
const EXACT: usize = COUNT - 2;

#[test]
fn mysql_values_are_those_of_the_driver_by_text_and_by_prepared_statements() {
    for entry in [&MARIADB, &MYSQL] {
        if fetched(entry).is_some() {
            compare_with_mysql_async(entry);
        }
    }
}

fn compare_with_mysql_async(entry: &'static Entry) {
    let server = builder_of(entry).start().unwrap();
    let options = plain(&server);
    let columns = ciphertax_testkit::rows::<5>(COLUMNS);
    let types = columns.iter().enumerate();
    let types: Vec<String> = types
        .map(|(index, [kind, ..])| format!("c{index} {kind}"))
        .collect();
    let mut statements = vec![
        "SET sql_mode = ''".to_owned(),
        "SET NAMES utf8mb4".to_owned(),
        "CREATE DATABASE of_values CHARACTER SET utf8mb4".to_owned(),
        format!(
            "CREATE TABLE of_values.t (id INT PRIMARY KEY, {})",
            types.join(", ")
        ),
        "INSERT INTO of_values.t (id) VALUES (5)".to_owned(),
    ];
    for row in 0..4 {
        let values: Vec<&str> = columns.iter().map(|column| column[row + 1]).collect();
        statements.push(format!(
            "INSERT INTO of_values.t VALUES ({row}, {})",
            values.join(", ")
        ));
    }
    let names: Vec<String> = (0..COUNT).map(|index| format!("c{index}")).collect();
    let select = format!(
        "SELECT {}, NULL FROM of_values.t WHERE id > -1 ORDER BY id",
        names.join(", ")
    );
    let by_parameter = select.replace("-1", "?");

    let (texts, floats) = drive(async {
        let options = OptsBuilder::default()
            .ip_or_hostname(&options.host)
            .tcp_port(options.port)
            .prefer_socket(false)
            .user(Some(&options.user))
            .pass(Some(options.password.expose()));
        let mut connection = Conn::new(options).await.unwrap();
        for statement in &statements {
            connection.query_drop(statement).await.unwrap();
        }
        let texts: Vec<Row> = connection.query(&select).await.unwrap();
        let binary: Vec<Row> = connection.exec(&by_parameter, (-1_i64,)).await.unwrap();
        (
            texts.into_iter().map(texts_of_driver).collect::<Vec<Texts>>(),
            floats_of(binary),
        )
    });
    assert_eq!(texts.len(), 5);

    let (by_text, by_statement) = run(async |reactor| {
        let (mut session, _) = mysql::Session::connect(reactor, &options).await.unwrap();
        session.query("SET NAMES utf8mb4").await.unwrap();
        let mut by_text = Vec::new();
        let mut query = mysql::Query::new(&select);
        session
            .run_values(&mut query, |row| keep(&mut by_text, row))
            .await
            .unwrap();
        let mut statement = session
            .prepare(&by_parameter, &[mysql::Parameter::Integer])
            .await
            .unwrap();
        statement.set_integer(0, -1);
        let mut by_statement = Vec::new();
        for _ in 0..2 {
            by_statement.clear();
            let summary = session
                .execute_values(&mut statement, |row| keep(&mut by_statement, row))
                .await
                .unwrap();
            assert_eq!(summary.rows, 5);
        }
        // Neither leaves anything behind that would be in the way of what comes next.
        assert_eq!(session.query("SELECT 7").await.unwrap()[0].text(0), "7");
        (by_text, by_statement)
    });
    for (row, theirs) in texts.iter().enumerate() {
        for (column, value) in theirs.iter().enumerate() {
            let kind = columns.get(column).map_or("NULL", |[kind, ..]| kind);
            assert_eq!(&by_text[row][column], value, "{entry}: {kind} by text");
            let ours = &by_statement[row][column];
            if (EXACT..COUNT).contains(&column) {
                let number = ours.as_ref().map(|text| text.parse().unwrap());
                assert_eq!(number, floats[row][column - EXACT], "{entry}: {kind}");
            } else {
                assert_eq!(ours, value, "{entry}: {kind} by a prepared statement");
            }
        }
    }
}

#[test]
fn mysql_parameters_of_every_length_arrive() {
    for entry in [&MARIADB, &MYSQL] {
        let Some(_) = fetched(entry) else { continue };
        let server = builder_of(entry).start().unwrap();
        run(async |reactor| {
            let (mut session, _) = mysql::Session::connect(reactor, &plain(&server)).await.unwrap();
            let mut statement = session
                .prepare(
                    "SELECT ?, LENGTH(?), ?",
                    &[
                        mysql::Parameter::VariableText,
                        mysql::Parameter::VariableText,
                        mysql::Parameter::Integer,
                    ],
                )
                .await
                .unwrap();
            for (number, length) in [0, 1, 250, 251, 252, 65_535, 250, 65_535, 3]
                .into_iter()
                .enumerate()
            {
                let (first, second) = ("é".repeat(length / 2), "x".repeat(length));
                statement.set_text(0, first.as_bytes()).unwrap();
                statement.set_text(1, second.as_bytes()).unwrap();
                statement.set_integer(2, number as i64);
                let mut rows = Vec::new();
                session
                    .execute_values(&mut statement, |row| keep(&mut rows, row))
                    .await
                    .unwrap();
                assert_eq!(
                    rows,
                    [[Some(first), Some(length.to_string()), Some(number.to_string())]]
                );
            }
            assert!(matches!(
                statement.set_text(0, &[b'x'; 65_536]),
                Err(WireError::Request(_))
            ));
        });
    }
}

#[test]
fn a_row_has_up_to_64_columns() {
    let server = builder_of(&MARIADB).start().unwrap();
    run(async |reactor| {
        for (columns, fits) in [(64, true), (65, false)] {
            let (mut session, _) = mysql::Session::connect(reactor, &plain(&server)).await.unwrap();
            let sql = format!("SELECT {}", vec!["NOW(6)"; columns].join(", "));
            let mut statement = session.prepare(&sql, &[]).await.unwrap();
            let mut rows = Vec::new();
            let outcome = session
                .execute_values(&mut statement, |row| keep(&mut rows, row))
                .await;
            assert_eq!(outcome.is_ok(), fits, "{outcome:?}");
            assert_eq!(rows.len(), usize::from(fits));
            assert!(
                rows.iter()
                    .all(|row| row.len() == columns && row.iter().all(|value| value == &row[0]))
            );
        }
    });
}

#[test]
fn an_error_of_whoever_takes_the_rows_is_the_outcome() {
    let server = builder_of(&MARIADB).start().unwrap();
    run(async |reactor| {
        let (mut session, _) = mysql::Session::connect(reactor, &plain(&server)).await.unwrap();
        let mut query = mysql::Query::new("SELECT 1 UNION SELECT 2");
        let mut taken = 0;
        let outcome = session.run_values(&mut query, |_| {
            taken += 1;
            Err(WireError::Request("enough".into()))
        });
        assert!(matches!(outcome.await, Err(WireError::Request(_))));
        assert_eq!(taken, 1);
    });
}

/// A row that does not fit its columns, and columns whose definitions cannot be read, are breaches.
#[test]
fn rows_of_a_hostile_server_are_breaches() {
    for (what, rows) in [
        ("too few", packet(3, [])),
        ("too many", packet(3, b"\x01a\x01b")),
        ("cut off", packet(3, b"\x05ab")),
        ("cut off in its length", packet(3, b"\xFC\xFF")),
        ("a length that is never sent", packet(3, b"\xFD\xFF\xFF\xFFabc")),
    ] {
        let script = [welcome(), one_column(), rows, end_of_rows(4)].concat();
        assert!(matches!(values_of(script), Err(WireError::Protocol(_))), "{what}");
    }
    let definition = [
        welcome(),
        packet(1, [1]),
        packet(2, b"\x03def"),
        packet(3, b"\x01a"),
        end_of_rows(4),
    ];
    assert!(matches!(
        values_of(definition.concat()),
        Err(WireError::Protocol(_))
    ));
    let honest = [
        welcome(),
        one_column(),
        packet(3, b"\x02ok"),
        packet(4, b"\xFB"),
        end_of_rows(5),
    ];
    let found = values_of(honest.concat()).unwrap();
    assert_eq!(found, [[Some("ok".to_owned())], [None]]);
}

fn values_of(script: Vec<u8>) -> Result<Vec<Texts>, WireError> {
    let server = FakeServer::start(script, Ending::Close);
    run(async |reactor| {
        let (mut session, _) = mysql::Session::connect(reactor, &server.options()).await?;
        let mut rows = Vec::new();
        let mut query = mysql::Query::new("SELECT 1");
        session.run_values(&mut query, |row| keep(&mut rows, row)).await?;
        Ok(rows)
    })
}

#[test]
fn postgresql_values_are_those_of_the_driver_by_text_and_by_prepared_statements() {
    let Some(server) = postgres() else { return };
    let select = "SELECT i::int2, i::int4, i * 3000000000::int8, i / 7::numeric(12, 4), (i / 7.0)::float8, repeat('x', i::int), \
        'abc'::char(10), NULL::text, '', i % 2 = 0, '\\x00ff'::bytea, \
        '2026-02-28 12:00:00.25'::timestamp + i * '1 day'::interval, '0044-03-15 BC'::date, '{1,NULL}'::int[], E'\\t\\n\\\\N' \
        FROM generate_series(1::int8, 300::int8) AS i";
    let by_parameters = select.replace("1::int8, 300", "$1::int8, $2");
    let theirs: Vec<Texts> = drive(async {
        let options = server.plain("trusted");
        let config = format!(
            "host={} port={} user=trusted dbname=postgres",
            options.host, options.port
        );
        let (client, connection) = tokio_postgres::connect(&config, NoTls).await.unwrap();
        let connection = tokio::spawn(connection);
        let messages = client.simple_query(select).await.unwrap();
        drop(client);
        connection.await.unwrap().unwrap();
        texts(messages)
    });
    assert_eq!(theirs.len(), 300);
    run(async |reactor| {
        let options = server.plain("trusted");
        let (mut session, _) = postgresql::Session::connect(reactor, &options).await.unwrap();
        let mut rows = Vec::new();
        let mut query = postgresql::Query::new(select);
        session
            .run_values(&mut query, |row| keep(&mut rows, row))
            .await
            .unwrap();
        assert!(rows == theirs, "by text");
        let mut statement = session
            .prepare(&by_parameters, &[postgresql::Parameter::Integer; 2])
            .await
            .unwrap();
        statement.set_integer(0, 1);
        statement.set_integer(1, 300);
        for _ in 0..2 {
            // In between as before, in its own form.
            assert_eq!(session.execute(&mut statement).await.unwrap().rows, 300);
            rows.clear();
            session
                .execute_values(&mut statement, |row| keep(&mut rows, row))
                .await
                .unwrap();
            assert!(rows == theirs, "by a prepared statement");
        }
        let mut text = session
            .prepare("SELECT $1::text", &[postgresql::Parameter::VariableText])
            .await
            .unwrap();
        for length in [0, 250, 251, 65_535] {
            let value = "x".repeat(length);
            text.set_text(0, value.as_bytes()).unwrap();
            rows.clear();
            session
                .execute_values(&mut text, |row| keep(&mut rows, row))
                .await
                .unwrap();
            assert_eq!(rows, [[Some(value)]]);
        }
        assert!(text.set_text(0, &[b'x'; 65_536]).is_err());
        let mut many = postgresql::Query::new(&format!("SELECT {}", vec!["1"; 65].join(", ")));
        assert!(matches!(
            session.run_values(&mut many, |_| Ok(())).await,
            Err(WireError::Protocol(_))
        ));
    });
}

/// A row of ours as texts.
#[allow(clippy::unnecessary_wraps, reason = "it is what takes a row")]
fn keep(rows: &mut Vec<Texts>, row: &[Value<'_>]) -> Result<(), WireError> {
    let value = |value: &Value<'_>| match value {
        Value::Null => None,
        Value::Integer(value) => Some(value.to_string()),
        Value::Text(text) => Some(String::from_utf8(text.to_vec()).unwrap()),
    };
    rows.push(row.iter().map(value).collect());
    Ok(())
}

fn texts_of_driver(row: Row) -> Texts {
    let value = |value| match value {
        mysql_async::Value::NULL => None,
        mysql_async::Value::Bytes(bytes) => Some(String::from_utf8(bytes).unwrap()),
        other => panic!("a text row holds {other:?}"),
    };
    row.unwrap().into_iter().map(value).collect()
}

/// The numbers with a floating point of each row, as the driver has them of a prepared statement.
fn floats_of(rows: Vec<Row>) -> Vec<[Option<f64>; 2]> {
    let value = |value: &mysql_async::Value| match value {
        mysql_async::Value::NULL => None,
        // By its text, since one of 32 bits is another number when it is made longer.
        mysql_async::Value::Float(value) => Some(value.to_string().parse().unwrap()),
        mysql_async::Value::Double(value) => Some(*value),
        other => panic!("{other:?}"),
    };
    let row = |row: Row| [EXACT, EXACT + 1].map(|column| value(row.as_ref(column).unwrap()));
    rows.into_iter().map(row).collect()
}

fn drive<T>(task: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(task)
}

mod test_all {
    use super::*;

    #[test]
    fn values_of_mysql_5_6_are_those_of_the_driver() {
        if fetched(&MYSQL_5_6).is_some() {
            compare_with_mysql_async(&MYSQL_5_6);
        }
    }
}

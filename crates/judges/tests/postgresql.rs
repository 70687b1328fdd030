//! Our client of PostgreSQL and a driver that everybody uses see the same: rows, errors, statements, what was loaded.

use std::collections::BTreeSet;
use std::error::Error as _;
use std::rc::Rc;

use ciphertax_model::TlsLibrary::{OpenSsl, Rustls};
use ciphertax_model::TlsVersion::V1_3;
use ciphertax_reactor::Reactor;
use ciphertax_wire::postgresql::{ConnectOptions, Parameter, Query, Session, Values};
use ciphertax_wire::sql::{SqlSession as _, Statement as _};
use ciphertax_wire::{Session as _, WireError};
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

use crate::common::postgres::{OWNER, Postgres, postgres};
use crate::common::run;

/// What is easily confused or mangled, and values longer than what is read at a time.
const ROWS: &str = "SELECT 1, NULL, '', 'NULL', E'\\\\N', 'ünïcödé 🦀 漢字', -0.5, true, '{1,NULL}'::int[] \
    UNION ALL SELECT 2, '', NULL, repeat('a', 250), repeat('b', 65536), repeat('é', 40000), NULL, false, NULL \
    UNION ALL SELECT 3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{}' \
    UNION ALL SELECT 4, repeat('x', 3000000), '', '', '', '', 0, NULL, NULL";

#[test]
fn both_see_the_same_rows_as_text() {
    let Some(server) = postgres() else { return };
    let several = "SELECT 1 WHERE false; SELECT 'a' UNION ALL SELECT 'b'; CREATE TEMP TABLE t (i int); \
        INSERT INTO t VALUES (1), (2); UPDATE t SET i = 3 WHERE i = 1; DELETE FROM t; ; SELECT 'last'";
    for options in ways(server) {
        for sql in [ROWS, several, "", "-- nothing", ";;"] {
            let theirs: Vec<Vec<Option<String>>> = drive(server, async |client| {
                texts(client.simple_query(sql).await.unwrap())
            });
            let ours = ask(&options, async |session, _| session.query(sql).await.unwrap());
            assert_eq!(ours.len(), theirs.len());
            for (ours, theirs) in ours.iter().zip(&theirs) {
                for (column, value) in theirs.iter().enumerate() {
                    let is_same = ours.text(column) == value.as_deref().unwrap_or_default();
                    assert!(is_same, "{column}");
                    assert_eq!(ours.is_null(column), value.is_none(), "{column}");
                }
            }
        }
    }
}

#[test]
fn what_an_answer_held_is_counted() {
    let Some(server) = postgres() else { return };
    ask(&server.plain("trusted"), async |session, _| {
        let mut summaries = Vec::new();
        for sql in [
            "CREATE TEMP TABLE t (i int)",
            "INSERT INTO t SELECT * FROM generate_series(1, 5)",
            "UPDATE t SET i = i + 1 WHERE i > 2",
            "SELECT i FROM t",
            "DELETE FROM t WHERE i = 1; DELETE FROM t",
        ] {
            let summary = session.run(&mut Query::new(sql)).await.unwrap();
            summaries.push((summary.rows, summary.affected_rows));
        }
        assert_eq!(summaries, [(0, 0), (0, 5), (0, 3), (5, 0), (0, 5)]);
    });
}

#[test]
fn both_hear_the_same_error_and_go_on() {
    let Some(server) = postgres() else { return };
    let statements = [
        "SELEC 1",
        "SELECT nothing FROM nowhere",
        "SELECT no_such_function()",
        "DO $$ BEGIN RAISE EXCEPTION 'sïgnal' USING ERRCODE = '45000'; END $$",
        "SELECT (SELECT generate_series(1, 2))",
        "SELECT 1/(2 - generate_series(1, 3))",
    ];
    let theirs: Vec<_> = drive(server, async |client| {
        let mut errors = Vec::new();
        for statement in statements {
            let error = client.simple_query(statement).await.unwrap_err();
            errors.push(said_by_driver(&error));
        }
        errors
    });
    for options in ways(server) {
        let ours: Vec<_> = ask(&options, async |session, _| {
            let mut errors = Vec::new();
            for statement in statements {
                errors.push(said(&session.query(statement).await.unwrap_err()));
            }
            assert_eq!(session.query("SELECT 7").await.unwrap()[0].text(0), "7");
            errors
        });
        assert_eq!(ours, theirs);
    }
    assert_eq!(theirs[0].1, "42601");
}

#[test]
fn both_prepare_and_execute_the_same() {
    let Some(server) = postgres() else { return };
    let table = "CREATE TEMP TABLE t (small int2, middle int4, large int8, pad char(10), text text)";
    let insert = "INSERT INTO t VALUES ($1, $2, $3, $4, $5)";
    let select = "SELECT small, middle, large, pad, text FROM t WHERE large = $1 AND text = $2";
    for options in ways(server) {
        ask(&options, async |session, _| {
            session.query(table).await.unwrap();
            let integer = Parameter::Integer;
            let parameters = [
                integer,
                integer,
                integer,
                Parameter::Text(10),
                Parameter::VariableText,
            ];
            let mut insert = session.prepare(insert, &parameters).await.unwrap();
            let mut select = session
                .prepare(select, &[integer, Parameter::VariableText])
                .await
                .unwrap();
            for (number, text) in [
                (i64::MIN, "kürz"),
                (-1, ""),
                (0, "ein längerer Text"),
                (i64::MAX, "x"),
            ] {
                insert.set_integer(0, number.clamp(i16::MIN.into(), i16::MAX.into()));
                insert.set_integer(1, number.clamp(i32::MIN.into(), i32::MAX.into()));
                insert.set_integer(2, number);
                insert.text_mut(3).copy_from_slice(b"0123456789");
                insert.set_text(4, text.as_bytes()).unwrap();
                assert_eq!(session.execute(&mut insert).await.unwrap().affected_rows, 1);
                select.set_integer(0, number);
                select.set_text(1, text.as_bytes()).unwrap();
                let mut rows = Vec::new();
                let keep = |row: &[u8]| {
                    rows.push(row.to_vec());
                    Ok(())
                };
                let summary = session.execute_rows(&mut select, keep).await.unwrap();
                assert_eq!((summary.rows, summary.affected_rows), (1, 0));
                assert_eq!(summary.row_bytes, rows[0].len() as u64);
                let values: Vec<&[u8]> = Values::of(&rows[0])
                    .unwrap()
                    .map(|value| value.unwrap().unwrap())
                    .collect();
                assert_eq!(
                    values[0],
                    (number.clamp(i16::MIN.into(), i16::MAX.into()) as i16).to_be_bytes()
                );
                assert_eq!(
                    values[1],
                    (number.clamp(i32::MIN.into(), i32::MAX.into()) as i32).to_be_bytes()
                );
                assert_eq!(values[2], number.to_be_bytes());
                assert_eq!((values[3], values[4]), (&b"0123456789"[..], text.as_bytes()));
            }
        });
    }
}

/// The driver's binary values of a prepared statement are ours, byte for byte.
#[test]
fn both_get_the_same_bytes_of_a_prepared_statement() {
    let Some(server) = postgres() else { return };
    let sql = "SELECT i::int4, i::int8 * 3, repeat('x', i::int4), NULL::text, i / 7.0::float8 \
        FROM generate_series($1::int8, $2::int8) AS i";
    let theirs: Vec<Vec<Option<Vec<u8>>>> = drive(server, async |client| {
        let rows = client.query(sql, &[&1_i64, &300_i64]).await.unwrap();
        rows.iter()
            .map(|row| {
                vec![
                    Some(row.get::<_, i32>(0).to_be_bytes().to_vec()),
                    Some(row.get::<_, i64>(1).to_be_bytes().to_vec()),
                    Some(row.get::<_, String>(2).into_bytes()),
                    row.get::<_, Option<String>>(3).map(String::into_bytes),
                    Some(row.get::<_, f64>(4).to_be_bytes().to_vec()),
                ]
            })
            .collect()
    });
    assert_eq!(theirs.len(), 300);
    for options in ways(server) {
        let ours: Vec<Vec<Option<Vec<u8>>>> = ask(&options, async |session, _| {
            let mut statement = session.prepare(sql, &[Parameter::Integer; 2]).await.unwrap();
            statement.set_integer(0, 1);
            statement.set_integer(1, 300);
            let mut rows = Vec::new();
            let keep = |row: &[u8]| {
                let values = Values::of(row)?.map(|value| Ok(value?.map(<[u8]>::to_vec)));
                rows.push(values.collect::<Result<_, WireError>>()?);
                Ok(())
            };
            session.execute_rows(&mut statement, keep).await.unwrap();
            rows
        });
        assert!(ours == theirs, "rows differ");
    }
}

#[test]
fn statements_fail_where_they_are_wrong_and_the_session_goes_on() {
    let Some(server) = postgres() else { return };
    let theirs = drive(server, async |client| {
        let error = client
            .prepare("SELECT $1 FROM nowhere")
            .await
            .map(drop)
            .unwrap_err();
        said_by_driver(&error)
    });
    ask(&server.plain("trusted"), async |session, _| {
        let integer = [Parameter::Integer];
        let problem = session
            .prepare("SELECT $1 FROM nowhere", &integer)
            .await
            .map(drop)
            .unwrap_err();
        assert_eq!(said(&problem), theirs);
        let text = session
            .prepare("SELECT $1", &integer)
            .await
            .map(drop)
            .unwrap_err();
        assert!(text.to_string().contains("$1::int8"), "{text}");
        let few = session
            .prepare("SELECT $1::int4", &[])
            .await
            .map(drop)
            .unwrap_err();
        assert!(few.to_string().contains("has 1 parameters, not 0"), "{few}");

        let mut divide = session.prepare("SELECT 10 / $1::int4", &integer).await.unwrap();
        divide.set_integer(0, 0);
        let zero = session.execute(&mut divide).await.unwrap_err();
        assert_eq!(said(&zero).1, "22012");
        divide.set_integer(0, 1 << 40);
        let large = session.execute(&mut divide).await.unwrap_err();
        assert!(matches!(large, WireError::Request(_)), "{large}");
        divide.set_integer(0, 5);
        assert_eq!(session.execute(&mut divide).await.unwrap().rows, 1);
    });
}

#[test]
fn what_is_loaded_is_what_the_driver_reads() {
    let Some(server) = postgres() else { return };
    let values = ["", "plain", "a\tb\nc\rd", "\\N", "\\.", "ünïcödé 🦀", "NULL"];
    for (number, options) in ways(server).into_iter().enumerate() {
        let table = format!("loaded_{number}");
        let rows = 20_000_usize;
        let loaded = ask(&options, async |session, _| {
            session
                .query(&format!(
                    "CREATE TABLE {table} (id int PRIMARY KEY, a text, b text)"
                ))
                .await
                .unwrap();
            let mut copy = session
                .copy_in(&format!("COPY {table} FROM STDIN"))
                .await
                .unwrap();
            for id in 0..rows {
                let value = values[id % values.len()].replace('\\', r"\\");
                let value = value
                    .replace('\t', r"\t")
                    .replace('\n', r"\n")
                    .replace('\r', r"\r");
                copy.write(format!("{id}\t{value}\t\\N\n").as_bytes())
                    .await
                    .unwrap();
            }
            let loaded = copy.finish().await.unwrap();
            assert_eq!(session.query("SELECT 1").await.unwrap().len(), 1);
            loaded
        });
        assert_eq!(loaded, rows as u64);
        drive(server, async |client| {
            let found = client
                .query(&format!("SELECT id, a, b FROM {table} ORDER BY id"), &[])
                .await
                .unwrap();
            assert_eq!(found.len(), rows);
            for (id, row) in found.iter().enumerate() {
                assert_eq!(row.get::<_, i32>(0) as usize, id);
                assert_eq!(row.get::<_, &str>(1), values[id % values.len()]);
                assert_eq!(row.get::<_, Option<&str>>(2), None);
            }
        });
    }
}

#[test]
fn a_load_that_fails_leaves_nothing_and_a_session_that_goes_on() {
    let Some(server) = postgres() else { return };
    ask(&server.plain("trusted"), async |session, _| {
        session
            .query("CREATE TEMP TABLE t (id int PRIMARY KEY)")
            .await
            .unwrap();
        let mut copy = session.copy_in("COPY t FROM STDIN").await.unwrap();
        for _ in 0..50_000 {
            copy.write(b"not a number\n").await.unwrap();
        }
        assert_eq!(said(&copy.finish().await.unwrap_err()).1, "22P02");
        let problem = session
            .copy_in("COPY nowhere FROM STDIN")
            .await
            .map(drop)
            .unwrap_err();
        assert_eq!(said(&problem).1, "42P01");
        let empty = session.copy_in("COPY t FROM STDIN").await.unwrap();
        assert_eq!(empty.finish().await.unwrap(), 0);
        let count = session.query("SELECT count(*) FROM t").await.unwrap()[0].text(0);
        assert_eq!(count, "0");

        // One that is neither: the session is told apart from one that can be asked.
        drop(session.copy_in("COPY t FROM STDIN").await.unwrap());
        let problem = session.query("SELECT 1").await.unwrap_err();
        assert!(matches!(problem, WireError::Request(_)), "{problem}");
    });
}

#[test]
fn a_session_that_is_ended_while_rows_are_on_their_way_tells_the_servers_word() {
    let Some(server) = postgres() else { return };
    let options = server.plain("trusted");
    ask(&options, async |session, reactor| {
        session.query("CREATE TEMP TABLE t (id int)").await.unwrap();
        let id = session.id();
        let mut copy = session.copy_in("COPY t FROM STDIN").await.unwrap();
        let (mut other, _) = Session::connect(reactor, &options).await.unwrap();
        other
            .query(&format!("SELECT pg_terminate_backend({id})"))
            .await
            .unwrap();
        let is_there = format!("SELECT 1 FROM pg_stat_activity WHERE pid = {id}");
        while !other.query(&is_there).await.unwrap().is_empty() {}
        // What is sent now comes back as a connection that is gone.
        let problem = loop {
            if let Err(problem) = copy.write(b"1\n2\n3\n").await {
                break problem;
            }
        };
        assert_eq!(said(&problem).1, "57P01", "{problem}");
    });
}

#[test]
fn a_statement_that_wants_or_sends_a_copy_as_text_is_refused() {
    let Some(server) = postgres() else { return };
    for sql in [
        "COPY (SELECT 1) TO STDOUT",
        "CREATE TEMP TABLE t (i int); COPY t FROM STDIN",
    ] {
        let problem = ask(&server.plain("trusted"), async |session, _| {
            session.query(sql).await.unwrap_err()
        });
        assert!(matches!(problem, WireError::Protocol(_)), "{problem}");
    }
}

#[test]
fn what_the_server_says_unasked_is_not_taken_for_an_answer() {
    let Some(server) = postgres() else { return };
    ask(&server.plain("trusted"), async |session, _| {
        let talk = "DO $$ BEGIN FOR i IN 1..300 LOOP RAISE NOTICE 'number %', i; END LOOP; END $$";
        for sql in [
            talk,
            "LISTEN me",
            "NOTIFY me, 'somebody'",
            "SET application_name = 'another'",
        ] {
            session.query(sql).await.unwrap();
        }
        let mut notify = session
            .prepare("SELECT pg_notify('me', $1::int4::text)", &[Parameter::Integer])
            .await
            .unwrap();
        for number in 0..3 {
            notify.set_integer(0, number);
            assert_eq!(session.execute(&mut notify).await.unwrap().rows, 1);
        }
        assert_eq!(session.query("SELECT 7").await.unwrap()[0].text(0), "7");
    });
}

#[test]
fn a_session_whose_backend_is_ended_is_gone() {
    let Some(server) = postgres() else { return };
    for options in ways(server) {
        let problem = ask(&options, async |session, reactor| {
            let (mut other, _) = Session::connect(reactor, &server.owner()).await.unwrap();
            let end = format!("SELECT pg_terminate_backend({}, 10000)", session.id());
            assert_eq!(other.query(&end).await.unwrap()[0].text(0), "t");
            session.query("SELECT 1").await.unwrap_err()
        });
        assert!(problem.is_disconnect(), "{problem}");
    }
}

#[test]
fn settings_and_the_schema_hold_from_the_beginning() {
    let Some(server) = postgres() else { return };
    let options = ConnectOptions {
        schema: Some("elsewhere".into()),
        settings: vec![
            ("application_name".into(), "a test".into()),
            ("options".into(), "-c work_mem=5MB".into()),
        ],
        ..server.plain("trusted")
    };
    ask(&options, async |session, _| {
        for (name, value) in [
            ("search_path", "elsewhere"),
            ("application_name", "a test"),
            ("work_mem", "5MB"),
            ("client_encoding", "UTF8"),
        ] {
            let rows = session.query(&format!("SHOW {name}")).await.unwrap();
            assert_eq!(rows[0].text(0), value);
        }
    });
}

/// Asks for protocol 3.2, which servers before PostgreSQL 18 answer with 3.0.
#[test]
fn a_newer_protocol_is_agreed_on_or_not_and_works() {
    let Some(server) = postgres() else { return };
    let options = ConnectOptions {
        protocol: ciphertax_wire::postgresql::ProtocolVersion::V3_2,
        ..server.plain("scram")
    };
    ask(&options, async |session, _| {
        let is_18 = session.server_version().starts_with("18");
        assert_eq!(session.protocol().to_string(), if is_18 { "3.2" } else { "3.0" });
        assert_eq!(session.query("SELECT 1").await.unwrap().len(), 1);
    });
}

#[test]
fn as_many_sessions_as_the_server_takes_and_then_its_word_for_it() {
    let Some(server) = postgres() else { return };
    let user = "CREATE ROLE few LOGIN CONNECTION LIMIT 2; ALTER ROLE few PASSWORD 'x'";
    ask(&server.owner(), async |session, _| {
        session.query(user).await.map(drop).unwrap()
    });
    let options = ConnectOptions {
        socket: Some(server.socket()),
        ..server.plain("few")
    };
    run(async |reactor| {
        let mut sessions = Vec::new();
        let problem = loop {
            match Session::connect(reactor, &options).await {
                Ok((session, _)) => sessions.push(session),
                Err(problem) => break problem,
            }
        };
        assert_eq!(sessions.len(), 2);
        assert_eq!(said(&problem).1, "53300");
        let ids: BTreeSet<u32> = sessions.iter().map(Session::id).collect();
        assert_eq!(ids.len(), 2);
        for session in sessions {
            session.close().await.unwrap();
        }
    });
}

/// In plaintext, and through either library's TLS.
fn ways(server: &Postgres) -> [ConnectOptions; 3] {
    [
        server.plain("trusted"),
        server.encrypted("trusted", OpenSsl, V1_3),
        server.encrypted("trusted", Rustls, V1_3),
    ]
}

fn ask<T>(options: &ConnectOptions, task: impl AsyncFnOnce(&mut Session, &Rc<Reactor>) -> T) -> T {
    run(async |reactor| {
        let (mut session, _) = Session::connect(reactor, options).await.unwrap();
        task(&mut session, reactor).await
    })
}

/// The rows among the driver's answers.
pub(crate) fn texts(messages: Vec<SimpleQueryMessage>) -> Vec<Vec<Option<String>>> {
    let rows = messages.into_iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    });
    rows.map(|row| {
        (0..row.len())
            .map(|column| row.get(column).map(str::to_owned))
            .collect()
    })
    .collect()
}

/// The driver's connection over the Unix socket.
fn drive<T>(server: &Postgres, task: impl AsyncFnOnce(&Client) -> T) -> T {
    let folder = server.socket();
    let mut config = tokio_postgres::Config::new();
    config
        .host_path(folder.parent().unwrap())
        .port(server.port)
        .user(OWNER)
        .dbname("postgres");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let (client, connection) = config.connect(NoTls).await.unwrap();
        runtime.spawn(connection);
        task(&client).await
    })
}

fn said(error: &WireError) -> (String, String, String) {
    match error {
        WireError::PostgreSql {
            severity,
            sql_state,
            message,
            ..
        } => (severity.clone(), sql_state.clone(), message.clone()),
        error => panic!("{error}"),
    }
}

fn said_by_driver(error: &tokio_postgres::Error) -> (String, String, String) {
    let error = error
        .as_db_error()
        .unwrap_or_else(|| panic!("{error} {:?}", error.source()));
    (
        error.severity().to_owned(),
        error.code().code().to_owned(),
        error.message().to_owned(),
    )
}

//! Our client and a driver that everybody uses see the same: data, errors, refusals.

use std::future::Future;

use ciphertax_model::TlsLibrary;
use ciphertax_model::TlsVersion::{self, V1_2, V1_3};
use ciphertax_wire::mysql::{ConnectOptions, Session};
use ciphertax_wire::sql::SqlSession as _;
use ciphertax_wire::tls::TlsPolicy;
use ciphertax_wire::{Session as _, WireError};
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Error, OptsBuilder, Row, SslOpts, Value};

use crate::common::{as_user, encrypted, plain, policy, refusal, run, server, with_policy};

/// Values at the borders of the length encoding, with what is easily confused or mangled.
const ROWS: &str = "SELECT 1, NULL, '', 'NULL', x'00', x'FB', x'FE', 'ünïcödé 🦀 漢字', -0.5, NOW(0) - NOW(0) \
    UNION ALL SELECT 2, '', NULL, REPEAT('a', 250), REPEAT('b', 251), REPEAT('c', 65535), REPEAT('d', 65536), \
    REPEAT('é', 40000), NULL, NULL \
    UNION ALL SELECT 3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL \
    UNION ALL SELECT 4, REPEAT('x', 3000000), '', '', '', '', '', '', 0, 0";

#[test]
fn both_see_the_same_rows() {
    for options in [
        plain(server()),
        encrypted(server(), V1_3),
        by_rustls(V1_2),
        by_rustls(V1_3),
    ] {
        let theirs = their_rows(&options, ROWS);
        let ours = run(async |reactor| {
            let (mut session, _) = Session::connect(reactor, &options).await.unwrap();
            let mut payloads = Vec::new();
            let keep = |payload: &[u8]| {
                payloads.push(payload.to_vec());
                Ok(())
            };
            let summary = session.query_raw(ROWS, keep).await.unwrap();
            assert_eq!(summary.rows, payloads.len() as u64);
            let sum = summary.row_bytes;
            assert_eq!(sum, payloads.iter().map(|row| row.len() as u64).sum::<u64>());
            let texts = session.query(ROWS).await.unwrap();
            for (text, row) in texts.iter().zip(&theirs) {
                for (column, value) in row.iter().enumerate() {
                    let value = String::from_utf8_lossy(value.as_deref().unwrap_or_default());
                    assert!(text.text(column) == value, "column {column}");
                }
            }
            assert_eq!(texts.len(), theirs.len());
            payloads
        });
        let encoded: Vec<Vec<u8>> = theirs.iter().map(|row| text_row(row)).collect();
        assert_eq!(ours.len(), 4);
        assert!(ours == encoded, "rows differ");
    }
}

#[test]
fn both_hear_the_same_error_and_go_on() {
    let statements = [
        "SELEC 1",
        "SELECT nothing FROM nowhere.at_all",
        "SELECT no_such_function()",
        "SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 1644, MESSAGE_TEXT = 'sïgnal'",
        "SELECT (SELECT seq FROM mysql.seq_1_to_2)",
        "",
    ];
    let theirs = drive(async {
        let mut connection = Conn::new(theirs(&plain(server()))).await.unwrap();
        let mut errors = Vec::new();
        for statement in statements {
            match connection.query_drop(statement).await.unwrap_err() {
                Error::Server(error) => errors.push((error.code, error.state.to_string(), error.message)),
                error => panic!("{error}"),
            }
        }
        errors
    });
    let ours = run(async |reactor| {
        let (mut session, _) = Session::connect(reactor, &plain(server())).await.unwrap();
        let mut errors = Vec::new();
        for statement in statements {
            match session.query(statement).await.unwrap_err() {
                WireError::Server {
                    code,
                    sql_state,
                    message,
                } => errors.push((code, sql_state, message)),
                error => panic!("{error}"),
            }
        }
        assert_eq!(session.query("SELECT 7").await.unwrap()[0].text(0), "7");
        errors
    });
    assert_eq!(ours, theirs);
    assert_eq!(ours[0].0, 1064);
}

#[test]
fn both_prepare_the_same_wrong_statement_in_vain() {
    let wrong = "SELECT ? FROM nowhere.at_all";
    let theirs = drive(async {
        let mut connection = Conn::new(theirs(&plain(server()))).await.unwrap();
        connection.prep(wrong).await.unwrap_err()
    });
    let ours = run(async |reactor| {
        let (mut session, _) = Session::connect(reactor, &plain(server())).await.unwrap();
        session.prepare(wrong, &[]).await.map(|_| ()).unwrap_err()
    });
    assert_eq!(code_of(&ours), their_code(&theirs));
}

#[test]
fn both_are_refused_with_a_wrong_password_in_clear_and_over_tls() {
    for options in [plain(server()), encrypted(server(), V1_3), by_rustls(V1_3)] {
        let options = as_user(options, server().user(), "wrong");
        let theirs = drive(async { Conn::new(theirs(&options)).await.map(|_| ()).unwrap_err() });
        assert_eq!(their_code(&theirs), 1045);
        assert_eq!(code_of(&refusal(&options)), 1045);
    }
}

#[test]
fn both_are_encrypted_the_same_way() {
    let question = "SHOW SESSION STATUS LIKE 'Ssl_version'";
    for (options, version) in [
        (plain(server()), ""),
        (encrypted(server(), V1_3), "TLSv1.3"),
        (by_rustls(V1_3), "TLSv1.3"),
    ] {
        let theirs = their_rows(&options, question);
        assert_eq!(theirs[0][1].as_deref(), Some(version.as_bytes()));
        let ours = run(async |reactor| {
            let (mut session, _) = Session::connect(reactor, &options).await.unwrap();
            session.query(question).await.unwrap()[0].text(1)
        });
        assert_eq!(ours, version);
    }
}

fn by_rustls(version: TlsVersion) -> ConnectOptions {
    let policy = TlsPolicy {
        library: TlsLibrary::Rustls,
        ..policy(server(), version)
    };
    with_policy(plain(server()), &policy)
}

/// The same connection, in the driver's words.
fn theirs(options: &ConnectOptions) -> OptsBuilder {
    let ca = server().ca_file().unwrap().to_owned();
    let tls = options
        .tls
        .as_ref()
        .map(|_| SslOpts::default().with_root_certs(vec![ca.into()]));
    OptsBuilder::default()
        .ip_or_hostname(&options.host)
        .tcp_port(options.port)
        .prefer_socket(false)
        .user(Some(&options.user))
        .pass(Some(options.password.expose()))
        .ssl_opts(tls)
}

fn their_rows(options: &ConnectOptions, sql: &str) -> Vec<Vec<Option<Vec<u8>>>> {
    let rows: Vec<Row> = drive(async {
        let mut connection = Conn::new(theirs(options)).await.unwrap();
        connection.query(sql).await.unwrap()
    });
    let value = |value| match value {
        Value::NULL => None,
        Value::Bytes(bytes) => Some(bytes),
        other => panic!("a text row holds {other:?}"),
    };
    rows.into_iter()
        .map(|row| row.unwrap().into_iter().map(value).collect())
        .collect()
}

fn drive<T>(task: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(task)
}

/// A row as the text protocol carries it.
fn text_row(values: &[Option<Vec<u8>>]) -> Vec<u8> {
    let mut row = Vec::new();
    for value in values {
        let Some(value) = value else {
            row.push(0xFB);
            continue;
        };
        let length = (value.len() as u64).to_le_bytes();
        match value.len() {
            0..=250 => row.push(length[0]),
            251..=0xFFFF => row.extend([0xFC, length[0], length[1]]),
            _ => row.extend([0xFD, length[0], length[1], length[2]]),
        }
        row.extend_from_slice(value);
    }
    row
}

fn code_of(error: &WireError) -> u16 {
    match error {
        WireError::Server { code, .. } => *code,
        error => panic!("{error}"),
    }
}

fn their_code(error: &Error) -> u16 {
    match error {
        Error::Server(error) => error.code,
        error => panic!("{error}"),
    }
}

//! Rows that come from the client: to servers that take them, to those that do not, and to those that want something else.

use ciphertax_lab::catalogue::MYSQL_5_6;
use ciphertax_wire::Session as _;
use ciphertax_wire::mysql::{ConnectOptions, Session};
use ciphertax_wire::sql::SqlSession as _;

use crate::common::packets::{OK, error, packet, welcome};
use crate::common::*;

/// The name that this client makes up.
const NAME: &[u8] = b"\xFBciphertax-rows";
const TABLE: &str = "of_lines.t";
/// What means something in lines is escaped; bytes that are no text stay as they are.
const LINES: &[u8] = b"1\tplain\tx\n2\t\xC3\xBCn\xC3\xAFc\xC3\xB6d\xC3\xA9\t\xFF\xFE\x80\xC3\n\
    3\t\\N\t\\N\n4\ttab\\tline\\nreturn\\rslash\\\\N\t\\\\N\n5\t\t\n";
/// A number and two values.
type Line = (&'static str, Option<&'static [u8]>, Option<&'static [u8]>);

const HEX: [Line; 5] = [
    ("1", Some(b"plain"), Some(b"x")),
    ("2", Some("ünïcödé".as_bytes()), Some(b"\xFF\xFE\x80\xC3")),
    ("3", None, None),
    ("4", Some(b"tab\tline\nreturn\rslash\\N"), Some(b"\\N")),
    ("5", Some(b""), Some(b"")),
];

#[test]
fn lines_arrive_as_they_were_written_where_client_and_server_allow_it() {
    lines_arrive_at(&[&MARIADB, &MYSQL]);
}

fn lines_arrive_at(entries: &[&'static Entry]) {
    for entry in entries {
        let Some(server) = with_table(entry) else { continue };
        administer(&server, &["SET GLOBAL local_infile = 1"]);
        run(async |reactor| {
            let (mut session, _) = Session::connect(reactor, &allowing(&server)).await.unwrap();
            assert_eq!(load(&mut session, LINES).await.unwrap(), 5, "{entry}");
            assert_eq!(load(&mut session, b"").await.unwrap(), 0, "{entry}");
            let mut query = ciphertax_wire::mysql::Query::new("SELECT id, a, b FROM of_lines.t ORDER BY id");
            let mut rows = Vec::new();
            let keep = |row: &[Value<'_>]| {
                rows.push(row.iter().map(bytes_of).collect::<Vec<_>>());
                Ok(())
            };
            session.run_values(&mut query, keep).await.unwrap();
            let expected =
                HEX.map(|(id, a, b)| vec![Some(id.into()), a.map(<[u8]>::to_vec), b.map(<[u8]>::to_vec)]);
            assert_eq!(rows, expected, "{entry}");
        });
    }
}

/// Packets are numbered by one byte, which begins anew after 255; and pieces end where they like.
#[test]
fn any_number_of_pieces_of_any_length_is_sent() {
    let server = with_table(&MARIADB).unwrap();
    run(async |reactor| {
        let (mut session, _) = Session::connect(reactor, &allowing(&server)).await.unwrap();
        let long = "x".repeat(5_000);
        let lines: String = (10..1_010).map(|id| format!("{id}\tpiece\t{long}\n")).collect();
        let pieces = lines.as_bytes().chunks(7_777);
        assert!(pieces.len() > 512);
        let loaded = session.load_lines("of_lines.t (id, a, b)", pieces).await.unwrap();
        assert_eq!(loaded, 1_000);
        let rows = session
            .query("SELECT COUNT(*), SUM(LENGTH(b)), SUM(id) FROM of_lines.t")
            .await
            .unwrap();
        let found = [0, 1, 2].map(|column| rows[0].text(column));
        assert_eq!(found, ["1000", "5000000", "509500"]);
        // At once, in packets of this client's own choice.
        session.query("TRUNCATE of_lines.t").await.unwrap();
        assert_eq!(load(&mut session, lines.as_bytes()).await.unwrap(), 1_000);
    });
}

#[test]
fn rows_that_the_server_leaves_out_or_changes_are_an_error() {
    for entry in [&MARIADB, &MYSQL] {
        let Some(server) = with_table(entry) else { continue };
        administer(&server, &["SET GLOBAL local_infile = 1"]);
        run(async |reactor| {
            let (mut session, _) = Session::connect(reactor, &allowing(&server)).await.unwrap();
            load(&mut session, LINES).await.unwrap();
            for (lines, code, word) in [
                (b"9\tnew\tx\n1\tagain\tx\n".as_slice(), 1062, "Duplicate"),
                (b"many\ta\tb\n", 1366, "integer"),
                (b"20\tmuch too long for twenty-four\tx\n", 1265, "truncated"),
                (b"21\ttoo few\n", 1261, "columns"),
            ] {
                match load(&mut session, lines).await {
                    Err(WireError::Server {
                        code: found, message, ..
                    }) => assert!(
                        found == code && message.contains(word),
                        "{entry}: {found} {message}"
                    ),
                    other => panic!("{entry}: {other:?}"),
                }
            }
            let missing = session
                .load_lines("of_lines.nothing (id)", [LINES])
                .await
                .unwrap_err();
            let is_missing = matches!(missing, WireError::Server { code: 1146, .. });
            assert!(is_missing, "{entry}: {missing}");
            assert_eq!(session.query("SELECT 7").await.unwrap()[0].text(0), "7");
        });
    }
}

#[test]
fn a_server_or_a_client_that_allows_no_lines_is_told_apart_from_other_errors() {
    no_lines_are_told_apart_at(&[&MARIADB, &MYSQL]);
}

fn no_lines_are_told_apart_at(entries: &[&'static Entry]) {
    for entry in entries {
        let Some(server) = with_table(entry) else { continue };
        for (allowed, options) in [("0", allowing(&server)), ("1", plain(&server))] {
            administer(&server, &[&format!("SET GLOBAL local_infile = {allowed}")]);
            run(async |reactor| {
                let (mut session, _) = Session::connect(reactor, &options).await.unwrap();
                let refusal = load(&mut session, LINES).await.unwrap_err();
                assert!(refusal.is_lines_refused(), "{entry}: {refusal}");
                let other = session.query("SELEC 1").await.unwrap_err();
                assert!(!other.is_lines_refused());
                let rows = session.query("SELECT COUNT(*) FROM of_lines.t").await.unwrap();
                assert_eq!(rows[0].text(0), "0", "{entry}");
            });
        }
    }
}

#[test]
fn a_server_that_asks_for_another_file_gets_none() {
    for name in [
        b"/etc/passwd".as_slice(),
        b"",
        b"ciphertax-row",
        b"ciphertax-rows2",
        &[b'/'; 5_000],
    ] {
        let asks = packet(1, [b"\xFB", name].concat());
        let (outcome, heard) = loading_from([welcome(), asks, packet(3, OK)].concat());
        let problem = outcome.unwrap_err();
        assert!(matches!(problem, WireError::Protocol(_)), "{problem}");
        assert!(problem.to_string().len() < 500, "{problem}");
        assert!(contains(&heard, b"LOAD DATA LOCAL") && !contains(&heard, b"secret"));
    }
}

#[test]
fn a_server_that_asks_without_having_been_allowed_to_gets_nothing() {
    // The made-up server does not offer it, so that it was not agreed on.
    let (outcome, heard) = loading_from([welcome(), packet(1, NAME), packet(4, OK)].concat());
    assert!(matches!(outcome, Err(WireError::Protocol(_))), "{outcome:?}");
    assert!(!contains(&heard, b"secret"));
    // After a statement that loads nothing, it asks for what nobody has.
    let server = FakeServer::start([welcome(), packet(1, NAME)].concat(), Ending::Close);
    let options = ConnectOptions {
        local_infile: true,
        ..server.options()
    };
    let outcome = run(async |reactor| {
        let (mut session, _) = Session::connect(reactor, &options).await.unwrap();
        session.query("SELECT 1").await
    });
    assert!(matches!(outcome, Err(WireError::Protocol(_))), "{outcome:?}");
}

#[test]
fn a_server_that_does_not_ask_or_asks_twice_is_noticed() {
    let offers = || {
        let mut welcome = welcome();
        // CLIENT_LOCAL_FILES, in the lower half of the capabilities, after a header, a version, a number and a nonce.
        let capabilities = 4 + "\x0A5.5.5-10.11.6-MariaDB\0".len() + 4 + 8 + 1;
        welcome[capabilities] |= 0x80;
        welcome
    };
    let asks = packet(1, NAME);
    let (outcome, heard) = loading_from([offers(), asks.clone(), packet(4, OK)].concat());
    assert_eq!(outcome.unwrap(), 0);
    let has_row = contains(&heard, b"\x0A\0\0\x021\tsecret\t\n\0\0\0\x03");
    assert!(has_row, "{heard:?}");
    for answers in [
        packet(1, OK),
        packet(1, [1]),
        packet(1, []),
        [asks.clone(), packet(4, NAME)].concat(),
        [asks.clone(), packet(4, [])].concat(),
        [asks.clone(), packet(4, [0])].concat(),
        [asks.clone(), packet(2, OK)].concat(),
    ] {
        let (outcome, _) = loading_from([offers(), answers].concat());
        assert!(matches!(outcome, Err(WireError::Protocol(_))), "{outcome:?}");
    }
    let (outcome, _) = loading_from([offers(), asks, error(4, 1114, "full")].concat());
    assert!(matches!(outcome, Err(WireError::Server { code: 1114, .. })));
}

/// What comes of loading a line from a server that follows a script, and what it heard.
fn loading_from(script: Vec<u8>) -> (Result<u64, WireError>, Vec<u8>) {
    let server = FakeServer::start(script, Ending::Close);
    let options = ConnectOptions {
        local_infile: true,
        ..server.options()
    };
    let outcome = run(async |reactor| {
        let (mut session, _) = Session::connect(reactor, &options).await.unwrap();
        session.load_lines("t", [b"1\tsecret\t\n".as_slice()]).await
    });
    (outcome, server.heard())
}

fn with_table(entry: &'static Entry) -> Option<PrivateServer> {
    fetched(entry)?;
    let server = builder_of(entry).start().unwrap();
    let table = format!(
        "CREATE TABLE {TABLE} (id INT NOT NULL PRIMARY KEY, a VARCHAR(24) CHARACTER SET utf8, b BLOB) ENGINE = InnoDB"
    );
    administer(&server, &["CREATE DATABASE of_lines", &table]);
    Some(server)
}

fn allowing(server: &PrivateServer) -> ConnectOptions {
    ConnectOptions {
        local_infile: true,
        ..plain(server)
    }
}

async fn load(session: &mut Session, lines: &[u8]) -> Result<u64, WireError> {
    session.load_lines("of_lines.t (id, a, b)", [lines]).await
}

fn bytes_of(value: &Value<'_>) -> Option<Vec<u8>> {
    match value {
        Value::Null => None,
        Value::Integer(value) => Some(value.to_string().into_bytes()),
        Value::Text(text) => Some(text.to_vec()),
    }
}

mod test_all {
    use super::*;

    #[test]
    fn mysql_5_6_takes_lines_or_refuses_them() {
        lines_arrive_at(&[&MYSQL_5_6]);
        no_lines_are_told_apart_at(&[&MYSQL_5_6]);
    }
}

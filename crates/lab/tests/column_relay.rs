//! The relay that encrypts cells before real servers: what it makes of every type, what it passes on, and that nothing of it stays.

use ciphertax_columns::{CellCipher, CellKind, MasterKey};
use ciphertax_lab::column_relay::{self, EncryptedColumns, RunningColumnRelay};
use ciphertax_model::ColumnEncryption;
use ciphertax_testkit::*;
use ciphertax_wire::mysql::{ConnectOptions, Session};
use ciphertax_wire::sql::SqlSession as _;
use ciphertax_wire::{Session as _, WireError};

use crate::column_relay_rows::{Kind, binary_values, text_values};
use crate::prelude::*;

const KEY: &str = "00112233445566778899aabbccddeeff";

/// Columns of each type, with the type's code and how its values stand in binary rows.
const TYPES: [(&str, &str, u8, Kind); 11] = [
    ("i", "INT", 3, Kind::Fixed(4)),
    ("b", "BIGINT UNSIGNED", 8, Kind::Fixed(8)),
    ("s", "SMALLINT", 2, Kind::Fixed(2)),
    ("d", "DECIMAL(12,2)", 246, Kind::Counted),
    ("c", "CHAR(9)", 254, Kind::Counted),
    ("v", "VARCHAR(500)", 253, Kind::Counted),
    ("x", "DATETIME(6)", 12, Kind::Short),
    ("t", "TIMESTAMP NULL", 7, Kind::Short),
    ("y", "DATE", 10, Kind::Short),
    ("z", "TIME(3)", 11, Kind::Short),
    ("f", "DOUBLE", 5, Kind::Fixed(8)),
];

const ROWS: [&str; 4] = [
    "-17, 18446744073709551615, 300, -12.50, 'BARBARBAR', 'a value', '2026-11-23 06:07:08.000009', '2026-11-23 06:07:08', \
     '2026-11-23', '-26:01:02.003', -0.1",
    "NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL",
    "0, 0, 0, 0, '', '', '2026-11-23 00:00:00', '2026-11-23 00:00:00', '1000-01-01', '00:00:00', 0",
    "2147483647, 1, -1, 9999999999.99, 'x', REPEAT('y', 500), NULL, NULL, '9999-12-31', '838:59:58.999', 1e300",
];

fn encryption(settings: &str) -> ColumnEncryption {
    serde_json::from_str(&format!(
        "{{ \"feature\": \"in_results\", \"columns\": \"all\"{settings} }}"
    ))
    .unwrap()
}

fn names(table: &str) -> Vec<String> {
    TYPES.iter().map(|(name, ..)| format!("{table}.{name}")).collect()
}

fn servers() -> impl Iterator<Item = (&'static Entry, Lease)> {
    let entries = [&MARIADB, &MYSQL].into_iter();
    let there = entries.filter(|entry| fetched(entry).is_some());
    there.map(|entry| (entry, lease(entry)))
}

fn start(server: &PrivateServer, encrypts: Option<(&ColumnEncryption, &[String])>) -> RunningColumnRelay {
    let key = MasterKey::from_hex(KEY).unwrap();
    let encrypts = encrypts.map(|(encryption, columns)| EncryptedColumns {
        encryption: encryption.clone(),
        columns: columns.to_vec(),
        key,
    });
    column_relay::start(encrypts, server, None, &GuardProgram::this_program()).unwrap()
}

fn through(server: &PrivateServer, relay: &RunningColumnRelay) -> ConnectOptions {
    ConnectOptions {
        port: relay.address.port(),
        ..plain(server)
    }
}

/// The payloads of all rows, as text and as the answer to a prepared statement.
fn rows(options: &ConnectOptions, question: &str) -> [Vec<Vec<u8>>; 2] {
    run(async |reactor| {
        let (mut session, _) = Session::connect(reactor, options).await?;
        let (mut text, mut binary) = (Vec::new(), Vec::new());
        session
            .query_raw(question, |row| {
                text.push(row.to_vec());
                Ok(())
            })
            .await?;
        let mut statement = session.prepare(question, &[]).await?;
        session
            .execute_rows(&mut statement, |row| {
                binary.push(row.to_vec());
                Ok(())
            })
            .await?;
        session.close().await?;
        Ok::<_, WireError>([text, binary])
    })
    .unwrap()
}

fn ask(options: &ConnectOptions, statements: &[&str]) {
    run(async |reactor| {
        let (mut session, _) = Session::connect(reactor, options).await?;
        for statement in statements {
            session.query(statement).await?;
        }
        session.close().await
    })
    .unwrap();
}

fn make_table(server: &PrivateServer) {
    let columns = TYPES.map(|(name, kind, ..)| format!("{name} {kind}")).join(", ");
    let table = format!("CREATE TABLE shop.customer_2 (id INT PRIMARY KEY, {columns}) CHARACTER SET latin1");
    let mut statements = vec!["CREATE DATABASE shop".to_owned(), table];
    for (id, row) in ROWS.iter().enumerate() {
        statements.push(format!("INSERT INTO shop.customer_2 VALUES ({id}, {row})"));
    }
    ask(
        &plain(server),
        &statements.iter().map(String::as_str).collect::<Vec<_>>(),
    );
}

#[test]
fn cells_of_every_type_decrypt_to_what_a_direct_session_reads() {
    for (entry, server) in servers() {
        make_table(&server);
        let question = "SELECT id AS i, c.* FROM shop.customer_2 AS c ORDER BY id";
        let plain = rows(&plain(&server), question);
        for settings in [
            "",
            ", \"algorithm\": \"aes128_gcm\"",
            ", \"encoding\": \"binary\"",
            ", \"algorithm\": \"wrapped\"",
        ] {
            let encryption = encryption(settings);
            let relay = start(&server, Some((&encryption, &names("customer"))));
            let cells = rows(&through(&server, &relay), question);
            let mut cipher = CellCipher::open(&encryption, &MasterKey::from_hex(KEY).unwrap()).unwrap();
            let mut count = 0;
            for (form, (plain, cells)) in plain.iter().zip(&cells).enumerate() {
                assert_eq!(plain.len(), ROWS.len());
                for (plain, cells) in plain.iter().zip(cells) {
                    // Neither number is named: of no such column, and of none at all.
                    let kinds = [Kind::Fixed(4); 2].into_iter();
                    let typed: Vec<Kind> = kinds
                        .clone()
                        .chain(TYPES.iter().map(|(.., kind)| *kind))
                        .collect();
                    let celled: Vec<Kind> = kinds.chain([Kind::Counted; TYPES.len()]).collect();
                    let (plain, cells) = match form {
                        0 => (text_values(plain, typed.len()), text_values(cells, celled.len())),
                        _ => (binary_values(plain, &typed), binary_values(cells, &celled)),
                    };
                    assert_eq!(plain[..2], cells[..2], "{entry} {settings}");
                    for ((plain, cell), (name, _, code, _)) in plain[2..].iter().zip(&cells[2..]).zip(TYPES) {
                        let Some(cell) = cell else {
                            assert_eq!(*plain, None, "{name}");
                            continue;
                        };
                        let mut decrypted = Vec::new();
                        let kind = cipher.decrypt(cell, &mut decrypted).unwrap();
                        assert_eq!(kind, CellKind(code), "{entry} {name}");
                        assert_eq!(Some(decrypted.as_slice()), *plain, "{entry} {settings} {name}");
                        assert_ne!(*plain, Some(*cell));
                        count += 1;
                    }
                }
            }
            assert_eq!(relay.counts().unwrap().cells, count);
            assert!(relay.process.death().is_none());
        }
    }
}

#[test]
fn a_changed_byte_of_a_cell_is_refused() {
    let server = lease(&MARIADB);
    make_table(&server);
    let encryption = encryption("");
    let relay = start(&server, Some((&encryption, &["customer.v".into()])));
    let [text, _] = rows(
        &through(&server, &relay),
        "SELECT v FROM shop.customer_2 WHERE id = 0",
    );
    let cell = text_values(&text[0], 1)[0].unwrap().to_vec();
    let key = MasterKey::from_hex(KEY).unwrap();
    let mut cipher = CellCipher::open(&encryption, &key).unwrap();
    let mut plaintext = Vec::new();
    for at in 0..cell.len() {
        let mut changed = cell.clone();
        changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
        assert!(cipher.decrypt(&changed, &mut plaintext).is_err(), "{at}");
    }
    assert_eq!(plaintext, b"");
    cipher.decrypt(&cell, &mut plaintext).unwrap();
    assert_eq!(plaintext, b"a value");
}

#[test]
fn what_is_passed_on_is_what_the_server_sends() {
    for (entry, server) in servers() {
        make_table(&server);
        let encryption = encryption("");
        let relays = [
            start(&server, None),
            start(&server, Some((&encryption, &[]))),
            start(&server, Some((&encryption, &["stock.v".into()]))),
        ];
        for question in [
            "SELECT * FROM shop.customer_2",
            "SELECT COUNT(*), SUM(i), MAX(v) FROM shop.customer_2",
            "SELECT REPEAT('x', 9000000), 1",
            "SELECT 1 FROM shop.customer_2 WHERE id = 99",
        ] {
            let plain = rows(&plain(&server), question);
            for relay in &relays {
                let is_same = rows(&through(&server, relay), question) == plain;
                assert!(is_same, "{entry}: {question}");
                assert_eq!(relay.counts().unwrap().cells, 0);
            }
        }
    }
}

#[test]
fn large_cells_and_many_connections() {
    let server = lease(&MARIADB);
    ask(
        &plain(&server),
        &[
            "CREATE DATABASE shop",
            "CREATE TABLE shop.large (v LONGBLOB)",
            "INSERT INTO shop.large VALUES (REPEAT('z', 9000000)), (REPEAT('a', 300))",
        ],
    );
    let encryption = encryption("");
    let relay = start(&server, Some((&encryption, &["large.v".into()])));
    let options = through(&server, &relay);
    let mut cipher = CellCipher::open(&encryption, &MasterKey::from_hex(KEY).unwrap()).unwrap();
    let [text, _] = rows(&options, "SELECT v FROM shop.large ORDER BY LENGTH(v) DESC");
    let mut plaintext = Vec::new();
    cipher
        .decrypt(text_values(&text[0], 1)[0].unwrap(), &mut plaintext)
        .unwrap();
    assert!(plaintext == vec![b'z'; 9_000_000]);
    let cells = run(async |reactor| {
        let mut sessions = Vec::new();
        for _ in 0..128 {
            sessions.push(Session::connect(reactor, &options).await?.0);
        }
        let mut cells = 0;
        for session in &mut sessions {
            cells += session
                .query("SELECT v FROM shop.large WHERE LENGTH(v) = 300")
                .await?
                .len();
        }
        Ok::<_, WireError>(cells)
    });
    assert_eq!(cells.unwrap(), 128);
    let counts = relay.counts().unwrap();
    let counted = (counts.cells, counts.connections, counts.broken);
    assert_eq!(counted, (4 + 128, 129, 0));
}

#[test]
fn relays_are_proved_by_canaries_and_what_does_not_encrypt_is_found_out() {
    for (entry, server) in servers() {
        let named = [names("customer"), vec!["field0".into()]].concat();
        let encryption_ = encryption("");
        let prove = |relay: &RunningColumnRelay, options: &ConnectOptions| {
            relay.prove("arm", options, &plain(&server))
        };
        let relay = start(&server, Some((&encryption_, &named)));
        let proof = prove(&relay, &through(&server, &relay)).unwrap();
        let words = "cannot be read without the key";
        assert!(proof.claim.contains(words), "{entry}: {proof:?}");
        assert!(proof.evidence.contains("of 24 cells"), "{proof:?}");
        // Past the relay.
        says(
            prove(&relay, &plain(&server)).unwrap_err(),
            "can read the canary in ciphertax_4294967295.`field0`",
        );
        let passing = start(&server, None);
        let proof = prove(&passing, &through(&server, &passing)).unwrap();
        assert!(proof.claim.contains("passes everything on"), "{proof:?}");
        assert!(prove(&passing, &plain(&server)).is_err());
        // Through another relay than its own.
        assert!(prove(&relay, &through(&server, &passing)).is_err());
        let wrapping = encryption(", \"algorithm\": \"wrapped\"");
        let wrapping = start(&server, Some((&wrapping, &named)));
        let proof = prove(&wrapping, &through(&server, &wrapping)).unwrap();
        assert!(proof.claim.contains("unprotected"), "{proof:?}");
    }
}

#[test]
fn its_key_is_in_no_file_argument_or_environment_and_nothing_of_it_stays() {
    let server = lease(&MARIADB);
    let encryption = encryption("");
    let relay = start(&server, Some((&encryption, &["customer.v".into()])));
    let (address, folder, pid) = (
        relay.address,
        relay.process.folder().to_owned(),
        relay.process.pid,
    );
    assert_eq!(files_with(&folder, KEY), Vec::<std::path::PathBuf>::new());
    for file in ["cmdline", "environ"] {
        let told = fs::read(format!("/proc/{pid}/{file}")).unwrap();
        let is_kept = !told.windows(KEY.len()).any(|part| part == KEY.as_bytes());
        assert!(is_kept, "{file}");
    }
    assert!(!format!("{relay:?}").contains(KEY));
    // A client that stays does not keep it from ending.
    let _client = TcpStream::connect(address).unwrap();
    relay.process.stop().unwrap();
    assert!(!folder.exists());
    assert!(!Path::new(&format!("/proc/{pid}")).exists());
    assert_eq!(command_lines_with(folder.to_str().unwrap()), Vec::<String>::new());
    assert!(TcpStream::connect(address).is_err());
}

#[test]
fn one_that_is_killed_says_so_and_its_clients_lose_their_connections() {
    let server = lease(&MARIADB);
    let relay = start(&server, None);
    assert!(relay.process.is_alive() && relay.process.death().is_none());
    let options = through(&server, &relay);
    let pid = rustix::process::Pid::from_raw(relay.process.pid.cast_signed()).unwrap();
    let lost = run(async |reactor| {
        let (mut session, _) = Session::connect(reactor, &options).await?;
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        session.query("SELECT 1").await
    });
    assert!(lost.is_err());
    // Its connections end a moment before it does.
    assert!(within(PATIENCE, || !relay.process.is_alive()));
    assert!(relay.process.death().unwrap().contains("ended"));
    assert!(relay.counts().is_err());
}

//! What servers answer about cells that a client stored: rightly where a policy may have the statement asked, wrongly where it is
//! refused.

use std::collections::BTreeSet;

use ciphertax_columns::{CellCipher, CellKind, MasterKey};
use ciphertax_lab::catalogue::POSTGRESQL;
use ciphertax_model::{
    CellAlgorithm, CellEncoding, CellFormat, CellMode, ColumnEncryption, ColumnFeature, ColumnSelection,
    Decrypt,
};
use ciphertax_testkit::{fetched, lease, plain_postgresql};
use ciphertax_wire::{Session as _, postgresql};
use ciphertax_workload::sql::SqlSession;

use crate::common::{empty_server, run, with_session};

/// The values of a thousand rows, every tenth of them NULL: each of 100 as often as others.
const ROWS: u32 = 1000;
const VALUES: u32 = 100;
/// An INTEGER, by MySQL's protocol.
const INTEGER: CellKind = CellKind(3);

/// Cells that are equal for equal values.
const EQUAL: [(CellFormat, CellAlgorithm, CellMode, CellEncoding); 4] = [
    (
        CellFormat::Encdb,
        CellAlgorithm::Aes128Gcm,
        CellMode::Deterministic,
        CellEncoding::Binary,
    ),
    (
        CellFormat::Encdb,
        CellAlgorithm::Sm4Cbc,
        CellMode::Deterministic,
        CellEncoding::Base64,
    ),
    (
        CellFormat::Encdb,
        CellAlgorithm::Aes128Ecb,
        CellMode::Random,
        CellEncoding::Base64,
    ),
    (
        CellFormat::AeadCbcHmac,
        CellAlgorithm::Sm4Gcm,
        CellMode::Deterministic,
        CellEncoding::Binary,
    ),
];

#[test]
fn on_mariadb_statements_about_stored_cells_are_answered_rightly_or_have_to_be_refused() {
    let server = empty_server();
    with_session(&server, async |session| answers(session).await);
}

#[test]
fn on_postgresql_statements_about_stored_cells_are_answered_rightly_or_have_to_be_refused() {
    if fetched(&POSTGRESQL).is_none() {
        return;
    }
    let server = lease(&POSTGRESQL);
    let options = plain_postgresql(&server);
    run(async |reactor| {
        let (mut session, _) = postgresql::Session::connect(reactor, &options).await.unwrap();
        answers(&mut session).await;
    });
}

async fn answers(session: &mut impl SqlSession) {
    command(session, "CREATE SCHEMA ciphertax").await;
    for (format, algorithm, mode, encoding) in EQUAL {
        let columns = encryption(format, algorithm, mode, encoding);
        let mut cells = Cells::new(columns);
        make(session, &mut cells).await;
        right_answers(session, &mut cells).await;
        wrong_answers(session, &mut cells).await;
        command(session, "DROP TABLE ciphertax.one").await;
        command(session, "DROP TABLE ciphertax.other").await;
    }
    let columns = encryption(
        CellFormat::Encdb,
        CellAlgorithm::Aes128Gcm,
        CellMode::Random,
        CellEncoding::Binary,
    );
    let mut cells = Cells::new(columns);
    make(session, &mut cells).await;
    let cell = cells.literal(session, 7);
    let found = ids(
        session,
        &format!("SELECT id FROM ciphertax.one WHERE cell = {cell}"),
    )
    .await;
    assert!(found.is_empty(), "random cells are equal to no other");
}

/// What a policy lets statements ask.
async fn right_answers<S: SqlSession>(session: &mut S, cells: &mut Cells) {
    for value in [0, 7, 50, 99, 100] {
        let cell = cells.literal(session, value);
        let by_cell = ids(
            session,
            &format!("SELECT id FROM ciphertax.one WHERE cell = {cell}"),
        )
        .await;
        let by_value = ids(
            session,
            &format!("SELECT id FROM ciphertax.one WHERE plain = {value}"),
        )
        .await;
        assert_eq!(by_cell, by_value, "{value}");
        assert_eq!(by_cell.is_empty(), value % 10 == 0 || value == 100, "{value}");
    }
    let (one, other) = (cells.literal(session, 3), cells.literal(session, 12));
    for (by_cell, by_value) in [
        (
            format!("SELECT id FROM ciphertax.one WHERE cell IN ({one}, {other})"),
            "SELECT id FROM ciphertax.one WHERE plain IN (3, 12)",
        ),
        (
            format!("SELECT id FROM ciphertax.one WHERE cell <> {one}"),
            "SELECT id FROM ciphertax.one WHERE plain <> 3",
        ),
        (
            "SELECT one.id FROM ciphertax.one JOIN ciphertax.other ON one.cell = other.cell".to_owned(),
            "SELECT one.id FROM ciphertax.one JOIN ciphertax.other ON one.plain = other.plain",
        ),
        (
            "SELECT COUNT(cell) FROM ciphertax.one".to_owned(),
            "SELECT COUNT(plain) FROM ciphertax.one",
        ),
        (
            "SELECT COUNT(DISTINCT cell) FROM ciphertax.one".to_owned(),
            "SELECT COUNT(DISTINCT plain) FROM ciphertax.one",
        ),
        (
            "SELECT COUNT(*) FROM ciphertax.one GROUP BY cell".to_owned(),
            "SELECT COUNT(*) FROM ciphertax.one GROUP BY plain",
        ),
        (
            "SELECT id FROM ciphertax.one WHERE cell IS NULL".to_owned(),
            "SELECT id FROM ciphertax.one WHERE plain IS NULL",
        ),
    ] {
        let expected = ids(session, by_value).await;
        assert!(!expected.is_empty(), "{by_value}");
        assert_eq!(ids(session, &by_cell).await, expected, "{by_cell}");
    }
}

/// What a policy refuses: the server answers without an error, and wrongly; or it refuses by itself.
async fn wrong_answers<S: SqlSession>(session: &mut S, cells: &mut Cells) {
    let half = cells.literal(session, 50);
    for (by_cell, by_value) in [
        (
            format!("SELECT id FROM ciphertax.one WHERE cell > {half}"),
            "SELECT id FROM ciphertax.one WHERE plain > 50",
        ),
        (
            "SELECT id FROM (SELECT id FROM ciphertax.one WHERE cell IS NOT NULL ORDER BY cell LIMIT 20) found".to_owned(),
            "SELECT id FROM (SELECT id FROM ciphertax.one WHERE plain IS NOT NULL ORDER BY plain LIMIT 20) found",
        ),
        (
            "SELECT SUM(cell) FROM ciphertax.one".to_owned(),
            "SELECT SUM(plain) FROM ciphertax.one",
        ),
        (
            "SELECT id FROM ciphertax.one WHERE cell + 1 = 8".to_owned(),
            "SELECT id FROM ciphertax.one WHERE plain + 1 = 8",
        ),
        (
            "SELECT id FROM ciphertax.one WHERE cell LIKE '7%'".to_owned(),
            "SELECT id FROM ciphertax.one WHERE CAST(plain AS CHAR(5)) LIKE '7%'",
        ),
    ] {
        let expected = ids(session, by_value).await;
        assert!(!expected.is_empty(), "{by_value}");
        match session.query(&by_cell).await {
            Ok(rows) => {
                let found: BTreeSet<String> = rows.iter().map(|row| row.text(0)).collect();
                assert_ne!(found, expected, "{by_cell}");
            }
            Err(error) => assert!(error.is_refusal(), "{by_cell}: {error}"),
        }
    }
}

async fn make<S: SqlSession>(session: &mut S, cells: &mut Cells) {
    let cell_type = match cells.are_text {
        true => format!("VARCHAR(200){}", S::DIALECT.bytewise_ascii),
        false => (S::DIALECT.short_bytes)(200),
    };
    for (table, rows) in [("one", 0..ROWS), ("other", 0..VALUES / 2)] {
        command(
            session,
            &format!("CREATE TABLE ciphertax.{table} (id INTEGER, plain INTEGER, cell {cell_type})"),
        )
        .await;
        let mut values = Vec::new();
        for id in rows {
            values.push(match (id % VALUES, id % 10) {
                (_, 0) => format!("({id}, NULL, NULL)"),
                (value, _) => format!("({id}, {value}, {})", cells.literal(session, value)),
            });
        }
        let values = values.join(", ");
        command(session, &format!("INSERT INTO ciphertax.{table} VALUES {values}")).await;
    }
}

async fn ids(session: &mut impl SqlSession, question: &str) -> BTreeSet<String> {
    let rows = session.query(question).await;
    let rows = rows.unwrap_or_else(|error| panic!("{question}: {error}"));
    rows.iter().map(|row| row.text(0)).collect()
}

async fn command(session: &mut impl SqlSession, statement: &str) {
    let done = session.command(statement).await;
    done.unwrap_or_else(|error| panic!("{statement}: {error}"));
}

/// What makes the cells of a column.
struct Cells {
    cipher: CellCipher,
    are_text: bool,
}

impl Cells {
    fn new(columns: ColumnEncryption) -> Self {
        let key = MasterKey::from_hex("000102030405060708090a0b0c0d0e0f").unwrap();
        Self {
            cipher: CellCipher::open(&columns, &key).unwrap(),
            are_text: columns.encoding == CellEncoding::Base64,
        }
    }

    /// The cell of a value as SQL has it.
    fn literal<S: SqlSession>(&mut self, _session: &S, value: u32) -> String {
        let mut cell = Vec::new();
        self.cipher
            .encrypt(INTEGER, value.to_string().as_bytes(), &mut cell)
            .unwrap();
        if self.are_text {
            return format!("'{}'", String::from_utf8(cell).unwrap());
        }
        let [before, after] = S::DIALECT.around_bytes;
        let digits: String = cell.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{before}{digits}{after}")
    }
}

fn encryption(
    format: CellFormat,
    algorithm: CellAlgorithm,
    mode: CellMode,
    encoding: CellEncoding,
) -> ColumnEncryption {
    ColumnEncryption {
        feature: ColumnFeature::Stored,
        format,
        algorithm,
        mode,
        encoding,
        columns: ColumnSelection::All,
        decrypt: Decrypt::All,
    }
}

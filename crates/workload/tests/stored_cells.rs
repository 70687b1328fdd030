//! What servers answer about cells that a client stored: rightly where a policy may have the statement asked, wrongly where it is
//! refused.

use ciphertax_wire::Session as _;
use std::collections::BTreeSet;

use ciphertax_columns::CellKind;
use ciphertax_model::CellAlgorithm::{Aes128Ecb, Aes128Gcm, Sm4Cbc, Sm4Gcm};
use ciphertax_model::CellEncoding::{Base64, Binary};
use ciphertax_model::CellFormat::{AeadCbcHmac, Encdb};
use ciphertax_model::CellMode::{Deterministic, Random};
use ciphertax_model::*;

use crate::common::*;

/// The values of a thousand rows, every tenth of them NULL: each of 100 as often as others.
const ROWS: u32 = 1000;
const VALUES: u32 = 100;
/// An INTEGER, by MySQL's protocol.
const INTEGER: CellKind = CellKind(3);

const IDS: &str = "SELECT id FROM ciphertax.one WHERE";

/// Cells that are equal for equal values.
const EQUAL: [(CellFormat, CellAlgorithm, CellMode, CellEncoding); 4] = [
    (Encdb, Aes128Gcm, Deterministic, Binary),
    (Encdb, Sm4Cbc, Deterministic, Base64),
    (Encdb, Aes128Ecb, Random, Base64),
    (AeadCbcHmac, Sm4Gcm, Deterministic, Binary),
];

#[test]
fn on_mariadb_statements_about_stored_cells_are_answered_rightly_or_have_to_be_refused() {
    let server = empty_server();
    with_session(&server, async |session| answers(session).await);
}

#[test]
fn on_postgresql_statements_about_stored_cells_are_answered_rightly_or_have_to_be_refused() {
    let Some(_) = fetched(&POSTGRESQL) else { return };
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
    let columns = encryption(Encdb, Aes128Gcm, Random, Binary);
    let mut cells = Cells::new(columns);
    make(session, &mut cells).await;
    let cell = cells.literal(session, 7);
    let found = ids(session, &format!("{IDS} cell = {cell}")).await;
    assert!(found.is_empty(), "random cells are equal to no other");
}

/// What a policy lets statements ask.
async fn right_answers<S: SqlSession>(session: &mut S, cells: &mut Cells) {
    for value in [0, 7, 50, 99, 100] {
        let cell = cells.literal(session, value);
        let by_cell = ids(session, &format!("{IDS} cell = {cell}")).await;
        let by_value = ids(session, &format!("{IDS} plain = {value}")).await;
        assert_eq!(by_cell, by_value, "{value}");
        assert_eq!(by_cell.is_empty(), value % 10 == 0 || value == 100, "{value}");
    }
    let (one, other) = (cells.literal(session, 3), cells.literal(session, 12));
    for question in [
        "SELECT id FROM ciphertax.one WHERE cell IN ({three}, {twelve})",
        "SELECT id FROM ciphertax.one WHERE cell <> {three}",
        "SELECT one.id FROM ciphertax.one JOIN ciphertax.other ON one.cell = other.cell",
        "SELECT COUNT(cell) FROM ciphertax.one",
        "SELECT COUNT(DISTINCT cell) FROM ciphertax.one",
        "SELECT COUNT(*) FROM ciphertax.one GROUP BY cell",
        "SELECT id FROM ciphertax.one WHERE cell IS NULL",
    ] {
        let by_cell = question.replace("{three}", &one).replace("{twelve}", &other);
        let by_value = question.replace("cell", "plain").replace("{three}", "3");
        let by_value = &by_value.replace("{twelve}", "12");
        let expected = ids(session, by_value).await;
        assert!(!expected.is_empty(), "{by_value}");
        assert_eq!(ids(session, &by_cell).await, expected, "{by_cell}");
    }
}

/// What a policy refuses: the server answers without an error, and wrongly; or it refuses by itself.
async fn wrong_answers<S: SqlSession>(session: &mut S, cells: &mut Cells) {
    let half = cells.literal(session, 50);
    for question in [
        "SELECT id FROM ciphertax.one WHERE cell > {fifty}",
        "SELECT id FROM (SELECT id FROM ciphertax.one WHERE cell IS NOT NULL ORDER BY cell LIMIT 20) found",
        "SELECT SUM(cell) FROM ciphertax.one",
        "SELECT id FROM ciphertax.one WHERE cell + 1 = 8",
        "SELECT id FROM ciphertax.one WHERE cell LIKE '7%'",
    ] {
        let by_cell = question.replace("{fifty}", &half);
        let by_value = question.replace("cell", "plain").replace("{fifty}", "50");
        let by_value = &by_value.replace("plain LIKE", "CAST(plain AS CHAR(5)) LIKE");
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
            are_text: columns.encoding == Base64,
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

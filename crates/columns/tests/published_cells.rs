//! Cells of SQL Server's format that others published.

use ciphertax_columns::{CellKind, aead};
use ciphertax_model::{CellEncoding, CellMode};

/// VARCHAR, whose plaintexts are bytes.
const TEXT: CellKind = CellKind(253);

/// The column's key of the tests of tedious, a client of SQL Server under the MIT licence
/// (`test/unit/always-encrypted/aead-aes-256-cbc-hmac-256-algorithm-test.js`), which has the cells below too.
const COLUMN_KEY: &str = "ED6FBC93EECDE0BFC6494FFB2EDB7998B7E94EF71FEDE584741A855238F0155E";
const DETERMINISTIC: [&str; 2] = [
    "760061006C005F00640065007400650072006D005F003100",
    "01FF7225AFAD66E77407B12830D160B8BBFC7E5D3DE93B76EB3F3DEC8A8939474D1671AD4BC7581B57BB02B8E2ED33ECA604F1C513C98FE09F2C6FB1\
     517B9F32BCF743FEF572EBF06AD0CE603B8D67D17A",
];
const RANDOM: [&str; 2] = [
    "760061006C005F00720061006E0064005F003200",
    "01800066F289EF215A964C9D9B8E76E9D9189CC7B2DADEF261AE83C3AB62EC4160EA7774AA98A2057C89941A7DD60E5272C191A85FE166937F7F9444\
     9F52D7640560C68E0FBD00E9084C0B54206C2190EC",
];

fn bytes(digits: &str) -> Vec<u8> {
    let pairs = (0..digits.len()).step_by(2);
    pairs
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap())
        .collect()
}

fn aead(mode: CellMode) -> aead::Cipher {
    let key = bytes(COLUMN_KEY).try_into().unwrap();
    aead::Cipher::with_column_key(mode, CellEncoding::Binary, &key).unwrap()
}

#[test]
fn cells_of_sql_server_are_read() {
    for [plaintext, cell] in [DETERMINISTIC, RANDOM] {
        let mut found = Vec::new();
        let kind = aead(CellMode::Random).decrypt(&bytes(cell), &mut found).unwrap();
        assert_eq!((kind, found), (TEXT, bytes(plaintext)));
    }
}

#[test]
fn deterministic_cells_are_those_of_sql_server() {
    let [plaintext, cell] = DETERMINISTIC;
    let mut made = Vec::new();
    aead(CellMode::Deterministic)
        .encrypt(TEXT, &bytes(plaintext), &mut made)
        .unwrap();
    assert_eq!(made, bytes(cell));
}

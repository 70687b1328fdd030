//! Cells of MongoDB's client-side field level encryption, beside MongoDB's own library.

use std::io::Write as _;
use std::process::{Command, Stdio};

use ciphertax_columns::csfle::Cipher;
use ciphertax_columns::{CellError, CellKind};
use ciphertax_model::{CellEncoding, CellMode};
use serde::Deserialize;

/// Cells that libmongocrypt made; `csfle.py` beside it says how.
const VECTORS: &str = include_str!("vectors/csfle.json");

/// Where a Python with pymongocrypt is, for the test that asks it.
const PYTHON: &str = "CIPHERTAX_PYMONGOCRYPT";

#[derive(Deserialize)]
struct Vectors {
    data_key: String,
    key_id: String,
    cells: Vec<Vector>,
}

#[derive(Deserialize)]
struct Vector {
    mode: CellMode,
    kind: u8,
    plaintext: String,
    cell: String,
}

impl Vectors {
    fn read() -> Self {
        serde_json::from_str(VECTORS).unwrap()
    }

    fn cipher(&self, mode: CellMode, encoding: CellEncoding) -> Cipher {
        let key = bytes(&self.data_key).try_into().unwrap();
        Cipher::with_data_key(mode, encoding, &key, bytes(&self.key_id).try_into().unwrap()).unwrap()
    }
}

fn bytes(digits: &str) -> Vec<u8> {
    let pairs = (0..digits.len()).step_by(2);
    pairs
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap())
        .collect()
}

fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn cells_of_libmongocrypt_are_read() {
    let vectors = Vectors::read();
    let mut cipher = vectors.cipher(CellMode::Random, CellEncoding::Binary);
    for vector in &vectors.cells {
        let mut plaintext = b"before".to_vec();
        let kind = cipher.decrypt(&bytes(&vector.cell), &mut plaintext).unwrap();
        assert_eq!(kind, CellKind(vector.kind));
        assert_eq!(digits(&plaintext[6..]), vector.plaintext);
    }
}

#[test]
fn deterministic_cells_are_those_of_libmongocrypt() {
    let vectors = Vectors::read();
    let mut cipher = vectors.cipher(CellMode::Deterministic, CellEncoding::Binary);
    let deterministic = |vector: &&Vector| vector.mode == CellMode::Deterministic;
    for vector in vectors.cells.iter().filter(deterministic) {
        let mut cell = Vec::new();
        cipher
            .encrypt(CellKind(vector.kind), &bytes(&vector.plaintext), &mut cell)
            .unwrap();
        assert_eq!(digits(&cell), vector.cell, "{}", vector.plaintext);
    }
}

#[test]
fn random_cells_of_one_value_differ_in_all_but_their_header() {
    let vectors = Vectors::read();
    let mut cipher = vectors.cipher(CellMode::Random, CellEncoding::Binary);
    let mut cell = || {
        let mut cell = Vec::new();
        cipher.encrypt(CellKind(253), b"the same", &mut cell).unwrap();
        cell
    };
    let (one, other) = (cell(), cell());
    assert_eq!((one[0], one.len()), (2, 82));
    assert_eq!(one[..18], other[..18]);
    for (one, other) in one[18..].chunks(16).zip(other[18..].chunks(16)) {
        assert_ne!(one, other);
    }
}

#[test]
fn a_whole_number_that_is_none_or_too_long_is_refused() {
    let mut cipher = Vectors::read().cipher(CellMode::Random, CellEncoding::Binary);
    for (kind, digits) in [
        (3, "2147483648"),
        (3, ""),
        (3, "-"),
        (3, "-0"),
        (3, "007"),
        (3, "+1"),
        (3, "1.5"),
        (8, "9223372036854775808"),
        (8, "x"),
    ] {
        let mut cell = b"before".to_vec();
        let error = cipher
            .encrypt(CellKind(kind), digits.as_bytes(), &mut cell)
            .unwrap_err();
        assert!(matches!(error, CellError::Malformed { .. }), "{error}");
        assert!(digits.len() < 3 || !error.to_string().contains(digits), "{error}");
        assert_eq!(cell, b"before");
    }
}

#[test]
#[ignore = "needs CIPHERTAX_PYMONGOCRYPT, a Python that has pymongocrypt and pymongo"]
fn libmongocrypt_reads_our_cells() {
    let python = std::env::var(PYTHON).unwrap();
    let vectors = Vectors::read();
    let mut lines = String::new();
    for mode in [CellMode::Random, CellMode::Deterministic] {
        let mut cipher = vectors.cipher(mode, CellEncoding::Binary);
        for vector in &vectors.cells {
            let mut cell = Vec::new();
            cipher
                .encrypt(CellKind(vector.kind), &bytes(&vector.plaintext), &mut cell)
                .unwrap();
            lines += &format!("{}\n", digits(&cell));
        }
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/vectors/csfle.py");
    let mut judge = Command::new(python)
        .args([script, "decrypt"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    judge.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = judge.wait_with_output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let expected = vectors.cells.iter().map(|vector| {
        let plaintext = bytes(&vector.plaintext);
        match vector.kind {
            252 => serde_json::json!({ "binary": vector.plaintext }),
            253 => serde_json::json!(String::from_utf8(plaintext).unwrap()),
            _ => serde_json::from_slice(&plaintext).unwrap(),
        }
    });
    let expected: Vec<serde_json::Value> = expected.collect();
    let found: Vec<serde_json::Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(found, [expected.clone(), expected].concat());
}

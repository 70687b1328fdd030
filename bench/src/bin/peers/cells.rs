//! Encrypted cells, beside what OpenSSL takes for their cipher alone. Nobody asks a server.

use std::hint::black_box;
use std::time::Duration;

use ciphertax_bench::{
    Document, Figures, Measured, NO_BAR, Repeats, Result, Table, at_most, cpu_of_call, in_turns,
};
use ciphertax_columns::{CellCipher, CellKind, MasterKey};
use ciphertax_model::{
    CellAlgorithm, CellEncoding, CellFormat, CellMode, ColumnEncryption, ColumnFeature, ColumnSelection,
    Decrypt,
};

use crate::bare_cipher::BareCipher;

/// Length of one measurement.
const TURN: Duration = Duration::from_millis(60);
/// Lengths of values: numbers, a code, a name, a line, a text.
const LENGTHS: [usize; 6] = [4, 8, 24, 64, 256, 500];
/// The length that the bars are for.
const BAR_LENGTH: usize = 24;
/// Algorithms, by OpenSSL's name too, with what a cell of that length may take at most either way, in nanoseconds: a
/// twelfth of EncJDBC's and a third of the Go client's.
const ALGORITHMS: [(CellAlgorithm, Option<&str>, Option<f64>); 3] = [
    (CellAlgorithm::Sm4Gcm, Some("SM4-GCM"), Some(1000.0)),
    (CellAlgorithm::Aes128Gcm, Some("AES-128-GCM"), Some(350.0)),
    (CellAlgorithm::Wrapped, None, None),
];
/// Cells between two looks at the clock, and different values.
const AT_A_TIME: usize = 64;
/// The type code of VARCHAR.
const VARCHAR: CellKind = CellKind(253);
/// Who is measured: what is ours first, then the bare cipher, where there is one.
const NAMES: [&str; 4] = ["encrypt", "decrypt", "bare encrypt", "bare decrypt"];
/// Their directions, by the place of ours; the bare cipher's is two further.
const DIRECTIONS: [(usize, &str); 2] = [(0, "Encrypting"), (1, "Decrypting")];

/// Cells of values of one length under one algorithm.
struct Cells {
    cipher: CellCipher,
    values: Vec<Vec<u8>>,
    cells: Vec<Vec<u8>>,
    out: Vec<u8>,
    bare: Option<[BareCipher; 2]>,
}

pub(crate) fn measure(document: &mut Document, repeats: u32) -> Result<()> {
    let asked = format!("cells of EncDB as Base64 with random vectors, {TURN:?} a turn, on one thread");
    document.fact("asked", asked);
    let mut bars = Table::new("cell of 24 bytes | ns | bar ns | met | ours / bare | bare ns");
    let mut tables = DIRECTIONS.map(|_| Table::new("algorithm, bytes | ns | ours / bare | bare ns"));
    for (algorithm, name, bar) in ALGORITHMS {
        for length in LENGTHS {
            let what = format!("{}, {length}", <&str>::from(algorithm));
            let mut cells = Cells::new(algorithm, name, length)?;
            let names = &NAMES[..if name.is_some() { 4 } else { 2 }];
            let figures = in_turns(&what, names, repeats, |index| cells.measure(index))?;
            for (table, (place, direction)) in tables.iter_mut().zip(DIRECTIONS) {
                let ns = |figures: &Figures| -> Repeats { figures.of(|turn| turn.client_us * 1e3) };
                let ours = ns(&figures[place]);
                let bare = match figures.get(place + 2).map(ns) {
                    Some(bare) => format!("{:.2} | {bare:.0}", ours.over(&bare)),
                    None => NO_BAR.to_owned(),
                };
                if let Some(most) = bar.filter(|_| length == BAR_LENGTH) {
                    let (bar, name) = (at_most(&ours, most), <&str>::from(algorithm));
                    bars.row(&format!("{name}, {direction} | {ours:.0} | {bar} | {bare}"));
                }
                table.row(&format!("{what} | {ours:.0} | {bare}"));
            }
        }
    }
    document.paragraph(
        "A cell is made of a value, or a value of a cell, with all that belongs to it: vector, tag, both checks, Base64. *Bare* is \
         OpenSSL alone, asked as sparingly as it can be: a context that is kept, a vector that is counted up, one update, the \
         tag. A wrapped cell is the same without its cipher; it protects nothing.",
    );
    document.table("Bars", &bars);
    for (table, (_, direction)) in tables.iter().zip(DIRECTIONS) {
        document.table(direction, table);
    }
    Ok(())
}

impl Cells {
    /// Cells of EncDB with random vectors, as Base64, and the bare cipher that OpenSSL knows by this name.
    fn new(algorithm: CellAlgorithm, name: Option<&str>, length: usize) -> Result<Self> {
        let mut cipher = CellCipher::open(&encryption(algorithm), &MasterKey::random()?)?;
        let value = |number: usize| {
            (0..length)
                .map(|index| b'0' + ((index * 7 + number * 13) % 75) as u8)
                .collect()
        };
        let values: Vec<Vec<u8>> = (0..AT_A_TIME).map(value).collect();
        let mut cells = Vec::new();
        for value in &values {
            let mut cell = Vec::new();
            cipher.encrypt(VARCHAR, value, &mut cell)?;
            cells.push(cell);
        }
        // The byte more is the check that is encrypted with a value.
        let bare = |name| BareCipher::new(name, length + 1);
        let bare = match name {
            Some(name) => Some([bare(name)?, bare(name)?.for_decryption()?]),
            None => None,
        };
        Ok(Self {
            cipher,
            values,
            cells,
            out: Vec::new(),
            bare,
        })
    }

    /// Measures one of [`NAMES`].
    fn measure(&mut self, index: usize) -> Result<Measured> {
        let Self {
            cipher,
            values,
            cells,
            out,
            bare,
        } = self;
        let us = match (index, bare) {
            (0, _) => cpu_of_call(TURN, values, |value| {
                out.clear();
                cipher.encrypt(VARCHAR, black_box(value), out)?;
                black_box(out.as_slice());
                Ok(())
            }),
            (1, _) => cpu_of_call(TURN, cells, |cell| {
                out.clear();
                cipher.decrypt(black_box(cell), out)?;
                black_box(out.as_slice());
                Ok(())
            }),
            (index, Some(bare)) => cpu_of_call(TURN, values, |_| bare[index - 2].work()),
            (_, None) => Err("it has no cipher".into()),
        };
        Ok(Measured::client(us?))
    }
}

fn encryption(algorithm: CellAlgorithm) -> ColumnEncryption {
    ColumnEncryption {
        feature: ColumnFeature::InResults,
        format: CellFormat::Encdb,
        algorithm,
        mode: CellMode::Random,
        encoding: CellEncoding::Base64,
        columns: ColumnSelection::All,
        decrypt: Decrypt::All,
    }
}

//! CPU time of a cell of each format, in nanoseconds: `formats [LENGTH]...`, of values of so many bytes.

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use ciphertax_columns::{CellCipher, CellKind, MasterKey};
use ciphertax_model::{
    CellAlgorithm, CellEncoding, CellFormat, CellMode, ColumnEncryption, ColumnFeature, ColumnSelection,
    Decrypt,
};

/// Cells of one measurement, of which the fastest counts: what else the machine does only slows it.
const CELLS: u32 = 20_000;
const MEASUREMENTS: u32 = 7;

fn main() -> Result<(), Box<dyn Error>> {
    let given: Vec<usize> = std::env::args()
        .skip(1)
        .map(|length| length.parse())
        .collect::<Result<_, _>>()?;
    let lengths = if given.is_empty() {
        vec![24, 100, 500]
    } else {
        given
    };
    let key = MasterKey::random()?;
    for format in [CellFormat::Csfle, CellFormat::AeadCbcHmac] {
        for mode in [CellMode::Random, CellMode::Deterministic] {
            for &length in &lengths {
                let encryption = ColumnEncryption {
                    feature: ColumnFeature::Stored,
                    format,
                    algorithm: CellAlgorithm::default(),
                    mode,
                    encoding: CellEncoding::Binary,
                    columns: ColumnSelection::All,
                    decrypt: Decrypt::All,
                };
                let [encrypt, decrypt] = measure(&mut CellCipher::open(&encryption, &key)?, length)?;
                println!("{encryption}, {length} bytes: encrypt {encrypt:.0}, decrypt {decrypt:.0}");
            }
        }
    }
    Ok(())
}

fn measure(cipher: &mut CellCipher, length: usize) -> Result<[f64; 2], Box<dyn Error>> {
    const BLOB: CellKind = CellKind(252);
    let plaintext = vec![b'x'; length];
    let (mut cell, mut back) = (Vec::new(), Vec::new());
    let mut fastest = [f64::INFINITY; 2];
    for _ in 0..MEASUREMENTS {
        let start = Instant::now();
        for _ in 0..CELLS {
            cell.clear();
            cipher.encrypt(BLOB, black_box(&plaintext), &mut cell)?;
        }
        let between = Instant::now();
        for _ in 0..CELLS {
            back.clear();
            cipher.decrypt(black_box(&cell), &mut back)?;
        }
        let spent = [between.duration_since(start), between.elapsed()];
        for (fastest, spent) in fastest.iter_mut().zip(spent) {
            *fastest = fastest.min(spent.as_secs_f64() * 1e9 / f64::from(CELLS));
        }
    }
    Ok(fastest)
}

//! CPU time of cells: ours, and OpenSSL's share that they cannot do without.

use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

use ciphertax_columns::{CellCipher, CellKind, MasterKey};
use ciphertax_model::{
    CellAlgorithm, CellEncoding, CellFormat, CellMode, ColumnEncryption, ColumnFeature, ColumnSelection,
    Decrypt,
};
use ciphertax_observe::ThreadUsage;

use crate::raw::Raw;

/// Result of a benchmark; its errors are for a reader alone.
pub(crate) type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Cells between two looks at the clock, and different values.
const AT_A_TIME: usize = 64;
/// The type code of VARCHAR.
const VARCHAR: CellKind = CellKind(253);

/// The four things that are measured of values of one length under one algorithm.
pub(crate) struct Cells {
    cipher: CellCipher,
    values: Vec<Vec<u8>>,
    cells: Vec<Vec<u8>>,
    out: Vec<u8>,
    raw: Option<(Raw, Raw)>,
}

/// CPU time in nanoseconds a cell. The raw ones are not numbers where there is no cipher.
pub(crate) struct Nanoseconds {
    pub(crate) encrypt: f64,
    pub(crate) decrypt: f64,
    pub(crate) raw_encrypt: f64,
    pub(crate) raw_decrypt: f64,
}

impl Cells {
    /// Cells of EncDB with random vectors, as Base64.
    pub(crate) fn new(algorithm: CellAlgorithm, length: usize) -> Result<Self> {
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
        let raw = |name| -> Result<_> {
            let encrypting = Raw::new(name, length + 1)?;
            Ok(Some((encrypting, Raw::new(name, length + 1)?.for_decryption()?)))
        };
        let raw = match algorithm {
            CellAlgorithm::Sm4Gcm => raw("SM4-GCM")?,
            CellAlgorithm::Aes128Gcm => raw("AES-128-GCM")?,
            _ => None,
        };
        Ok(Self {
            cipher,
            values,
            cells,
            out: Vec::new(),
            raw,
        })
    }

    /// Measures each for `duration`, one after the other.
    pub(crate) fn measure(&mut self, duration: Duration) -> Result<Nanoseconds> {
        let Self {
            cipher,
            values,
            cells,
            out,
            raw,
        } = self;
        let encrypt = per_cell(duration, |index| {
            out.clear();
            cipher.encrypt(VARCHAR, black_box(&values[index]), out)?;
            black_box(out.as_slice());
            Ok(())
        })?;
        let decrypt = per_cell(duration, |index| {
            out.clear();
            cipher.decrypt(black_box(&cells[index]), out)?;
            black_box(out.as_slice());
            Ok(())
        })?;
        let (raw_encrypt, raw_decrypt) = match raw {
            None => (f64::NAN, f64::NAN),
            Some((encrypting, decrypting)) => (
                per_cell(duration, |_| encrypting.encrypt())?,
                per_cell(duration, |_| decrypting.decrypt())?,
            ),
        };
        Ok(Nanoseconds {
            encrypt,
            decrypt,
            raw_encrypt,
            raw_decrypt,
        })
    }
}

/// CPU time of one call in nanoseconds: the mean of as many as this thread does in `duration`.
fn per_cell(duration: Duration, mut call: impl FnMut(usize) -> Result<()>) -> Result<f64> {
    let before = ThreadUsage::now();
    let deadline = Instant::now() + duration;
    let mut calls = 0_u64;
    while Instant::now() < deadline {
        for index in 0..AT_A_TIME {
            call(index)?;
        }
        calls += AT_A_TIME as u64;
    }
    let used = ThreadUsage::now().since(&before).cpu.total_ns;
    Ok(used as f64 / calls as f64)
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

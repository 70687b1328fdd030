//! MongoDB's cells of client-side field level encryption: what a BSON binary of subtype 6 holds.
//!
//! `kind(1) | key id(16) | BSON type(1) | vector(16) | ciphertext | code(32)`, kind 1 deterministic and 2 random
//! (<https://github.com/mongodb/specifications/blob/master/source/client-side-encryption/subtype6.md>). The algorithm is
//! AEAD_AES_256_CBC_HMAC_SHA_512: AES-256-CBC with PKCS #7 padding of the BSON value; the code is the first half of the
//! HMAC-SHA-512 of what is before the vector, vector, ciphertext, and the length in bits of the first of these in eight bytes
//! (draft-mcgrew-aead-aes-cbc-hmac-sha2-05). A data key is 96 bytes: keys of codes, of the cipher and of vectors. A
//! deterministic vector is the beginning of the HMAC-SHA-512, by the key of vectors, of what is before the vector, its length
//! in bits, and the BSON value.
//!
//! A client of MongoDB has a random data key in a key vault, itself encrypted. Here it is derived from the master key.

use ciphertax_model::{CellEncoding, CellMode, ColumnEncryption};
use openssl::sha::Sha512;
use zeroize::Zeroizing;

use crate::aes::{Aes, BLOCK, Hmac, RandomPool};
use crate::cell::{CellError, CellKind, Encoded, KeyError, Result, check_length, hexadecimal};
use crate::key::{MasterKey, derive};

/// What errors call the format.
const FORMAT: &str = "csfle";

/// Bytes before the vector, which the code vouches for as well.
const HEADER: usize = 18;
/// Their length in bits.
const HEADER_BITS: [u8; 8] = (8 * HEADER as u64).to_be_bytes();
/// Bytes of a code.
const CODE: usize = 32;

/// Bytes of a plaintext at most: what a document of MongoDB holds.
const MOST: usize = 16 << 20;

const DETERMINISTIC: u8 = 1;
const RANDOM: u8 = 2;

/// Encrypts and decrypts the cells of one session.
pub struct Cipher {
    mode: CellMode,
    key_id: [u8; 16],
    codes: Hmac<Sha512>,
    vectors: Hmac<Sha512>,
    aes: Aes,
    random: RandomPool,
    encoded: Encoded,
}

impl Cipher {
    /// A cipher by the data key that is derived from the master key, as is its id.
    ///
    /// # Errors
    /// When the library lacks an algorithm.
    pub fn open(encryption: &ColumnEncryption, key: &MasterKey) -> Result<Self, KeyError> {
        let mut data_key = Zeroizing::new([0; 96]);
        derive(key, "csfle data key", data_key.as_mut_slice())?;
        let mut id = [0; 16];
        derive(key, "csfle key id", &mut id)?;
        // A random UUID of version 4 (RFC 9562).
        id[6] = id[6] & 0x0f | 0x40;
        id[8] = id[8] & 0x3f | 0x80;
        Self::with_data_key(encryption.mode, encryption.encoding, &data_key, id)
    }

    /// A cipher by a data key and the UUID that it is known by.
    ///
    /// # Errors
    /// When the library lacks an algorithm.
    pub fn with_data_key(
        mode: CellMode,
        encoding: CellEncoding,
        data_key: &[u8; 96],
        key_id: [u8; 16],
    ) -> Result<Self, KeyError> {
        let ([codes, cipher, vectors], _) = data_key.as_chunks::<32>() else {
            return Err(KeyError::Unavailable("a data key has 96 bytes".to_owned()));
        };
        Ok(Self {
            mode,
            key_id,
            codes: Hmac::new(codes),
            vectors: Hmac::new(vectors),
            aes: Aes::new(cipher)?,
            random: RandomPool::default(),
            encoded: Encoded::new(encoding),
        })
    }

    /// Appends the cell of a plaintext: of the decimal digits of a whole number, of the bytes of anything else.
    ///
    /// # Errors
    /// When the library fails, a whole number is none, or the plaintext is longer than 16 MiB; nothing is appended then.
    pub fn encrypt(&mut self, kind: CellKind, plaintext: &[u8], cell: &mut Vec<u8>) -> Result<()> {
        check_length(plaintext, MOST)?;
        self.encoded.write(cell, |cell| {
            let start = cell.len();
            let bson_type = bson_type_of(kind);
            // With the frame of a value, its padding, and the block that the library wants besides.
            cell.reserve(HEADER + BLOCK + plaintext.len() + 6 + 2 * BLOCK + CODE);
            cell.push(match self.mode {
                CellMode::Deterministic => DETERMINISTIC,
                CellMode::Random => RANDOM,
            });
            cell.extend_from_slice(&self.key_id);
            cell.push(bson_type);
            cell.extend_from_slice(&[0; BLOCK]);
            let value = start + HEADER + BLOCK;
            append_bson(bson_type, plaintext, cell)?;
            let vector = match self.mode {
                CellMode::Random => self.random.take()?,
                CellMode::Deterministic => {
                    let code = self
                        .vectors
                        .of(&[&cell[start..start + HEADER], &HEADER_BITS, &cell[value..]]);
                    first(&code)
                }
            };
            cell[start + HEADER..value].copy_from_slice(&vector);
            self.aes.encrypt(&vector, cell, value)?;
            let code = self.codes.of(&[&cell[start..], &HEADER_BITS]);
            cell.extend_from_slice(&code[..CODE]);
            Ok(())
        })
    }

    /// Appends the plaintext of a cell.
    ///
    /// # Errors
    /// When it is no cell, was changed or cut off, is another key's, or holds a type that no column has; nothing is appended
    /// then.
    pub fn decrypt(&mut self, cell: &[u8], plaintext: &mut Vec<u8>) -> Result<CellKind> {
        self.encoded.read(FORMAT, cell, plaintext, |cell, plaintext| {
            let (Some((&[kind, ref id @ .., bson_type], rest)), Some((authenticated, code))) = (
                cell.split_first_chunk::<HEADER>(),
                cell.split_last_chunk::<CODE>(),
            ) else {
                return Err(malformed("it is too short"));
            };
            if kind != DETERMINISTIC && kind != RANDOM {
                return Err(malformed("it begins with another number than 1 or 2"));
            }
            let encrypted = rest.len().saturating_sub(CODE);
            let Some((vector, ciphertext)) = rest[..encrypted].split_first_chunk::<BLOCK>() else {
                return Err(malformed("it is too short"));
            };
            if ciphertext.is_empty() || !ciphertext.len().is_multiple_of(BLOCK) {
                return Err(malformed("it is not whole blocks"));
            }
            let expected = self.codes.of(&[authenticated, &HEADER_BITS]);
            if *id != self.key_id || !openssl::memcmp::eq(&expected[..CODE], code) {
                return Err(CellError::NotAuthentic(hexadecimal(&self.key_id)));
            }
            let start = plaintext.len();
            if !self.aes.decrypt(vector, ciphertext, plaintext)? {
                return Err(malformed("its padding is wrong"));
            }
            strip_bson(bson_type, plaintext, start)
        })
    }
}

/// The beginning of a code, as a vector.
fn first(code: &[u8; 64]) -> [u8; BLOCK] {
    let mut vector = [0; BLOCK];
    vector.copy_from_slice(&code[..BLOCK]);
    vector
}

fn malformed(reason: &str) -> CellError {
    CellError::Malformed {
        format: FORMAT,
        reason: reason.to_owned(),
    }
}

const STRING: u8 = 2;
const BINARY: u8 = 5;
const INT32: u8 = 16;
const INT64: u8 = 18;

const LONG: CellKind = CellKind(3);
const LONGLONG: CellKind = CellKind(8);
const BLOB: CellKind = CellKind(252);
const VAR_STRING: CellKind = CellKind(253);

/// The BSON type of a value: cells encrypt values as BSON's (<https://bsonspec.org/spec.html>).
///
/// | type of MySQL | BSON | plaintext |
/// |---|---|---|
/// | 1 TINY, 2 SHORT, 3 LONG, 9 INT24 | 16, of 32 bits | decimal digits |
/// | 8 LONGLONG | 18, of 64 bits | decimal digits |
/// | 249–252 BLOB | 5, binary of subtype 0 | bytes |
/// | all others | 2, string | bytes |
///
/// What comes back of a cell is of the type LONG, LONGLONG, BLOB or VAR_STRING (253): BSON knows no others of these.
fn bson_type_of(kind: CellKind) -> u8 {
    match kind.0 {
        1 | 2 | 3 | 9 => INT32,
        8 => INT64,
        249..=252 => BINARY,
        _ => STRING,
    }
}

/// Appends a value of this BSON type, which is shorter than 2 GiB.
///
/// # Errors
/// When it is to be a number and is none.
fn append_bson(bson_type: u8, plaintext: &[u8], bytes: &mut Vec<u8>) -> Result<()> {
    // Of a value that is no longer than a document.
    let length = |more: usize| ((plaintext.len() + more) as u32).to_le_bytes();
    match bson_type {
        INT32 => bytes.extend_from_slice(&number::<i32>(plaintext)?.to_le_bytes()),
        INT64 => bytes.extend_from_slice(&number::<i64>(plaintext)?.to_le_bytes()),
        BINARY => {
            bytes.extend_from_slice(&length(0));
            bytes.push(0);
            bytes.extend_from_slice(plaintext);
        }
        _ => {
            bytes.extend_from_slice(&length(1));
            bytes.extend_from_slice(plaintext);
            bytes.push(0);
        }
    }
    Ok(())
}

/// Makes a value from `start` on the plaintext that it was made of.
///
/// # Errors
/// When it is none of its type, or the type is one that no column has.
fn strip_bson(bson_type: u8, bytes: &mut Vec<u8>, start: usize) -> Result<CellKind> {
    let value = &bytes[start..];
    let inside = match bson_type {
        INT32 => {
            let number = i32::from_le_bytes(whole(value)?);
            return Ok(replace(bytes, start, number.into(), LONG));
        }
        INT64 => {
            let number = i64::from_le_bytes(whole(value)?);
            return Ok(replace(bytes, start, number, LONGLONG));
        }
        STRING => match value {
            [a, b, c, d, text @ .., 0] if is_length([a, b, c, d], text.len() + 1) => 4..4 + text.len(),
            _ => return Err(malformed("it holds no string")),
        },
        BINARY => match value {
            [a, b, c, d, 0, data @ ..] if is_length([a, b, c, d], data.len()) => 5..value.len(),
            _ => return Err(malformed("it holds no binary value")),
        },
        _ => return Err(malformed("it holds a BSON type that no column has")),
    };
    let length = inside.len();
    bytes.copy_within(start + inside.start..start + inside.end, start);
    bytes.truncate(start + length);
    Ok(match bson_type {
        BINARY => BLOB,
        _ => VAR_STRING,
    })
}

fn replace(bytes: &mut Vec<u8>, start: usize, number: i64, kind: CellKind) -> CellKind {
    use std::io::Write as _;
    bytes.truncate(start);
    // Writing to a buffer cannot fail.
    let _ = write!(bytes, "{number}");
    kind
}

fn is_length(said: [&u8; 4], length: usize) -> bool {
    u32::try_from(length) == Ok(u32::from_le_bytes(said.map(|byte| *byte)))
}

fn whole<const N: usize>(value: &[u8]) -> Result<[u8; N]> {
    value
        .try_into()
        .map_err(|_| malformed("it holds no whole number of its length"))
}

/// A number that is written as it will be read again: `-7`, and not `-07`.
fn number<N: std::str::FromStr>(digits: &[u8]) -> Result<N> {
    let written = match digits {
        [b'-', rest @ ..] => rest,
        digits => digits,
    };
    let is_canonical = matches!(written, [b'0'] | [b'1'..=b'9', ..]) && digits != b"-0";
    let number = std::str::from_utf8(digits).ok().filter(|_| is_canonical);
    number
        .and_then(|number| number.parse().ok())
        .ok_or_else(|| malformed("the value of a whole number is not one of its length"))
}

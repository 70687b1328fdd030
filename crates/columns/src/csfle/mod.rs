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

mod bson;

use ciphertax_model::{CellEncoding, CellMode, ColumnEncryption};
use openssl::sha::Sha512;
use zeroize::Zeroizing;

use crate::aes::{Aes, BLOCK, Hmac};
use crate::cell::{CellError, CellKind, Encoded, KeyError, check_length, hexadecimal};
use crate::key::{MasterKey, derive};
use crate::random::RandomPool;

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
    pub fn encrypt(&mut self, kind: CellKind, plaintext: &[u8], cell: &mut Vec<u8>) -> Result<(), CellError> {
        check_length(plaintext, MOST)?;
        let Self {
            mode,
            key_id,
            codes,
            vectors,
            aes,
            random,
            encoded,
        } = self;
        encoded.write(cell, |cell| {
            let start = cell.len();
            let bson_type = bson::type_of(kind);
            // With the frame of a value, its padding, and the block that the library wants besides.
            cell.reserve(HEADER + BLOCK + plaintext.len() + 6 + 2 * BLOCK + CODE);
            cell.push(match mode {
                CellMode::Deterministic => DETERMINISTIC,
                CellMode::Random => RANDOM,
            });
            cell.extend_from_slice(key_id);
            cell.push(bson_type);
            cell.extend_from_slice(&[0; BLOCK]);
            let value = start + HEADER + BLOCK;
            bson::append(bson_type, plaintext, cell)?;
            let vector = match mode {
                CellMode::Random => random.take()?,
                CellMode::Deterministic => {
                    let code = vectors.of(&[&cell[start..start + HEADER], &HEADER_BITS, &cell[value..]]);
                    first(&code)
                }
            };
            cell[start + HEADER..value].copy_from_slice(&vector);
            aes.encrypt(&vector, cell, value)?;
            let code = codes.of(&[&cell[start..], &HEADER_BITS]);
            cell.extend_from_slice(&code[..CODE]);
            Ok(())
        })
    }

    /// Appends the plaintext of a cell.
    ///
    /// # Errors
    /// When it is no cell, was changed or cut off, is another key's, or holds a type that no column has; nothing is appended
    /// then.
    pub fn decrypt(&mut self, cell: &[u8], plaintext: &mut Vec<u8>) -> Result<CellKind, CellError> {
        let Self {
            key_id,
            codes,
            aes,
            encoded,
            ..
        } = self;
        let not_authentic = || CellError::NotAuthentic {
            key_number: hexadecimal(key_id),
        };
        encoded.read(FORMAT, cell, plaintext, |cell, plaintext| {
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
            let expected = codes.of(&[authenticated, &HEADER_BITS]);
            if id != key_id || !openssl::memcmp::eq(&expected[..CODE], code) {
                return Err(not_authentic());
            }
            let start = plaintext.len();
            if !aes.decrypt(vector, ciphertext, plaintext)? {
                return Err(malformed("its padding is wrong"));
            }
            bson::strip(bson_type, plaintext, start)
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

//! EncDB's cells beside those that other implementations judged.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ciphertax_model::{CellAlgorithm, CellEncoding, CellFormat, ColumnFeature, ColumnSelection, Decrypt};
use serde::Deserialize;

use super::algorithm::Decryptor;
use super::*;

/// The vectors; where they are from is in the README beside them.
#[derive(Deserialize)]
struct Vectors {
    vectors: Vec<Vector>,
    published: Published,
}

#[derive(Deserialize)]
struct Vector {
    mek: String,
    kdf: String,
    nonce: String,
    dek: String,
    algorithm: String,
    iv: Option<String>,
    iv_rule: String,
    mysql_type_code: u8,
    plaintext_hex: String,
    cell_hex: String,
    cell_base64: String,
}

#[derive(Deserialize)]
struct Published {
    vectors: Vec<PublishedVector>,
}

#[derive(Deserialize)]
struct PublishedVector {
    layout: String,
    mysql_type_code: u8,
    nonce: String,
    dek: String,
    cell_base64: String,
    plaintext_hex: String,
    mek: Option<String>,
}

impl Vector {
    /// The algorithm of a session that makes such cells, and whether one does.
    fn algorithm(&self) -> (CellAlgorithm, bool) {
        match self.algorithm.as_str() {
            "AES_128_GCM" => (CellAlgorithm::Aes128Gcm, true),
            "AES_128_ECB" => (CellAlgorithm::Aes128Ecb, true),
            "AES_128_CBC" => (CellAlgorithm::Aes128Cbc, true),
            "SM4_128_GCM" => (CellAlgorithm::Sm4Gcm, true),
            "SM4_128_ECB" => (CellAlgorithm::Sm4Ecb, true),
            "SM4_128_CBC" => (CellAlgorithm::Sm4Cbc, true),
            "AES_128_CTR" | "SM4_128_CTR" => (CellAlgorithm::Sm4Cbc, false),
            other => panic!("{other}"),
        }
    }

    fn cipher(&self, encoding: CellEncoding) -> Cipher {
        let encryption = ColumnEncryption {
            algorithm: self.algorithm().0,
            mode: match self.iv_rule.as_str() {
                "deterministic" => CellMode::Deterministic,
                _ => CellMode::Random,
            },
            ..encryption(encoding)
        };
        let derivation = match self.kdf.as_str() {
            "HKDF-SM3" => Derivation::Sm3,
            "HKDF-SHA256" => Derivation::Sha256,
            other => panic!("{other}"),
        };
        let key = MasterKey::from_hex(&self.mek).unwrap();
        let data_key = *derivation.data_key(&key, &nonce(&self.nonce)).unwrap();
        assert_eq!(data_key, *hex(&self.dek));
        let mut cipher = Cipher::with_nonce(&encryption, &key, derivation, nonce(&self.nonce)).unwrap();
        cipher.cells.random =
            RandomPool::of(&[hex(self.iv.as_deref().unwrap_or_default()), vec![0; 16]].concat());
        cipher
    }

    fn cell(&self, encoding: CellEncoding) -> Vec<u8> {
        match encoding {
            CellEncoding::Base64 => self.cell_base64.clone().into_bytes(),
            CellEncoding::Binary => hex(&self.cell_hex),
        }
    }
}

#[test]
fn cells_are_those_of_other_implementations_byte_for_byte() {
    let mut made = 0;
    for vector in vectors().vectors {
        for encoding in [CellEncoding::Binary, CellEncoding::Base64] {
            let mut cipher = vector.cipher(encoding);
            let (kind, plaintext) = (CellKind(vector.mysql_type_code), hex(&vector.plaintext_hex));
            let mut read = b"before".to_vec();
            assert_eq!(cipher.decrypt(&vector.cell(encoding), &mut read), Ok(kind));
            assert_eq!(read, [b"before", plaintext.as_slice()].concat());
            if vector.algorithm().1 {
                let mut cell = b"before".to_vec();
                cipher.encrypt(kind, &plaintext, &mut cell).unwrap();
                assert_eq!(cell, [b"before", vector.cell(encoding).as_slice()].concat());
                made += 1;
            }
        }
    }
    assert_eq!(made, 2 * 38);
}

#[test]
fn published_cells_are_read_and_those_of_the_older_layout_are_refused() {
    let published = vectors().published.vectors;
    assert_eq!(published.len(), 7);
    for vector in &published {
        let (dek, cell) = (hex(&vector.dek), STANDARD.decode(&vector.cell_base64).unwrap());
        if let Some(mek) = &vector.mek {
            let key = MasterKey::from_hex(mek).unwrap();
            let derived = Derivation::Sm3.data_key(&key, &nonce(&vector.nonce)).unwrap();
            assert_eq!(*derived, *dek);
        }
        if vector.layout == "legacy" {
            let error = Layout::of(&cell).unwrap_err().to_string();
            assert!(error.contains("version"), "{error}");
            continue;
        }
        let layout = Layout::of(&cell).unwrap();
        let read = (layout.kind.0, layout.nonce);
        assert_eq!(read, (vector.mysql_type_code, nonce(&vector.nonce)));
        let mut decryptor = Decryptor::new(layout.algorithm, dek.as_slice().try_into().unwrap()).unwrap();
        let mut read = Vec::new();
        decryptor
            .decrypt(layout.vector, layout.tag, layout.ciphertext, &mut read)
            .unwrap();
        read.pop();
        assert_eq!(read, hex(&vector.plaintext_hex));
    }
}

#[test]
fn contexts_of_many_nonces_are_not_all_kept_and_those_in_use_are() {
    let key = MasterKey::random().unwrap();
    let encryption = encryption(CellEncoding::Binary);
    let mut reader = Cipher::open(&encryption, &key).unwrap();
    for session in 0..100 {
        let mut cell = Vec::new();
        Cipher::open(&encryption, &key)
            .unwrap()
            .encrypt(CellKind(3), b"1", &mut cell)
            .unwrap();
        for _ in 0..2 {
            reader.decrypt(&cell, &mut Vec::new()).unwrap();
        }
        assert_eq!(reader.cells.decryptors.kept(), (session + 1).min(8));
    }
}

#[test]
fn a_ctr_cell_made_of_a_gcm_cell_is_read_by_sessions_without_tags_alone() {
    let key = MasterKey::random().unwrap();
    let open = |algorithm| {
        let encryption = ColumnEncryption {
            algorithm,
            ..encryption(CellEncoding::Binary)
        };
        Cipher::open(&encryption, &key).unwrap()
    };
    for (gcm, code) in [(CellAlgorithm::Sm4Gcm, 6), (CellAlgorithm::Aes128Gcm, 2)] {
        let mut cell = Vec::new();
        open(gcm).encrypt(CellKind(3), b"1000", &mut cell).unwrap();
        let layout = Layout::of(&cell).unwrap();
        // The counter that GCM begins a plaintext with is the vector and 2.
        let body = [layout.vector, &[0, 0, 0, 2], layout.ciphertext].concat();
        let mut rewritten = [&[0, VERSION, 3, code], layout.nonce.as_slice(), &body].concat();
        rewritten[0] = xor(&rewritten);
        let mut read = Vec::new();
        let kind = open(CellAlgorithm::Sm4Cbc).decrypt(&rewritten, &mut read);
        assert_eq!(kind, Ok(CellKind(3)));
        assert_eq!(read, b"1000");
        assert!(open(gcm).decrypt(&rewritten, &mut read).is_err());
    }
}

#[test]
fn a_cell_whose_inner_check_is_wrong_is_refused_though_its_tag_is_right() {
    let mut cipher = Cipher::open(&encryption(CellEncoding::Binary), &MasterKey::random().unwrap()).unwrap();
    for inner in [b"1000".as_slice(), b""] {
        let mut cell = [
            &[0, VERSION, 3, 7],
            cipher.cells.nonce.as_slice(),
            &[0; 28],
            inner,
        ]
        .concat();
        cipher
            .cells
            .encryptor
            .as_mut()
            .unwrap()
            .encrypt(&[0; 12], &mut cell, 40)
            .unwrap();
        cell[0] = xor(&cell);
        let mut read = b"before".to_vec();
        assert!(cipher.decrypt(&cell, &mut read).is_err());
        assert_eq!(read, b"before");
    }
}

fn encryption(encoding: CellEncoding) -> ColumnEncryption {
    ColumnEncryption {
        feature: ColumnFeature::InResults,
        format: CellFormat::Encdb,
        algorithm: CellAlgorithm::Sm4Gcm,
        mode: CellMode::Random,
        encoding,
        columns: ColumnSelection::All,
        decrypt: Decrypt::All,
    }
}

fn vectors() -> Vectors {
    serde_json::from_str(include_str!("../../tests/vectors/encdb.json")).unwrap()
}

fn nonce(digits: &str) -> Nonce {
    hex(digits).try_into().unwrap()
}

fn hex(digits: &str) -> Vec<u8> {
    let pairs = digits.as_bytes().chunks(2);
    pairs
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

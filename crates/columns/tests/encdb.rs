//! What holds for EncDB's cells whatever is in them, and whatever comes in their place.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ciphertax_columns::{CellCipher, CellCounts, CellError, CellKind, MasterKey};
use ciphertax_model::*;
use proptest::prelude::*;

const VARCHAR: CellKind = CellKind(253);
const ALGORITHMS: [CellAlgorithm; 7] = [
    CellAlgorithm::Sm4Gcm,
    CellAlgorithm::Sm4Cbc,
    CellAlgorithm::Sm4Ecb,
    CellAlgorithm::Aes128Gcm,
    CellAlgorithm::Aes128Cbc,
    CellAlgorithm::Aes128Ecb,
    CellAlgorithm::Wrapped,
];
const GCM: [CellAlgorithm; 2] = [CellAlgorithm::Sm4Gcm, CellAlgorithm::Aes128Gcm];
const ENCODINGS: [CellEncoding; 2] = [CellEncoding::Binary, CellEncoding::Base64];
const MODES: [CellMode; 2] = [CellMode::Random, CellMode::Deterministic];

#[test]
fn every_length_makes_a_cell_and_comes_back() {
    let bytes: Vec<u8> = (0..2000_u32).map(|index| (index * 31 % 251) as u8).collect();
    let key = key();
    for algorithm in ALGORITHMS {
        for (encoding, mode) in ENCODINGS
            .into_iter()
            .flat_map(|encoding| MODES.map(|mode| (encoding, mode)))
        {
            let mut cipher = open(&encryption(algorithm, encoding, mode), &key);
            for length in 0..=bytes.len() {
                let cell = encrypt(&mut cipher, &bytes[..length]);
                assert_eq!(decrypt(&mut cipher, &cell), Ok(bytes[..length].to_vec()));
            }
            let cells = bytes.len() as u64 + 1;
            let counts = CellCounts {
                encrypted: cells,
                decrypted: cells,
            };
            assert_eq!(cipher.counts(), counts);
        }
    }
}

#[test]
fn a_cell_of_gcm_and_a_wrapped_one_have_41_bytes_more_than_their_plaintext() {
    for algorithm in [GCM[0], GCM[1], CellAlgorithm::Wrapped] {
        for (length, text) in [(4, 60), (6, 64), (19, 80), (24, 88), (400, 588), (500, 724)] {
            let cell = |encoding| encrypt(&mut session(algorithm, encoding), &vec![b'7'; length]);
            assert_eq!(cell(CellEncoding::Binary).len(), 41 + length);
            assert_eq!(cell(CellEncoding::Base64).len(), text);
        }
    }
}

#[test]
fn a_wrapped_cell_shows_its_plaintext_and_is_read_by_no_session_with_a_cipher() {
    let key = key();
    let open = |algorithm| {
        open(
            &encryption(algorithm, CellEncoding::Binary, CellMode::Random),
            &key,
        )
    };
    let wrapped = encrypt(&mut open(CellAlgorithm::Wrapped), b"canary");
    assert!(wrapped.windows(6).any(|bytes| bytes == b"canary"));
    for algorithm in ALGORITHMS
        .into_iter()
        .filter(|algorithm| *algorithm != CellAlgorithm::Wrapped)
    {
        assert!(decrypt(&mut open(algorithm), &wrapped).is_err(), "{algorithm:?}");
        let cell = encrypt(&mut open(algorithm), b"canary");
        assert!(!cell.windows(6).any(|bytes| bytes == b"canary"), "{algorithm:?}");
        let is_refused = decrypt(&mut open(CellAlgorithm::Wrapped), &cell).is_err();
        assert!(is_refused, "{algorithm:?}");
    }
}

#[test]
fn every_changed_byte_of_a_gcm_cell_is_refused_and_nothing_is_appended() {
    for algorithm in GCM {
        for encoding in ENCODINGS {
            let mut cipher = session(algorithm, encoding);
            let cell = encrypt(&mut cipher, b"correct horse battery");
            for index in 0..cell.len() {
                for change in 1..=255 {
                    let mut changed = cell.clone();
                    changed[index] ^= change;
                    assert_refused(&mut cipher, &changed, b"correct horse");
                }
            }
        }
    }
}

#[test]
fn a_changed_byte_is_refused_though_the_check_is_mended_but_for_the_type_which_nothing_vouches_for() {
    for algorithm in GCM {
        let mut cipher = session(algorithm, CellEncoding::Binary);
        let cell = encrypt(&mut cipher, b"correct horse battery");
        for index in 1..cell.len() {
            let mut changed = cell.clone();
            changed[index] ^= 1;
            changed[0] ^= 1;
            if index == 2 {
                let kind = cipher.decrypt(&changed, &mut Vec::new());
                assert_eq!(kind, Ok(CellKind(VARCHAR.0 ^ 1)));
            } else {
                assert_refused(&mut cipher, &changed, b"correct horse");
            }
        }
    }
}

#[test]
fn every_cut_cell_is_refused() {
    for algorithm in ALGORITHMS {
        for encoding in ENCODINGS {
            let mut cipher = session(algorithm, encoding);
            let cell = encrypt(&mut cipher, b"correct horse battery");
            for length in 0..cell.len() {
                assert_refused(&mut cipher, &cell[..length], b"correct horse");
            }
            // The same with the check mended, as far as there is one: without a tag a shorter cell of blocks may pass.
            if encoding == CellEncoding::Binary && GCM.contains(&algorithm) {
                for length in 1..cell.len() {
                    assert_refused(&mut cipher, &checked(cell[..length].to_vec()), b"correct horse");
                }
            }
        }
    }
}

#[test]
fn another_key_is_refused_and_named_by_its_nonce() {
    for algorithm in GCM {
        let encryption = encryption(algorithm, CellEncoding::Binary, CellMode::Random);
        let cell = encrypt(&mut open(&encryption, &key()), b"correct horse battery");
        let error = decrypt(&mut open(&encryption, &MasterKey::random().unwrap()), &cell).unwrap_err();
        let key_number = cell[4..12].iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(error, CellError::NotAuthentic(key_number));
    }
}

#[test]
fn random_cells_of_a_value_differ_and_deterministic_ones_are_equal() {
    let key = key();
    for algorithm in [GCM[0], GCM[1], CellAlgorithm::Sm4Cbc, CellAlgorithm::Aes128Cbc] {
        let cells = |mode| {
            let mut cipher = open(&encryption(algorithm, CellEncoding::Base64, mode), &key);
            (
                encrypt(&mut cipher, b"equal"),
                encrypt(&mut cipher, b"equal"),
                encrypt(&mut cipher, b"other"),
            )
        };
        let (first, second, _) = cells(CellMode::Random);
        assert_ne!(first, second);
        let (first, second, other) = cells(CellMode::Deterministic);
        assert_eq!(first, second);
        assert_ne!(first, other);
    }
}

#[test]
fn sessions_that_store_share_a_data_key_and_those_of_results_do_not() {
    let key = key();
    let of = |feature, key: &MasterKey| {
        let encryption = ColumnEncryption {
            feature,
            ..encryption(
                CellAlgorithm::Sm4Gcm,
                CellEncoding::Binary,
                CellMode::Deterministic,
            )
        };
        encrypt(&mut open(&encryption, key), b"equal")
    };
    let (stored, results) = (ColumnFeature::Stored, ColumnFeature::InResults);
    assert_eq!(of(stored, &key), of(stored, &key));
    assert_ne!(of(stored, &key), of(stored, &MasterKey::random().unwrap()));
    assert_ne!(of(results, &key), of(results, &key));
}

#[test]
fn what_cells_tell_without_a_key_is_labelled() {
    let key = key();
    let labelled = |algorithm, mode, cell_tells: &dyn Fn(&[u8]) -> bool| {
        let encryption = encryption(algorithm, CellEncoding::Binary, mode);
        let cell = encrypt(&mut open(&encryption, &key), &[b'7'; 32]);
        assert_eq!(encryption.leaks().is_some(), cell_tells(&cell), "{encryption}");
    };
    let equal_blocks = |cell: &[u8]| cell.len() >= 44 && cell[12..28] == cell[28..44];
    let guessed = |hash, cell: &[u8]| {
        let guess = openssl::hash::hash(hash, &[[b'7'; 32].as_slice(), &[0]].concat()).unwrap();
        cell[12..24] == guess[..12]
    };
    let (sha256, sm3) = (
        openssl::hash::MessageDigest::sha256(),
        openssl::hash::MessageDigest::sm3(),
    );
    for mode in MODES {
        for algorithm in [CellAlgorithm::Sm4Ecb, CellAlgorithm::Aes128Ecb] {
            labelled(algorithm, mode, &equal_blocks);
        }
        for algorithm in [GCM[0], GCM[1], CellAlgorithm::Aes128Cbc] {
            labelled(algorithm, mode, &|cell| guessed(sha256, cell));
        }
        labelled(CellAlgorithm::Sm4Cbc, mode, &|cell| guessed(sm3, cell));
        labelled(CellAlgorithm::Wrapped, mode, &|cell| {
            cell.windows(32).any(|bytes| bytes == [b'7'; 32])
        });
    }
}

proptest! {
    #[test]
    fn any_bytes_are_an_answer(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        answers(&bytes);
    }

    #[test]
    fn any_body_is_an_answer(
        kind: u8,
        code in prop_oneof![0..9_u8, Just(0xf0), any::<u8>()],
        nonce: [u8; 8],
        body in prop::collection::vec(any::<u8>(), 0..100),
    ) {
        let cell = checked([&[0, 64, kind, code], nonce.as_slice(), &body].concat());
        answers(&cell);
        answers(STANDARD.encode(&cell).as_bytes());
    }

    #[test]
    fn any_value_of_any_type_comes_back(
        kind: u8,
        plaintext in prop::collection::vec(any::<u8>(), 0..100),
        before in prop::collection::vec(any::<u8>(), 0..10),
        algorithm in prop::sample::select(ALGORITHMS.as_slice()),
        encoding in prop::sample::select(ENCODINGS.as_slice()),
    ) {
        let mut cipher = session(algorithm, encoding);
        let (mut cell, mut read) = (before.clone(), before.clone());
        cipher.encrypt(CellKind(kind), &plaintext, &mut cell).unwrap();
        let decrypted = cipher.decrypt(&cell[before.len()..], &mut read);
        prop_assert_eq!(decrypted, Ok(CellKind(kind)));
        prop_assert_eq!(read, [before, plaintext].concat());
    }
}

/// Has every kind of session look at a cell: what is refused leaves nothing behind.
fn answers(cell: &[u8]) {
    for algorithm in ALGORITHMS {
        for encoding in ENCODINGS {
            let mut read = b"before".to_vec();
            if session(algorithm, encoding).decrypt(cell, &mut read).is_err() {
                assert_eq!(read, b"before");
            }
        }
    }
}

fn assert_refused(cipher: &mut CellCipher, cell: &[u8], secret: &[u8]) {
    let mut read = b"before".to_vec();
    let before = cipher.counts();
    let error = cipher.decrypt(cell, &mut read).unwrap_err();
    assert_eq!((read.as_slice(), cipher.counts()), (b"before".as_slice(), before));
    let printed = format!("{error} {error:?}");
    assert!(!printed.contains(str::from_utf8(secret).unwrap()), "{printed}");
}

/// The same cell with its check right.
fn checked(mut cell: Vec<u8>) -> Vec<u8> {
    cell[0] = cell[1..].iter().fold(0, |all, byte| all ^ byte);
    cell
}

fn encrypt(cipher: &mut CellCipher, plaintext: &[u8]) -> Vec<u8> {
    let mut cell = Vec::new();
    cipher.encrypt(VARCHAR, plaintext, &mut cell).unwrap();
    cell
}

fn decrypt(cipher: &mut CellCipher, cell: &[u8]) -> Result<Vec<u8>, CellError> {
    let mut plaintext = Vec::new();
    let kind = cipher.decrypt(cell, &mut plaintext)?;
    assert_eq!(kind, VARCHAR);
    Ok(plaintext)
}

fn session(algorithm: CellAlgorithm, encoding: CellEncoding) -> CellCipher {
    open(&encryption(algorithm, encoding, CellMode::Random), &key())
}

fn open(encryption: &ColumnEncryption, key: &MasterKey) -> CellCipher {
    CellCipher::open(encryption, key).unwrap()
}

fn key() -> MasterKey {
    MasterKey::from_hex("00112233445566778899aabbccddeeff").unwrap()
}

fn encryption(algorithm: CellAlgorithm, encoding: CellEncoding, mode: CellMode) -> ColumnEncryption {
    ColumnEncryption {
        feature: ColumnFeature::InResults,
        format: CellFormat::Encdb,
        algorithm,
        mode,
        encoding,
        columns: ColumnSelection::All,
        decrypt: Decrypt::All,
    }
}

//! What whoever can change a cell does to it is an error, never a panic, and never another value.

use ciphertax_columns::{CellError, CellKind, aead, csfle};
use ciphertax_model::{CellEncoding, CellMode};
use proptest::prelude::*;

/// BLOB, whose plaintexts are any bytes.
const BYTES: CellKind = CellKind(252);

/// Both, in one.
#[expect(clippy::large_enum_variant, reason = "there are few")]
enum Cipher {
    Csfle(csfle::Cipher),
    Aead(aead::Cipher),
}

impl Cipher {
    fn all(mode: CellMode, encoding: CellEncoding, key: u8) -> [Self; 2] {
        [
            Self::Csfle(csfle::Cipher::with_data_key(mode, encoding, &[key; 96], [key; 16]).unwrap()),
            Self::Aead(aead::Cipher::with_column_key(mode, encoding, &[key; 32]).unwrap()),
        ]
    }

    fn cell(&mut self, plaintext: &[u8]) -> Vec<u8> {
        let mut cell = b"before".to_vec();
        match self {
            Self::Csfle(cipher) => cipher.encrypt(BYTES, plaintext, &mut cell),
            Self::Aead(cipher) => cipher.encrypt(BYTES, plaintext, &mut cell),
        }
        .unwrap();
        assert_eq!(&cell[..6], b"before");
        cell.split_off(6)
    }

    /// Nothing is appended by an error.
    fn plaintext(&mut self, cell: &[u8]) -> Result<Vec<u8>, CellError> {
        let mut plaintext = b"before".to_vec();
        let read = match self {
            Self::Csfle(cipher) => cipher.decrypt(cell, &mut plaintext),
            Self::Aead(cipher) => cipher.decrypt(cell, &mut plaintext),
        };
        assert_eq!(&plaintext[..6], b"before");
        let after = plaintext.split_off(6);
        assert!(read.is_ok() || after.is_empty());
        read.map(|_| after)
    }
}

fn modes() -> impl Strategy<Value = CellMode> {
    prop_oneof![Just(CellMode::Random), Just(CellMode::Deterministic)]
}

fn encodings() -> impl Strategy<Value = CellEncoding> {
    prop_oneof![Just(CellEncoding::Binary), Just(CellEncoding::Base64)]
}

proptest! {
    #[test]
    fn every_value_comes_back(
        plaintext in prop::collection::vec(any::<u8>(), 0..300), mode in modes(), encoding in encodings(),
    ) {
        for mut cipher in Cipher::all(mode, encoding, 1) {
            for _ in 0..2 {
                let cell = cipher.cell(&plaintext);
                prop_assert_eq!(cipher.plaintext(&cell).unwrap(), plaintext.clone());
            }
        }
    }

    #[test]
    fn a_changed_byte_is_noticed(
        plaintext in prop::collection::vec(any::<u8>(), 0..80), mode in modes(), place: prop::sample::Index, bits in 1_u8..=255,
    ) {
        for mut cipher in Cipher::all(mode, CellEncoding::Binary, 1) {
            let mut cell = cipher.cell(&plaintext);
            let place = place.index(cell.len());
            cell[place] ^= bits;
            prop_assert!(cipher.plaintext(&cell).is_err());
        }
    }

    #[test]
    fn a_cut_or_longer_cell_is_noticed(
        plaintext in prop::collection::vec(any::<u8>(), 0..80), mode in modes(), encoding in encodings(), cut: prop::sample::Index,
        more in prop::collection::vec(any::<u8>(), 1..40),
    ) {
        for mut cipher in Cipher::all(mode, encoding, 1) {
            let cell = cipher.cell(&plaintext);
            prop_assert!(cipher.plaintext(&cell[..cut.index(cell.len())]).is_err());
            prop_assert!(cipher.plaintext(&[cell, more.clone()].concat()).is_err());
        }
    }

    #[test]
    fn any_bytes_and_any_text_are_an_error(
        bytes in prop::collection::vec(any::<u8>(), 0..200), text in "[A-Za-z0-9+/]{0,160}={0,2}", encoding in encodings(),
    ) {
        for mut cipher in Cipher::all(CellMode::Random, encoding, 1) {
            for cell in [bytes.as_slice(), text.as_bytes()] {
                prop_assert!(cipher.plaintext(cell).is_err());
            }
        }
    }
}

#[test]
fn another_key_is_named_by_its_number_and_the_value_is_not() {
    let ours = Cipher::all(CellMode::Random, CellEncoding::Base64, 1);
    let theirs = Cipher::all(CellMode::Random, CellEncoding::Base64, 2);
    for (mut ours, mut theirs) in ours.into_iter().zip(theirs) {
        let cell = theirs.cell(b"correct horse battery staple");
        match ours.plaintext(&cell) {
            Err(CellError::NotAuthentic(key_number)) => assert!(key_number.len() >= 16, "{key_number}"),
            other => panic!("{other:?}"),
        }
    }
}

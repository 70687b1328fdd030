//! Data keys are derived as a server's cipher suite says, which cells do not.

use std::sync::{Arc, Mutex};

use ciphertax_columns::CellCipher;
use ciphertax_columns::encdb::Derivation;
use ciphertax_model::{ColumnFeature, ColumnSelection};

use super::cells::{digits, encryption, key, with_cells_of};
use super::*;

#[test]
fn cells_of_results_are_read_by_data_keys_that_are_derived_as_the_client_was_told() {
    let encryption = encryption(ColumnFeature::InResults, ColumnSelection::All);
    let input = order(&mut inputs(&tables(StatementKind::Text)));
    for (made, read) in [
        (Derivation::Sm3, Derivation::Sm3),
        (Derivation::Sha256, Derivation::Sha256),
        (Derivation::Sha256, Derivation::Sm3),
    ] {
        let mock = Mock::<false>::new();
        mock.derives(read);
        let cipher = CellCipher::with_derivation(&encryption, &key(), made).unwrap();
        let cipher = Arc::new(Mutex::new(cipher));
        mock.answers(Box::new(with_cells_of(cipher, &encryption, digits)));
        let columns = ArmColumns {
            set: 0,
            encryption: Some((encryption.clone(), key())),
        };
        let terminals = terminals(&mock, tables(StatementKind::Text), columns);
        let mut session = run(terminals.ask_over(mock.session())).unwrap();
        match run(session.transact(&input)) {
            Ok(operation) => {
                let [_, decrypted, ..] = operation.counts;
                assert!(made == read && decrypted > 0);
            }
            Err(failure) => assert!(made != read, "{}", failure.message()),
        }
    }
}

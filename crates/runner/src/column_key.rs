//! The key that the cells of arms are encrypted with.

use std::env::{self, VarError};

use ciphertax_columns::{KeyError, MasterKey};
use ciphertax_model::Study;

use crate::error::RunError;

/// The user's key, which is in the environment, or a random one; `None` where no arm encrypts cells.
///
/// It is kept in memory alone. A run that goes on has another if the environment has none: what was stored with the former is
/// then loaded anew, since a data set is known by a fingerprint of its key.
///
/// # Errors
/// When the environment has something else than a key, or the system no randomness.
pub(crate) fn column_key(study: &Study) -> Result<Option<MasterKey>, RunError> {
    match study.arms.iter().any(|arm| arm.columns.is_some()) {
        false => Ok(None),
        true => from(env::var(MasterKey::VARIABLE)).map(Some),
    }
}

fn from(variable: Result<String, VarError>) -> Result<MasterKey, RunError> {
    let key = match variable {
        Ok(digits) => MasterKey::from_hex(&digits),
        Err(VarError::NotPresent) => MasterKey::random(),
        Err(VarError::NotUnicode(_)) => Err(KeyError::Malformed("no text".into())),
    };
    key.map_err(RunError::ColumnKey)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_the_environments_or_random_and_never_something_else() {
        let digits = "000102030405060708090a0b0c0d0e0f";
        let key = from(Ok(digits.into())).unwrap();
        assert_eq!(key.bytes()[..3], [0, 1, 2]);
        let random = || *from(Err(VarError::NotPresent)).unwrap().bytes();
        assert_ne!(random(), random());
        for wrong in [
            "",
            "000102",
            "000102030405060708090a0b0c0d0e0g",
            "000102030405060708090a0b0c0d0e0f00",
        ] {
            let error = from(Ok(wrong.into())).unwrap_err().to_string();
            assert!(error.starts_with("CIPHERTAX_COLUMN_KEY: "), "{error}");
            assert!(wrong.is_empty() || !error.contains(wrong), "{error}");
        }
        assert!(from(Err(VarError::NotUnicode("".into()))).is_err());
    }
}

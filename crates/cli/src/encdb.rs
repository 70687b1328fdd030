//! The account whose results a server of the user's own encrypts.

use std::env::{self, VarError};

use ciphertax_model::Secret;
use ciphertax_runner::EncdbAccount;

/// Holds its password.
const PASSWORD_VARIABLE: &str = "CIPHERTAX_ENCDB_PASSWORD";

/// The account of this name; `None` where none is named. A password is not needed where no server is asked.
///
/// # Errors
/// When the environment has no password.
pub(crate) fn encdb_account(name: Option<&str>, is_dry_run: bool) -> Result<Option<EncdbAccount>, String> {
    let Some(user) = name else { return Ok(None) };
    let password = match env::var(PASSWORD_VARIABLE) {
        Ok(password) => password,
        Err(VarError::NotPresent) if is_dry_run => String::new(),
        Err(VarError::NotPresent) => {
            return Err(format!(
                "give the password of --encdb-account {user} in the environment variable {PASSWORD_VARIABLE}; empty if it has none"
            ));
        }
        Err(VarError::NotUnicode(_)) => return Err(format!("{PASSWORD_VARIABLE} is no text")),
    };
    Ok(Some(EncdbAccount {
        user: user.to_owned(),
        password: Secret::new(password),
    }))
}

//! What SQLite says no to.

use std::ffi::c_int;

use rusqlite::Error;

use crate::error::WireError;

/// Without the statement, which may hold a key.
pub(super) fn refused(error: Error) -> WireError {
    match error {
        Error::SqliteFailure(error, message) => WireError::Sqlite {
            code: error.extended_code,
            message: message.unwrap_or_else(|| error.to_string()),
        },
        Error::SqlInputError { error, msg, .. } => WireError::Sqlite {
            code: error.extended_code,
            message: msg,
        },
        other => WireError::Request(other.to_string()),
    }
}

/// Its extended code; `None` for what SQLite did not say.
pub(super) fn code(error: &WireError) -> Option<c_int> {
    match error {
        WireError::Sqlite { code, .. } => Some(*code),
        _ => None,
    }
}

/// Its code without what extends it.
pub(super) fn primary(error: &WireError) -> Option<c_int> {
    code(error).map(|code| code & 0xFF)
}

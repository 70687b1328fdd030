//! What the server says of what it did not do.

use super::fields::text;
use crate::error::WireError;

/// An error message as an error.
pub(super) fn server_error(body: &[u8]) -> WireError {
    match ErrorResponse::parse(body) {
        Some(error) => WireError::PostgreSql {
            severity: error.severity,
            sql_state: error.sql_state,
            message: error.message,
        },
        None => WireError::protocol("an error that cannot be read"),
    }
}

/// True if the server closes the connection after it.
pub(super) fn is_fatal(error: &WireError) -> bool {
    match error {
        WireError::PostgreSql { severity, .. } => severity != "ERROR",
        _ => true,
    }
}

/// The fields of an error (<https://www.postgresql.org/docs/current/protocol-error-fields.html>).
struct ErrorResponse {
    severity: String,
    sql_state: String,
    message: String,
}

impl ErrorResponse {
    /// `None` for one without severity, SQLSTATE and message, which all have. The severity is the one that is in no
    /// language (since PostgreSQL 9.6), else the other.
    fn parse(mut body: &[u8]) -> Option<Self> {
        let (mut localised, mut severity, mut sql_state, mut message) = (None, None, None, None);
        loop {
            let (&kind, rest) = body.split_first()?;
            if kind == 0 {
                break;
            }
            let (value, rest) = text(rest)?;
            let place = match kind {
                b'S' => Some(&mut localised),
                b'V' => Some(&mut severity),
                b'C' => Some(&mut sql_state),
                b'M' => Some(&mut message),
                _ => None,
            };
            if let Some(place) = place {
                *place = Some(String::from_utf8_lossy(value).into_owned());
            }
            body = rest;
        }
        Some(Self {
            severity: severity.or(localised)?,
            sql_state: sql_state?,
            message: message?,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_error_is_read_whatever_else_it_says() {
        let error = server_error(b"SFEHLER\0VERROR\0C42P01\0Mno such table\0P15\0Rfunction\0\0");
        assert!(!is_fatal(&error));
        assert_eq!(
            error.to_string(),
            "the server refused with ERROR 42P01: no such table"
        );
        let old = server_error(b"SFATAL\0C28000\0Mgo away\0\0");
        assert!(is_fatal(&old) && old.is_access_denied());
    }

    #[test]
    fn an_error_cut_short_anywhere_is_none() {
        let whole = b"SERROR\0C42P01\0Mno such table\0\0";
        for length in 0..whole.len() {
            assert!(
                matches!(server_error(&whole[..length]), WireError::Protocol(_)),
                "{length}"
            );
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(body in prop::collection::vec(any::<u8>(), 0..200)) {
            server_error(&body);
        }
    }
}

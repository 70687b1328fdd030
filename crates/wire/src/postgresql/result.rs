//! Answers: rows, what was done, or an error, and after all that the server is ready again.

use super::messages::{ERROR, Messages};
use super::row::text;
use crate::error::{Result, WireError};
use crate::sql::ResultSummary;

pub(super) const PARSE_COMPLETE: u8 = b'1';
const BIND_COMPLETE: u8 = b'2';
pub(super) const ROW_DESCRIPTION: u8 = b'T';
const DATA_ROW: u8 = b'D';
const COMMAND_COMPLETE: u8 = b'C';
const EMPTY_QUERY: u8 = b'I';
pub(super) const COPY_IN: u8 = b'G';
const COPY_OUT: u8 = b'H';
const COPY_BOTH: u8 = b'W';
pub(super) const READY: u8 = b'Z';

/// Reads the whole answer to the execution of a prepared statement, giving each row to `on_row`.
pub(super) async fn read_executed(
    messages: &mut Messages,
    mut on_row: impl FnMut(&[u8]) -> Result<()>,
) -> Result<ResultSummary> {
    expect(messages, BIND_COMPLETE, "that the statement was bound").await?;
    let mut summary = ResultSummary::default();
    loop {
        let message = messages.read().await?;
        match message.kind {
            DATA_ROW => {
                summary.rows += 1;
                summary.row_bytes += message.body.len() as u64;
                on_row(message.body)?;
            }
            COMMAND_COMPLETE => {
                summary.affected_rows = affected_rows(message.body)?;
                break;
            }
            EMPTY_QUERY => break,
            ERROR => {
                let error = server_error(message.body);
                return Err(refused(messages, error).await);
            }
            _ => return Err(message.unexpected("a row or the end of rows")),
        }
    }
    ready(messages).await?;
    Ok(summary)
}

/// Reads the whole answer to text, which may be several statements, giving each row to `on_row`.
pub(super) async fn read_text(
    messages: &mut Messages,
    mut on_row: impl FnMut(&[u8]) -> Result<()>,
) -> Result<ResultSummary> {
    let mut summary = ResultSummary::default();
    let mut described = false;
    let mut answered = false;
    loop {
        let message = messages.read().await?;
        match message.kind {
            ROW_DESCRIPTION if !described => described = true,
            DATA_ROW if described => {
                summary.rows += 1;
                summary.row_bytes += message.body.len() as u64;
                on_row(message.body)?;
            }
            COMMAND_COMPLETE => {
                summary.affected_rows += affected_rows(message.body)?;
                (described, answered) = (false, true);
            }
            EMPTY_QUERY if !described => answered = true,
            READY if answered && !described => {
                messages.ready()?;
                return Ok(summary);
            }
            ERROR => {
                let error = server_error(message.body);
                return Err(refused(messages, error).await);
            }
            COPY_IN => {
                return Err(WireError::protocol(
                    "it asks for rows, which the question had not",
                ));
            }
            COPY_OUT | COPY_BOTH => {
                return Err(WireError::protocol("it sends a copy, which no workload asks for"));
            }
            _ => return Err(message.unexpected("an answer")),
        }
    }
}

/// Reads the end of a copy to the server; its number of rows.
pub(super) async fn read_copied(messages: &mut Messages) -> Result<u64> {
    let message = messages.read().await?;
    let rows = match message.kind {
        COMMAND_COMPLETE => affected_rows(message.body)?,
        ERROR => {
            let error = server_error(message.body);
            return Err(refused(messages, error).await);
        }
        _ => return Err(message.unexpected("the end of the copy")),
    };
    ready(messages).await?;
    Ok(rows)
}

/// Why a connection is `gone`, if that was the last that the server said.
pub(super) async fn last_word(messages: &mut Messages, gone: WireError) -> WireError {
    match messages.read().await {
        Ok(message) if message.kind == ERROR => server_error(message.body),
        _ => gone,
    }
}

/// Reads a message that must be of this kind.
pub(super) async fn expect(messages: &mut Messages, kind: u8, what: &str) -> Result<()> {
    let message = messages.read().await?;
    match message.kind {
        found if found == kind => Ok(()),
        ERROR => {
            let error = server_error(message.body);
            Err(refused(messages, error).await)
        }
        _ => Err(message.unexpected(what)),
    }
}

/// Reads that the server is ready for the next question.
pub(super) async fn ready(messages: &mut Messages) -> Result<()> {
    expect_ready(messages).await?;
    messages.ready()
}

/// An error, once the server is ready again after it. After one that ends the session it never is.
pub(super) async fn refused(messages: &mut Messages, error: WireError) -> WireError {
    if is_fatal(&error) {
        return error;
    }
    match expect_ready(messages).await.and_then(|()| messages.ready()) {
        // Most likely it goes away; the error tells more.
        Err(WireError::Closed | WireError::Io(_)) | Ok(()) => error,
        Err(problem) => problem,
    }
}

async fn expect_ready(messages: &mut Messages) -> Result<()> {
    let message = messages.read().await?;
    match message.kind {
        READY => Ok(()),
        _ => Err(message.unexpected("the end of an answer")),
    }
}

/// The rows that a statement changed, by what the server says that it did (`INSERT 0 3`, `UPDATE 1`); 0 for others.
fn affected_rows(body: &[u8]) -> Result<u64> {
    let unreadable = || WireError::protocol("it cannot be read what was done");
    let Some((tag, [])) = text(body) else {
        return Err(unreadable());
    };
    let changes = [b"INSERT ".as_slice(), b"UPDATE ", b"DELETE ", b"MERGE ", b"COPY "];
    if !changes.iter().any(|change| tag.starts_with(change)) {
        return Ok(0);
    }
    let number = tag.rsplit(|byte| *byte == b' ').next();
    number
        .and_then(|digits| str::from_utf8(digits).ok())
        .and_then(|digits| digits.parse().ok())
        .ok_or_else(unreadable)
}

pub(super) fn server_error(body: &[u8]) -> WireError {
    match ErrorResponse::parse(body) {
        Some(error) => WireError::PostgreSql {
            severity: error.severity,
            sql_state: error.sql_state,
            message: error.message,
            routine: error.routine,
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
    routine: String,
}

impl ErrorResponse {
    /// `None` for one without severity, SQLSTATE and message, which all have. The severity is the one that is in no
    /// language (since PostgreSQL 9.6), else the other.
    fn parse(mut body: &[u8]) -> Option<Self> {
        let (mut localised, mut severity, mut sql_state, mut message, mut routine) =
            (None, None, None, None, None);
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
                b'R' => Some(&mut routine),
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
            routine: routine.unwrap_or_default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_was_done_says_how_many_rows_were_changed() {
        for (tag, rows) in [
            (b"INSERT 0 3\0".as_slice(), 3),
            (b"UPDATE 18446744073709551615\0", u64::MAX),
            (b"DELETE 0\0", 0),
            (b"COPY 10000\0", 10_000),
            (b"MERGE 2\0", 2),
            (b"SELECT 5\0", 0),
            (b"CREATE TABLE\0", 0),
            (b"\0", 0),
        ] {
            assert_eq!(affected_rows(tag).unwrap(), rows);
        }
        for unreadable in [
            b"".as_slice(),
            b"INSERT 0 3",
            b"INSERT 0 x\0",
            b"UPDATE \0",
            b"UPDATE -1\0",
            b"UPDATE 1\0x",
        ] {
            assert!(affected_rows(unreadable).is_err());
        }
    }

    proptest! {
        #[test]
        fn no_count_of_rows_makes_it_panic(body in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = affected_rows(&body);
        }
    }

    #[test]
    fn an_error_is_read_whatever_else_it_says() {
        let error = server_error(b"SFEHLER\0VERROR\0C42P01\0Mno such table\0P15\0Rfunction\0\0");
        assert!(!is_fatal(&error));
        let found = error.to_string();
        assert_eq!(found, "the server refused with ERROR 42P01: no such table");
        let old = server_error(b"SFATAL\0C28000\0Mgo away\0\0");
        assert!(is_fatal(&old) && old.is_access_denied());
    }

    #[test]
    fn an_error_cut_short_anywhere_is_none() {
        let whole = b"SERROR\0C42P01\0Mno such table\0\0";
        for length in 0..whole.len() {
            let is_one = matches!(server_error(&whole[..length]), WireError::Protocol(_));
            assert!(is_one, "{length}");
        }
    }

    proptest! {
        #[test]
        fn no_error_makes_it_panic(body in prop::collection::vec(any::<u8>(), 0..200)) {
            server_error(&body);
        }
    }
}

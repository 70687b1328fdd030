//! Answers to commands, read where they were received.

use bson::raw::{RawArray, RawBsonRef, RawDocument, RawElement};

use super::unreadable;
use crate::error::{Result, WireError};

/// The answer to a command that the server carried out.
#[derive(Debug, Clone, Copy)]
pub struct Reply<'a> {
    document: &'a RawDocument,
}

/// The documents of one batch of a cursor.
pub struct Batch<'a> {
    elements: bson::raw::RawIter<'a>,
}

impl<'a> Reply<'a> {
    /// Takes an answer for success only if it says so, and names no document that was not written.
    pub(super) fn parse(document: &'a RawDocument) -> Result<Self> {
        let mut ok = false;
        for element in document.iter_elements() {
            let element = element.map_err(unreadable)?;
            match element.key().as_str() {
                "ok" => ok = number(value(&element)?) == Some(1),
                "writeErrors" => {
                    if let RawBsonRef::Array(errors) = value(&element)?
                        && let Some(error) = first(errors)?
                    {
                        return Err(command_error(error, "WriteError"));
                    }
                }
                "writeConcernError" => {
                    if let RawBsonRef::Document(error) = value(&element)? {
                        return Err(command_error(error, "WriteConcernError"));
                    }
                }
                _ => {}
            }
        }
        if ok {
            Ok(Self { document })
        } else {
            Err(command_error(document, "error"))
        }
    }

    /// All of it.
    pub fn document(self) -> &'a RawDocument {
        self.document
    }

    /// Documents that the command found, inserted, matched or removed: the field `n`.
    ///
    /// # Errors
    /// When the answer has no such number.
    pub fn n(self) -> Result<u64> {
        let found = self.document.get("n").map_err(unreadable)?;
        found
            .and_then(number)
            .and_then(|count| u64::try_from(count).ok())
            .ok_or_else(|| WireError::protocol("an answer without the number n"))
    }

    /// The documents of the cursor's batch.
    ///
    /// # Errors
    /// When the answer has no cursor.
    pub fn batch(self) -> Result<Batch<'a>> {
        for element in self.cursor()?.iter_elements() {
            let element = element.map_err(unreadable)?;
            if matches!(element.key().as_str(), "firstBatch" | "nextBatch")
                && let RawBsonRef::Array(documents) = value(&element)?
            {
                return Ok(Batch {
                    elements: documents.iter_elements(),
                });
            }
        }
        Err(WireError::protocol("a cursor without a batch"))
    }

    /// The cursor's number, by which more can be asked for; 0 when there is no more.
    ///
    /// # Errors
    /// When the answer has no cursor.
    pub fn cursor_id(self) -> Result<i64> {
        match self.cursor()?.get("id").map_err(unreadable)? {
            Some(RawBsonRef::Int64(id)) => Ok(id),
            _ => Err(WireError::protocol("a cursor without a number")),
        }
    }

    fn cursor(self) -> Result<&'a RawDocument> {
        match self.document.get("cursor").map_err(unreadable)? {
            Some(RawBsonRef::Document(cursor)) => Ok(cursor),
            _ => Err(WireError::protocol("an answer without a cursor")),
        }
    }
}

impl<'a> Iterator for Batch<'a> {
    type Item = Result<&'a RawDocument>;

    fn next(&mut self) -> Option<Self::Item> {
        let element = self.elements.next()?;
        Some(
            element
                .map_err(unreadable)
                .and_then(|element| match value(&element)? {
                    RawBsonRef::Document(document) => Ok(document),
                    _ => Err(WireError::protocol("a batch of something else than documents")),
                }),
        )
    }
}

/// A whole number, of whichever type the server chose for it.
pub(super) fn number(value: RawBsonRef<'_>) -> Option<i64> {
    match value {
        RawBsonRef::Int32(number) => Some(number.into()),
        RawBsonRef::Int64(number) => Some(number),
        RawBsonRef::Double(number) if number.fract() == 0.0 => Some(number as i64),
        RawBsonRef::Boolean(number) => Some(number.into()),
        _ => None,
    }
}

fn value<'a>(element: &RawElement<'a>) -> Result<RawBsonRef<'a>> {
    element.value().map_err(unreadable)
}

fn first(errors: &RawArray) -> Result<Option<&RawDocument>> {
    let found = errors.get(0).map_err(unreadable)?;
    Ok(found.and_then(RawBsonRef::as_document))
}

/// What the server says went wrong; what it leaves out is left out.
fn command_error(error: &RawDocument, unnamed: &str) -> WireError {
    let text = |name: &str| error.get_str(name).ok().map(str::to_owned);
    let code = error.get("code").ok().flatten().and_then(number);
    WireError::Command {
        code: code.and_then(|code| i32::try_from(code).ok()).unwrap_or_default(),
        name: text("codeName").unwrap_or_else(|| unnamed.to_owned()),
        message: text("errmsg").unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use bson::{RawDocumentBuf, rawdoc};
    use proptest::prelude::*;

    use super::*;

    fn refused(document: &RawDocumentBuf) -> (i32, String, String) {
        match Reply::parse(document).unwrap_err() {
            WireError::Command { code, name, message } => (code, name, message),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn an_answer_that_does_not_say_ok_is_an_error() {
        assert!(Reply::parse(&rawdoc! { "ok": 1.0 }).is_ok());
        assert!(Reply::parse(&rawdoc! { "ok": 1_i32 }).is_ok());
        let denied = rawdoc! {
            "ok": 0.0, "errmsg": "Authentication failed.", "code": 18_i32, "codeName": "AuthenticationFailed",
        };
        assert_eq!(
            refused(&denied),
            (18, "AuthenticationFailed".into(), "Authentication failed.".into())
        );
        assert!(Reply::parse(&denied).unwrap_err().is_access_denied());
        assert_eq!(refused(&rawdoc! {}).0, 0);
    }

    #[test]
    fn a_document_that_was_not_written_is_an_error_although_the_command_was_carried_out() {
        let duplicate = rawdoc! {
            "n": 1_i32, "writeErrors": [{ "index": 1_i32, "code": 11000_i32, "errmsg": "duplicate" }], "ok": 1.0,
        };
        let found = refused(&duplicate);
        assert_eq!(found, (11000, "WriteError".into(), "duplicate".into()));
        let gone = rawdoc! {
            "n": 1_i32, "writeConcernError": { "code": 11602_i32, "codeName": "InterruptedDueToReplStateChange" }, "ok": 1.0,
        };
        assert!(Reply::parse(&gone).unwrap_err().is_not_primary());
    }

    #[test]
    fn counts_and_batches_are_read_from_the_answer() {
        for answer in [
            rawdoc! { "n": 2_i32, "ok": 1.0 },
            rawdoc! { "n": 2_i64, "ok": 1.0 },
        ] {
            let reply = Reply::parse(&answer).unwrap();
            assert_eq!(reply.n().unwrap(), 2);
            assert!(reply.batch().is_err() && reply.cursor_id().is_err());
        }

        let answer = rawdoc! {
            "cursor": { "firstBatch": [{ "_id": 1_i32 }, { "_id": 2_i32 }], "id": 7_i64, "ns": "a.b" }, "ok": 1.0,
        };
        let reply = Reply::parse(&answer).unwrap();
        let ids: Vec<i32> = reply
            .batch()
            .unwrap()
            .map(|d| d.unwrap().get_i32("_id").unwrap())
            .collect();
        assert_eq!((ids, reply.cursor_id().unwrap()), (vec![1, 2], 7));
        assert!(reply.n().is_err());
    }

    fn read_all(bytes: &[u8]) -> Result<()> {
        let reply = Reply::parse(RawDocument::from_bytes(bytes).map_err(unreadable)?)?;
        let _ = (reply.n(), reply.cursor_id());
        for document in reply.batch()? {
            let _ = document?.iter().collect::<Vec<_>>();
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_reader_panic(mut bytes in prop::collection::vec(any::<u8>(), 5..300)) {
            let length = bytes.len() as u32;
            bytes[..4].copy_from_slice(&length.to_le_bytes());
            *bytes.last_mut().unwrap() = 0;
            let _ = read_all(&bytes);
        }

        #[test]
        fn no_change_of_an_answer_makes_the_reader_panic(position in 4_usize..1000, byte in any::<u8>()) {
            let answer = rawdoc! {
                "cursor": { "firstBatch": [{ "_id": "user1", "field0": "abc" }, { "_id": 2_i32 }], "id": 0_i64 },
                "n": 1_i32, "writeErrors": [], "nModified": 1_i32, "ok": 1.0,
            };
            let mut bytes = answer.as_bytes().to_vec();
            let last = bytes.len() - 1;
            bytes[position % last] = byte;
            let _ = read_all(&bytes);
        }
    }
}

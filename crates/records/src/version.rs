//! The version of the format of a file, which it says itself: `run.json` in its first field, files of lines in their first line.

use std::borrow::Cow;
use std::io;

use serde::{Deserialize, Serialize};

use crate::samples::line_of;

/// Why text is not the record of a run.
#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    /// It is no record.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    /// It has another version of the format.
    #[error(
        "it has the format {found:?}, and this release reads {reads:?}; use the release of ciphertax that wrote it"
    )]
    Schema {
        /// Its version.
        found: String,
        /// The version that is read.
        reads: &'static str,
    },
}

#[derive(Serialize, Deserialize)]
struct Version<'a> {
    #[serde(borrow)]
    schema: Cow<'a, str>,
}

/// Makes sure that a record, or the first line of a file, says the version that is read.
pub(crate) fn check(text: &[u8], reads: &'static str) -> Result<(), FormatError> {
    let Version { schema } = serde_json::from_slice(text)?;
    match schema == reads {
        true => Ok(()),
        false => Err(FormatError::Schema {
            found: schema.into_owned(),
            reads,
        }),
    }
}

/// The same of the first line of a file alone.
pub(crate) fn check_first_line(line: &[u8], reads: &'static str) -> io::Result<()> {
    check(line, reads).map_err(|error| match error {
        FormatError::Json(error) => io::Error::other(format!("line 1 does not say its version: {error}")),
        FormatError::Schema { .. } => io::Error::other(error),
    })
}

/// The first line of a file of lines, with its end.
pub(crate) fn first_line(schema: &str) -> io::Result<Vec<u8>> {
    line_of(&Version {
        schema: schema.into(),
    })
}

//! What can be read of an arm's rows on the disk, by whoever takes it away.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a search of the disk for a canary found, before anything was measured. It has passed: a canary that could be read
/// where the arm encrypts, or that was missing where it does not, ends the arm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DiskRecord {
    /// How many bytes were searched.
    pub searched_bytes: u64,
    /// Every kind of file that was there, by the name that readers know it by, each once.
    pub files: Vec<FilesOnDisk>,
}

impl DiskRecord {
    /// What stays readable in files of this kind; `None` where there are none.
    pub fn of(&self, kind: &str) -> Option<Readability> {
        let files = self.files.iter().find(|files| files.kind == kind);
        files.map(|files| files.readability)
    }

    /// The kinds of files of which this is so.
    pub fn kinds(&self, readability: Readability) -> impl Iterator<Item = &str> {
        let files = self
            .files
            .iter()
            .filter(move |files| files.readability == readability);
        files.map(|files| files.kind.as_str())
    }
}

/// The files of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FilesOnDisk {
    /// What they are: `tables`, `redo log`, `names of files` …
    pub kind: String,
    /// Whether rows can be read in them.
    pub readability: Readability,
}

/// Whether rows can be read in a kind of file.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema, strum::Display,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Readability {
    /// The canary was read there.
    Readable,
    /// Nothing encrypts them, and the canary had not come to lie there: rows may.
    #[strum(serialize = "not encrypted")]
    Unencrypted,
    /// They are encrypted, and the canary was nowhere in them.
    Encrypted,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_looked_up_by_their_names_and_by_what_stays_readable() {
        let files = |kind: &str, readability| FilesOnDisk {
            kind: kind.into(),
            readability,
        };
        let record = DiskRecord {
            searched_bytes: 1,
            files: vec![
                files("tables", Readability::Encrypted),
                files("redo log", Readability::Readable),
                files("Aria log", Readability::Unencrypted),
            ],
        };
        assert_eq!(record.of("tables"), Some(Readability::Encrypted));
        assert_eq!(record.of("binary log"), None);
        assert_eq!(
            record.kinds(Readability::Readable).collect::<Vec<_>>(),
            ["redo log"]
        );
    }
}

//! A run, and the version of its record.

use std::borrow::Cow;
use std::io;

use ciphertax_model::{Cell, Link};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::files::line_of;
use crate::head::{ArmRecord, Head, ServerRecord, SessionRecord};
use crate::results::{CellRecord, Results};

/// The version of the format of `run.json`.
pub const SCHEMA: &str = "ciphertax.run/3";

/// One run of a study. On disk the fields of both parts stand side by side in one object; of a run that has not come to
/// its end the results are empty.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// Version of this format.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// What was asked, where, and of whom.
    #[serde(flatten)]
    pub head: Head,
    /// What follows from it and the samples.
    #[serde(flatten)]
    pub results: Results,
}

impl Run {
    /// A run and what was made of its samples.
    pub fn new(head: Head, results: Results) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            head,
            results,
        }
    }

    /// Reads `run.json`.
    ///
    /// # Errors
    /// When the text is no record, or one of another version.
    pub fn from_json(text: &str) -> Result<Self, FormatError> {
        check(text.as_bytes(), SCHEMA)?;
        Ok(serde_json::from_str(text)?)
    }

    /// The cells of which something was found, each with what the study asks of it.
    pub fn cells(&self) -> impl Iterator<Item = MeasuredCell<'_>> {
        let asked = |name: &str| self.head.study.cells.iter().find(|cell| cell.name == name);
        self.results.cells.iter().filter_map(move |found| {
            let asked = asked(&found.name)?;
            Some(MeasuredCell {
                asked,
                link: self.head.study.link(asked),
                node_link: self.head.study.node_link(asked),
                found,
            })
        })
    }

    /// A cell by its name.
    pub fn cell(&self, name: &str) -> Option<MeasuredCell<'_>> {
        self.cells().find(|cell| cell.found.name == name)
    }

    /// The server a cell was measured on.
    pub fn server_of(&self, cell: &CellRecord) -> Option<&ServerRecord> {
        self.head
            .servers
            .iter()
            .find(|server| server.id == cell.server_id)
    }

    /// The server in as few words as tell it from the others of the run: its product, or that with its release, or that with the settings
    /// that not all have.
    pub fn short_name(&self, server: &ServerRecord) -> String {
        let product = |server: &ServerRecord| server.product.clone();
        let with_release = |server: &ServerRecord| format!("{} {}", server.product, server.release());
        let is_alone = |name: &dyn Fn(&ServerRecord) -> String| {
            let mut others = self.head.servers.iter().filter(|other| *other != server);
            !server.product.is_empty() && others.all(|other| name(other) != name(server))
        };
        if is_alone(&product) {
            return product(server);
        }
        if is_alone(&with_release) {
            return with_release(server);
        }
        // The settings in which all are equal tell none from another.
        let with_settings = |server: &ServerRecord| {
            let is_equal = |setting: &str| {
                let mut servers = self.head.servers.iter();
                servers.all(|other| other.name.split(", ").any(|of_other| of_other == setting))
            };
            let settings = server
                .name
                .split(", ")
                .skip(1)
                .filter(|setting| !is_equal(setting));
            settings.fold(with_release(server), |name, setting| format!("{name}, {setting}"))
        };
        match is_alone(&with_settings) {
            true => with_settings(server),
            false => server.name.clone(),
        }
    }
}

impl ServerRecord {
    /// The number that its version begins with.
    pub fn release(&self) -> &str {
        let is_number = |character: char| character.is_ascii_digit() || character == '.';
        let end = self.version.find(|character| !is_number(character));
        self.version[..end.unwrap_or(self.version.len())].trim_end_matches('.')
    }
}

impl CellRecord {
    /// True if both cells were measured on the same server.
    pub fn shares_server_with(&self, other: &Self) -> bool {
        self.server_id == other.server_id
    }
}

impl ArmRecord {
    /// What its sessions in a cell were, with the cell's server or with one of its own beside it; `None` if it was not measured
    /// there.
    pub fn sessions_in(&self, cell: &CellRecord) -> Option<&SessionRecord> {
        let server = &cell.server_id;
        self.sessions
            .iter()
            .find(|session| session.server_id == *server || session.beside_id.as_ref() == Some(server))
    }
}

/// A cell: what was asked, and what was found.
#[derive(Debug, Clone, Copy)]
pub struct MeasuredCell<'a> {
    /// As the study has it.
    pub asked: &'a Cell,
    /// Its distance to the server, which may be the study's; `None` for none.
    pub link: Option<Link>,
    /// The distance between its servers, which may be the study's; `None` for none.
    pub node_link: Option<Link>,
    /// What came of it.
    pub found: &'a CellRecord,
}

impl MeasuredCell<'_> {
    /// True for connections that are made at a distance, of which the time is what counts.
    pub fn connects_from_afar(&self) -> bool {
        self.asked.workload.makes_connections() && self.link.is_some_and(|link| link.rtt_ms > 0.0)
    }
}

/// Reads the head alone of `run.json`: results are made again.
pub(crate) fn head_from_json(text: &str) -> Result<Head, FormatError> {
    check(text.as_bytes(), SCHEMA)?;
    Ok(serde_json::from_str(text)?)
}

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

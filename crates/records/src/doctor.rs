//! What a machine can measure: what `ciphertax doctor` tells, and its JSON.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::head::Tool;
use ciphertax_base::Host;

/// The version of the format of [`DoctorRecord`].
pub const DOCTOR_SCHEMA: &str = "ciphertax.doctor/1";

/// What this machine can measure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DoctorRecord {
    /// Version of this format.
    #[schemars(extend("const" = DOCTOR_SCHEMA))]
    pub schema: String,
    /// Who looked.
    pub tool: Tool,
    /// When it began, RFC 3339 in UTC.
    pub started: String,
    /// How long it took, in seconds.
    pub elapsed_s: f64,
    /// The machine.
    pub host: Host,
    /// What was looked at.
    pub checks: Vec<Check>,
    /// The worst of them: false if measuring here makes no sense.
    pub can_measure: bool,
    /// What follows, in one sentence.
    pub summary: String,
}

/// One thing that was looked at.
#[must_use]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// Which it is, the same from release to release.
    pub id: String,
    /// What it is called.
    pub name: String,
    /// How it is.
    pub status: CheckStatus,
    /// What was found, in words.
    pub found: String,
    /// The same in figures, by names that end in their units.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub figures: BTreeMap<String, f64>,
    /// What that means for what is measured here.
    pub means: String,
    /// What to do about it; absent where nothing is to be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

/// How something is, for measuring.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema, strum::Display,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum CheckStatus {
    /// As it should be.
    Good,
    /// It limits what can be measured, or how precisely.
    Limited,
    /// Measuring makes no sense with it.
    Bad,
}

impl Check {
    /// Something that is as it should be.
    pub fn good(id: &str, name: &str, found: impl Into<String>, means: impl Into<String>) -> Self {
        Self {
            id: id.to_owned(),
            name: name.to_owned(),
            status: CheckStatus::Good,
            found: found.into(),
            figures: BTreeMap::new(),
            means: means.into(),
            remedy: None,
        }
    }

    /// The same with another status, and what to do.
    pub fn but(self, status: CheckStatus, remedy: impl Into<String>) -> Self {
        Self {
            status,
            remedy: Some(remedy.into()),
            ..self
        }
    }

    /// The same, but limited where that is so.
    pub fn limited_if(self, is_limited: bool, remedy: impl Into<String>) -> Self {
        match is_limited {
            true => self.but(CheckStatus::Limited, remedy),
            false => self,
        }
    }

    /// The same with a figure. One that is no number is left out.
    pub fn with(mut self, name: &str, value: f64) -> Self {
        if value.is_finite() {
            self.figures.insert(name.to_owned(), value);
        }
        self
    }
}

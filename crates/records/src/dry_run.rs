//! What a command that measures would do: what `--dry-run --json` prints.

use ciphertax_model::{Arm, Cell};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::head::Tool;

/// The version of the format of [`DryRun`].
pub const DRY_RUN_SCHEMA: &str = "ciphertax.dry-run/1";

/// What would be measured, how long that takes, and what is missing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DryRun {
    /// Version of this format.
    #[schemars(extend("const" = DRY_RUN_SCHEMA))]
    pub schema: String,
    /// Who would measure.
    pub tool: Tool,
    /// Name of the study.
    pub study: String,
    /// What it asks.
    pub question: String,
    /// The server of the user's own, without its password; absent where private ones are started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The private servers that would be started.
    pub servers: Vec<ServerToStart>,
    /// What would be measured, the baseline first and once more for the noise floor.
    pub arms: Vec<Arm>,
    /// Where.
    pub cells: Vec<Cell>,
    /// Rows that would be loaded into every server.
    pub rows: u64,
    /// Connections at a time, at most.
    pub connections: u64,
    /// Prepared statements at a time, at most.
    pub prepared_statements: u64,
    /// Logins with a wrong password, which prove those of the arms: one for each method, at most.
    pub wrong_logins: u64,
    /// Measuring takes so long at least, in seconds: what the fewest blocks take that say anything. Where it is more than the most,
    /// nothing can be said.
    pub at_least_s: f64,
    /// Measuring takes so long at most, trying what bounds the cells among it, in seconds; starting servers and loading come on top.
    pub at_most_s: f64,
    /// Before that, so long at most goes by until it is known how often the counter of the server's CPU moves, in seconds; absent
    /// where that is known or there is none. Slices are then as long as it needs, and the least time with them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution_at_most_s: Option<f64>,
    /// What keeps it from being measured, each with the remedy.
    pub missing: Vec<String>,
}

/// A private server that would be started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServerToStart {
    /// What it would be called in reports.
    pub name: String,
    /// The arms that would be measured on it.
    pub arms: Vec<String>,
    /// The cells that would be measured on it.
    pub cells: Vec<String>,
    /// True for a database in the load threads, which is no process.
    pub is_embedded: bool,
}

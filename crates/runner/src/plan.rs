//! What is to be played.

use ciphertax_model::Study;
use ciphertax_records::Tool;
use ciphertax_wire::Target;

/// What is to be played.
#[derive(Clone)]
pub struct Plan {
    /// The study.
    pub study: Study,
    /// The user's own server; `None` for private ones.
    pub target: Option<Target>,
    /// Seed of the order of the slices.
    pub seed: u64,
    /// Who measures.
    pub tool: Tool,
    /// The command that repeats it, without passwords.
    pub command: String,
}

//! What is to be played.

use ciphertax_model::{Secret, Study};
use ciphertax_records::Tool;
use ciphertax_wire::Target;

use crate::ranks::Ranks;

/// What is to be played.
#[derive(Clone)]
pub struct Plan {
    /// The study.
    pub study: Study,
    /// The user's own server; `None` for private ones.
    pub target: Option<Target>,
    /// The account whose results the user's own server encrypts; `None` where it encrypts none.
    pub encdb: Option<EncdbAccount>,
    /// The load generators that make the load together; `None` for this one alone.
    pub ranks: Option<Ranks>,
    /// Seed of the order of the slices.
    pub seed: u64,
    /// Who measures.
    pub tool: Tool,
    /// The command that repeats it, without passwords.
    pub command: String,
}

/// An account of a PolarDB-X or RDS whose results the server encrypts, while the URL's account has full access.
#[derive(Clone)]
pub struct EncdbAccount {
    /// Its name.
    pub user: String,
    /// Its password; empty for none.
    pub password: Secret,
}

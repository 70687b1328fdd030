//! Who logs in by SCRAM, and what databases have different in it.

use ciphertax_model::Secret;

use super::mechanism::Mechanism;

/// Who logs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Account<'a> {
    pub(crate) rules: Rules,
    pub(crate) mechanism: Mechanism,
    pub(crate) user: &'a str,
    /// The database that knows the user; empty where there is but one place.
    pub(crate) realm: &'a str,
    pub(crate) password: &'a Secret,
}

/// What databases have different.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rules {
    /// Iterations that a login asks for at least.
    pub(crate) fewest_iterations: usize,
    /// True where the client's first message says who logs in. Else the server knows it already and does not look.
    pub(crate) names_user: bool,
    /// True where a password that SASLprep forbids is taken as it is.
    pub(crate) takes_any_password: bool,
}

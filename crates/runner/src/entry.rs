//! Names of servers and what the catalogue has under them.

use ciphertax_lab::catalogue;
pub(crate) use ciphertax_lab::catalogue::Entry;

use crate::error::RunError;

/// The catalogue's entry of this name.
///
/// # Errors
/// Lists the names there are.
pub(crate) fn entry(name: &str) -> Result<&'static Entry, RunError> {
    catalogue::find(name).ok_or_else(|| unknown(name))
}

/// A server of this name cannot be had.
pub(crate) fn unknown(name: &str) -> RunError {
    RunError::UnknownServer {
        name: name.to_owned(),
        known: catalogue::CATALOGUE.map(|entry| entry.name).join(", "),
    }
}

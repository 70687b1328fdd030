//! What ciphertax made on a server of the user's own, removed by itself.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ciphertax_base::SCHEMA;
use ciphertax_reactor::stop;
use ciphertax_wire::Target;

use crate::databases;
use crate::error::Result;

/// Removes what a run left on a server: the schema or the database that is marked as ciphertax's own, or the tables that are in one
/// that was given, and nothing else. Tells
/// whether there was one.
///
/// # Errors
/// When the server cannot be used, what is there is not marked, or a run is measuring.
pub fn clean(target: &Target, stop: &Arc<AtomicBool>) -> Result<bool> {
    stop::with_flag(stop, || databases::target(target).clean())
}

/// The command that removes what is left on a server; without the password.
pub fn remedy(target: &Target) -> String {
    let schema = if SCHEMA.is_given() {
        format!(" --schema {SCHEMA}")
    } else {
        String::new()
    };
    format!(
        "ciphertax clean '{}'{schema}",
        target.url().replace('\'', r"'\''")
    )
}

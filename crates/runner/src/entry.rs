//! Names of servers and what the catalogue has under them.

use ciphertax_lab::catalogue;
pub(crate) use ciphertax_lab::catalogue::Entry;
use ciphertax_model::removed;

use crate::error::RunError;

/// The catalogue's entry of this name.
///
/// # Errors
/// Lists the names there are, or says what to use in the place of a server that was removed.
pub(crate) fn entry(name: &str) -> Result<&'static Entry, RunError> {
    let known = || catalogue::CATALOGUE.map(|entry| entry.name).join(", ");
    catalogue::find(name).ok_or_else(|| RunError::UnknownServer {
        name: name.to_owned(),
        instead: removed(name).unwrap_or_else(|| format!("there are {}", known())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_of_a_former_release_is_refused_with_what_to_use_instead() {
        let error = entry("tidb").unwrap_err().to_string();
        assert_eq!(
            error,
            "there is no server \"tidb\" in the catalogue; tidb was removed: give the URL of a TiDB of your own"
        );
    }
}

//! Encryption on the disk by the servers of this family themselves.

mod canary;
mod file_keys;
mod file_kind;
mod initial;
mod keyring;
mod proof;
mod session;
mod settings;
mod witness;

use std::path::{Path, PathBuf};

use ciphertax_model::AtRest;

use super::installation::MySqlInstallation;
use super::statements::MyCnf;
use crate::catalogue::{AtRestControl, MySqlVariant};
use crate::error::Result;

pub use canary::{DISK_PROOF_OPTIONS, OnDisk, look_at_the_disk};
pub(super) use file_keys::plugin;
pub use file_kind::FileKind;
pub(super) use initial::encrypt_what_is_there;
pub(super) use keyring::close_keys_to_others;
pub use proof::{prove_at_rest, prove_measured_at_rest};
pub(super) use session::Asked;
pub(super) use settings::settings;

/// What a server has in its folder so that it can encrypt.
#[derive(Debug, Default)]
pub(super) struct Encryption {
    /// Lines of its settings file.
    lines: Vec<Line>,
    /// Its program, where it must be started by another name.
    program: Option<PathBuf>,
    /// Whether what it writes first is encrypted too, so that its data folder is good with its own key alone.
    from_the_first: bool,
}

#[derive(Debug)]
enum Line {
    Value(&'static str, String),
    Path(&'static str, PathBuf),
}

impl Encryption {
    /// Makes keys and whatever else is needed in `folder`; nothing where nothing is to be encrypted.
    pub(super) fn prepare(mysql: &MySqlInstallation<'_>, at_rest: &AtRest, folder: &Path) -> Result<Self> {
        if at_rest.parts().next().is_none() {
            return Ok(Self::default());
        }
        let mut encryption = match mysql.variant().at_rest {
            AtRestControl::None => Self::default(),
            AtRestControl::FileKeyManagement { .. } => file_keys::prepare(mysql, folder)?,
            AtRestControl::KeyringComponent => keyring::prepare(mysql, folder)?,
        };
        let settings = settings(mysql.variant(), at_rest);
        let lines = settings.into_iter().map(|(name, value)| Line::Value(name, value));
        encryption.lines.extend(lines);
        Ok(encryption)
    }

    /// Adds its settings to those of a server, or of what makes its system tables.
    pub(super) fn set(&self, settings: &mut MyCnf) {
        for line in &self.lines {
            match line {
                Line::Value(name, value) => settings.set(name, value),
                Line::Path(name, path) => settings.path(name, path),
            }
        }
    }

    /// The program to start; `None` for the installed one.
    pub(super) fn program(&self) -> Option<&Path> {
        self.program.as_deref()
    }

    /// Whether the data folder can be read with this key alone, and so must be made anew.
    pub(super) fn is_from_the_first(&self) -> bool {
        self.from_the_first
    }
}

/// Statements that a server runs before it lets anybody in.
pub(super) fn first_statements(variant: &MySqlVariant, at_rest: &AtRest) -> Vec<String> {
    let has_keyring = variant.at_rest == AtRestControl::KeyringComponent;
    let statement =
        (has_keyring && at_rest.system_tables).then_some("ALTER TABLESPACE mysql ENCRYPTION = 'Y';");
    statement.into_iter().map(str::to_owned).collect()
}

/// True if this log of a server that ended is that of one which cannot read its encrypted data. With another key it takes
/// what it decrypts for a damaged log.
pub fn names_a_missing_key(log: &str) -> bool {
    [
        // MariaDB without keys.
        "Plugin 'file_key_management' init function returned error",
        "encryption plugin is not available",
        // With others: what is wrong first in what it takes for the log is a matter of chance.
        "Malformed log record",
        "Incorrect log record type",
        "Corrupted page identifier",
        "Missing FILE_CHECKPOINT",
        "Log scan aborted",
        "cannot be decrypted",
        // MySQL.
        "CORRUPT LOG RECORD FOUND",
        "find master key",
        "Failed to read keyring file",
        "Failed to initialize keyring",
        "keyring is loaded",
    ]
    .iter()
    .any(|words| log.contains(words))
}

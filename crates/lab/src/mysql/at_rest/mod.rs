//! Encryption on the disk by the servers of this family themselves.

mod canary;
mod file_kind;
mod keys;
mod proof;

use ciphertax_wire::Session as _;
use ciphertax_wire::sql::SqlSession as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

use ciphertax_model::{AtRest, AtRestAlgorithm, AtRestPart};
use ciphertax_reactor::Reactor;
use ciphertax_wire::WireError;
use ciphertax_wire::mysql::{ConnectOptions, Session, TextRow};

use super::MySqlInstallation;
use super::statements::MyCnf;
use crate::accounts::Account;
use crate::catalogue::{AtRestControl, MySqlVariant};
use crate::error::{Error, Result};
use crate::server::ask_within;

pub(super) use canary::asked;
pub use canary::{DISK_PROOF_OPTIONS, OnDisk, look_at_the_disk};
pub use file_kind::FileKind;
pub(super) use keys::{close_keys_to_others, plugin};
pub(crate) use proof::{prove_at_rest, prove_measured_at_rest};

/// What a server has in its folder so that it can encrypt.
#[derive(Debug, Default)]
pub(super) struct Encryption {
    /// A part of its settings file.
    pub(super) settings: MyCnf,
    /// Its program, where it must be started by another name.
    pub(super) program: Option<PathBuf>,
    /// Whether what it writes first is encrypted too, so that its data folder is good with its own key alone, and must be made anew.
    pub(super) from_the_first: bool,
}

impl Encryption {
    /// Makes keys and whatever else is needed in `folder`; nothing where nothing is to be encrypted.
    pub(super) fn prepare(mysql: &MySqlInstallation<'_>, at_rest: &AtRest, folder: &Path) -> Result<Self> {
        if at_rest.parts().next().is_none() {
            return Ok(Self::default());
        }
        let mut encryption = match mysql.variant.at_rest {
            AtRestControl::None => Self::default(),
            AtRestControl::FileKeyManagement { .. } => keys::prepare_file_keys(mysql, folder)?,
            AtRestControl::KeyringComponent => keys::prepare_keyring(mysql, folder)?,
        };
        for (name, value) in settings(mysql.variant, at_rest) {
            encryption.settings.set(name, &value);
        }
        Ok(encryption)
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

/// The settings of the parts that are to be encrypted; nothing where none is.
pub(super) fn settings(variant: &MySqlVariant, at_rest: &AtRest) -> Vec<(&'static str, String)> {
    let on = |name: &'static str| (name, "ON".to_owned());
    let parts = at_rest.parts();
    let mut settings: Vec<_> = parts.flat_map(|part| variables(variant, part)).map(on).collect();
    if let (AtRestControl::FileKeyManagement { .. }, false) = (variant.at_rest, settings.is_empty()) {
        let algorithm = match at_rest.algorithm.unwrap_or(AtRestAlgorithm::AesCbc) {
            AtRestAlgorithm::AesCbc => "AES_CBC",
            AtRestAlgorithm::AesCtr => "AES_CTR",
        };
        settings.push(("file_key_management_encryption_algorithm", algorithm.into()));
    }
    settings
}

/// The switches of a part: all are on where it is encrypted, and none where it is not.
fn variables(variant: &MySqlVariant, part: AtRestPart) -> Vec<&'static str> {
    match (variant.at_rest, part) {
        (AtRestControl::None, _) => Vec::new(),
        (AtRestControl::FileKeyManagement { temporary_tablespace }, part) => match part {
            AtRestPart::Tables => vec!["innodb_encrypt_tables"],
            AtRestPart::RedoLog => vec!["innodb_encrypt_log"],
            AtRestPart::BinaryLog => vec!["encrypt_binlog"],
            AtRestPart::Temporary if temporary_tablespace => vec![
                "encrypt_tmp_files",
                "encrypt_tmp_disk_tables",
                "innodb_encrypt_temporary_tables",
            ],
            AtRestPart::Temporary => vec!["encrypt_tmp_files", "encrypt_tmp_disk_tables"],
            AtRestPart::Aria => vec!["aria_encrypt_tables"],
            AtRestPart::UndoLog | AtRestPart::SystemTables => Vec::new(),
        },
        (AtRestControl::KeyringComponent, part) => match part {
            AtRestPart::Tables => vec!["default_table_encryption"],
            AtRestPart::RedoLog => vec!["innodb_redo_log_encrypt"],
            AtRestPart::UndoLog => vec!["innodb_undo_log_encrypt"],
            AtRestPart::BinaryLog => vec!["binlog_encryption"],
            // By a statement, and MariaDB's.
            AtRestPart::SystemTables | AtRestPart::Temporary | AtRestPart::Aria => Vec::new(),
        },
    }
}

const ASK_AGAIN: Duration = Duration::from_millis(20);

const THREADS: u8 = 4;

/// Tablespaces that are not encrypted yet; the system tablespace is one of those that the server lists.
const REMAINING: &str = "SELECT COUNT(*) + (SUM(NAME = 'innodb_system') = 0) \
     - SUM(ENCRYPTION_SCHEME = 1 AND MIN_KEY_VERSION > 0 AND ROTATING_OR_FLUSHING = 0) \
     FROM information_schema.INNODB_TABLESPACES_ENCRYPTION";

/// Waits until all tablespaces are encrypted, where that is asked for, and leaves the server with as many threads as it is
/// measured with.
///
/// Encrypts what a server made before anybody told it to: MariaDB's system tablespace, with the undo log in it, stays readable until a
/// background thread of its has encrypted it, however its data folder was made.
pub(super) fn encrypt_what_is_there(
    variant: &MySqlVariant,
    server: &'static str,
    at_rest: &AtRest,
    socket: &Path,
    account: &Account,
) -> Result<()> {
    let has_threads = matches!(variant.at_rest, AtRestControl::FileKeyManagement { .. });
    if !has_threads || !at_rest.tables {
        return Ok(());
    }
    let asked = Asked {
        server,
        socket,
        account,
    };
    asked.run(async |reactor, session| {
        session
            .query(&format!("SET GLOBAL innodb_encryption_threads = {THREADS}"))
            .await?;
        while first(&session.query(REMAINING).await?) != "0" {
            reactor.sleep_until(Instant::now() + ASK_AGAIN).await;
        }
        let threads = at_rest.encryption_threads;
        session
            .query(&format!("SET GLOBAL innodb_encryption_threads = {threads}"))
            .await?;
        Ok(())
    })
}

const PATIENCE: Duration = Duration::from_secs(180);

/// Who is asked, and as whom.
///
/// The socket is secure whatever the server wants of TCP.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(in crate::mysql) server: &'static str,
    pub(in crate::mysql) socket: &'a Path,
    pub(in crate::mysql) account: &'a Account,
}

impl Asked<'_> {
    /// Runs a task on a session of its own.
    pub(in crate::mysql) fn run<T>(
        self,
        task: impl AsyncFnOnce(&Rc<Reactor>, &mut Session) -> Result<T, WireError>,
    ) -> Result<T> {
        let options = ConnectOptions {
            socket: Some(self.socket.to_owned()),
            ..ConnectOptions::new("localhost", 0, &self.account.user, self.account.password.clone())
        };
        ask_within(PATIENCE, "it was not done", async |reactor| {
            let (mut session, _) = Session::connect(reactor, &options).await?;
            let outcome = task(reactor, &mut session).await?;
            session.close().await?;
            Ok::<T, WireError>(outcome)
        })
        .and_then(|outcome| outcome.map_err(|error| error.to_string()))
        .map_err(|problem| Error::set_up(self.server, problem))
    }
}

/// The first column of the first row, empty if there is none.
fn first(rows: &[TextRow]) -> String {
    rows.first().map(|row| row.text(0)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mysql::testing::variants;

    #[test]
    fn every_part_that_a_server_says_it_encrypts_has_its_switch() {
        for (entry, variant) in variants() {
            for part in AtRestPart::ALL {
                let can = entry.capabilities.at_rest.parts.contains(&part);
                let has = !variables(&variant, part).is_empty() || part == AtRestPart::SystemTables;
                assert!(!can || has, "{}: {part}", entry.name);
            }
            let nothing = settings(&variant, &AtRest::default());
            assert!(nothing.is_empty(), "{}: {nothing:?}", entry.name);
        }
    }
}

//! Encrypting what a server made before anybody told it to: MariaDB's system tablespace, with the undo log in it, stays
//! readable until a background thread of its has encrypted it, however its data folder was made.

use std::path::Path;
use std::time::{Duration, Instant};

use ciphertax_model::AtRest;
use ciphertax_wire::sql::Statements as _;

use super::session::{Asked, first};
use crate::accounts::Account;
use crate::catalogue::{AtRestControl, MySqlVariant};
use crate::error::Result;

/// How often the server is asked again.
const ASK_AGAIN: Duration = Duration::from_millis(20);

/// Threads that do it.
const THREADS: u8 = 4;

/// Tablespaces that are not encrypted yet; the system tablespace is one of those that the server lists.
const REMAINING: &str = "SELECT COUNT(*) + (SUM(NAME = 'innodb_system') = 0) \
     - SUM(ENCRYPTION_SCHEME = 1 AND MIN_KEY_VERSION > 0 AND ROTATING_OR_FLUSHING = 0) \
     FROM information_schema.INNODB_TABLESPACES_ENCRYPTION";

/// Waits until all tablespaces are encrypted, where that is asked for, and leaves the server with as many threads as it is
/// measured with.
pub(in crate::mysql) fn encrypt_what_is_there(
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

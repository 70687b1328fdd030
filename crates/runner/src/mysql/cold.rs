//! Accounts for logins that the server does not remember.

use std::sync::Arc;

use ciphertax_lab::PrivateServer;
use ciphertax_model::AuthenticationMethod;
use ciphertax_wire::mysql::ColdAccounts;

use super::clients::MySql;
use crate::database::Control;
use crate::error::RunError;

/// Logins of a slice at most. A full login costs the server some milliseconds (5,000 rounds of SHA-256), so this is more
/// than a second's work of several cores.
pub(crate) const LOGINS: usize = 1000;

/// Copies of the account of `caching_sha2_password`: with its password, whose hash the server has, and with its rights. `None`
/// on a server without that account.
///
/// # Errors
/// The server's own.
pub(super) fn accounts(
    control: &mut Control<MySql>,
    server: &PrivateServer,
) -> Result<Option<Arc<ColdAccounts>>, RunError> {
    let Some(account) = server.account(AuthenticationMethod::CachingSha2Password) else {
        return Ok(None);
    };
    let user = &account.user;
    // The hash is bytes that no text can hold.
    let hashes = control.pairs(&format!(
        "SELECT user, HEX(authentication_string) FROM mysql.user WHERE user = '{user}' AND host = '%'"
    ))?;
    let hash = hashes.get(user).cloned().unwrap_or_default();
    let users: Vec<String> = (0..LOGINS)
        .map(|number| format!("{user}_cold_{number}"))
        .collect();
    let each = |what: &str| {
        let all: Vec<String> = users.iter().map(|user| format!("'{user}'@'%'{what}")).collect();
        all.join(", ")
    };
    let identified = format!(" IDENTIFIED WITH caching_sha2_password AS 0x{hash}");
    control.run(&format!("CREATE USER {}", each(&identified)))?;
    control.run(&format!("GRANT ALL PRIVILEGES ON *.* TO {}", each("")))?;
    Ok(Some(Arc::new(ColdAccounts::new(users))))
}

//! The status of a session as MySQL says it, and its own part of checking that one is as expected.

use ciphertax_model::{TlsVersion, Transport};

use super::session::Session;
use crate::error::Result;
use crate::expectation::{Expectation, ExpectedLogin};
use crate::sql::SqlSession as _;

/// Asks the server what it thinks of this session. Every MySQL-compatible server since 5.5 answers it.
const SESSION_STATUS: &str = "SHOW SESSION STATUS WHERE Variable_name IN ('Ssl_version', 'Ssl_cipher')";

/// Asks the server by which plugin this account logs in.
const OWN_ACCOUNT: &str = "SHOW CREATE USER CURRENT_USER()";

/// What the server thinks of a session; empty texts for a plaintext session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionStatus {
    /// Why it says nothing of the session's TLS, if it does not.
    pub silence: Option<String>,
    /// Protocol version.
    pub version: String,
    /// Cipher suite, in the server's spelling.
    pub cipher: String,
}

/// What only MySQL's sessions need.
impl Expectation {
    /// What the server says of the session's TLS, by a query; and of its account, where that alone tells how the login
    /// went.
    ///
    /// # Errors
    /// The outer for a query that failed; the inner says what was expected and what was found.
    pub async fn check_status(&self, session: &mut Session) -> Result<Result<SessionStatus, String>> {
        let mut status = session_status(session, self.is_said_by_server).await?;
        if self.transport == Transport::Tls11
            && status.version == TlsVersion::V1_0.name()
            && is_vague(session).await?
        {
            status.version = TlsVersion::V1_1.name().to_owned();
        }
        if status.silence.is_none()
            && let Err(problem) = self.compare("server", &status.version, &status.cipher)
        {
            return Ok(Err(problem));
        }
        // The client cannot tell an account that logs in by the kernel's word from one without a password.
        if self.login.as_ref().is_some_and(ExpectedLogin::is_by_kernel) {
            let rows = session.query(OWN_ACCOUNT).await?;
            let account = rows.first().map(|row| row.text(0)).unwrap_or_default();
            if !logs_in_by_kernel_alone(&account) {
                return Ok(Err(
                    "the server says that the account has another plugin than unix_socket".into(),
                ));
            }
        }
        Ok(Ok(status))
    }
}

/// What answers in the server's place is asked for once, for the proof of an arm.
async fn session_status(session: &mut Session, is_said: Option<bool>) -> Result<SessionStatus> {
    let mut status = SessionStatus::default();
    let rows = session.query(SESSION_STATUS).await?;
    status.silence = match (rows.len(), is_said) {
        (_, Some(is_said)) => (!is_said).then(|| "its word is about another connection".to_owned()),
        (2, None) => layer(session).await?.map(|layer| {
            format!("{layer} ends TLS and logs in there by itself, so its word is about another connection")
        }),
        _ => Some("it has no variables Ssl_version and Ssl_cipher".to_owned()),
    };
    for row in rows {
        match row.text(0).to_ascii_lowercase().as_str() {
            "ssl_version" => status.version = row.text(1),
            "ssl_cipher" => status.cipher = row.text(1),
            _ => {}
        }
    }
    Ok(status)
}

/// What speaks to the server in this session's place, by what it says of itself; `None` where the server has the session itself. A
/// server's word for a connection goes through ProxySQL unchanged, so there its name alone tells.
async fn layer(session: &mut Session) -> Result<Option<&'static str>> {
    let rows = session
        .query_or_none("SELECT CONNECTION_ID(), @@version_comment")
        .await?;
    let Some(row) = rows.first() else { return Ok(None) };
    let words = format!("{} {}", session.server_version, row.text(1)).to_lowercase();
    let known = LAYERS.iter().find(|(word, _)| words.contains(word));
    // A greeting has room for the lower half of a number.
    let is_another = |id: u64| id as u32 != session.id();
    let is_another = row.text(0).parse().is_ok_and(is_another);
    Ok(known
        .map(|(_, name)| *name)
        .or(is_another.then_some("what answers")))
}

/// What their `version` or `version_comment` holds, in lower case.
const LAYERS: [(&str, &str); 4] = [
    ("vitess", "Vitess"),
    ("router", "MySQL Router"),
    ("maxscale", "MaxScale"),
    ("proxysql", "ProxySQL"),
];

/// True if the server cannot tell TLS 1.0 from 1.1: yaSSL says `TLSv1` of both (its `SSL_get_version`). Then only the
/// client's word counts, which the handshake vouches for.
async fn is_vague(session: &mut Session) -> Result<bool> {
    let rows = session.query("SHOW VARIABLES LIKE 'version_ssl_library'").await?;
    Ok(rows
        .iter()
        .any(|row| row.text(1).to_ascii_lowercase().contains("yassl")))
}

/// `… IDENTIFIED VIA unix_socket` (MariaDB) or `… IDENTIFIED WITH 'auth_socket' …` (MySQL), and no second way in.
fn logs_in_by_kernel_alone(account: &str) -> bool {
    let Some((_, identified)) = account.rsplit_once(" IDENTIFIED ") else {
        return false;
    };
    let mut words = identified
        .split_whitespace()
        .map(|word| word.trim_matches(['\'', '`']));
    let is_socket = matches!(
        (words.next(), words.next()),
        (Some("VIA" | "WITH"), Some("unix_socket" | "auth_socket"))
    );
    is_socket && words.next() != Some("OR")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_of_the_operating_system_is_told_from_all_others() {
        for (account, by_kernel) in [
            ("CREATE USER `root`@`localhost` IDENTIFIED VIA unix_socket", true),
            (
                "CREATE USER `root`@`localhost` IDENTIFIED WITH 'auth_socket' REQUIRE NONE PASSWORD EXPIRE DEFAULT",
                true,
            ),
            (
                "CREATE USER `root`@`localhost` IDENTIFIED WITH `auth_socket` REQUIRE NONE",
                true,
            ),
            (
                "CREATE USER `a`@`%` IDENTIFIED VIA unix_socket OR mysql_native_password USING ''",
                false,
            ),
            (
                "CREATE USER `a`@`%` IDENTIFIED VIA mysql_native_password OR unix_socket",
                false,
            ),
            ("CREATE USER `VIA unix_socket`@`%`", false),
            (
                "CREATE USER ` IDENTIFIED VIA unix_socket`@`%` IDENTIFIED BY PASSWORD '*AB'",
                false,
            ),
            ("", false),
        ] {
            assert_eq!(logs_in_by_kernel_alone(account), by_kernel, "{account}");
        }
    }
}

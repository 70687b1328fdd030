//! The server's word for what an arm must be (<https://www.postgresql.org/docs/current/monitoring-stats.html>).

use super::options::Method;
use super::session::Session;
use crate::error::Result;
use crate::expectation::Expectation;
use crate::sql::SqlSession as _;

/// Asks the server what it thinks of the TLS of this session.
const SESSION_STATUS: &str = "SELECT ssl, version, cipher FROM pg_catalog.pg_stat_ssl \
    WHERE pid = pg_catalog.pg_backend_pid()";
/// Asks the server how the login went (`scram-sha-256:user`; NULL for trust), which it tells since this version.
const SYSTEM_USER: &str = "SELECT SYSTEM_USER";
const KNOWS_SYSTEM_USER: u32 = 16;

/// What the server thinks of a session; empty texts for a plaintext session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionStatus {
    /// False for a server whose view has no row for the session, and so says nothing of TLS.
    pub is_told: bool,
    /// Protocol version.
    pub version: String,
    /// Cipher suite, by its OpenSSL name.
    pub cipher: String,
    /// How the login went and as whom, as `scram-sha-256:user`; `None` where the server does not tell, because it is older
    /// than PostgreSQL 16 or asked for nothing.
    pub login: Option<String>,
}

/// What only PostgreSQL's sessions need.
impl Expectation {
    /// What the server says of the session's TLS, by a query, and of its login, where it tells.
    ///
    /// # Errors
    /// The outer for a query that failed; the inner says what was expected and what was found.
    pub(super) async fn check_backend(&self, session: &mut Session) -> Result<Result<SessionStatus, String>> {
        let status = SessionStatus::of(session).await?;
        if status.is_told
            && let Err(problem) = self.compare("server", &status.version, &status.cipher)
        {
            return Ok(Err(problem));
        }
        let method = session.authentication.method.clone();
        let told = status.login.as_deref().and_then(|login| login.split_once(':'));
        match told {
            Some((told, _)) if !in_pg_hba(&method).contains(&told) => Ok(Err(format!(
                "the server says that the login went by {told}; the client says {method}"
            ))),
            _ => Ok(Ok(status)),
        }
    }
}

impl SessionStatus {
    /// Asks the server.
    ///
    /// # Errors
    /// The server's own and those of the connection.
    pub async fn of(session: &mut Session) -> Result<Self> {
        let mut status = Self::default();
        for row in session.query(SESSION_STATUS).await? {
            status.is_told = true;
            if row.text(0) == "t" {
                status.version = row.text(1);
                status.cipher = row.text(2);
            }
        }
        if session
            .major_version()
            .is_some_and(|major| major >= KNOWS_SYSTEM_USER)
        {
            let rows = session.query(SYSTEM_USER).await?;
            status.login = rows.first().filter(|row| !row.is_null(0)).map(|row| row.text(0));
        }
        Ok(status)
    }
}

/// What the line of `pg_hba.conf` may say by which a login went so, for that is what the server tells: `md5` is SCRAM for
/// whoever has a password that is kept for SCRAM; whom the server asks for nothing it may know by a certificate or from
/// the kernel; and a password may be looked up elsewhere.
fn in_pg_hba(method: &str) -> &'static [&'static str] {
    match Method::called(method) {
        Some(Method::ScramSha256 | Method::ScramSha256Plus) => &["scram-sha-256", "md5"],
        Some(Method::Trust) => &["trust", "cert", "peer", "ident"],
        Some(Method::Password) => &["password", "ldap", "pam", "radius", "bsd"],
        Some(Method::Md5) => &["md5"],
        Some(Method::Certificate) => &["cert"],
        None => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_may_go_by_lines_of_other_names_that_mean_it() {
        for (method, line, fits) in [
            ("SCRAM-SHA-256-PLUS", "scram-sha-256", true),
            ("SCRAM-SHA-256", "md5", true),
            ("SCRAM-SHA-256", "password", false),
            ("md5", "md5", true),
            ("md5", "scram-sha-256", false),
            ("trust", "peer", true),
            ("trust", "md5", false),
            ("cert", "cert", true),
            ("cert", "trust", false),
        ] {
            assert_eq!(in_pg_hba(method).contains(&line), fits, "{method}, {line}");
        }
    }
}

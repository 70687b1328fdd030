//! What every session of an arm must be.

use ciphertax_model::TlsVersion;

use super::session::Session;
use crate::error::WireError;

/// What every session of an arm must be. Plain is an expectation like any other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expectation {
    /// The TLS version; `None` for a session in clear.
    pub tls: Option<TlsVersion>,
    /// The cipher suite that the proof of the arm saw, by its OpenSSL name; `None` before the proof.
    pub cipher: Option<String>,
}

/// Asks the server what it thinks of this session. Every relative of MySQL since 5.5 answers it.
const SERVERS_WORD: &str = "SHOW SESSION STATUS WHERE Variable_name IN ('Ssl_version', 'Ssl_cipher')";

/// What the server thinks of a session; empty texts for a session in clear.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServersWord {
    /// Protocol version.
    pub version: String,
    /// Cipher suite.
    pub cipher: String,
}

impl Expectation {
    /// The client's word: cheap enough for every connection.
    ///
    /// # Errors
    /// Says what was expected and what was found.
    pub fn check(&self, session: &Session) -> Result<(), String> {
        let found = session.tls_summary();
        let (version, cipher) = found.map_or(("", ""), |summary| (summary.version, summary.cipher));
        self.compare("client", version, cipher)?;
        match found {
            Some(summary) if summary.resumed => {
                Err("the client says that the session was resumed; expected a full handshake".into())
            }
            _ => Ok(()),
        }
    }

    /// The server's word, by a query.
    ///
    /// # Errors
    /// The outer for a query that failed; the inner says what was expected and what was found.
    pub async fn check_servers_word(
        &self,
        session: &mut Session,
    ) -> Result<Result<ServersWord, String>, WireError> {
        let word = servers_word(session).await?;
        Ok(self.compare("server", &word.version, &word.cipher).map(|()| word))
    }

    fn compare(&self, witness: &str, version: &str, cipher: &str) -> Result<(), String> {
        let expected = self.tls.map_or("", TlsVersion::name);
        if version != expected {
            return Err(format!(
                "the {witness} says {}; expected {}",
                session_kind(version),
                session_kind(expected)
            ));
        }
        match &self.cipher {
            Some(expected) if cipher != expected => Err(format!(
                "the {witness} says cipher {cipher:?}; the arm was proved with {expected:?}"
            )),
            _ => Ok(()),
        }
    }
}

async fn servers_word(session: &mut Session) -> Result<ServersWord, WireError> {
    let mut word = ServersWord::default();
    for row in session.query(SERVERS_WORD).await? {
        match row.text(0).to_ascii_lowercase().as_str() {
            "ssl_version" => word.version = row.text(1),
            "ssl_cipher" => word.cipher = row.text(1),
            _ => {}
        }
    }
    Ok(word)
}

fn session_kind(version: &str) -> String {
    if version.is_empty() {
        "a session in clear".into()
    } else {
        format!("a {version} session")
    }
}

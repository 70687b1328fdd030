//! What every session of an arm must be.

use std::rc::Rc;

use ciphertax_model::record::SessionFacts;
use ciphertax_model::{Arm, AuthenticationMethod, Group, PasswordCache, Resumption, TlsVersion, Transport};
use ciphertax_reactor::Reactor;

use super::handshake::ConnectOptions;
use super::session::Session;
use crate::error::WireError;
use crate::tls::{TlsSummary, cipher};

/// What every session of an arm must be. Plain is an expectation like any other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expectation {
    /// In clear, or TLS; of any version only until the arm is proved.
    pub transport: Transport,
    /// The cipher suite, by its OpenSSL name; `None` for any, until the arm is proved.
    pub cipher: Option<String>,
    /// The group of the key exchange; `None` for any, until the arm is proved.
    pub group: Option<Group>,
    /// True if every session takes up an earlier one, false if each makes a full handshake.
    pub resumed: bool,
    /// How every login goes; `None` for any way, until the arm is proved.
    pub login: Option<ExpectedLogin>,
}

/// How a login must go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectedLogin {
    /// The plugin, by the server's name for it.
    pub method: String,
    /// The path: `single`, `fast` or `full`; `None` for any.
    pub path: Option<&'static str>,
}

/// Asks the server what it thinks of this session. Every relative of MySQL since 5.5 answers it.
const SERVERS_WORD: &str = "SHOW SESSION STATUS WHERE Variable_name IN ('Ssl_version', 'Ssl_cipher')";

/// Asks the server by which plugin this account logs in.
const OWN_ACCOUNT: &str = "SHOW CREATE USER CURRENT_USER()";

/// What the server thinks of a session; empty texts for a session in clear.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServersWord {
    /// Protocol version.
    pub version: String,
    /// Cipher suite, in the server's spelling.
    pub cipher: String,
}

impl Expectation {
    /// Full handshakes over this transport, and nothing more.
    pub fn new(transport: Transport) -> Self {
        Self {
            transport,
            cipher: None,
            group: None,
            resumed: false,
            login: None,
        }
    }

    /// What an arm says of its sessions.
    pub fn of(arm: &Arm) -> Self {
        Self {
            transport: arm.transport,
            cipher: arm.tls.cipher.clone(),
            group: arm.tls.group,
            resumed: arm.transport.is_encrypted() && arm.tls.resumption != Resumption::Off,
            login: arm
                .authentication
                .method
                .map(|method| ExpectedLogin::by(method, arm.authentication.password_cache)),
        }
    }

    /// The same, with what the proof of the arm saw filled in where the arm leaves it open.
    pub fn proved(&self, facts: &SessionFacts) -> Self {
        let tls = facts.tls.as_ref();
        let version = tls.and_then(|tls| {
            TlsVersion::ALL
                .into_iter()
                .find(|version| version.name() == tls.version)
        });
        let group = tls.and_then(|tls| Group::ALL.into_iter().find(|group| group.name() == tls.group));
        Self {
            transport: version.map_or(self.transport, pinned),
            cipher: self.cipher.clone().or_else(|| tls.map(|tls| tls.cipher.clone())),
            group: self.group.or(group),
            resumed: self.resumed,
            login: self.login.clone().or_else(|| {
                Some(ExpectedLogin {
                    method: facts.authentication.method.clone(),
                    path: None,
                })
            }),
        }
    }

    /// The client's word: cheap enough for every connection.
    ///
    /// # Errors
    /// Says what was expected and what was found.
    pub fn check(&self, session: &Session) -> Result<(), String> {
        let found = session.tls_summary();
        let (version, cipher) = found.map_or(("", ""), |summary| (summary.version, summary.cipher));
        self.compare("client", version, cipher)?;
        if let Some(found) = found {
            self.check_handshake(found)?;
        }
        match &self.login {
            Some(login) => login.check(session),
            None => Ok(()),
        }
    }

    /// Connects, and once more if the server had forgotten a password that it should remember: an arm without a password
    /// cache may have emptied it, and the first login fills it again.
    ///
    /// # Errors
    /// Those of connecting.
    pub async fn connect(
        &self,
        reactor: &Rc<Reactor>,
        options: &ConnectOptions,
    ) -> Result<Session, WireError> {
        let (session, _) = Session::connect(reactor, options).await?;
        let expected = self.login.as_ref().and_then(|login| login.path);
        if expected != Some("fast") || session.authentication().path != "full" {
            return Ok(session);
        }
        session.close().await?;
        Ok(Session::connect(reactor, options).await?.0)
    }

    /// The server's word, by a query.
    ///
    /// # Errors
    /// The outer for a query that failed; the inner says what was expected and what was found.
    pub async fn check_servers_word(
        &self,
        session: &mut Session,
    ) -> Result<Result<ServersWord, String>, WireError> {
        let mut word = servers_word(session).await?;
        if self.transport == Transport::Tls11
            && word.version == TlsVersion::V1_0.name()
            && is_vague(session).await?
        {
            word.version = TlsVersion::V1_1.name().to_owned();
        }
        if let Err(problem) = self.compare("server", &word.version, &word.cipher) {
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
        Ok(Ok(word))
    }

    fn check_handshake(&self, found: TlsSummary) -> Result<(), String> {
        match (self.resumed, found.resumed, found.offered) {
            (false, true, _) => {
                return Err("the client says that the session was resumed; expected a full handshake".into());
            }
            (true, false, true) => {
                return Err(
                    "the server did not take up the session that the client offered; expected a resumed session".into(),
                );
            }
            (true, false, false) => {
                return Err("the client had no session left to offer; expected a resumed session".into());
            }
            _ => {}
        }
        let Some(expected) = self.group else { return Ok(()) };
        match found.group {
            Some(group) if group == expected => Ok(()),
            // A resumed session of TLS 1.2 or older exchanges no keys.
            None if found.resumed => Ok(()),
            other => Err(format!(
                "the client says key exchange by {}; expected {expected}",
                other.map_or("another group or none", Group::name)
            )),
        }
    }

    fn compare(&self, witness: &str, version: &str, cipher: &str) -> Result<(), String> {
        let matches = match self.transport {
            Transport::Tls => !version.is_empty(),
            transport => registered(version) == transport.tls_version().map_or("", TlsVersion::name),
        };
        if !matches {
            return Err(format!(
                "the {witness} says {}; expected {}",
                session_kind(version),
                match (self.transport, self.transport.tls_version()) {
                    (Transport::Tls, _) => "a TLS session".into(),
                    (_, version) => session_kind(version.map_or("", TlsVersion::name)),
                }
            ));
        }
        match &self.cipher {
            Some(expected) if !cipher::is_same(expected, cipher) => Err(format!(
                "the {witness} says cipher {cipher:?}; expected {expected:?}"
            )),
            _ => Ok(()),
        }
    }
}

impl ExpectedLogin {
    /// A login by this plugin. Of the plugins only `caching_sha2_password` has more than one path.
    pub fn by(method: AuthenticationMethod, cache: PasswordCache) -> Self {
        Self {
            method: method.name().to_owned(),
            path: Some(match (method, cache) {
                (AuthenticationMethod::CachingSha2Password, PasswordCache::Warm) => "fast",
                (AuthenticationMethod::CachingSha2Password, PasswordCache::Cold) => "full",
                _ => "single",
            }),
        }
    }

    fn is_by_kernel(&self) -> bool {
        self.method == AuthenticationMethod::UnixSocket.name()
    }

    fn check(&self, session: &Session) -> Result<(), String> {
        let found = session.authentication();
        if found.method == self.method && self.path.is_none_or(|path| found.path == path) {
            return Ok(());
        }
        Err(format!(
            "the login went by {}/{}; expected {}/{}",
            found.method,
            found.path,
            self.method,
            self.path.unwrap_or("any path")
        ))
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

/// True if the server cannot tell TLS 1.0 from 1.1: yaSSL says `TLSv1` of both (its `SSL_get_version`). Then only the
/// client's word counts, which the handshake vouches for.
async fn is_vague(session: &mut Session) -> Result<bool, WireError> {
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

fn pinned(version: TlsVersion) -> Transport {
    match version {
        TlsVersion::V1_0 => Transport::Tls10,
        TlsVersion::V1_1 => Transport::Tls11,
        TlsVersion::V1_2 => Transport::Tls12,
        TlsVersion::V1_3 => Transport::Tls13,
    }
}

/// A version as OpenSSL writes it; some servers spell out the zero.
fn registered(version: &str) -> &str {
    if version == "TLSv1.0" {
        TlsVersion::V1_0.name()
    } else {
        version
    }
}

fn session_kind(version: &str) -> String {
    if version.is_empty() {
        "a session in clear".into()
    } else {
        format!("a {version} session")
    }
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

    #[test]
    fn an_arm_that_leaves_nothing_open_is_expected_as_it_says() {
        let mut arm = Arm::new("arm", Transport::Tls12);
        arm.tls.cipher = Some("ECDHE-RSA-AES128-GCM-SHA256".into());
        arm.tls.group = Some(Group::P256);
        arm.tls.resumption = Resumption::Ticket;
        arm.authentication.method = Some(AuthenticationMethod::CachingSha2Password);
        arm.authentication.password_cache = PasswordCache::Cold;
        let expectation = Expectation::of(&arm);
        assert!(expectation.resumed);
        assert_eq!(expectation.cipher, arm.tls.cipher);
        assert_eq!(expectation.group, arm.tls.group);
        let login = expectation.login.unwrap();
        assert_eq!(
            (login.method.as_str(), login.path),
            ("caching_sha2_password", Some("full"))
        );
    }

    #[test]
    fn versions_and_ciphers_compare_across_the_spellings_of_servers() {
        let expectation = Expectation {
            cipher: Some("AES256-SHA".into()),
            ..Expectation::new(Transport::Tls10)
        };
        for (version, cipher) in [
            ("TLSv1", "AES256-SHA"),
            ("TLSv1.0", "AES256-SHA"),
            ("TLSv1", "TLS_RSA_WITH_AES_256_CBC_SHA"),
        ] {
            expectation.compare("server", version, cipher).unwrap();
        }
        for (version, cipher) in [("TLSv1.1", "AES256-SHA"), ("TLSv1", "AES128-SHA"), ("", "")] {
            expectation.compare("server", version, cipher).unwrap_err();
        }
        let any = Expectation::new(Transport::Tls);
        any.compare("server", "TLSv1.1", "AES256-SHA").unwrap();
        any.compare("server", "", "").unwrap_err();
    }
}

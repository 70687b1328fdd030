//! The expectation that every session of an arm must meet.

use ciphertax_base::{AuthenticationFacts, LoginPath, Proof, SessionFacts};
use ciphertax_model::{Arm, AuthenticationMethod, Group, PasswordCache, Resumption, TlsVersion, Transport};
use serde::{Deserialize, Serialize};

use crate::client::Session;
use crate::tls::{TlsSummary, cipher};

/// What every session of an arm must be. Plain is an expectation like any other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expectation {
    /// Plaintext, or TLS; of any version only until the arm is proved.
    pub transport: Transport,
    /// The cipher suite, by its OpenSSL name; `None` for any, until the arm is proved.
    pub cipher: Option<String>,
    /// The group of the key exchange; `None` for any, until the arm is proved.
    pub group: Option<Group>,
    /// True if every session takes up an earlier one, false if each makes a full handshake.
    pub resumed: bool,
    /// How every login goes; `None` for any way, until the arm is proved.
    pub login: Option<ExpectedLogin>,
    /// True if the server says what TLS its sessions have, false if it cannot; `None` until the arm is proved.
    pub is_said_by_server: Option<bool>,
}

/// A server's word on what sessions are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Word {
    /// It agrees.
    Agrees(Proof),
    /// It contradicts: what was expected and what was found.
    Contradicts(String),
    /// It does not tell, for this reason.
    Silent(String),
}

/// How a login must go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExpectedLogin {
    /// The plugin or mechanism, by the server's name for it, `none` where there is no login; `None` for any, until the arm is
    /// proved.
    pub method: Option<String>,
    /// The path; `None` for any.
    pub path: Option<LoginPath>,
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
            is_said_by_server: None,
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
            is_said_by_server: None,
        }
    }

    /// The same, with what the proof of the arm saw filled in where the arm leaves it open.
    pub fn proved(&self, facts: &SessionFacts) -> Self {
        let tls = facts.tls.as_ref();
        let version: Option<TlsVersion> = tls.and_then(|tls| tls.version.parse().ok());
        let group: Option<Group> = tls.and_then(|tls| tls.group.parse().ok());
        Self {
            transport: version.map_or(self.transport, pinned),
            cipher: self.cipher.clone().or_else(|| tls.map(|tls| tls.cipher.clone())),
            group: self.group.or(group),
            resumed: self.resumed,
            login: Some(ExpectedLogin {
                method: self
                    .login
                    .as_ref()
                    .and_then(|login| login.method.clone())
                    .or_else(|| Some(facts.authentication.method.clone())),
                path: self.login.as_ref().and_then(|login| login.path),
            }),
            is_said_by_server: self.is_said_by_server,
        }
    }

    /// The client's word: cheap enough for every connection.
    ///
    /// # Errors
    /// Says what was expected and what was found.
    pub fn check(&self, session: &impl Session) -> Result<(), String> {
        let found = session.tls_summary();
        let (version, cipher) = found.map_or(("", ""), |summary| (summary.version, summary.cipher));
        self.compare("client", version, cipher)?;
        if let Some(found) = found {
            self.check_handshake(found)?;
        }
        match &self.login {
            Some(login) => login.check(session.authentication()),
            None => Ok(()),
        }
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

    /// Compares what a witness says of version and cipher, both empty for a plaintext session.
    pub(crate) fn compare(&self, witness: &str, version: &str, cipher: &str) -> Result<(), String> {
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
    /// A login by this method. More than one path have only `caching_sha2_password`, by whether the server remembers
    /// the password, and SCRAM, by whether the client has kept the keys it derived from it.
    pub fn by(method: AuthenticationMethod, cache: PasswordCache) -> Self {
        Self {
            method: Some(method.name().to_owned()),
            path: Some(match (method, cache) {
                (AuthenticationMethod::CachingSha2Password, PasswordCache::Warm) => LoginPath::Fast,
                (AuthenticationMethod::CachingSha2Password, PasswordCache::Cold) => LoginPath::Full,
                (method, PasswordCache::Warm) if method.is_scram() => LoginPath::Cached,
                (method, PasswordCache::Cold) if method.is_scram() => LoginPath::Derived,
                _ => LoginPath::Single,
            }),
        }
    }

    pub(crate) fn is_by_kernel(&self) -> bool {
        self.method.as_deref() == Some(AuthenticationMethod::UnixSocket.name())
    }

    fn check(&self, found: &AuthenticationFacts) -> Result<(), String> {
        let is_method = self.method.as_ref().is_none_or(|method| found.method == *method);
        if is_method && self.path.is_none_or(|path| found.path == path) {
            return Ok(());
        }
        Err(format!(
            "the login went by {}/{}; expected {}/{}",
            found.method,
            found.path,
            self.method.as_deref().unwrap_or("any method"),
            self.path.map_or("any path", LoginPath::name)
        ))
    }
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
        "a plaintext session".into()
    } else {
        format!("a {version} session")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let found = (login.method.as_deref(), login.path);
        assert_eq!(found, (Some("caching_sha2_password"), Some(LoginPath::Full)));
    }

    #[test]
    fn a_login_by_scram_is_expected_to_take_its_keys_from_where_the_arm_says() {
        let path = |method, cache| ExpectedLogin::by(method, cache).path;
        for method in [AuthenticationMethod::ScramSha1, AuthenticationMethod::ScramSha256] {
            assert_eq!(path(method, PasswordCache::Warm), Some(LoginPath::Cached));
            assert_eq!(path(method, PasswordCache::Cold), Some(LoginPath::Derived));
        }
        let found = path(AuthenticationMethod::MongodbX509, PasswordCache::Warm);
        assert_eq!(found, Some(LoginPath::Single));
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

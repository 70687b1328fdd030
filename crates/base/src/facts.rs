//! What a session really negotiated, and how an arm was proved.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a server says of a session and of itself, by which its process is known; what it does not say is absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SeenByServer {
    /// From which address the session comes.
    pub peer_ip: Option<IpAddr>,
    /// From which port; none over a Unix socket.
    pub peer_port: Option<u16>,
    /// The port that the server listens on.
    pub port: Option<u16>,
    /// Its process, or that which serves the session, by the number that it has in its own container.
    pub pid: Option<u32>,
}

impl SeenByServer {
    /// Of a session that comes from there: an address or a name, a colon, a port.
    pub fn from_peer(peer: &str) -> Self {
        let (host, port) = peer.rsplit_once(':').unwrap_or_default();
        Self {
            peer_ip: host.trim_matches(['[', ']']).parse().ok(),
            peer_port: port.parse().ok(),
            ..Self::default()
        }
    }
}

/// What one session really negotiated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionFacts {
    /// The server's own version string.
    pub server_version: String,
    /// How the login went.
    pub authentication: AuthenticationFacts,
    /// The TLS session; absent on a plain connection.
    pub tls: Option<TlsFacts>,
}

/// How a login went.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct AuthenticationFacts {
    /// The authentication plugin or mechanism, by the server's name for it.
    pub method: String,
    /// The path it took.
    pub path: LoginPath,
}

impl AuthenticationFacts {
    /// What a reader sees: the method, and the path where there is more than one.
    pub fn words(&self) -> String {
        match self.path {
            LoginPath::Single => self.method.clone(),
            path => format!("{} ({path})", self.method),
        }
    }
}

/// Written `method/path`.
impl fmt::Display for AuthenticationFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.method, self.path)
    }
}

impl FromStr for AuthenticationFacts {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (method, path) = text
            .rsplit_once('/')
            .ok_or_else(|| format!("{text:?} is not written method/path"))?;
        Ok(Self {
            method: method.to_owned(),
            path: path
                .parse()
                .map_err(|_| format!("there is no login path {path:?}"))?,
        })
    }
}

/// Which way a login took through its method.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
    strum::Display,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum LoginPath {
    /// The only one its method has.
    Single,
    /// The server had the password's hash in its cache (`caching_sha2_password`).
    Fast,
    /// The server had not, and was sent the password (`caching_sha2_password`).
    Full,
    /// The client had kept the keys of an earlier login (SCRAM).
    Cached,
    /// The client derived the keys from the password (SCRAM).
    Derived,
}

impl LoginPath {
    /// Its name in records.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// What a TLS session negotiated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TlsFacts {
    /// Protocol version, for example `TLSv1.3`.
    pub version: String,
    /// Cipher suite, by its OpenSSL name.
    pub cipher: String,
    /// Key-exchange group; empty where the library cannot tell.
    pub group: String,
    /// The server's certificate.
    pub certificate: CertificateFacts,
    /// True if the session was resumed and no certificate was sent.
    pub resumed: bool,
    /// True if the server asked for a second ClientHello.
    pub hello_retry_request: bool,
    /// Size of the first ClientHello handshake message in bytes.
    pub client_hello_bytes: u32,
    /// What was verified of the server.
    pub verification: Verified,
    /// The client's TLS library and its version.
    pub client_library: String,
}

/// What a client verified of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, strum::Display)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Verified {
    /// Nothing: whoever answers is taken for the server.
    None,
    /// That the certificate's chain ends at a trusted authority.
    Ca,
    /// The chain, and that the certificate is of the host.
    #[serde(rename = "host name")]
    #[strum(serialize = "host name")]
    HostName,
}

/// The certificate a server presented.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CertificateFacts {
    /// Key type and size, for example `EC P-256` or `RSA 2048`.
    pub key: String,
    /// Signature algorithm of the leaf, for example `ecdsa-with-SHA256`.
    pub signature: String,
    /// DER bytes of all certificates the server sent.
    pub chain_bytes: u32,
    /// Certificates the server sent.
    pub chain_length: u32,
}

/// One piece of evidence that an arm is what it says. A failed proof ends the arm, so a recorded one has passed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Proof {
    /// Who says so.
    pub witness: Witness,
    /// What was checked.
    pub claim: String,
    /// What was seen.
    pub evidence: String,
}

/// Who bears witness to what an arm is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, strum::Display)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Witness {
    /// The client, by what it negotiated.
    Client,
    /// The server, asked over the session.
    Server,
    /// A relay that sees what travels.
    Wire,
    /// A login with a wrong secret.
    Authentication,
    /// A write without a login.
    #[serde(rename = "access control")]
    #[strum(serialize = "access control")]
    AccessControl,
    /// The program that is the tunnel.
    Tunnel,
    /// The pooler, by its console.
    Pooler,
    /// A search of the disk.
    Disk,
    /// The kernel, by where it lets threads run.
    Kernel,
}

/// A certificate of the chain that a server sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChainCertificate {
    /// Whom it is for: `CN=db.example, O=Example`.
    pub subject: String,
    /// Who signed it.
    pub issuer: String,
    /// Host names and addresses that it is for, the first twenty.
    pub names: Vec<String>,
    /// From when on it holds, RFC 3339 in UTC.
    pub not_before: String,
    /// Until when it holds, RFC 3339 in UTC.
    pub not_after: String,
    /// Whole days until then; negative once it has expired.
    pub days_left: i64,
    /// Key type and size, for example `EC P-256` or `RSA 2048`.
    pub key: String,
    /// Algorithm of the signature on it.
    pub signature: String,
    /// Bytes of it.
    pub bytes: u32,
}

impl ChainCertificate {
    /// True if it does not hold yet at that time, RFC 3339 in UTC.
    pub fn begins_after(&self, time: &str) -> bool {
        // Both name year, month, day, hour, minute and second in as many digits; what follows are parts of a second.
        let second = |time: &str| time.chars().take("0000-00-00T00:00:00".len()).collect::<String>();
        second(&self.not_before) > second(time)
    }
}

#[cfg(test)]
mod tests {
    use strum::VariantArray;

    use super::*;

    #[test]
    fn a_login_is_read_back_from_its_words_also_where_the_method_has_a_slash() {
        for &path in LoginPath::VARIANTS {
            for method in ["SCRAM-SHA-256", "a/b"] {
                let method = method.to_owned();
                let login = AuthenticationFacts { method, path };
                assert_eq!(login.to_string().parse(), Ok(login));
            }
            assert_eq!(serde_json::to_value(path).unwrap(), path.name());
        }
        let unknown = "SCRAM-SHA-256/guessed"
            .parse::<AuthenticationFacts>()
            .unwrap_err();
        assert!(unknown.contains("\"guessed\""), "{unknown}");
    }

    #[test]
    fn readers_see_the_words_of_records() {
        for witness in [
            Witness::Client,
            Witness::Server,
            Witness::Wire,
            Witness::Authentication,
            Witness::AccessControl,
            Witness::Tunnel,
            Witness::Pooler,
            Witness::Disk,
            Witness::Kernel,
        ] {
            assert_eq!(serde_json::to_value(witness).unwrap(), witness.to_string());
        }
        for verified in [Verified::None, Verified::Ca, Verified::HostName] {
            assert_eq!(serde_json::to_value(verified).unwrap(), verified.to_string());
        }
    }
}

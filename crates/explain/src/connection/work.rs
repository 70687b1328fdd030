//! Who computes what in a connection.

use ciphertax_base::{AuthenticationFacts, LoginPath, SessionFacts, TlsFacts, Verified};
use ciphertax_records::ConnectionWork;

const NOTHING: &str = "nothing";

/// The steps that take cryptography, in order.
pub(super) fn work(facts: &SessionFacts, certificates: usize, over_socket: bool) -> Vec<ConnectionWork> {
    let mut work = Vec::new();
    if let Some(tls) = &facts.tls {
        work.extend(key_exchange(tls));
        work.extend(server_proof(tls, certificates));
    }
    let carrier = match (&facts.tls, over_socket) {
        (Some(_), _) => Carrier::Tls,
        (None, true) => Carrier::Socket,
        (None, false) => Carrier::Plaintext,
    };
    work.push(login(&facts.authentication, carrier));
    if let Some(tls) = &facts.tls {
        work.push(step(
            format!("records, {}", tls.cipher),
            "encrypts what it sends, decrypts what it receives",
            "the same",
        ));
    }
    work
}

/// What a login goes over.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Carrier {
    Tls,
    /// A Unix socket, without TLS.
    Socket,
    /// TCP, without TLS.
    Plaintext,
}

fn step(step: impl Into<String>, client: impl Into<String>, server: impl Into<String>) -> ConnectionWork {
    ConnectionWork {
        step: step.into(),
        client: client.into(),
        server: server.into(),
    }
}

fn key_exchange(tls: &TlsFacts) -> Option<ConnectionWork> {
    let is_13 = tls.version == "TLSv1.3";
    if tls.resumed && !is_13 {
        return Some(step(
            "TLS session resumed",
            "derives keys from the earlier session",
            "the same",
        ));
    }
    if sends_secret(tls) {
        // RFC 5246, 7.4.7.1: the only key exchange in which the server decrypts.
        return Some(step(
            "key exchange, RSA",
            "encrypts a secret by the server's key",
            format!("decrypts it by its key ({})", tls.certificate.key),
        ));
    }
    let group = match tls.group.as_str() {
        "" => "a group that the library does not name",
        group => group,
    };
    let (client, server) = match MlKem::of(group) {
        None => (
            "makes a key pair and a shared secret",
            "makes a key pair and a shared secret",
        ),
        // FIPS 203: whoever made the key pair decapsulates what the other has encapsulated by its public half.
        Some(MlKem::Alone) => (
            "makes an ML-KEM key pair, and decapsulates the shared secret",
            "encapsulates the shared secret by the client's ML-KEM key",
        ),
        Some(MlKem::Beside) => (
            "makes an elliptic and an ML-KEM key pair, a shared secret, and decapsulates another",
            "makes an elliptic key pair and a shared secret, and encapsulates another by the client's ML-KEM key",
        ),
    };
    let client = match tls.hello_retry_request {
        true => format!("makes a key pair that the server does not take (HelloRetryRequest); then {client}"),
        false => client.to_owned(),
    };
    Some(step(format!("key exchange, {group}"), client, server))
}

/// How a group uses ML-KEM.
enum MlKem {
    Alone,
    /// Beside a curve.
    Beside,
}

impl MlKem {
    /// By the names of the registry of IANA: `MLKEM768`, `X25519MLKEM768`.
    fn of(group: &str) -> Option<Self> {
        match group.to_ascii_uppercase().find("MLKEM")? {
            0 => Some(Self::Alone),
            _ => Some(Self::Beside),
        }
    }
}

/// True where the client sends a secret that the server decrypts: in suites before TLS 1.3 whose name has no exchange of keys
/// by Diffie-Hellman.
pub(super) fn sends_secret(tls: &TlsFacts) -> bool {
    tls.version != "TLSv1.3" && !tls.cipher.contains("DH") && !tls.cipher.starts_with("PSK")
}

fn server_proof(tls: &TlsFacts, certificates: usize) -> Option<ConnectionWork> {
    if tls.resumed {
        return None;
    }
    let key = &tls.certificate.key;
    let signs = match sends_secret(tls) {
        true => NOTHING.to_owned(),
        false => format!("signs by its key ({key})"),
    };
    let chain = match certificates {
        1 => "its certificate".to_owned(),
        count => format!("a chain of {count} certificates"),
    };
    let verifies = match (tls.verification, signs == NOTHING) {
        (Verified::None, true) => "verifies nothing".to_owned(),
        (Verified::None, false) => "verifies the signature, but not the certificate".to_owned(),
        (_, true) => format!("verifies {chain}"),
        (_, false) => format!("verifies the signature and {chain}"),
    };
    Some(step("server's proof", verifies, signs))
}

/// By the server's names for methods; what each computes is said by its documentation.
fn login(login: &AuthenticationFacts, carrier: Carrier) -> ConnectionWork {
    let is_sha256 = login.method == "sha256_password";
    let (sends, receives) = match carrier {
        Carrier::Tls => ("sends the password through TLS", "hashes the password"),
        // Of a socket, which nobody can listen to, caching_sha2_password thinks as of TLS.
        Carrier::Socket if !is_sha256 => ("sends the password as it is", "hashes the password"),
        Carrier::Socket | Carrier::Plaintext => (
            "encrypts the password by the server's RSA key",
            "decrypts the password by its RSA key, and hashes it",
        ),
    };
    let hashes = |how: &str| format!("{receives} by 5,000 rounds of SHA-256{how}");
    let (client, server) = match (login.method.as_str(), login.path) {
        ("caching_sha2_password", LoginPath::Full) => (sends, hashes(" (its default), and remembers it")),
        ("sha256_password", _) => (sends, hashes(", at every login")),
        _ => {
            let (client, server) = other_login(login);
            (client, server.to_owned())
        }
    };
    step(format!("login, {}", login.words()), client, server)
}

/// Of methods that compute the same whatever carries them.
fn other_login(login: &AuthenticationFacts) -> (&'static str, &'static str) {
    match (login.method.as_str(), login.path) {
        ("mysql_native_password", _) => ("three SHA-1 hashes", "two SHA-1 hashes"),
        ("caching_sha2_password", _) => ("three SHA-256 hashes", "two SHA-256 hashes, from its cache"),
        ("client_ed25519" | "ed25519", _) => ("signs a challenge (Ed25519)", "verifies the signature"),
        ("parsec", _) => (
            "derives a key (PBKDF2), signs a challenge (Ed25519)",
            "verifies the signature",
        ),
        ("unix_socket" | "auth_socket" | "peer", _) => (NOTHING, "asks the kernel who connects"),
        ("SCRAM-SHA-1" | "SCRAM-SHA-256" | "SCRAM-SHA-256-PLUS", LoginPath::Derived) => (
            "derives its keys from the password by thousands of rounds (PBKDF2)",
            "a few HMACs by the keys it keeps",
        ),
        ("SCRAM-SHA-1" | "SCRAM-SHA-256" | "SCRAM-SHA-256-PLUS", _) => (
            "a few HMACs by keys it has kept",
            "a few HMACs by the keys it keeps",
        ),
        ("MONGODB-X509" | "cert", _) => (
            "signs by its own key, in the TLS handshake",
            "verifies that signature and the client's certificate",
        ),
        ("password", _) => (
            "sends the password as it is",
            "derives from it what it keeps: thousands of rounds for a SCRAM password",
        ),
        ("md5", _) => ("two MD5 hashes", "one MD5 hash"),
        ("none" | "trust", _) => (NOTHING, NOTHING),
        _ => ("what the method asks", "what the method asks"),
    }
}

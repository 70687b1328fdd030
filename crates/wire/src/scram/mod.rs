//! SCRAM, the login by a password that is not sent (RFC 5802, RFC 7677), in MongoDB's way
//! (<https://github.com/mongodb/specifications/blob/master/source/auth/auth.md>) and in PostgreSQL's
//! (<https://www.postgresql.org/docs/current/sasl-authentication.html>).
//!
//! Written here over OpenSSL's primitives: of the crates for it, `scram` was last released in 2019 and knows neither
//! SHA-1 nor keys that are kept, `postgres-protocol` knows no keys that are kept either, and none lets the derivation,
//! which is nearly all of a login's cost, be timed apart.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ciphertax_base::{LoginPath, Secret};
use ciphertax_model::AuthenticationMethod;
use openssl::error::ErrorStack;
use openssl::hash::{MessageDigest, hash};
use openssl::memcmp;
use openssl::pkcs5::pbkdf2_hmac;
use openssl::pkey::PKey;
use openssl::rand::rand_bytes;
use openssl::sign::Signer;

use crate::error::{Result, WireError};
use crate::trace::thread_cpu_ns;

/// Derived keys that are kept at most; the oldest make room.
const MOST_KEPT: usize = 256;

/// Where logins take the keys from that are derived from a password.
#[derive(Debug, Clone)]
pub enum ScramKeys {
    /// Every login derives them anew.
    Derived,
    /// The first login of an account derives them, and they are kept for the next, as drivers do.
    Kept(Arc<KeptKeys>),
}

/// Keys that were derived, shared by all connections that log in and locked while one takes or brings some.
#[derive(Default)]
pub struct KeptKeys(Mutex<Vec<Kept>>);

struct Kept {
    rules: Rules,
    mechanism: Mechanism,
    user: String,
    realm: String,
    password: Secret,
    salt: Vec<u8>,
    iterations: usize,
    keys: Keys,
}

/// What is derived from a password. Whoever has it can log in and pass for the server.
#[derive(Clone)]
struct Keys {
    client: Vec<u8>,
    server: Vec<u8>,
}

impl ScramKeys {
    /// Keys are kept, none so far.
    pub fn kept() -> Self {
        Self::Kept(Arc::default())
    }

    /// True if the next login of `account` need not derive them.
    pub(crate) fn has(&self, account: Account<'_>) -> bool {
        match self {
            Self::Derived => false,
            Self::Kept(kept) => kept.lock().iter().any(|kept| kept.account() == account),
        }
    }
}

impl KeptKeys {
    fn find(&self, account: Account<'_>, salt: &[u8], iterations: usize) -> Option<Keys> {
        let kept = self.lock();
        let found = kept
            .iter()
            .find(|kept| kept.iterations == iterations && kept.salt == salt && kept.account() == account);
        found.map(|kept| kept.keys.clone())
    }

    fn keep(&self, account: Account<'_>, salt: &[u8], iterations: usize, keys: &Keys) {
        let new = Kept {
            rules: account.rules,
            mechanism: account.mechanism,
            user: account.user.to_owned(),
            realm: account.realm.to_owned(),
            password: account.password.clone(),
            salt: salt.to_vec(),
            iterations,
            keys: keys.clone(),
        };
        let mut kept = self.lock();
        if kept.len() == MOST_KEPT {
            kept.remove(0);
        }
        kept.push(new);
    }

    /// A panic elsewhere leaves nothing half done here.
    fn lock(&self) -> MutexGuard<'_, Vec<Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for KeptKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl Kept {
    fn account(&self) -> Account<'_> {
        Account {
            rules: self.rules,
            mechanism: self.mechanism,
            user: &self.user,
            realm: &self.realm,
            password: &self.password,
        }
    }
}

fn derive(account: Account<'_>, salt: &[u8], iterations: usize) -> Result<Keys> {
    let mechanism = account.mechanism;
    let password = prepared(account)?;
    let mut salted = vec![0; mechanism.digest().size()];
    pbkdf2_hmac(
        password.as_bytes(),
        salt,
        iterations,
        mechanism.digest(),
        &mut salted,
    )
    .map_err(broken)?;
    Ok(Keys {
        client: mechanism.hmac(&salted, b"Client Key")?,
        server: mechanism.hmac(&salted, b"Server Key")?,
    })
}

/// The password as the mechanism salts it: by SHA-1 it is the one of MongoDB's first mechanism, a digest of user and
/// password in hexadecimal; by SHA-256 it goes through SASLprep (RFC 4013).
fn prepared(account: Account<'_>) -> Result<Cow<'_, str>> {
    let password = account.password.expose();
    match account.mechanism {
        Mechanism::ScramSha1 => {
            let text = format!("{}:mongo:{password}", account.user);
            let digest = hash(MessageDigest::md5(), text.as_bytes()).map_err(broken)?;
            Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
        }
        Mechanism::ScramSha256 => match stringprep::saslprep(password) {
            Ok(prepared) => Ok(prepared),
            Err(_) if account.rules.takes_any_password => Ok(Cow::Borrowed(password)),
            Err(_) => Err(WireError::Authentication(
                "the password has characters that SCRAM-SHA-256 does not allow".into(),
            )),
        },
    }
}

/// Random bytes of the client's nonce.
const NONCE: usize = 24;

/// A login in progress: two messages to the server, two from it.
pub(crate) struct Exchange<'a> {
    account: Account<'a>,
    keys: &'a ScramKeys,
    binding: Binding,
    nonce: String,
    pub(crate) path: LoginPath,
    pub(crate) iterations: Option<u32>,
    /// What proves that the server knows the password too.
    expected_signature: Vec<u8>,
    pub(crate) cpu_ns: u64,
}

impl<'a> Exchange<'a> {
    pub(crate) fn new(account: Account<'a>, keys: &'a ScramKeys, binding: Binding) -> Result<Self> {
        let mut nonce = [0; NONCE];
        rand_bytes(&mut nonce).map_err(broken)?;
        let nonce = BASE64_STANDARD.encode(nonce);
        Ok(Self::with_nonce(account, keys, binding, nonce))
    }

    fn with_nonce(account: Account<'a>, keys: &'a ScramKeys, binding: Binding, nonce: String) -> Self {
        Self {
            account,
            keys,
            binding,
            nonce,
            path: LoginPath::Derived,
            iterations: None,
            expected_signature: Vec::new(),
            cpu_ns: 0,
        }
    }

    /// The client's first message.
    pub(crate) fn first_message(&self) -> String {
        format!("{}{}", self.binding.header(), self.first_bare())
    }

    /// The client's answer to the server's first message.
    pub(crate) fn final_message(&mut self, server_first: &[u8]) -> Result<String> {
        let began = thread_cpu_ns();
        let fewest = self.account.rules.fewest_iterations;
        let challenge = Challenge::parse(server_first, &self.nonce, fewest)?;
        self.iterations = Some(challenge.iterations as u32);
        let keys = self.keys_for(&challenge)?;
        let without_proof = format!("c={},r={}", self.binding.encoded(), challenge.nonce);
        let signed = format!("{},{},{without_proof}", self.first_bare(), challenge.text);
        let mechanism = self.account.mechanism;
        let stored = hash(mechanism.digest(), &keys.client).map_err(broken)?;
        let mut proof = mechanism.hmac(&stored, signed.as_bytes())?;
        for (byte, key) in proof.iter_mut().zip(&keys.client) {
            *byte ^= key;
        }
        self.expected_signature = mechanism.hmac(&keys.server, signed.as_bytes())?;
        self.cpu_ns += thread_cpu_ns() - began;
        Ok(format!("{without_proof},p={}", BASE64_STANDARD.encode(proof)))
    }

    /// Checks the server's last message.
    pub(crate) fn verify(&self, server_final: &[u8]) -> Result<()> {
        if let Some(problem) = server_final.strip_prefix(b"e=") {
            let problem = String::from_utf8_lossy(problem).into_owned();
            return Err(WireError::Authentication(problem));
        }
        let signature = server_final
            .strip_prefix(b"v=")
            .and_then(|text| BASE64_STANDARD.decode(text).ok())
            .ok_or_else(|| {
                WireError::Authentication(
                    "the server ended it without its signature, so it has not shown that it knows the password: it may \
                     not be the one that was meant, or somebody is between"
                        .into(),
                )
            })?;
        // The comparison takes two texts of one length.
        if signature.len() == self.expected_signature.len()
            && memcmp::eq(&signature, &self.expected_signature)
        {
            Ok(())
        } else {
            Err(WireError::Authentication(
                "the server's signature is wrong, so it does not know the password: it is not the one that was meant, or \
                 somebody is between"
                    .into(),
            ))
        }
    }

    fn first_bare(&self) -> String {
        let user = match self.account.rules.names_user {
            true => self.account.user.replace('=', "=3D").replace(',', "=2C"),
            false => String::new(),
        };
        format!("n={user},r={}", self.nonce)
    }

    fn keys_for(&mut self, challenge: &Challenge<'_>) -> Result<Keys> {
        let (account, salt, iterations) = (self.account, &challenge.salt, challenge.iterations);
        let ScramKeys::Kept(kept) = self.keys else {
            return derive(account, salt, iterations);
        };
        if let Some(keys) = kept.find(account, salt, iterations) {
            self.path = LoginPath::Cached;
            return Ok(keys);
        }
        let keys = derive(account, salt, iterations)?;
        kept.keep(account, salt, iterations, &keys);
        Ok(keys)
    }
}

/// Who logs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Account<'a> {
    pub(crate) rules: Rules,
    pub(crate) mechanism: Mechanism,
    pub(crate) user: &'a str,
    /// The database that knows the user; empty where there is but one place.
    pub(crate) realm: &'a str,
    pub(crate) password: &'a Secret,
}

/// What databases have different.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rules {
    /// Iterations that a login asks for at least.
    pub(crate) fewest_iterations: usize,
    /// True where the client's first message says who logs in. Else the server knows it already and does not look.
    pub(crate) names_user: bool,
    /// True where a password that SASLprep forbids is taken as it is.
    pub(crate) takes_any_password: bool,
}

/// What ties a login to the TLS session that it goes over (RFC 5802, section 6).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Binding {
    /// Nothing.
    None,
    /// Nothing, because the server does not offer it; one that did learns that somebody between has left it out.
    NotOffered,
    /// The hash of the server's certificate (RFC 5929, section 4).
    EndPoint(Vec<u8>),
}

impl Binding {
    /// How the client's first message begins (RFC 5802, section 7).
    fn header(&self) -> &'static str {
        match self {
            Self::None => "n,,",
            Self::NotOffered => "y,,",
            Self::EndPoint(_) => "p=tls-server-end-point,,",
        }
    }

    /// Header and hash, as the last message repeats them.
    fn encoded(&self) -> String {
        let mut input = self.header().as_bytes().to_vec();
        if let Self::EndPoint(hash) = self {
            input.extend_from_slice(hash);
        }
        BASE64_STANDARD.encode(input)
    }
}

/// Iterations that a login may ask for at most: a thread is busy with so many for about half a second. MongoDB's default
/// is 15,000, PostgreSQL's 4,096.
const MOST_ITERATIONS: usize = 1_000_000;
/// Bytes of a salt at most; MongoDB's have 16 and 28, PostgreSQL's 16.
const LONGEST_SALT: usize = 256;

/// The server's first message.
struct Challenge<'a> {
    text: &'a str,
    nonce: &'a str,
    salt: Vec<u8>,
    iterations: usize,
}

impl<'a> Challenge<'a> {
    fn parse(message: &'a [u8], client_nonce: &str, fewest_iterations: usize) -> Result<Self> {
        let wrong = |what: &str| WireError::protocol(format!("a challenge {what}"));
        let text = str::from_utf8(message).map_err(|_| wrong("that is no text"))?;
        let mut fields = text.split(',');
        let mut field = |name: &str| fields.next().and_then(|field| field.strip_prefix(name));
        let (Some(nonce), Some(salt), Some(iterations)) = (field("r="), field("s="), field("i=")) else {
            return Err(wrong("without nonce, salt and iterations"));
        };
        if !nonce.starts_with(client_nonce) || nonce.len() == client_nonce.len() {
            return Err(wrong("whose nonce does not continue the client's"));
        }
        let salt = BASE64_STANDARD.decode(salt).unwrap_or_default();
        if !(1..=LONGEST_SALT).contains(&salt.len()) {
            return Err(wrong("with a salt that is none"));
        }
        let iterations = iterations.parse().unwrap_or(0);
        if !(fewest_iterations..=MOST_ITERATIONS).contains(&iterations) {
            return Err(wrong(&format!(
                "that asks for {iterations} iterations; {fewest_iterations} to {MOST_ITERATIONS} are done"
            )));
        }
        Ok(Self {
            text,
            nonce,
            salt,
            iterations,
        })
    }
}

/// SCRAM with one of its hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mechanism {
    /// RFC 5802, over the MD5 of user and password, as MongoDB has it.
    ScramSha1,
    /// RFC 7677.
    ScramSha256,
}

impl Mechanism {
    /// The method that it is.
    pub fn method(self) -> AuthenticationMethod {
        match self {
            Self::ScramSha1 => AuthenticationMethod::ScramSha1,
            Self::ScramSha256 => AuthenticationMethod::ScramSha256,
        }
    }

    fn digest(self) -> MessageDigest {
        match self {
            Self::ScramSha1 => MessageDigest::sha1(),
            Self::ScramSha256 => MessageDigest::sha256(),
        }
    }

    fn hmac(self, key: &[u8], message: &[u8]) -> Result<Vec<u8>> {
        let sign = || {
            let key = PKey::hmac(key)?;
            Signer::new(self.digest(), &key)?.sign_oneshot_to_vec(message)
        };
        sign().map_err(broken)
    }
}

/// What OpenSSL could not do, as an error of a login.
fn broken(error: ErrorStack) -> WireError {
    WireError::Authentication(format!("OpenSSL cannot do what SCRAM needs: {error}"))
}

//! SCRAM, the login by a password that is not sent (RFC 5802, RFC 7677), in MongoDB's way
//! (<https://github.com/mongodb/specifications/blob/master/source/auth/auth.md>) and in PostgreSQL's
//! (<https://www.postgresql.org/docs/current/sasl-authentication.html>).
//!
//! Written here over OpenSSL's primitives: of the crates for it, `scram` was last released in 2019 and knows neither
//! SHA-1 nor keys that are kept, `postgres-protocol` knows no keys that are kept either, and none lets the derivation,
//! which is nearly all of a login's cost, be timed apart.

mod exchange;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ciphertax_model::Secret;
use openssl::hash::{MessageDigest, hash};
use openssl::pkcs5::pbkdf2_hmac;

use crate::error::WireError;
use exchange::broken;

pub use exchange::Mechanism;
pub(crate) use exchange::{Account, Binding, Exchange, Rules};

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
struct KeptKeys(Mutex<Vec<Kept>>);

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

fn derive(account: Account<'_>, salt: &[u8], iterations: usize) -> Result<Keys, WireError> {
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
fn prepared(account: Account<'_>) -> Result<Cow<'_, str>, WireError> {
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

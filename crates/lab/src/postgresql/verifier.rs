//! What a server keeps of a password, made by the client: so the password itself never reaches the server's statements
//! and logs, and the keys of SCRAM have as many iterations as an account is to have, whatever the server's setting.

use ciphertax_model::Secret;
use openssl::base64::encode_block;
use openssl::error::ErrorStack;
use openssl::hash::{MessageDigest, hash};
use openssl::pkcs5::pbkdf2_hmac;
use openssl::pkey::PKey;
use openssl::sha::sha256;
use openssl::sign::Signer;

use crate::files::hexadecimal;

/// Iterations of SCRAM unless an account asks for others: PostgreSQL's own.
pub(crate) const SCRAM_ITERATIONS: u32 = 4096;

/// Random bytes in the salt of SCRAM, as many as PostgreSQL takes.
const SALT_BYTES: usize = 16;

/// Bytes of a key of SCRAM-SHA-256.
const KEY_BYTES: usize = 32;

/// `SCRAM-SHA-256$ITERATIONS:SALT$STORED KEY:SERVER KEY` (RFC 5803's contents in PostgreSQL's form), with a random salt.
pub(crate) fn scram(password: &Secret, iterations: u32) -> Result<String, ErrorStack> {
    let mut salt = [0; SALT_BYTES];
    openssl::rand::rand_bytes(&mut salt)?;
    scram_with_salt(password, iterations, &salt)
}

/// RFC 5802, section 3. Passwords of ciphertax are of ASCII, which SASLprep leaves as it is.
fn scram_with_salt(password: &Secret, iterations: u32, salt: &[u8]) -> Result<String, ErrorStack> {
    let mut salted = [0; KEY_BYTES];
    let sha256_digest = MessageDigest::sha256();
    // Far below what either takes.
    let rounds = iterations as usize;
    pbkdf2_hmac(
        password.expose().as_bytes(),
        salt,
        rounds,
        sha256_digest,
        &mut salted,
    )?;
    let stored_key = sha256(&hmac(&salted, b"Client Key")?);
    let server_key = hmac(&salted, b"Server Key")?;
    Ok(format!(
        "SCRAM-SHA-256${iterations}:{}${}:{}",
        encode_block(salt),
        encode_block(&stored_key),
        encode_block(&server_key)
    ))
}

/// `md5` and MD5(password and user) in hexadecimal.
pub(super) fn md5(user: &str, password: &Secret) -> Result<String, ErrorStack> {
    let salted = format!("{}{user}", password.expose());
    let digest = hash(MessageDigest::md5(), salted.as_bytes())?;
    Ok(format!("md5{}", hexadecimal(&digest)))
}

fn hmac(key: &[u8], text: &[u8]) -> Result<Vec<u8>, ErrorStack> {
    let key = PKey::hmac(key)?;
    let mut signer = Signer::new(MessageDigest::sha256(), &key)?;
    signer.update(text)?;
    signer.sign_to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 7677: its server signature and client proof follow from these keys.
    #[test]
    fn the_keys_of_scram_are_those_of_the_standard() {
        let salt = openssl::base64::decode_block("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
        assert_eq!(
            scram_with_salt(&Secret::new("pencil"), 4096, &salt).unwrap(),
            "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$\
             WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
        );
    }

    #[test]
    fn every_verifier_has_a_salt_of_its_own() {
        let password = Secret::new("123");
        assert_ne!(scram(&password, 1).unwrap(), scram(&password, 1).unwrap());
    }

    /// `md5sum` of `123alice`.
    #[test]
    fn the_hash_of_md5_is_the_servers_own() {
        let hash = md5("alice", &Secret::new("123")).unwrap();
        assert_eq!(hash, "md50b858e6d2f822778434e63f0c8ee6c89");
    }
}

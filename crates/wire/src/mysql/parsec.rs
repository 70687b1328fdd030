//! MariaDB's PARSEC (<https://mariadb.com/docs/server/reference/plugins/authentication-plugins/authentication-plugin-parsec>): a key
//! that is derived from the password signs challenges of both sides.

use ciphertax_base::Secret;
use openssl::error::ErrorStack;
use openssl::hash::MessageDigest;
use openssl::pkcs5::pbkdf2_hmac;
use openssl::pkey::{Id, PKey};
use openssl::rand::rand_bytes;
use openssl::sign::Signer;

use crate::error::{Result, WireError};

/// Bytes of either side's challenge, and of the salt.
const CHALLENGE: usize = 32;
const SALT: usize = 18;
/// Rounds of PBKDF2 for the factor 0; each one more doubles them, up to this.
const ROUNDS: usize = 1024;
const MOST: u8 = 3;

/// The answer to the salt that the server sends after its challenge: a challenge of the client's own, and the signature of both.
pub(super) fn sign(password: &Secret, challenge: &[u8], salt: &[u8]) -> Result<Vec<u8>> {
    let (factor, salt) = match salt {
        [b'P', factor @ ..=MOST, salt @ ..] if salt.len() == SALT && challenge.len() == CHALLENGE => {
            (*factor, salt)
        }
        _ => {
            return Err(WireError::protocol(
                "a challenge or a salt of PARSEC that is none",
            ));
        }
    };
    let signed = || -> Result<Vec<u8>, ErrorStack> {
        let mut seed = [0; 32];
        let (password, digest) = (password.expose().as_bytes(), MessageDigest::sha512());
        pbkdf2_hmac(password, salt, ROUNDS << factor, digest, &mut seed)?;
        let key = PKey::private_key_from_raw_bytes(&seed, Id::ED25519)?;
        let mut both = [challenge, &[0; CHALLENGE]].concat();
        rand_bytes(&mut both[CHALLENGE..])?;
        let signature = Signer::new_without_digest(&key)?.sign_oneshot_to_vec(&both)?;
        Ok([&both[CHALLENGE..], &signature].concat())
    };
    signed().map_err(|error| WireError::Authentication(format!("PARSEC cannot be computed: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_challenge_or_no_salt_is_refused() {
        let sign = |challenge: usize, salt: &[u8]| sign(&Secret::new("pw"), &vec![7; challenge], salt);
        let salt = |kind: u8, factor: u8, length: usize| [&[kind, factor][..], &vec![9; length]].concat();
        assert_eq!(sign(32, &salt(b'P', 0, 18)).unwrap().len(), 96);
        for (challenge, salt) in [
            (31, salt(b'P', 0, 18)),
            (32, salt(b'Q', 0, 18)),
            (32, salt(b'P', 4, 18)),
            (32, salt(b'P', 255, 18)),
            (32, salt(b'P', 0, 17)),
            (32, salt(b'P', 0, 1000)),
            (32, vec![b'P']),
        ] {
            assert!(matches!(sign(challenge, &salt), Err(WireError::Protocol(_))));
        }
    }
}

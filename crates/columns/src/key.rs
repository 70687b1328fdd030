//! Keys: given, derived, and told from each other.

use std::fmt;

use openssl::error::ErrorStack;
use openssl::hash::MessageDigest;
use openssl::md::Md;
use openssl::pkey::{Id, PKey};
use openssl::pkey_ctx::PkeyCtx;
use openssl::sign::Signer;
use zeroize::Zeroize;

use crate::cell::{KeyError, hexadecimal};

/// The key that all data keys are derived from. It is never printed, and wiped from memory when it goes.
#[derive(Clone, PartialEq, Eq)]
pub struct MasterKey([u8; 16]);

impl MasterKey {
    /// The environment variable that a master key is read from, as 32 hexadecimal digits.
    pub const VARIABLE: &'static str = "CIPHERTAX_COLUMN_KEY";

    /// From 32 hexadecimal digits.
    ///
    /// # Errors
    /// When it is anything else.
    pub fn from_hex(digits: &str) -> Result<Self, KeyError> {
        let malformed = |what: String| Err(KeyError::Malformed(what));
        let count = digits.chars().count();
        if count != 32 {
            return malformed(format!("{count} characters long"));
        }
        let mut key = Self([0; 16]);
        let (pairs, _) = digits.as_bytes().as_chunks();
        for (byte, [high, low]) in key.0.iter_mut().zip(pairs) {
            let (Some(high), Some(low)) = (value(*high), value(*low)) else {
                return malformed("32 characters, of which some are no such digits".to_owned());
            };
            *byte = high << 4 | low;
        }
        Ok(key)
    }

    /// A random one.
    ///
    /// # Errors
    /// When the system has no randomness.
    pub fn random() -> Result<Self, KeyError> {
        let mut key = Self([0; 16]);
        openssl::rand::rand_priv_bytes(&mut key.0)
            .map_err(|error| KeyError::Unavailable(format!("no random master key: {error}")))?;
        Ok(key)
    }

    /// The bytes, for the derivation of data keys.
    pub fn bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MasterKey(…)")
    }
}

impl Drop for MasterKey {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

/// The value of a hexadecimal digit.
fn value(digit: u8) -> Option<u8> {
    char::from(digit)
        .to_digit(16)
        .and_then(|value| u8::try_from(value).ok())
}

/// Fills `derived` by HKDF-SHA-512 (RFC 5869) of the master key, for what `info` says.
pub(crate) fn derive(key: &MasterKey, info: &str, derived: &mut [u8]) -> Result<(), KeyError> {
    let mut derive = || {
        let mut context = PkeyCtx::new_id(Id::HKDF)?;
        context.derive_init()?;
        context.set_hkdf_md(Md::sha512())?;
        context.set_hkdf_key(key.bytes())?;
        context.add_hkdf_info(info.as_bytes())?;
        context.derive(Some(derived))?;
        Ok(())
    };
    derive().map_err(|error: ErrorStack| KeyError::Unavailable(error.to_string()))
}

impl MasterKey {
    /// 16 hexadecimal digits of an HMAC-SHA-256 of a text by this key: the same for the same key and text, and no way back to the
    /// key.
    ///
    /// # Errors
    /// When the library fails.
    pub fn fingerprint(&self, text: &str) -> Result<String, KeyError> {
        let failed = |error: openssl::error::ErrorStack| KeyError::Unavailable(error.to_string());
        let key = PKey::hmac(self.bytes()).map_err(failed)?;
        let mut signer = Signer::new(MessageDigest::sha256(), &key).map_err(failed)?;
        signer.update(b"ciphertax fingerprint\0").map_err(failed)?;
        signer.update(text.as_bytes()).map_err(failed)?;
        let mac = signer.sign_to_vec().map_err(failed)?;
        Ok(hexadecimal(&mac[..8]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGITS: &str = "00112233445566778899aabbccDDEEFF";

    #[test]
    fn a_key_is_32_hexadecimal_digits() {
        let key = MasterKey::from_hex(DIGITS).unwrap();
        let wanted: Vec<u8> = (0..16).map(|digit| digit << 4 | digit).collect();
        assert_eq!(key.bytes().as_slice(), wanted);
        for other in ["", "0011", &DIGITS[1..], &format!("{DIGITS}0"), &"é".repeat(16)] {
            assert!(MasterKey::from_hex(other).is_err(), "{other}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_key_does_not_print_it() {
        for wrong in [
            "correct horse battery",
            &DIGITS.replace('3', "x"),
            &"é".repeat(32),
        ] {
            let error = MasterKey::from_hex(wrong).unwrap_err();
            let printed = format!("{error} {error:?}");
            assert!(!printed.contains(&wrong[..8]), "{printed}");
        }
        let key = MasterKey::from_hex(DIGITS).unwrap();
        assert_eq!(format!("{key:?}"), "MasterKey(…)");
    }

    #[test]
    fn random_keys_differ() {
        assert!(MasterKey::random().unwrap() != MasterKey::random().unwrap());
    }

    #[test]
    fn a_fingerprint_tells_keys_and_texts_apart_and_shows_neither() {
        let one = MasterKey::from_hex("00112233445566778899aabbccddeeff").unwrap();
        let other = MasterKey::from_hex("00112233445566778899aabbccddeefe").unwrap();
        let fingerprint = one.fingerprint("payload").unwrap();
        assert_eq!(fingerprint.len(), 16);
        assert_eq!(fingerprint, one.fingerprint("payload").unwrap());
        assert_ne!(fingerprint, one.fingerprint("keys").unwrap());
        assert_ne!(fingerprint, other.fingerprint("payload").unwrap());
    }
}

//! By what a key is told from another, without a word of it.

use openssl::hash::MessageDigest;
use openssl::pkey::PKey;
use openssl::sign::Signer;

use crate::error::KeyError;
use crate::hexadecimal::hexadecimal;
use crate::key::MasterKey;

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

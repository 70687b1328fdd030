//! The public key of a server, in PEM.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use openssl::error::ErrorStack;
use openssl::md::Md;
use openssl::pkey::{PKey, Public};
use openssl::pkey_ctx::PkeyCtx;
use openssl::rsa::Padding;

use super::error::ExchangeError;
use super::suite::Suite;

/// What stands around a key.
const AROUND: [&str; 2] = ["-----BEGIN PUBLIC KEY-----", "-----END PUBLIC KEY-----"];

/// Bits of a modulus of RSA. Shorter ones are broken, with longer ones a server could keep clients busy.
const RSA_BITS: std::ops::RangeInclusive<u32> = 2048..=8192;

/// How a SubjectPublicKeyInfo begins whose key is a point on the curve SM2 with both coordinates: `id-ecPublicKey`, `sm2`.
const SM2: &[u8] = &[
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x81,
    0x1c, 0xcf, 0x55, 0x01, 0x82, 0x2d, 0x03, 0x42, 0x00, 0x04,
];

/// The public key of a server, of the kind that its suite says.
pub(super) struct PublicKey(PKey<Public>);

impl PublicKey {
    pub(super) fn parse(pem: &str, suite: Suite) -> Result<Self, ExchangeError> {
        let wrong = |what: &str| ExchangeError::Key(what.to_owned());
        // Not by the library's own reader of PEM: of an encrypted one it would ask the terminal for a password.
        let inside = pem
            .split_once(AROUND[0])
            .and_then(|(_, rest)| rest.split_once(AROUND[1]));
        let (inside, _) = inside.ok_or_else(|| wrong("is not in PEM (BEGIN PUBLIC KEY)"))?;
        let digits: String = inside.split_ascii_whitespace().collect();
        let der = STANDARD
            .decode(digits)
            .map_err(|_| wrong("is not Base64 in its PEM"))?;
        let key = PKey::public_key_from_der(&der).map_err(|_| wrong("cannot be read"))?;
        if suite.is_rsa() {
            let bits = key.rsa().map(|_| key.bits());
            let bits = bits.map_err(|_| ExchangeError::Key(format!("is none of RSA, as {suite} has it")))?;
            if !RSA_BITS.contains(&bits) {
                let (least, most) = RSA_BITS.into_inner();
                return Err(ExchangeError::Key(format!(
                    "has {bits} bits; expected {least} to {most}"
                )));
            }
        } else if !der.starts_with(SM2) {
            return Err(ExchangeError::Key(format!(
                "is no point on the curve SM2, as {suite} has it"
            )));
        }
        Ok(Self(key))
    }

    /// Encrypts a short text for whoever has the private key: by RSA-OAEP with SHA-256, or by SM2, whose ciphertext is in ASN.1.
    pub(super) fn encrypt(&self, suite: Suite, plaintext: &[u8]) -> Result<Vec<u8>, ErrorStack> {
        let mut context = PkeyCtx::new(&self.0)?;
        context.encrypt_init()?;
        if suite.is_rsa() {
            context.set_rsa_padding(Padding::PKCS1_OAEP)?;
            context.set_rsa_oaep_md(Md::sha256())?;
            context.set_rsa_mgf1_md(Md::sha256())?;
        }
        let mut ciphertext = Vec::new();
        context.encrypt_to_vec(plaintext, &mut ciphertext)?;
        Ok(ciphertext)
    }
}

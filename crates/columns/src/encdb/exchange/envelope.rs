//! The envelope that a master key travels in, the suites that say how it is closed, and the public key of its server.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use openssl::error::ErrorStack;
use openssl::md::Md;
use openssl::pkey::{PKey, Public};
use openssl::pkey_ctx::PkeyCtx;
use openssl::rsa::Padding;
use zeroize::Zeroizing;

use super::{ExchangeError, shown};
use crate::encdb::algorithm::{Algorithm, BLOCK, BlockCipher, Derivation, Encryptor, Mode};
use crate::key::MasterKey;

/// What a server opens envelopes with, and derives data keys by. What its cells are encrypted with is asked for apart from that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Suite {
    /// RSA-OAEP, AES-128-CBC, SHA-256.
    RsaAesCbc,
    /// RSA-OAEP, AES-128-GCM, SHA-256.
    RsaAesGcm,
    /// SM2, SM4-CBC, SM3: PolarDB-X's.
    Sm2Sm4Cbc,
    /// SM2, SM4-GCM, SM3.
    Sm2Sm4Gcm,
}

impl Suite {
    /// All there are.
    pub const ALL: [Self; 4] = [Self::RsaAesCbc, Self::RsaAesGcm, Self::Sm2Sm4Cbc, Self::Sm2Sm4Gcm];

    /// The name by which servers and clients know it.
    pub fn name(self) -> &'static str {
        match self {
            Self::RsaAesCbc => "RSA_WITH_AES_128_CBC_SHA256",
            Self::RsaAesGcm => "RSA_WITH_AES_128_GCM_SHA256",
            Self::Sm2Sm4Cbc => "SM2_WITH_SM4_128_CBC_SM3",
            Self::Sm2Sm4Gcm => "SM2_WITH_SM4_128_GCM_SM3",
        }
    }

    /// How a server with this suite derives data keys.
    pub fn derivation(self) -> Derivation {
        match self.is_rsa() {
            true => Derivation::Sha256,
            false => Derivation::Sm3,
        }
    }

    /// True if the server's key is one of RSA, and not of SM2.
    pub(super) fn is_rsa(self) -> bool {
        matches!(self, Self::RsaAesCbc | Self::RsaAesGcm)
    }

    /// What encrypts the master key in an envelope.
    pub(super) fn algorithm(self) -> Algorithm {
        let (cipher, mode) = match self {
            Self::RsaAesCbc => (BlockCipher::Aes128, Mode::Cbc),
            Self::RsaAesGcm => (BlockCipher::Aes128, Mode::Gcm),
            Self::Sm2Sm4Cbc => (BlockCipher::Sm4, Mode::Cbc),
            Self::Sm2Sm4Gcm => (BlockCipher::Sm4, Mode::Gcm),
        };
        Algorithm { cipher, mode }
    }

    /// Their names, for an error.
    pub(super) fn known() -> String {
        Self::ALL.map(Self::name).join(", ")
    }
}

impl fmt::Display for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Suite {
    type Err = ExchangeError;

    fn from_str(name: &str) -> Result<Self, ExchangeError> {
        let found = Self::ALL.into_iter().find(|suite| suite.name() == name);
        found.ok_or_else(|| ExchangeError::Suite(shown(name)))
    }
}

/// What stands around a key.
const AROUND_A_KEY: [&str; 2] = ["-----BEGIN PUBLIC KEY-----", "-----END PUBLIC KEY-----"];

/// Bits of a modulus of RSA. Shorter ones are broken, with longer ones a server could keep clients busy.
const RSA_BITS: std::ops::RangeInclusive<u32> = 2048..=8192;

/// How a SubjectPublicKeyInfo begins whose key is a point on the curve SM2 with both coordinates: `id-ecPublicKey`, `sm2`.
const SM2: &[u8] = &[
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x81,
    0x1c, 0xcf, 0x55, 0x01, 0x82, 0x2d, 0x03, 0x42, 0x00, 0x04,
];

/// The public key of a server, in PEM, of the kind that its suite says.
pub(super) struct PublicKey(PKey<Public>);

impl PublicKey {
    pub(super) fn parse(pem: &str, suite: Suite) -> Result<Self, ExchangeError> {
        let wrong = |what: &str| ExchangeError::Key(what.to_owned());
        // Not by the library's own reader of PEM: of an encrypted one it would ask the terminal for a password.
        let inside = pem
            .split_once(AROUND_A_KEY[0])
            .and_then(|(_, rest)| rest.split_once(AROUND_A_KEY[1]));
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

/// What stands around the master key's digits.
const AROUND: [&[u8]; 2] = [b"{\"mek\":\"", b"\"}"];

/// Digits of a master key in Base64.
const DIGITS: usize = 24;

/// Puts a master key into an envelope that the private key alone opens. Nobody keeps the ephemeral key.
///
/// The envelope is
/// `length (2, lowest byte first) | ephemeral key under the server's | {"mek": "…"} under the ephemeral key`. The last is
/// `vector | tag | ciphertext`, with a vector of 12 bytes and a tag of 16 for GCM, and with a vector of 16 and no tag for CBC.
pub(super) fn seal(suite: Suite, server: &PublicKey, key: &MasterKey) -> Result<Vec<u8>, ErrorStack> {
    let mut ephemeral = Zeroizing::new([0; 16]);
    openssl::rand::rand_priv_bytes(ephemeral.as_mut_slice())?;
    let sealed = server.encrypt(suite, ephemeral.as_slice())?;
    let length = u16::try_from(sealed.len()).unwrap_or(u16::MAX);
    let mut vector = [0; 16];
    openssl::rand::rand_bytes(&mut vector)?;
    let algorithm = suite.algorithm();
    let vector = &vector[..algorithm.mode.vector_bytes()];
    let mut digits = Zeroizing::new([0; DIGITS]);
    // 16 bytes are 24 digits.
    let _ = STANDARD.encode_slice(key.bytes(), digits.as_mut_slice());
    let inside = AROUND[0].len() + DIGITS + AROUND[1].len();
    // Room for all of it at once: what grows leaves copies behind.
    let mut envelope = Vec::with_capacity(2 + sealed.len() + 16 + 16 + inside + 2 * BLOCK);
    envelope.extend_from_slice(&length.to_le_bytes());
    envelope.extend_from_slice(&sealed);
    envelope.extend_from_slice(vector);
    envelope.extend_from_slice(&[0; 16][..algorithm.mode.tag_bytes()]);
    let start = envelope.len();
    for part in [AROUND[0], digits.as_slice(), AROUND[1]] {
        envelope.extend_from_slice(part);
    }
    Encryptor::new(algorithm, &ephemeral)?.encrypt(vector, &mut envelope, start)?;
    Ok(envelope)
}

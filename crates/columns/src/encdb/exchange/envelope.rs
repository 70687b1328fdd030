//! The envelope that a master key travels in:
//! `length (2, lowest byte first) | ephemeral key under the server's | {"mek": "…"} under the ephemeral key`. The last is
//! `vector | tag | ciphertext`, with a vector of 12 bytes and a tag of 16 for GCM, and with a vector of 16 and no tag for CBC.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use openssl::error::ErrorStack;
use zeroize::Zeroizing;

use super::public_key::PublicKey;
use super::suite::Suite;
use crate::encdb::data_key::{BLOCK, Encryptor};
use crate::key::MasterKey;

/// What stands around the master key's digits.
const AROUND: [&[u8]; 2] = [b"{\"mek\":\"", b"\"}"];

/// Digits of a master key in Base64.
const DIGITS: usize = 24;

/// Puts a master key into an envelope that the private key alone opens. Nobody keeps the ephemeral key.
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

//! The bare key derivation of SCRAM-SHA-256 by OpenSSL, which a login cannot do without.

use std::hint::black_box;
use std::time::{Duration, Instant};

use ciphertax_observe::ThreadUsage;
use openssl::hash::MessageDigest;
use openssl::pkcs5::pbkdf2_hmac;

use crate::Result;

/// Characters of the accounts' passwords.
const PASSWORD: [u8; 32] = [b'p'; 32];
/// Bytes of a salt as MongoDB makes it for SCRAM-SHA-256.
const SALT: [u8; 28] = [7; 28];
/// Bytes of the derived key: one output of SHA-256.
const KEY: usize = 32;

/// CPU time of one derivation in microseconds: the mean of as many as this thread does in `duration`.
///
/// # Errors
/// OpenSSL's own.
pub fn measure_us(iterations: usize, duration: Duration) -> Result<f64> {
    let before = ThreadUsage::now();
    let deadline = Instant::now() + duration;
    let mut derivations = 0_u32;
    while Instant::now() < deadline {
        let mut key = [0; KEY];
        pbkdf2_hmac(&PASSWORD, &SALT, iterations, MessageDigest::sha256(), &mut key)?;
        black_box(key);
        derivations += 1;
    }
    let used = ThreadUsage::now().since(&before).cpu.total_ns;
    Ok(used as f64 / f64::from(derivations) / 1e3)
}

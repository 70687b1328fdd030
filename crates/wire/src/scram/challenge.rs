//! The server's first message.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use crate::error::WireError;

/// Iterations that a login may ask for at most: a thread is busy with so many for about half a second. MongoDB's default
/// is 15,000, PostgreSQL's 4,096.
const MOST_ITERATIONS: usize = 1_000_000;
/// Bytes of a salt at most; MongoDB's have 16 and 28, PostgreSQL's 16.
const LONGEST_SALT: usize = 256;

/// The server's first message.
pub(super) struct Challenge<'a> {
    pub(super) text: &'a str,
    pub(super) nonce: &'a str,
    pub(super) salt: Vec<u8>,
    pub(super) iterations: usize,
}

impl<'a> Challenge<'a> {
    pub(super) fn parse(
        message: &'a [u8],
        client_nonce: &str,
        fewest_iterations: usize,
    ) -> Result<Self, WireError> {
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

//! Proof of what servers that hold the same data tell each other: whether it travels in plaintext.

use ciphertax_records::{Proof, Witness};

use crate::capture::Capture;
use crate::error::{Error, Result};
use crate::proof::{ProofError, proof};
use crate::server::PrivateServer;

/// How often it is looked again where packets were missed: a machine may be busy for a moment.
const LOOKS: u32 = 3;

/// Proves that the members of a server encrypt what they tell each other, or do not, by a row that only a server puts together and
/// that all have to be told of: whoever looks between them can read it, or cannot. It is removed again.
///
/// # Errors
/// Names the arm, and what contradicts it or kept it from being tried.
pub fn prove(arm: &str, server: &PrivateServer, encrypted: bool) -> std::result::Result<Proof, ProofError> {
    let seen = look(server).map_err(|error| ProofError::NoSession {
        arm: arm.to_owned(),
        problem: error.to_string(),
    })?;
    seen.verdict(encrypted).map_err(|problem| ProofError::Disproved {
        arm: arm.to_owned(),
        problem,
    })
}

/// What was seen between them of a row.
struct Seen {
    row: bool,
    bytes: u64,
    members: usize,
}

fn look(server: &PrivateServer) -> Result<Seen> {
    for _ in 0..LOOKS {
        if let Some(seen) = look_once(server)? {
            return Ok(seen);
        }
    }
    Err(Error::MissedPackets)
}

/// `None` if the row was not seen, and perhaps only because not all was.
fn look_once(server: &PrivateServer) -> Result<Option<Seen>> {
    let halves = [half()?, half()?];
    let capture = Capture::start(server.namespace(), server.ports_between())?;
    let written = server.write_replicated([&halves[0], &halves[1]]);
    let captured = capture.stop();
    server.remove_canary()?;
    written?;
    let captured = captured?;
    let row = captured.saw(halves.concat().as_bytes());
    if !row && captured.misses_some() {
        return Ok(None);
    }
    Ok(Some(Seen {
        row,
        bytes: captured.bytes(),
        members: server.addresses().len(),
    }))
}

/// A text that is nowhere else. MongoDB's members compress what they tell each other (Snappy, which replaces four bytes and more
/// that were there before): of so many letters no four come twice.
fn half() -> Result<String> {
    let mut random = [0; 30];
    openssl::rand::rand_bytes(&mut random)?;
    Ok(openssl::base64::encode_block(&random))
}

impl Seen {
    fn verdict(&self, encrypted: bool) -> std::result::Result<Proof, String> {
        let Self { row, bytes, members } = self;
        match (encrypted, row) {
            (_, false) if *bytes == 0 => Err(format!(
                "a row was written to {members} servers, and nothing was seen between them"
            )),
            (false, true) => Ok(proof(
                Witness::Wire,
                "a row travels in plaintext between the servers",
                &format!("a capture between {members} servers read it"),
            )),
            (true, false) => Ok(proof(
                Witness::Wire,
                "a row does not travel in plaintext between the servers",
                &format!("a capture between {members} servers saw {bytes} bytes and not the row"),
            )),
            (false, false) => Err(format!(
                "{bytes} bytes were seen between {members} servers and not the row that they told each other: they encrypt it"
            )),
            (true, true) => Err(
                "a row was read between the servers: what they tell each other travels in plaintext".into(),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verdict_says_what_was_seen() {
        let seen = |row, bytes| Seen {
            row,
            bytes,
            members: 3,
        };
        assert!(seen(true, 900).verdict(false).is_ok());
        assert!(seen(false, 900).verdict(true).is_ok());
        assert!(seen(true, 900).verdict(true).unwrap_err().contains("plaintext"));
        assert!(
            seen(false, 900)
                .verdict(false)
                .unwrap_err()
                .contains("they encrypt it")
        );
        for encrypted in [false, true] {
            assert!(
                seen(false, 0)
                    .verdict(encrypted)
                    .unwrap_err()
                    .contains("nothing was seen")
            );
        }
    }
}

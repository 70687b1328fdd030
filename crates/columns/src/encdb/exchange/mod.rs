//! The exchange by which a server with EncDB gets the master key, as PolarDB-X and RDS have it: the client asks for the server's
//! public key and cipher suite, and sends the master key in an [envelope] that the private key alone opens. Both are SQL
//! statements, and every connection begins with them.
//!
//! Known from the clients that are published, and not tried on a real server. Nothing vouches for the public key: whoever is between
//! client and server can put theirs in its place, and has the master key then.

mod envelope;
#[cfg(test)]
mod tests;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ciphertax_model::CellAlgorithm;
use openssl::error::ErrorStack;
use serde_json::{Map, Value};
use thiserror::Error;

use crate::key::MasterKey;
use envelope::PublicKey;

pub use envelope::Suite;

/// What a server is asked first; its answer is for [`ServerInfo::parse`].
pub const QUESTION: &str =
    "/*encoding_key*/SELECT encdb_process_message('{\"request_type\":0,\"version\":\"1.2.15\"}')";

/// Characters of a hash of a public key at most.
const MOST_OF_A_HASH: usize = 512;

/// What a server says of itself before it gets a master key.
pub struct ServerInfo {
    /// What it encrypts and derives keys with.
    pub suite: Suite,
    /// The version of its feature, for people.
    pub version: String,
    /// In which trusted environment it works, for people; nobody has checked it.
    pub tee: String,
    key: PublicKey,
    /// By what it knows its key; of letters, digits and `+/=_-` alone.
    key_hash: String,
}

impl ServerInfo {
    /// From the answer to [`QUESTION`].
    ///
    /// # Errors
    /// Names what is wrong with an answer that is none, is too long, says an error, has a key that does not fit its suite, or
    /// something that must not stand in a statement.
    pub fn parse(answer: &str) -> Result<Self, ExchangeError> {
        let body = Body::of(answer)?;
        let info = body.object("server_info")?;
        let suite: Suite = info.text("cipher_suite")?.parse()?;
        let key_hash = info.text("public_key_hash")?;
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=_-".contains(&byte);
        if key_hash.is_empty() || key_hash.len() > MOST_OF_A_HASH || !key_hash.bytes().all(is_plain) {
            return Err(ExchangeError::Hash);
        }
        Ok(Self {
            suite,
            version: info.for_people("version"),
            tee: info.for_people("tee_type"),
            key: PublicKey::parse(info.text("public_key")?, suite)?,
            key_hash: key_hash.to_owned(),
        })
    }

    /// The statement that gives the server a master key, and has it encrypt cells by `algorithm`. The key is in it for whoever has the
    /// server's private key alone; every statement has another envelope. Its answer is for [`check_taken`].
    ///
    /// # Errors
    /// When a server cannot be asked for the algorithm, or the library fails.
    pub fn statement(&self, algorithm: CellAlgorithm, key: &MasterKey) -> Result<String, ExchangeError> {
        let algorithm = requested(algorithm).ok_or_else(|| ExchangeError::Algorithm(algorithm.into()))?;
        let envelope = envelope::seal(self.suite, &self.key, key).map_err(ExchangeError::Library)?;
        let (suite, hash, envelope) = (self.suite, &self.key_hash, STANDARD.encode(envelope));
        Ok(format!(
            "/*encoding_key*/SELECT encdb_process_message('{{\"request_type\":48,\"cipher_suite\":\"{suite}\",\
             \"public_key_hash\":\"{hash}\",\"algorithm\":\"{algorithm}\",\"version\":\"1.2.15\",\"envelope\":\"{envelope}\"}}')"
        ))
    }
}

/// Makes sure that a server has taken the master key.
///
/// # Errors
/// With the server's word if it has not, and when the answer is none.
pub fn check_taken(answer: &str) -> Result<(), ExchangeError> {
    check_status(answer).map(drop)
}

/// What a server is told of the cells that it is to make; `None` for cells that no server makes.
pub fn requested(algorithm: CellAlgorithm) -> Option<&'static str> {
    match algorithm {
        CellAlgorithm::Sm4Gcm => Some("SM4_128_GCM"),
        CellAlgorithm::Sm4Cbc => Some("SM4_128_CBC"),
        CellAlgorithm::Sm4Ecb => Some("SM4_128_ECB"),
        CellAlgorithm::Aes128Gcm => Some("AES_128_GCM"),
        CellAlgorithm::Aes128Cbc => Some("AES_128_CBC"),
        CellAlgorithm::Aes128Ecb => Some("AES_128_ECB"),
        CellAlgorithm::Wrapped => None,
    }
}

/// Bytes of an answer at most. A certificate chain or a quote of a trusted environment beside the key is a few kilobytes.
const MOST_OF_AN_ANSWER: usize = 256 << 10;

/// Characters of a server's words that are shown.
const MOST_SHOWN: usize = 200;

/// What a server says of itself.
///
/// An answer is Base64 of `{"status": …, "body": "…"}`; the body of the first answer is JSON again.
struct Body(Value);

/// One object in it.
struct Object<'a>(&'a Map<String, Value>);

impl Body {
    /// That of an answer.
    fn of(answer: &str) -> Result<Self, ExchangeError> {
        match check_status(answer)? {
            Some(body) => Ok(Self(json(body.as_bytes())?)),
            None => Err(ExchangeError::Lacks("body")),
        }
    }

    fn object(&self, name: &'static str) -> Result<Object<'_>, ExchangeError> {
        let object = self.0.get(name).and_then(Value::as_object);
        object.map(Object).ok_or(ExchangeError::Lacks(name))
    }
}

impl<'a> Object<'a> {
    fn text(&self, name: &'static str) -> Result<&'a str, ExchangeError> {
        let text = self.0.get(name).and_then(Value::as_str);
        text.ok_or(ExchangeError::Lacks(name))
    }

    /// What is only shown, and may be missing.
    fn for_people(&self, name: &str) -> String {
        match self.0.get(name) {
            Some(Value::String(text)) if !text.is_empty() => shown(text),
            Some(Value::Number(number)) => number.to_string(),
            _ => "not said".to_owned(),
        }
    }
}

/// The body of an answer whose status is 0, if it has one.
fn check_status(answer: &str) -> Result<Option<String>, ExchangeError> {
    if answer.len() > MOST_OF_AN_ANSWER {
        return Err(ExchangeError::TooLong(answer.len()));
    }
    // Servers may break lines of Base64.
    let digits: String = answer
        .chars()
        .filter(|digit| !digit.is_ascii_whitespace())
        .collect();
    if digits.is_empty() {
        return Err(ExchangeError::Empty);
    }
    let message = STANDARD.decode(digits).map_err(|_| ExchangeError::NotBase64)?;
    let mut message = json(&message)?;
    let status = message.get("status").and_then(Value::as_i64);
    let body = match message.get_mut("body").map(Value::take) {
        Some(Value::String(body)) => Some(body),
        _ => None,
    };
    match status {
        Some(0) => Ok(body),
        Some(status) => Err(ExchangeError::Refused {
            status,
            word: shown(body.as_deref().unwrap_or("nothing")),
        }),
        None => Err(ExchangeError::Lacks("status")),
    }
}

fn json(text: &[u8]) -> Result<Value, ExchangeError> {
    serde_json::from_slice(text).map_err(|error| ExchangeError::NotJson {
        line: error.line(),
        column: error.column(),
    })
}

/// The beginning of a server's words, on one line.
fn shown(words: &str) -> String {
    let on_a_line = |letter: char| match letter.is_control() {
        true => ' ',
        false => letter,
    };
    words.chars().take(MOST_SHOWN).map(on_a_line).collect()
}

/// What keeps a server from getting a master key. The end of a sentence about the server's answer; the key is never in it.
#[derive(Debug, Error)]
pub enum ExchangeError {
    /// It said nothing.
    #[error("the server's answer is empty, or NULL")]
    Empty,
    /// It is longer than any answer.
    #[error("the server's answer has {0} bytes, which no answer has")]
    TooLong(usize),
    /// It is not encoded as answers are.
    #[error("the server's answer is not Base64")]
    NotBase64,
    /// There is something else in the encoding.
    #[error("the server's answer is no JSON (line {line}, column {column})")]
    NotJson {
        /// Where, from 1.
        line: usize,
        /// Where in the line.
        column: usize,
    },
    /// Something is missing in it, or of another type.
    #[error("the server's answer has no {0}, or not as it should be")]
    Lacks(&'static str),
    /// The server says no.
    #[error("the server refuses, with status {status}: {word}")]
    Refused {
        /// Its number for why.
        status: i64,
        /// Its words, cut off.
        word: String,
    },
    /// A suite that nobody knows.
    #[error("the server's cipher suite is {0:?}, which is none of {known}", known = Suite::known())]
    Suite(String),
    /// What goes into a statement could end it.
    #[error(
        "the server's public_key_hash has other characters than letters, digits and +/=_-, or too many: it is in no statement"
    )]
    Hash,
    /// A key that does not fit the suite, or is none.
    #[error("the server's public key {0}")]
    Key(String),
    /// Cells that no server makes.
    #[error("no server can be asked for cells of the algorithm {0}")]
    Algorithm(&'static str),
    /// The library failed.
    #[error("the envelope of the master key cannot be made: {0}")]
    Library(ErrorStack),
}

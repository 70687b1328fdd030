//! The exchange by which a server with EncDB gets the master key, as PolarDB-X and RDS have it: the client asks for the server's
//! public key and cipher suite, and sends the master key in an [envelope] that the private key alone opens. Both are SQL
//! statements, and every connection begins with them.
//!
//! Known from the clients that are published, and not tried on a real server. Nothing vouches for the public key: whoever is between
//! client and server can put theirs in its place, and has the master key then.

mod answer;
mod envelope;
mod error;
mod public_key;
mod suite;
#[cfg(test)]
mod tests;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ciphertax_model::CellAlgorithm;

use crate::key::MasterKey;
use answer::Body;
pub use error::ExchangeError;
use public_key::PublicKey;
pub use suite::Suite;

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
    answer::check_status(answer).map(drop)
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

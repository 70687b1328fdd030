//! What cryptography is called for, which its callers tell.

use super::names::*;

/// A kind of cryptography.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cryptography {
    Cipher,
    Hashes,
    PublicKey,
    Certificates,
    /// Random numbers, and what all kinds need.
    Around,
}

/// What cryptography is called for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Record,
    Handshake,
    AtRest,
    Login,
}

impl Phase {
    /// The callers that tell it; where a stack has several the first counts, since a handshake takes place in a login, and what is
    /// sent in either is sent in records.
    pub(super) const ALL: [(Self, &'static str); 5] = [
        (Self::AtRest, AT_REST),
        (Self::Record, RECORD),
        (Self::Handshake, HANDSHAKE),
        (Self::Record, RECORD_ELSE),
        (Self::Login, LOGIN),
    ];
}

/// What reads and writes records, in the libraries and in the servers that call them.
const RECORD: &str = "SSL_read* SSL_write* SSL_pending SSL_get_error wolfSSL_read* wolfSSL_write* yaSSL_read
    vio_ssl_read vio_ssl_write be_tls_read be_tls_write asio::ssl::detail::engine::read asio::ssl::detail::engine::write
    *TlsSession>::encrypt* *TlsSession>::decrypt*";

/// Everything else in the libraries: of a handshake's own functions few are seen, since they are called last, without a way back.
const HANDSHAKE: &str = "libssl*!* SSL_* wolfSSL_* yaSSL_* yaSSL::* ProcessReply* mongo::*Handshake*
    *TlsSession>::handshake* *ciphertax_wire::tls::*";

/// What is there for both, and no part of a handshake.
const RECORD_ELSE: &str = "asio::ssl::*";

/// What encrypts pages and logs.
const AT_REST: &str = "encryption_*crypt* my_aes_crypt* MyCTX* Encryption::* sqlcipher_*";

/// What authenticates.
const LOGIN: &str = "acl_authenticate ClientAuthentication mongo::*Sasl*
    *ciphertax_wire::scram::* *ciphertax_wire::*::authentication::*";

/// The category of a kind of cryptography that is called for something.
pub(super) fn category(kind: Cryptography, phase: Option<Phase>) -> &'static str {
    use Cryptography::*;
    match (phase, kind) {
        (Some(Phase::Record), Cipher) => RECORD_CIPHER,
        // Records are authenticated by what signs elsewhere.
        (Some(Phase::Record), Hashes | PublicKey) => RECORD_HASHES,
        (Some(Phase::Record), Certificates | Around) => RECORD_PROTOCOL,
        (Some(Phase::Handshake), Cipher) => HANDSHAKE_CIPHER,
        (Some(Phase::Handshake), Hashes) => HANDSHAKE_HASHES,
        (Some(Phase::Handshake), PublicKey) => HANDSHAKE_PUBLIC_KEY,
        (Some(Phase::Handshake), Certificates) => HANDSHAKE_CERTIFICATES,
        (Some(Phase::Handshake), Around) => HANDSHAKE_PROTOCOL,
        (Some(Phase::AtRest), Cipher) => AT_REST_CIPHER,
        (Some(Phase::AtRest), Hashes) => AT_REST_HASHES,
        (Some(Phase::AtRest), PublicKey | Certificates | Around) => AT_REST_REST,
        (Some(Phase::Login), Hashes) => LOGIN_HASHES,
        (Some(Phase::Login), PublicKey) => LOGIN_PUBLIC_KEY,
        (Some(Phase::Login), Cipher | Certificates | Around) => LOGIN_REST,
        (None, _) => OTHER_CRYPTOGRAPHY,
    }
}

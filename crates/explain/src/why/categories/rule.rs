//! What rules are made of: functions by patterns of their names, and what they do; and what cryptography is called
//! for, which its callers tell.

use super::names::*;

/// What the functions of a rule do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    /// What belongs to a category, whoever calls it.
    Of(&'static str),
    /// Cryptography, whose category depends on what it is called for.
    For(Cryptography),
}

/// What functions do, by patterns of their names with blanks between them. Where several fit a function the first counts.
///
/// A pattern is the name of a function, in which each `*` stands for any characters or none; `libssl*!SSL_*` holds in modules of
/// these names alone.
pub(super) type Table = &'static [(Work, &'static str)];

/// A pattern in its parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pattern {
    pub(super) written: &'static str,
    module: Option<&'static str>,
    function: &'static str,
}

impl Pattern {
    pub(super) fn of(written: &'static str) -> Self {
        let (module, function) = match written.split_once('!') {
            Some((module, function)) => (Some(module), function),
            None => (None, written),
        };
        Self {
            written,
            module,
            function,
        }
    }

    pub(super) fn fits(&self, function: &str, module: &str) -> bool {
        glob(self.function, function) && self.module.is_none_or(|pattern| glob(pattern, module))
    }

    /// The byte that all functions begin with that it fits; `None` if they begin with any.
    pub(super) fn first_byte(&self) -> Option<u8> {
        self.function.bytes().next().filter(|byte| *byte != b'*')
    }
}

/// True if a name fits a pattern in which `*` stands for anything.
fn glob(pattern: &str, name: &str) -> bool {
    let Some((begin, mut pattern)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(mut name) = name.strip_prefix(begin) else {
        return false;
    };
    while let Some((part, rest)) = pattern.split_once('*') {
        let Some(at) = name.find(part) else {
            return false;
        };
        name = &name[at + part.len()..];
        pattern = rest;
    }
    name.ends_with(pattern)
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_asterisk_stands_for_anything_and_a_module_is_named_before_an_exclamation_mark() {
        let fits = |pattern, function, module| Pattern::of(pattern).fits(function, module);
        assert!(fits("malloc", "malloc", "libc.so.6"));
        assert!(!fits("malloc", "malloc_consolidate", "libc.so.6"));
        assert!(fits("EVP_Encrypt*", "EVP_EncryptUpdate", "libcrypto.so.3"));
        assert!(fits("*futex*", "__x64_sys_futex", "[kernel]"));
        assert!(fits("my_*_net*read", "my_real_net_read", "mysqld"));
        assert!(!fits("aba*aba", "aba", ""));
        assert!(fits("libssl*!*", "libssl.so.3+0x2eeaf", "libssl.so.3"));
        assert!(!fits("libssl*!*", "SSL_read", "mysqld"));
        assert!(fits("*", "", ""));
    }
}

//! The cipher suites of rustls by their OpenSSL names, which both sides of a session are compared by.

use std::sync::LazyLock;

use rustls::CipherSuite;
use rustls::crypto::aws_lc_rs::ALL_CIPHER_SUITES;

use super::super::cipher;

/// Made once: the look-up is too slow for every connection.
static NAMES: LazyLock<Vec<(CipherSuite, &'static str)>> = LazyLock::new(|| {
    let named = |suite: CipherSuite| {
        // rustls writes `TLS13_` where the registry of IANA has `TLS_`.
        let registered = suite.as_str()?.replacen("TLS13_", "TLS_", 1);
        Some((suite, cipher::openssl_name(&registered)?))
    };
    ALL_CIPHER_SUITES
        .iter()
        .filter_map(|suite| named(suite.suite()))
        .collect()
});

/// OpenSSL's name of a suite; empty for one that OpenSSL does not know.
pub(super) fn openssl_name(suite: CipherSuite) -> &'static str {
    NAMES
        .iter()
        .find(|(known, _)| *known == suite)
        .map_or("", |(_, name)| name)
}

/// OpenSSL's names of all suites that rustls has.
pub(super) fn openssl_names() -> impl Iterator<Item = &'static str> {
    NAMES.iter().map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_suite_has_its_openssl_name() {
        assert_eq!(NAMES.len(), ALL_CIPHER_SUITES.len());
        for (suite, name) in [
            (CipherSuite::TLS13_AES_256_GCM_SHA384, "TLS_AES_256_GCM_SHA384"),
            (
                CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
                "ECDHE-RSA-CHACHA20-POLY1305",
            ),
            (
                CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
                "ECDHE-ECDSA-AES128-GCM-SHA256",
            ),
        ] {
            assert_eq!(openssl_name(suite), name);
        }
    }
}

//! What the OpenSSL name of a cipher suite says of it.

use crate::tls::TlsLibrary;
use crate::transport::TlsVersion;

/// Begins the names of the suites of TLS 1.3, and of no other.
const TLS_1_3: &str = "TLS_";

/// The suites rustls has with aws-lc-rs, by OpenSSL's names.
const RUSTLS: [&str; 9] = [
    "TLS_AES_128_GCM_SHA256",
    "TLS_AES_256_GCM_SHA384",
    "TLS_CHACHA20_POLY1305_SHA256",
    "ECDHE-ECDSA-AES128-GCM-SHA256",
    "ECDHE-ECDSA-AES256-GCM-SHA384",
    "ECDHE-ECDSA-CHACHA20-POLY1305",
    "ECDHE-RSA-AES128-GCM-SHA256",
    "ECDHE-RSA-AES256-GCM-SHA384",
    "ECDHE-RSA-CHACHA20-POLY1305",
];

/// Why a client cannot offer `cipher` in `version`, or in any if that is `None`.
pub(crate) fn problem(cipher: &str, version: Option<TlsVersion>, library: TlsLibrary) -> Option<String> {
    if cipher.contains("_WITH_") || cipher.is_empty() || !cipher.chars().all(is_of_a_name) {
        return Some(format!(
            "{cipher:?} is no OpenSSL name of one cipher suite, such as TLS_AES_128_GCM_SHA256 or \
             ECDHE-RSA-AES128-GCM-SHA256"
        ));
    }
    if let Some(version) = version {
        let is_for = versions(cipher);
        if !is_for.contains(&version) {
            let is_for: Vec<&str> = is_for.iter().map(|version| version.name()).collect();
            return Some(format!(
                "{cipher} is a cipher suite of {}, not of {version}",
                is_for.join(", ")
            ));
        }
    }
    (library == TlsLibrary::Rustls && !RUSTLS.contains(&cipher))
        .then(|| format!("rustls does not have {cipher}; it has {}", RUSTLS.join(", ")))
}

/// True if its key exchange uses a group that a client chooses by name.
pub(crate) fn uses_group(cipher: &str) -> bool {
    cipher.starts_with(TLS_1_3) || cipher.starts_with("ECDHE-")
}

/// The versions a suite is for. Authenticated encryption and hashes of SHA-2 came with TLS 1.2 (RFC 5246, RFC 5288,
/// RFC 7905); the older suites go on in it.
fn versions(cipher: &str) -> &'static [TlsVersion] {
    const SINCE_TLS_1_2: [&str; 5] = ["GCM", "CCM", "CHACHA20", "SHA256", "SHA384"];
    let [.., old, new] = &TlsVersion::ALL;
    if cipher.starts_with(TLS_1_3) {
        std::slice::from_ref(new)
    } else if SINCE_TLS_1_2.iter().any(|part| cipher.contains(part)) {
        std::slice::from_ref(old)
    } else {
        &TlsVersion::ALL[..3]
    }
}

/// A list such as `A:B` or `ALL@SECLEVEL=0` is no name.
fn is_of_a_name(char: char) -> bool {
    char.is_ascii_alphanumeric() || char == '-' || char == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(cipher: &str) -> Vec<&'static str> {
        TlsVersion::ALL
            .into_iter()
            .filter(|version| problem(cipher, Some(*version), TlsLibrary::OpenSsl).is_none())
            .map(TlsVersion::name)
            .collect()
    }

    #[test]
    fn a_suite_fits_the_versions_it_was_made_for() {
        assert_eq!(fits("TLS_AES_128_GCM_SHA256"), ["TLSv1.3"]);
        assert_eq!(fits("ECDHE-RSA-AES128-GCM-SHA256"), ["TLSv1.2"]);
        assert_eq!(fits("ECDHE-RSA-AES128-SHA256"), ["TLSv1.2"]);
        assert_eq!(fits("DHE-RSA-AES256-SHA"), ["TLSv1", "TLSv1.1", "TLSv1.2"]);
        assert_eq!(problem("AES256-SHA", None, TlsLibrary::OpenSsl), None);
    }

    #[test]
    fn names_of_other_kinds_and_lists_are_refused() {
        for name in [
            "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
            "A:B",
            "ALL:@SECLEVEL=0",
            "",
        ] {
            assert!(problem(name, None, TlsLibrary::OpenSsl).is_some(), "{name}");
        }
    }

    #[test]
    fn rustls_has_few_suites() {
        assert_eq!(problem("TLS_AES_128_GCM_SHA256", None, TlsLibrary::Rustls), None);
        let message = problem("ECDHE-RSA-AES128-SHA", Some(TlsVersion::V1_2), TlsLibrary::Rustls);
        assert!(message.unwrap().contains("ECDHE-RSA-AES128-GCM-SHA256"));
    }
}

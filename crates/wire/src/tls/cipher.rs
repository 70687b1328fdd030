//! The names of cipher suites.

/// True if a suite's name, as OpenSSL or the registry of IANA has it, is that of a suite of TLS 1.3: those of older
/// versions name a key exchange too.
pub(super) fn is_of_tls13(name: &str) -> bool {
    name.starts_with("TLS_") && !name.contains("_WITH_")
}

/// True if `theirs` is the suite that OpenSSL names `ours`. Servers name suites as OpenSSL does (OpenSSL, yaSSL), as
/// the registry of IANA does (Go), or in a spelling of their own (wolfSSL).
pub(crate) fn is_same(ours: &str, theirs: &str) -> bool {
    ours == theirs || openssl_name(theirs) == Some(ours)
}

/// The OpenSSL name of a suite that is named otherwise.
pub(super) fn openssl_name(name: &str) -> Option<&'static str> {
    let name = WOLFSSL
        .iter()
        .find(|(theirs, _)| *theirs == name)
        .map_or(name, |(_, registered)| registered);
    // The look-up takes a C string.
    if name.contains('\0') {
        return None;
    }
    Some(openssl::ssl::cipher_name(name)).filter(|found| *found != "(NONE)")
}

/// wolfSSL's names of the suites of TLS 1.3 and the registered ones (`cipher_names` in its `src/internal.c`); for those
/// of older versions it has OpenSSL's names or the registered ones.
const WOLFSSL: [(&str, &str); 5] = [
    ("TLS13-AES128-GCM-SHA256", "TLS_AES_128_GCM_SHA256"),
    ("TLS13-AES256-GCM-SHA384", "TLS_AES_256_GCM_SHA384"),
    ("TLS13-CHACHA20-POLY1305-SHA256", "TLS_CHACHA20_POLY1305_SHA256"),
    ("TLS13-AES128-CCM-SHA256", "TLS_AES_128_CCM_SHA256"),
    ("TLS13-AES128-CCM-8-SHA256", "TLS_AES_128_CCM_8_SHA256"),
];

/// Those of `names` that have most in common with `wanted`, for messages.
pub(super) fn nearest<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    const AT_MOST: usize = 5;
    let parts = |name: &str| -> Vec<String> { name.split(['-', '_']).map(str::to_ascii_uppercase).collect() };
    let wanted = parts(wanted);
    let mut names: Vec<(usize, &str)> = names
        .into_iter()
        .map(|name| {
            (
                parts(name).iter().filter(|part| wanted.contains(part)).count(),
                name,
            )
        })
        .collect();
    names.sort_by_key(|(common, _)| std::cmp::Reverse(*common));
    let names: Vec<&str> = names.into_iter().take(AT_MOST).map(|(_, name)| name).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suite_is_known_by_each_of_its_names_and_by_no_other() {
        for (ours, theirs) in [
            ("TLS_AES_256_GCM_SHA384", "TLS_AES_256_GCM_SHA384"),
            ("TLS_AES_256_GCM_SHA384", "TLS13-AES256-GCM-SHA384"),
            ("TLS_CHACHA20_POLY1305_SHA256", "TLS13-CHACHA20-POLY1305-SHA256"),
            (
                "ECDHE-RSA-AES128-GCM-SHA256",
                "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
            ),
            ("AES256-SHA", "TLS_RSA_WITH_AES_256_CBC_SHA"),
        ] {
            assert!(is_same(ours, theirs), "{ours} {theirs}");
        }
        for (ours, theirs) in [
            ("TLS_AES_256_GCM_SHA384", "TLS13-AES128-GCM-SHA256"),
            ("ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES128-GCM-SHA256"),
            ("AES256-SHA", "DHE-RSA-AES256-SHA"),
            ("AES256-SHA", ""),
            ("AES256-SHA", "AES256-SHA\0"),
            ("(NONE)", "no such suite"),
        ] {
            assert!(!is_same(ours, theirs), "{ours} {theirs}");
        }
    }

    #[test]
    fn every_suite_of_wolfssl_is_one_that_openssl_knows() {
        for (theirs, registered) in WOLFSSL {
            assert_eq!(openssl_name(theirs), Some(registered));
        }
    }

    #[test]
    fn suites_of_tls13_are_told_from_older_ones() {
        assert!(is_of_tls13("TLS_AES_128_GCM_SHA256"));
        assert!(!is_of_tls13("ECDHE-RSA-AES128-GCM-SHA256"));
        assert!(!is_of_tls13("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"));
    }

    #[test]
    fn the_nearest_names_come_first() {
        let names = [
            "AES128-SHA",
            "ECDHE-RSA-AES256-GCM-SHA384",
            "ECDHE-RSA-AES128-GCM-SHA256",
        ];
        let found = nearest("ecdhe-rsa-aes128-gcm", names);
        assert!(found.starts_with("ECDHE-RSA-AES128-GCM-SHA256, "), "{found}");
    }
}

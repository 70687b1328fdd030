//! What is said of certificates.

use super::*;

#[test]
fn a_certificate_is_to_be_renewed_before_its_end() {
    let findings = |days| {
        let mut seen = seen(vec![connected(3)]);
        seen.chain = vec![certificate("CN=db", "CN=root", days)];
        connection(asked("PostgreSQL"), &seen).findings
    };
    let first = |days| findings(days)[0].clone();
    assert_eq!(first(-1).id, "certificate-expired");
    assert_eq!(first(0).id, "certificate-expires");
    let words = "expires in 1 day:";
    assert!(first(1).summary.contains(words), "{}", first(1).summary);
    assert!(
        findings(21)
            .iter()
            .all(|finding| !finding.id.starts_with("certificate"))
    );
}

#[test]
fn a_certificate_that_does_not_hold_yet_is_told_by_the_second() {
    let finds = |not_before: &str| {
        let mut seen = seen(vec![connected(3)]);
        seen.chain[0].not_before = not_before.into();
        ids(&connection(asked("MySQL"), &seen)).contains(&"certificate-not-yet-valid")
    };
    assert!(finds("2026-06-01T12:00:01Z") && finds("2027-01-01T00:00:00Z"));
    assert!(!finds("2026-06-01T12:00:00Z") && !finds("2025-12-31T23:59:59Z"));
}

#[test]
fn another_key_is_advised_that_is_as_safe_and_measured_where_it_can_be() {
    let advice = |key: &str, cipher: &str| {
        let mut seen = seen(vec![connected(3)]);
        let tls = seen.facts.tls.as_mut().unwrap();
        tls.certificate.key = key.into();
        if !cipher.is_empty() {
            (tls.version, tls.cipher) = ("TLSv1.2".into(), cipher.into());
        }
        let found = connection(asked("MySQL"), &seen).findings;
        let finding = found.into_iter().find(|finding| finding.id == "rsa-key");
        finding.unwrap().summary
    };
    let says = |summary: &str, words: &[&str]| {
        assert!(words.iter().all(|words| summary.contains(words)), "{summary}");
    };
    says(
        &advice("RSA 2048", ""),
        &["signs", "P-256", "ecdsa-p256", "rsa-2048"],
    );
    says(
        &advice("RSA 4096", ""),
        &["P-384", "RSA 7680", "ecdsa-p384", "rsa-4096"],
    );
    says(&advice("RSA 2048", "AES128-SHA"), &["decrypts a secret"]);
    assert!(!advice("RSA 8192", "").contains("--certificate"));
}

#[test]
fn an_authority_s_own_certificate_in_the_chain_is_not_needed() {
    let mut seen = seen(vec![connected(3)]);
    seen.chain.push(certificate("CN=root", "CN=root", 2_000));
    let found = connection(asked("PostgreSQL"), &seen);
    assert!(ids(&found).contains(&"root-in-chain"));
    // A server that has signed for itself has nobody else's.
    seen.chain.remove(0);
    assert!(!ids(&connection(asked("PostgreSQL"), &seen)).contains(&"root-in-chain"));
}

//! Who computes what.

use super::*;

#[test]
fn who_computes_what_follows_from_what_was_negotiated() {
    let steps = |facts: &SessionFacts| work::work(facts, 2, false);
    let full = steps(&facts("X25519"));
    assert_eq!(full.len(), 4);
    assert_eq!(full[0].step, "key exchange, X25519");
    assert!(full[1].server.contains("RSA 4096") && full[1].client.contains("a chain of 2"));
    assert!(full[2].client.contains("PBKDF2"), "{:?}", full[2]);

    let mut older = facts("");
    let tls = older.tls.as_mut().unwrap();
    tls.version = "TLSv1.2".into();
    tls.cipher = "AES128-GCM-SHA256".into();
    let sent = steps(&older);
    let is_sent = sent[0].server.contains("decrypts") && sent[1].server == "nothing";
    assert!(is_sent, "{sent:?}");
    let tls = older.tls.as_mut().unwrap();
    tls.resumed = true;
    assert_eq!(steps(&older)[0].step, "TLS session resumed");
    assert_eq!(steps(&older).len(), 3);

    older.tls = None;
    older.authentication = login("caching_sha2_password", LoginPath::Full);
    let plain = steps(&older);
    assert!(
        plain.len() == 1 && plain[0].client.contains("RSA key") && plain[0].server.contains("decrypts"),
        "{plain:?}"
    );
}

#[test]
fn over_a_socket_only_sha256_password_takes_an_rsa_key() {
    let client = |method: &str, is_encrypted: bool| {
        let mut facts = facts("X25519");
        facts.authentication = login(method, LoginPath::Full);
        if !is_encrypted {
            facts.tls = None;
        }
        let steps = work::work(&facts, 1, true);
        let login = steps.iter().find(|step| step.step.starts_with("login"));
        login.unwrap().client.clone()
    };
    let expected = "sends the password as it is";
    assert_eq!(client("caching_sha2_password", false), expected);
    assert!(client("sha256_password", false).contains("RSA key"));
    assert!(client("caching_sha2_password", true).contains("through TLS"));
}

#[test]
fn by_ml_kem_the_server_encapsulates_what_the_client_decapsulates() {
    let exchange = |group: &str| work::work(&facts(group), 1, false).remove(0);
    for group in ["X25519MLKEM768", "SecP256r1MLKEM768"] {
        let step = exchange(group);
        let decapsulates = step.client.contains("decapsulates") && step.client.contains("elliptic");
        assert!(decapsulates, "{step:?}");
        let encapsulates = step.server.contains("encapsulates") && step.server.contains("elliptic");
        assert!(encapsulates, "{step:?}");
    }
    let alone = exchange("MLKEM768");
    assert!(!alone.server.contains("key pair"), "{alone:?}");
    let mut again = facts("X25519");
    again.tls.as_mut().unwrap().hello_retry_request = true;
    let step = work::work(&again, 1, false).remove(0);
    let is_asked_again = step.client.contains("HelloRetryRequest") && !step.server.contains("Retry");
    assert!(is_asked_again, "{step:?}");
}

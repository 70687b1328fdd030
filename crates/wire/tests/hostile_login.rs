//! Servers that lie while a client logs in: they learn no password and get no session.

use ciphertax_wire::mysql::{ConnectOptions, KeyFile};
use openssl::rsa::Padding;

use crate::common::packets::{
    NONCE, OK, error, greeting, greeting_payload, native_switch, offer_key, packet, switch,
};
use crate::common::*;

#[test]
fn no_length_of_a_nonce_is_taken_on_trust() {
    for length in 0..=u8::MAX {
        let script = packet(0, greeting_payload("mysql_native_password", length));
        let server = FakeServer::start(script, Ending::Close);
        assert!(ask(&server.options()).is_err(), "nonce of {length}");
    }
}

#[test]
fn a_login_without_end_is_ended() {
    let switches = (1..=100).flat_map(|number: u8| native_switch(2 * number));
    let script = greeting("mysql_native_password").into_iter().chain(switches);
    let problem = breach_in(script.collect::<Vec<_>>());
    assert!(problem.contains("without end"), "{problem}");
}

#[test]
fn the_password_is_withheld_in_plaintext_to_nobody() {
    let nonce = [NONCE.as_slice(), b"\0"].concat();
    let asked = |method| switch(2, method, &nonce);
    let greeted = |then: Vec<u8>| [greeting("mysql_native_password"), then].concat();
    let scripts = [
        greeting("mysql_clear_password"),
        greeting("mysql_old_password"),
        greeting("dialog"),
        [greeting("mysql_clear_password"), packet(2, OK)].concat(),
        greeted(switch(2, "mysql_clear_password", b"")),
        greeted([asked("mysql_clear_password"), packet(4, OK)].concat()),
        greeted(asked("mysql_old_password")),
        greeted(switch(2, "dialog", b"\x02Password: ")),
        greeted(packet(2, [0xFE])),
        // The full path of caching_sha2_password and a key that is none; then the question for the plaintext password.
        greeted(
            [
                asked("caching_sha2_password"),
                packet(4, [1, 4]),
                packet(6, b"\x01key"),
            ]
            .concat(),
        ),
        greeted([asked("sha256_password"), packet(4, b"\x01key")].concat()),
    ];
    for script in scripts {
        let server = FakeServer::start(script, Ending::Close);
        let outcome = ask(&server.options());
        let heard = server.heard();
        assert!(outcome.is_err());
        assert!(contains(&heard, "somebody"), "the login did not get so far");
        assert!(!contains(&heard, PASSWORD), "{}", String::from_utf8_lossy(&heard));
    }
}

#[test]
fn a_password_encrypted_for_a_public_key_can_be_read_with_its_private_key_alone() {
    for bits in [1024, 2048, 4096] {
        let key = Rsa::generate(bits).unwrap();
        let pem = key.public_key_to_pem().unwrap();
        for plugin in ["sha256_password", "caching_sha2_password"] {
            let server = FakeServer::start(offer_key(plugin, &pem), Ending::Close);
            assert!(matches!(ask(&server.options()), Err(WireError::Closed)));
            let heard = server.heard();
            assert!(!contains(&heard, PASSWORD));
            let sent = &heard[heard.len() - bits as usize / 8..];
            assert_eq!(decrypt(&key, sent), [PASSWORD.as_bytes(), b"\0"].concat());
        }
    }
}

/// MySQL's own clients send it neither, unless `get-server-public-key` or `server-public-key-path` says so; for `sha256_password`
/// they do.
#[test]
fn a_password_is_encrypted_with_a_key_that_is_trusted_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let (key, other) = (Rsa::generate(2048).unwrap(), Rsa::generate(2048).unwrap());
    let file = |name: &str, pem: Vec<u8>| {
        let path = folder.path().join(name);
        std::fs::write(&path, pem).unwrap();
        TrustedKeys::File(KeyFile::read(path).into())
    };
    let own = file("own.pem", key.public_key_to_pem().unwrap());
    let others = file("others.pem", other.public_key_to_pem().unwrap());
    // What listens there lets nobody verify it.
    let elsewhere = FakeServer::start(Vec::new(), Ending::Close);
    let options = elsewhere.options();
    let policy = TlsPolicy::new(None, Verification::None);
    let over_tls = TrustedKeys::OverTls(Arc::new(KeysOverTls::new(policy, &options.host, options.port)));
    for plugin in ["sha256_password", "caching_sha2_password"] {
        let asked = |trusted: &TrustedKeys| {
            let script = offer_key(plugin, &key.public_key_to_pem().unwrap());
            let server = FakeServer::start(script, Ending::Close);
            let outcome = ask(&ConnectOptions {
                trusted_keys: trusted.clone(),
                ..server.options()
            });
            (outcome.unwrap_err(), server.heard())
        };
        for (trusted, words) in [
            (TrustedKeys::Nobody, "anybody may have sent"),
            (others.clone(), "is not the one in"),
            (
                TrustedKeys::File(KeyFile::read("/nowhere".into()).into()),
                "No such file",
            ),
            (over_tls.clone(), "does not name over TLS ("),
        ] {
            let (problem, heard) = asked(&trusted);
            let WireError::PasswordWithheld(why) = &problem else {
                panic!("{plugin}: {problem}");
            };
            assert!(why.contains(plugin) && why.contains(words), "{problem}");
            let is_mismatch = words == "is not the one in";
            let remedy = match is_mismatch {
                true => "somebody may be in between",
                false => "get-server-public-key=true",
            };
            assert!(problem.to_string().contains(remedy), "{problem}");
            // The last that it heard is the question for the key.
            let question = if plugin == "sha256_password" {
                [3, 1]
            } else {
                [5, 2]
            };
            assert!(heard.ends_with(&question), "{heard:?}");
        }
        for trusted in [TrustedKeys::Anybody, TrustedKeys::ThisMachine, own.clone()] {
            let (problem, heard) = asked(&trusted);
            assert!(matches!(problem, WireError::Closed), "{problem}");
            let sent = decrypt(&key, &heard[heard.len() - 256..]);
            assert_eq!(sent, [PASSWORD.as_bytes(), b"\0"].concat());
        }
    }
}

/// Whoever is in between may send the right key, which everybody can get, and then another.
#[test]
fn a_second_key_gets_no_second_answer() {
    let folder = tempfile::tempdir().unwrap();
    let (key, other) = (Rsa::generate(2048).unwrap(), Rsa::generate(2048).unwrap());
    let path = folder.path().join("key.pem");
    std::fs::write(&path, key.public_key_to_pem().unwrap()).unwrap();
    let second = [b"\x01", &other.public_key_to_pem().unwrap()[..]].concat();
    let nonce = [NONCE.as_slice(), b"\0"].concat();
    for (plugin, number) in [("sha256_password", 6), ("caching_sha2_password", 8)] {
        let first = offer_key(plugin, &key.public_key_to_pem().unwrap());
        // At once; and after the plugin was begun anew, or another was, so that nobody has asked for a key.
        let again = |plugin: &str| [switch(number, plugin, &nonce), packet(number + 2, &second)].concat();
        for more in [
            packet(number, &second),
            again("sha256_password"),
            again("caching_sha2_password"),
            again("mysql_native_password"),
        ] {
            let server = FakeServer::start([first.clone(), more].concat(), Ending::Close);
            let outcome = ask(&ConnectOptions {
                trusted_keys: TrustedKeys::File(KeyFile::read(path.clone()).into()),
                ..server.options()
            });
            assert!(matches!(outcome, Err(WireError::Protocol(_))), "{outcome:?}");
            let heard = server.heard();
            let sent = decrypt(&key, &heard[heard.len() - 256..]);
            assert_eq!(sent, [PASSWORD.as_bytes(), b"\0"].concat());
        }
        // Before anybody has asked for one.
        let unasked = [greeting(plugin), packet(2, &second)].concat();
        let server = FakeServer::start(unasked, Ending::Close);
        ask(&ConnectOptions {
            trusted_keys: TrustedKeys::File(KeyFile::read(path.clone()).into()),
            ..server.options()
        })
        .unwrap_err();
        assert!(server.heard().len() < 256);
    }
}

#[test]
fn a_public_key_that_is_none_or_weak_gets_no_password() {
    let pem = |bits| Rsa::generate(bits).unwrap().public_key_to_pem().unwrap();
    let wrapped =
        |body: &str| format!("-----BEGIN PUBLIC KEY-----\n{body}\n-----END PUBLIC KEY-----\n").into_bytes();
    for key in [
        pem(512),
        pem(2048)[..200].to_vec(),
        wrapped(""),
        wrapped("AAAA"),
        wrapped("MCEwDQYJKoZIhvcNAQEBBQADEAAwDQIIAAAAAAAAAAACAQM="),
        b"-----BEGIN".to_vec(),
        Vec::new(),
    ] {
        let server = FakeServer::start(offer_key("sha256_password", &key), Ending::Close);
        let problem = ask(&server.options()).unwrap_err();
        assert!(matches!(problem, WireError::Authentication(_)), "{problem}");
        assert!(problem.to_string().contains("public key"), "{problem}");
        // After the greeting's answer only the question for the key was sent.
        assert!(server.heard().ends_with(&[1, 0, 0, 3, 1]));
    }
}

/// Ed25519 sends 32 random bytes and no zero after them: one that is there belongs to the nonce.
#[test]
fn a_nonce_that_ends_with_zero_is_taken_whole() {
    let nonce = [[7; 31].as_slice(), &[0]].concat();
    let script = [
        greeting("mysql_native_password"),
        switch(2, "client_ed25519", &nonce),
        packet(4, OK),
    ]
    .concat();
    let server = FakeServer::start(script, Ending::Close);
    let is_closed = matches!(ask(&server.options()), Err(WireError::Closed));
    assert!(is_closed, "the login failed");
    assert!(contains(&server.heard(), [64, 0, 0, 3]), "no signature was sent");
}

#[test]
fn plaintext_bytes_injected_before_the_handshake_are_refused() {
    let injected = [greeting("mysql_native_password"), packet(2, OK), packet(1, OK)].concat();
    for ending in [Ending::Close, Ending::Silence] {
        let server = FakeServer::start(injected.clone(), ending);
        let problem = ask(&server.encrypted_options()).unwrap_err();
        assert!(matches!(problem, WireError::Protocol(_)), "{problem}");
        assert!(problem.to_string().contains("plaintext"), "{problem}");
        let is_withheld = !contains(&server.heard(), "somebody");
        assert!(is_withheld, "the login was sent unencrypted");
    }
}

#[test]
fn a_server_that_answers_the_request_for_tls_with_something_else_is_refused() {
    for answer in [
        packet(2, OK),
        vec![0x16; 600],
        vec![0; 40],
        error(2, 1105, "no TLS today"),
    ] {
        let server = FakeServer::start(greeting("mysql_native_password"), Ending::Answer(answer));
        let problem = ask(&server.encrypted_options()).unwrap_err();
        assert!(matches!(problem, WireError::NotTls), "{problem}");
        let is_withheld = !contains(&server.heard(), "somebody");
        assert!(is_withheld, "the login was sent unencrypted");
    }
}

fn decrypt(key: &Rsa<Private>, sent: &[u8]) -> Vec<u8> {
    let mut clear = vec![0; sent.len()];
    let length = key
        .private_decrypt(sent, &mut clear, Padding::PKCS1_OAEP)
        .unwrap();
    let masked = clear[..length].iter().zip(NONCE.iter().cycle());
    masked.map(|(byte, mask)| byte ^ mask).collect()
}

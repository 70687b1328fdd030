//! What a policy asks for is what is negotiated, by both sides' word, with either library.

use ciphertax_lab::certificates::KeyFormat;
use ciphertax_model::Arm;
use ciphertax_wire::Client as _;
use ciphertax_wire::Session as _;
use ciphertax_wire::mysql::{Expectation, Session};

use crate::common::*;

const LIBRARIES: [TlsLibrary; 2] = [TlsLibrary::OpenSsl, TlsLibrary::Rustls];

#[test]
fn every_version_is_negotiated_when_it_is_pinned() {
    for version in TlsVersion::ALL {
        let tls = negotiated(old_server(), &policy(old_server(), version));
        assert_eq!(tls.version, version.name());
    }
    for version in [V1_2, V1_3] {
        let tls = negotiated(
            old_server(),
            &by(TlsLibrary::Rustls, policy(old_server(), version)),
        );
        assert_eq!(tls.version, version.name());
    }
}

#[test]
fn the_highest_version_that_both_can_is_negotiated_when_none_is_pinned() {
    for library in LIBRARIES {
        let policy = |server| by(library, policy(server, None));
        assert_eq!(negotiated(old_server(), &policy(old_server())).version, "TLSv1.3");
        let server = server_of("TLSv1.2");
        assert_eq!(negotiated(&server, &policy(&server)).version, "TLSv1.2");
    }
}

#[test]
fn an_old_server_is_taken_only_by_those_who_ask_for_it() {
    let server = server_of("TLSv1.1");
    for library in LIBRARIES {
        let policy = by(library, policy(&server, None));
        refusal(&with_policy(plain(&server), &policy));
    }
    let legacy = TlsPolicy {
        legacy: true,
        ..policy(&server, None)
    };
    assert_eq!(negotiated(&server, &legacy).version, "TLSv1.1");
    assert_eq!(negotiated(&server, &policy(&server, V1_1)).version, "TLSv1.1");
}

#[test]
fn the_cipher_asked_for_is_the_cipher_negotiated() {
    for (version, cipher, libraries) in [
        (V1_0, "ECDHE-ECDSA-AES128-SHA", 1),
        (V1_1, "ECDHE-ECDSA-AES256-SHA", 1),
        (V1_2, "ECDHE-ECDSA-AES128-SHA256", 1),
        (V1_2, "ECDHE-ECDSA-AES128-GCM-SHA256", 2),
        (V1_2, "ECDHE-ECDSA-AES256-GCM-SHA384", 2),
        (V1_2, "ECDHE-ECDSA-CHACHA20-POLY1305", 2),
        (V1_3, "TLS_AES_128_GCM_SHA256", 2),
        (V1_3, "TLS_AES_256_GCM_SHA384", 2),
        (V1_3, "TLS_CHACHA20_POLY1305_SHA256", 2),
    ] {
        for library in LIBRARIES.into_iter().take(libraries) {
            let pinned = TlsPolicy {
                cipher: Some(cipher.into()),
                library,
                ..policy(old_server(), version)
            };
            assert_eq!(negotiated(old_server(), &pinned).cipher, cipher);
        }
    }
    let not_there = TlsPolicy {
        cipher: Some("ECDHE-RSA-AES128-GCM-SHA256".into()),
        ..policy(old_server(), V1_2)
    };
    refusal(&with_policy(plain(old_server()), &not_there));
}

#[test]
fn the_group_asked_for_is_the_group_negotiated() {
    // Before TLS 1.3 the groups offered are those of ECDSA certificates too, so a server with such a key has no choice.
    let server = builder().certificate(CertificateKind::Rsa2048).start().unwrap();
    for library in LIBRARIES {
        for version in [V1_2, V1_3] {
            for group in [Group::X25519, Group::P256, Group::P384] {
                let pinned = TlsPolicy {
                    group: Some(group),
                    library,
                    ..policy(&server, version)
                };
                let tls = negotiated(&server, &pinned);
                let found = (tls.group.as_str(), tls.hello_retry_request);
                assert_eq!(found, (group.name(), false));
            }
        }
    }
}

/// Libraries guess which groups a server likes; a server that likes none of the guesses asks again.
#[test]
fn a_server_that_wants_another_group_is_told_by_its_retry() {
    for library in LIBRARIES {
        let pinned = |group| TlsPolicy {
            group,
            library,
            ..policy(old_server(), V1_3)
        };
        let guessed = negotiated(old_server(), &pinned(None));
        let post_quantum = with_policy(plain(old_server()), &pinned(Some(Group::X25519MlKem768)));
        // Either the server knows it, or there is no session: never another group.
        let outcome = run(async |reactor| {
            let (mut session, _) = Session::connect(reactor, &post_quantum).await?;
            Ok::<_, WireError>(session.facts().await.unwrap())
        });
        if let Ok(facts) = outcome {
            let tls = facts.tls.unwrap();
            assert_eq!(tls.group, Group::X25519MlKem768.name());
            assert!(tls.client_hello_bytes > 1200, "{tls:?}");
        }
        let small = negotiated(old_server(), &pinned(Some(Group::P256)));
        let is_smaller = small.client_hello_bytes < guessed.client_hello_bytes;
        assert!(is_smaller, "{small:?} {guessed:?}");
    }
}

#[test]
fn every_kind_of_certificate_is_verified_and_named() {
    for (kind, key, signature) in [
        (CertificateKind::EcdsaP256, "EC P-256", "ecdsa-with-SHA256"),
        (CertificateKind::EcdsaP384, "EC P-384", "ecdsa-with-SHA384"),
        (CertificateKind::Ed25519, "Ed25519", "ED25519"),
        (CertificateKind::Rsa1024, "RSA 1024", "sha256WithRSAEncryption"),
        (CertificateKind::Rsa2048, "RSA 2048", "sha256WithRSAEncryption"),
        (CertificateKind::Rsa3072, "RSA 3072", "sha256WithRSAEncryption"),
        (CertificateKind::Rsa4096, "RSA 4096", "sha256WithRSAEncryption"),
    ] {
        // The server's own library is as strict as ours.
        let server = builder()
            .certificate(kind)
            .option("--ssl-cipher=ALL:@SECLEVEL=0")
            .start()
            .unwrap();
        for version in [V1_2, V1_3] {
            for library in LIBRARIES {
                let policy = TlsPolicy {
                    library,
                    legacy: kind == CertificateKind::Rsa1024,
                    ..policy(&server, version)
                };
                if kind == CertificateKind::Rsa1024 && library == TlsLibrary::Rustls {
                    let problem = refusal(&with_policy(plain(&server), &policy)).to_string();
                    assert!(problem.contains("not trusted"), "{problem}");
                    continue;
                }
                let certificate = negotiated(&server, &policy).certificate;
                let found = (certificate.key.as_str(), certificate.signature.as_str());
                assert_eq!(found, (key, signature));
            }
        }
    }
}

#[test]
fn a_weak_key_is_taken_only_by_those_who_ask_for_it() {
    let server = builder()
        .certificate(CertificateKind::Rsa1024)
        .option("--ssl-cipher=ALL:@SECLEVEL=0")
        .start()
        .unwrap();
    let problem = refusal(&with_policy(plain(&server), &policy(&server, V1_3))).to_string();
    let is_told = problem.contains("too small") || problem.contains("too weak");
    assert!(is_told, "{problem}");
}

#[test]
fn every_certificate_of_a_chain_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new(CertificateKind::EcdsaP256).unwrap();
    let files = authority
        .issue_chain_for_localhost(folder.path(), 3, KeyFormat::Pkcs8)
        .unwrap();
    let server = server_with(&files);
    let chain = X509::stack_from_pem(&std::fs::read(&files.certificate).unwrap()).unwrap();
    let bytes: usize = chain
        .iter()
        .map(|certificate| certificate.to_der().unwrap().len())
        .sum();
    for library in LIBRARIES {
        for version in [V1_2, V1_3] {
            let policy = by(
                library,
                TlsPolicy::new(
                    version,
                    Verification::HostName(files.ca.clone(), "127.0.0.1".into()),
                ),
            );
            let certificate = negotiated(&server, &policy).certificate;
            let found = (certificate.chain_length, certificate.chain_bytes);
            assert_eq!(found, (3, bytes as u32));
        }
    }
}

#[test]
fn an_account_that_requires_a_certificate_lets_only_those_in_who_have_it() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new(CertificateKind::EcdsaP256).unwrap();
    let files = authority.issue_for_localhost(folder.path()).unwrap();
    let server = server_with(&files);
    administer(
        &server,
        &["CREATE USER certified IDENTIFIED BY 'a secret' REQUIRE SUBJECT '/CN=somebody'"],
    );
    let options = as_user(plain(&server), "certified", "a secret");
    for (name, let_in) in [("somebody", true), ("somebody else", false)] {
        for kind in [
            CertificateKind::EcdsaP256,
            CertificateKind::Rsa2048,
            CertificateKind::Ed25519,
        ] {
            let own = tempfile::tempdir().unwrap();
            let client = authority.issue_client(own.path(), name, kind).unwrap();
            for (library, version) in LIBRARIES
                .into_iter()
                .flat_map(|library| [(library, V1_2), (library, V1_3)])
            {
                let bare = by(
                    library,
                    TlsPolicy::new(version, Verification::Ca(files.ca.clone())),
                );
                let certified = TlsPolicy {
                    client_certificate: Some(ClientCertificate {
                        certificate: client.certificate.clone(),
                        key: client.key.clone(),
                        password: None,
                    }),
                    ..bare.clone()
                };
                assert!(refusal(&with_policy(options.clone(), &bare)).is_access_denied());
                let options = with_policy(options.clone(), &certified);
                if let_in {
                    run(async |reactor| Session::connect(reactor, &options).await.map(drop)).unwrap();
                } else {
                    assert!(refusal(&options).is_access_denied());
                }
            }
        }
    }
}

#[test]
fn what_the_proof_saw_is_what_every_later_session_must_be() {
    let arm = Arm::new("any", Transport::Tls);
    let open = Expectation::of(&arm);
    for library in LIBRARIES {
        let options = |cipher: &str, group| {
            let pinned = TlsPolicy {
                cipher: Some(cipher.into()),
                group: Some(group),
                library,
                ..policy(old_server(), None)
            };
            with_policy(plain(old_server()), &pinned)
        };
        run(async |reactor| {
            let same = options("TLS_AES_128_GCM_SHA256", Group::P256);
            let (mut session, _) = Session::connect(reactor, &same).await.unwrap();
            open.check(&session).unwrap();
            let proved = open.proved(&session.facts().await.unwrap());
            assert_eq!(proved.transport, Transport::Tls13);
            proved.check(&session).unwrap();
            for (other, word) in [
                (options("TLS_AES_256_GCM_SHA384", Group::P256), "cipher"),
                (
                    options("TLS_AES_128_GCM_SHA256", Group::P384),
                    "key exchange by P-384",
                ),
                (options("ECDHE-ECDSA-AES128-GCM-SHA256", Group::P256), "TLSv1.2"),
                (plain(old_server()), "a plaintext session"),
            ] {
                let (session, _) = Session::connect(reactor, &other).await.unwrap();
                let problem = proved.check(&session).unwrap_err();
                assert!(problem.contains(word), "{problem}");
            }
            let (session, _) = Session::connect(reactor, &plain(old_server())).await.unwrap();
            let problem = open.check(&session).unwrap_err();
            assert!(problem.contains("expected a TLS session"), "{problem}");
        });
    }
}

/// A server that can everything, as far as its library can.
fn old_server() -> &'static PrivateServer {
    static SERVER: OnceLock<PrivateServer> = OnceLock::new();
    SERVER.get_or_init(|| server_of("TLSv1.0,TLSv1.1,TLSv1.2,TLSv1.3"))
}

fn server_of(versions: &str) -> PrivateServer {
    builder()
        .option(format!("--tls-version={versions}"))
        .option("--ssl-cipher=ALL:@SECLEVEL=0")
        .start()
        .unwrap()
}

/// A server with certificates of the test's own.
fn server_with(files: &CertificateFiles) -> PrivateServer {
    builder()
        .option(format!("--ssl-ca={}", files.ca.display()))
        .option(format!("--ssl-cert={}", files.certificate.display()))
        .option(format!("--ssl-key={}", files.key.display()))
        .start()
        .unwrap()
}

/// What a session of this policy negotiates, once client and server agree on it.
pub(crate) fn negotiated(server: &PrivateServer, policy: &TlsPolicy) -> TlsFacts {
    let options = with_policy(plain(server), policy);
    run(async |reactor| {
        let (mut session, _) = Session::connect(reactor, &options)
            .await
            .unwrap_or_else(|problem| panic!("{policy:?}: {problem}"));
        let facts = session.facts().await.unwrap();
        let expectation = Expectation::new(Transport::Tls).proved(&facts);
        expectation.check(&session).unwrap();
        expectation.check_status(&mut session).await.unwrap().unwrap();
        session.close().await.unwrap();
        let tls = facts.tls.unwrap();
        let library = match policy.library {
            TlsLibrary::OpenSsl => "OpenSSL 3.5",
            TlsLibrary::Rustls => "rustls 0.23",
        };
        assert!(tls.client_library.contains(library), "{tls:?}");
        let is_full = !tls.resumed && (60..4000).contains(&tls.client_hello_bytes);
        assert!(is_full, "{tls:?}");
        tls
    })
}

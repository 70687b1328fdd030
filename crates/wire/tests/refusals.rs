//! Sessions that are refused, by the server or by the client: each says why, and none is something else instead.

use std::time::{SystemTime, UNIX_EPOCH};

use ciphertax_wire::Distrust;
use ciphertax_wire::mysql::ConnectOptions;
use openssl::asn1::Asn1Time;
use openssl::bn::BigNum;
use openssl::ec::{EcGroup, EcKey};
use openssl::nid::Nid;
use openssl::pkey::PKey;
use openssl::x509::X509Name;
use openssl::x509::extension::{BasicConstraints, SubjectAlternativeName};

use crate::common::*;

#[test]
fn wrong_credentials_are_refused_by_name() {
    for options in [
        plain(server()),
        encrypted(server(), V1_2),
        encrypted(server(), V1_3),
    ] {
        let wrong = Secret::new("not the password");
        for refused in [
            ConnectOptions {
                password: wrong,
                ..options.clone()
            },
            ConnectOptions {
                password: Secret::default(),
                ..options.clone()
            },
            as_user(options, "unknown", "any"),
        ] {
            let problem = refusal(&refused);
            let is_denied = problem.is_access_denied() && !problem.is_disconnect();
            assert!(is_denied, "{problem}");
            let message = problem.to_string();
            let is_told = message.contains("1045") && message.contains(&refused.user);
            assert!(is_told, "{message}");
            assert!(!message.contains("not the password"), "{message}");
        }
    }
}

#[test]
fn a_schema_that_does_not_exist_is_refused() {
    let options = ConnectOptions {
        database: Some("nowhere".into()),
        ..plain(server())
    };
    assert!(matches!(refusal(&options), WireError::Server { code: 1049, .. }));
}

#[test]
fn a_server_without_tls_is_told_from_one_with() {
    let server = builder().without_tls().start().unwrap();
    let problem = refusal(&with_tls(plain(&server), V1_3, Verification::None));
    assert!(matches!(problem, WireError::TlsNotOffered), "{problem}");
    assert_eq!(facts(&plain(&server)).tls, None);
}

#[test]
fn a_server_that_is_not_whom_it_should_be_is_not_trusted() {
    let ca = server().ca_file().unwrap().to_owned();
    let other = server().folder().join("other");
    std::fs::create_dir(&other).unwrap();
    let other = Authority::new(CertificateKind::EcdsaP256)
        .unwrap()
        .issue_for_localhost(&other)
        .unwrap();
    for version in [V1_2, V1_3] {
        let of_name = |ca: &Path, name: &str| Verification::HostName(ca.to_owned(), name.to_owned());
        let other_authority = (Distrust::OtherAuthority, ["certificate", "BadSignature"]);
        let name = ["hostname mismatch", "not valid for name \"wrong.example\""];
        let address = ["IP address mismatch", "not valid for name"];
        for (verification, (expected, reasons)) in [
            (Verification::Ca(other.ca.clone()), other_authority),
            (of_name(&other.ca, "127.0.0.1"), other_authority),
            (of_name(&ca, "wrong.example"), (Distrust::OtherName, name)),
            (of_name(&ca, "192.0.2.1"), (Distrust::OtherName, address)),
        ] {
            for (library, reason) in [TlsLibrary::OpenSsl, TlsLibrary::Rustls].into_iter().zip(reasons) {
                let policy = by(library, TlsPolicy::new(version, verification.clone()));
                let problem = refusal(&with_policy(plain(server()), &policy));
                let is_expected = matches!(problem, WireError::NotTrusted { why, .. } if why == expected);
                assert!(is_expected, "{problem:?}");
                let problem = problem.to_string();
                let is_told = problem.contains("not trusted") && problem.contains(reason);
                assert!(is_told, "{problem}");
            }
        }
    }
}

#[test]
fn a_certificate_that_is_not_valid_at_the_time_is_told_from_one_of_another_authority() {
    for (valid, expected) in [((-2, -1), Distrust::Expired), ((1, 2), Distrust::NotYetValid)] {
        let folder = tempfile::tempdir().unwrap();
        let [ca, certificate, key] = self_made(folder.path(), (-3, 3), valid);
        let server = builder()
            .option(format!("--ssl-ca={}", ca.display()))
            .option(format!("--ssl-cert={}", certificate.display()))
            .option(format!("--ssl-key={}", key.display()))
            .start()
            .unwrap();
        for library in [TlsLibrary::OpenSsl, TlsLibrary::Rustls] {
            for verification in [
                Verification::Ca(ca.clone()),
                Verification::HostName(ca.clone(), "127.0.0.1".into()),
            ] {
                let policy = by(library, TlsPolicy::new(V1_3, verification));
                let problem = refusal(&with_policy(plain(&server), &policy));
                let is_expected = matches!(problem, WireError::NotTrusted { why, .. } if why == expected);
                assert!(is_expected, "{problem:?}");
            }
        }
    }
}

#[test]
fn a_certificate_that_is_not_trusted_is_mended_by_this_databases_options() {
    for why in [Distrust::Expired, Distrust::OtherAuthority, Distrust::OtherName] {
        let problem = WireError::NotTrusted {
            why,
            reason: "reason".into(),
        };
        let mysql = problem.remedy(Protocol::MySql);
        let mongodb = problem.remedy(Protocol::MongoDb);
        assert!(mysql.contains("ssl-") && !mysql.contains("tls"), "{mysql}");
        assert!(mongodb.contains("tls") && !mongodb.contains("ssl-"), "{mongodb}");
    }
}

/// PEM files of an authority, of a certificate for 127.0.0.1 and of its key, valid from and until so many days from
/// now.
fn self_made(folder: &Path, ca_valid: (i64, i64), valid: (i64, i64)) -> [PathBuf; 3] {
    let new_key = || {
        PKey::from_ec_key(EcKey::generate(&EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).unwrap()).unwrap())
    };
    let (ca_key, key) = (new_key().unwrap(), new_key().unwrap());
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64;
    let time = |days: i64| Asn1Time::from_unix(now + days * 86_400).unwrap();
    let name = |common_name: &str| {
        let mut name = X509Name::builder().unwrap();
        name.append_entry_by_nid(Nid::COMMONNAME, common_name).unwrap();
        name.build()
    };
    let certificate = |subject: &str, key: &PKey<Private>, (from, until): (i64, i64)| {
        let mut builder = X509::builder().unwrap();
        builder.set_version(2).unwrap();
        builder
            .set_serial_number(&BigNum::from_u32(1).unwrap().to_asn1_integer().unwrap())
            .unwrap();
        builder.set_subject_name(&name(subject)).unwrap();
        builder.set_issuer_name(&name("authority")).unwrap();
        builder.set_pubkey(key).unwrap();
        builder.set_not_before(&time(from)).unwrap();
        builder.set_not_after(&time(until)).unwrap();
        builder
    };
    let mut ca = certificate("authority", &ca_key, ca_valid);
    ca.append_extension(BasicConstraints::new().critical().ca().build().unwrap())
        .unwrap();
    ca.sign(&ca_key, MessageDigest::sha256()).unwrap();
    let mut leaf = certificate("server", &key, valid);
    let context = leaf.x509v3_context(None, None);
    let names = SubjectAlternativeName::new()
        .ip("127.0.0.1")
        .build(&context)
        .unwrap();
    leaf.append_extension(names).unwrap();
    leaf.sign(&ca_key, MessageDigest::sha256()).unwrap();
    [
        ("ca.pem", ca.build().to_pem().unwrap()),
        ("certificate.pem", leaf.build().to_pem().unwrap()),
        ("key.pem", key.private_key_to_pem_pkcs8().unwrap()),
    ]
    .map(|(file, pem)| {
        let path = folder.join(file);
        std::fs::write(&path, pem).unwrap();
        path
    })
}

#[test]
fn a_ca_file_that_cannot_be_used_is_named() {
    let key = server().folder().join("server-key.pem");
    for (path, reason) in [
        (PathBuf::from("/no/such/ca.pem"), "No such file"),
        (server().folder().to_owned(), "Is a directory"),
        (file_in(server(), "empty.pem", b""), "no PEM certificate"),
        (
            file_in(server(), "text.pem", b"-----BEGIN CERTIFICATE-----\nAAAA\n"),
            "no PEM certificate",
        ),
        (key, "no PEM certificate"),
    ] {
        for library in [TlsLibrary::OpenSsl, TlsLibrary::Rustls] {
            let policy = by(library, TlsPolicy::new(V1_3, Verification::Ca(path.clone())));
            let problem = impossible(&policy);
            let is_told = problem.contains(path.to_str().unwrap()) && problem.contains(reason);
            assert!(is_told, "{problem}");
        }
    }
}

/// Damaged blocks, files that were joined without a line end, and what else stands between them.
#[test]
fn what_can_be_read_of_a_ca_file_is_used_and_the_rest_is_named_by_its_number() {
    let own = std::fs::read_to_string(server().ca_file().unwrap()).unwrap();
    let damaged = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let cut = own.split_at(own.len() / 2).0;
    let trusted = own.replace("CERTIFICATE-----", "TRUSTED CERTIFICATE-----");
    for (text, words) in [
        (format!("{damaged}{own}"), Some("certificate 1 of 2 in ")),
        (
            format!("{own}{damaged}{own}{damaged}"),
            Some("certificates 2, 4 of 4 in "),
        ),
        (format!("{cut}\n{own}"), Some("certificate 1 of 2 in ")),
        (format!("{cut}{own}"), Some("certificate 1 of 2 in ")),
        (format!("{}{}", own.trim_end(), own.trim_end()), None),
        (
            format!("{}{own}", damaged.trim_end()),
            Some("certificate 1 of 2 in "),
        ),
        (
            format!("a comment: caf\u{e9}\r\n{}", own.replace('\n', "\r\n")),
            None,
        ),
        (trusted, None),
    ] {
        let path = file_in(server(), "bundle.pem", text.as_bytes());
        let said = ciphertax_wire::tls::damaged(&path);
        let expected = words.map(|words| format!("{words}{} cannot be read", path.display()));
        assert_eq!(said, expected, "{text}");
        for library in [TlsLibrary::OpenSsl, TlsLibrary::Rustls] {
            let policy = by(library, TlsPolicy::new(V1_3, Verification::Ca(path.clone())));
            crate::policies::negotiated(server(), &policy);
        }
    }
}

#[test]
fn a_clients_certificate_that_cannot_be_used_is_named() {
    let folder = server().folder().join("clients");
    std::fs::create_dir(&folder).unwrap();
    let authority = Authority::new(CertificateKind::EcdsaP256).unwrap();
    let client = authority
        .issue_client(&folder, "somebody", CertificateKind::EcdsaP256)
        .unwrap();
    let of_another = server().folder().join("server-key.pem");
    let nothing = file_in(server(), "nothing.pem", b"");
    for library in [TlsLibrary::OpenSsl, TlsLibrary::Rustls] {
        let missing = |name: &str| PathBuf::from(name);
        for (certificate, key, culprit) in [
            (&missing("/no/such/cert.pem"), &client.key, "/no/such/cert.pem"),
            (
                &client.certificate,
                &missing("/no/such/key.pem"),
                "/no/such/key.pem",
            ),
            (&nothing, &client.key, "nothing.pem"),
            (&client.certificate, &nothing, "nothing.pem"),
            (&client.certificate, &of_another, "server-key.pem"),
        ] {
            let (certificate, key) = (certificate.clone(), key.clone());
            let policy = TlsPolicy {
                client_certificate: Some(ClientCertificate {
                    certificate,
                    key,
                    password: None,
                }),
                library,
                ..TlsPolicy::new(V1_3, Verification::None)
            };
            let problem = impossible(&policy);
            let is_told = problem.contains("client's certificate or key") && problem.contains(culprit);
            assert!(is_told, "{problem}");
        }
    }
}

/// Never by OpenSSL's own question at the terminal.
#[test]
fn a_key_that_is_encrypted_in_whatever_format_takes_its_password_and_names_it_as_missing() {
    let folder = server().folder().join("encrypted");
    std::fs::create_dir(&folder).unwrap();
    let authority = Authority::new(CertificateKind::EcdsaP256).unwrap();
    let client = authority.issue_client(&folder, "somebody", CertificateKind::Rsa2048);
    let client = client.unwrap();
    let key = PKey::private_key_from_pem(&std::fs::read(&client.key).unwrap()).unwrap();
    let (cipher, password) = (openssl::symm::Cipher::aes_256_cbc(), "s3cret");
    let new = key.private_key_to_pem_pkcs8_passphrase(cipher, password.as_bytes());
    let old = key
        .rsa()
        .unwrap()
        .private_key_to_pem_passphrase(cipher, password.as_bytes());
    let too_long = "x".repeat(5000);
    for pem in [new.unwrap(), old.unwrap()] {
        std::fs::write(&client.key, pem).unwrap();
        for library in [TlsLibrary::OpenSsl, TlsLibrary::Rustls] {
            let with = |password: Option<&str>| TlsPolicy {
                client_certificate: Some(ClientCertificate {
                    certificate: client.certificate.clone(),
                    key: client.key.clone(),
                    password: password.map(Secret::new),
                }),
                library,
                ..TlsPolicy::new(V1_3, Verification::None)
            };
            assert!(TlsConnector::new(&with(Some(password))).is_ok());
            for (password, words) in [
                (
                    None,
                    "encrypted; give its password in the environment variable CIPHERTAX_KEY_PASSWORD",
                ),
                (Some("another"), "cannot be decrypted"),
                (Some(&*too_long), "cannot be decrypted"),
            ] {
                let policy = with(password);
                let problem = impossible(&policy);
                let holds = problem.contains(words) && problem.contains("client-key.pem");
                assert!(holds, "{problem}");
                let found = policy.client_certificate.unwrap().lacks_password();
                assert_eq!(found, password.is_none());
            }
        }
    }
}

#[test]
fn what_a_library_cannot_do_is_refused_with_what_it_can() {
    use TlsLibrary::{OpenSsl, Rustls};
    for (library, version, cipher, instead) in [
        (Rustls, V1_0, None, "TLSv1 … TLSv1.2 … openssl"),
        (Rustls, V1_1, None, "TLSv1.1 … TLSv1.2 … openssl"),
        (
            Rustls,
            V1_2,
            Some("ECDHE-RSA-AES128-SHA"),
            "ECDHE-RSA-AES128-GCM-SHA256",
        ),
        (
            Rustls,
            V1_3,
            Some("TLS_AES_128_CCM_SHA256"),
            "TLS_AES_128_GCM_SHA256",
        ),
        (
            OpenSsl,
            V1_2,
            Some("ECDHE-RSA-AES512-SHA"),
            "ECDHE-RSA-AES256-SHA",
        ),
        (
            OpenSsl,
            V1_3,
            Some("TLS_AES_512_GCM_SHA512"),
            "TLS_AES_256_GCM_SHA384",
        ),
        // Names of many suites at once are no names of one.
        (OpenSsl, V1_2, Some("HIGH"), "SHA"),
        (OpenSsl, V1_2, Some("ALL:!RSA"), "SHA"),
        (OpenSsl, V1_2, Some("ADH-AES128-SHA"), "SHA"),
    ] {
        let problem = impossible(&TlsPolicy {
            library,
            cipher: cipher.map(str::to_owned),
            ..TlsPolicy::new(version, Verification::None)
        });
        says(&problem, if library == Rustls { "rustls" } else { "OpenSSL" });
        says(&problem, instead);
        if let Some(cipher) = cipher {
            says(&problem, &format!("{cipher} … nearest"));
        }
    }
}

#[test]
fn a_tls_version_that_the_server_does_not_speak_is_an_error_and_no_other_version() {
    for (spoken, asked) in [(V1_2, V1_3), (V1_3, V1_2)] {
        let server = builder()
            .option(format!("--tls-version={spoken}"))
            .start()
            .unwrap();
        for library in [TlsLibrary::OpenSsl, TlsLibrary::Rustls] {
            let policy = by(library, policy(&server, asked));
            let problem = refusal(&with_policy(plain(&server), &policy)).to_string();
            let is_told = problem.contains("TLS") && problem.to_lowercase().contains("version");
            assert!(is_told, "{problem}");
        }
        let version = facts(&encrypted(&server, spoken)).tls.unwrap().version;
        assert_eq!(version, spoken.name());
    }
}

#[test]
fn a_server_that_demands_tls_refuses_a_plain_session() {
    let server = builder().option("--require-secure-transport=ON").start().unwrap();
    // MariaDB says access denied, as for a wrong password; MySQL has ER_SECURE_TRANSPORT_REQUIRED.
    let problem = refusal(&plain(&server));
    let is_refused = matches!(
        problem,
        WireError::Server {
            code: 1045 | 3159,
            ..
        }
    );
    assert!(is_refused, "{problem}");
    assert!(facts(&encrypted(&server, V1_3)).tls.is_some());
}

#[test]
fn nobody_listening_is_told_with_the_address() {
    let server = builder().without_tls().start().unwrap();
    let options = plain(&server);
    server.stop().unwrap();
    let problem = refusal(&options);
    assert!(problem.is_disconnect(), "{problem}");
    says(&problem, &format!("127.0.0.1:{}", options.port));
}

/// Why a policy is not available.
fn impossible(policy: &TlsPolicy) -> String {
    TlsConnector::new(policy)
        .err()
        .expect("the policy was accepted")
        .to_string()
}

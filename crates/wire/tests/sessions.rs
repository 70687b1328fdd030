//! What a session with a real server is, how it came to be, and why it sometimes does not.

use ciphertax_base::Verified;
use ciphertax_wire::Session as _;
use ciphertax_wire::mysql::{Expectation, Parameter, Query, Session};
use ciphertax_wire::sql::{SqlSession as _, Statement as _};

use crate::common::*;

#[test]
fn facts_of_a_plain_session_name_the_server_and_no_tls() {
    let facts = facts(&plain(server()));
    says(&facts.server_version, "MariaDB");
    assert_eq!(facts.authentication.method, "mysql_native_password");
    assert_eq!(facts.authentication.path, LoginPath::Single);
    assert_eq!(facts.tls, None);
}

#[test]
fn facts_of_a_tls_session_name_what_was_negotiated() {
    let ca = server().ca_file().unwrap().to_owned();
    let host_name = Verification::HostName(ca.clone(), "localhost".into());
    let address = Verification::HostName(ca.clone(), "127.0.0.1".into());
    for (version, verification, verified) in [
        (V1_2, Verification::Ca(ca), Verified::Ca),
        (V1_3, host_name, Verified::HostName),
        (V1_3, address, Verified::HostName),
        (V1_3, Verification::None, Verified::None),
    ] {
        let tls = facts(&with_tls(plain(server()), version, verification))
            .tls
            .unwrap();
        assert_eq!(tls.version, version.name());
        assert_eq!(tls.verification, verified);
        assert_eq!(tls.certificate.key, "EC P-256");
        assert_eq!(tls.certificate.signature, "ecdsa-with-SHA256");
        assert!((1..=2).contains(&tls.certificate.chain_length), "{tls:?}");
        assert!((200..4000).contains(&tls.certificate.chain_bytes), "{tls:?}");
        assert!((100..4000).contains(&tls.client_hello_bytes), "{tls:?}");
        assert!(!tls.cipher.is_empty() && !tls.group.is_empty(), "{tls:?}");
        let is_ours = !tls.resumed && tls.client_library.contains("OpenSSL 3.5");
        assert!(is_ours, "{tls:?}");
    }
}

#[test]
fn client_and_server_agree_on_what_a_session_is_and_a_lie_is_told() {
    let options = |transport: Transport| match transport.tls_version() {
        None => plain(server()),
        Some(version) => encrypted(server(), version),
    };
    let kinds = [Transport::Plain, Transport::Tls12, Transport::Tls13];
    for (real, expected) in kinds
        .into_iter()
        .flat_map(|real| kinds.map(|expected| (real, expected)))
    {
        run(async |reactor| {
            let (mut session, _) = Session::connect(reactor, &options(real)).await.unwrap();
            let cipher = session.tls_summary().map(|summary| summary.cipher.to_owned());
            let expectation = Expectation {
                cipher,
                ..Expectation::new(expected)
            };
            let word = expectation.check_status(&mut session).await.unwrap();
            let name = |transport: Transport| transport.tls_version().map(TlsVersion::name);
            if real == expected {
                assert_eq!(word.unwrap().version, name(real).unwrap_or_default());
                expectation.check(&session).unwrap();
            } else {
                let problems = [expectation.check(&session).unwrap_err(), word.unwrap_err()];
                for (witness, problem) in ["client", "server"].iter().zip(&problems) {
                    assert!(problem.contains(witness), "{problem}");
                    let expected = name(expected).unwrap_or("a plaintext session");
                    let is_expected = problem.split("expected").last().unwrap().contains(expected);
                    assert!(is_expected, "{problem}");
                }
            }
        });
    }
}

#[test]
fn a_cipher_other_than_the_proved_one_is_told_by_both_sides() {
    run(async |reactor| {
        let (mut session, _) = Session::connect(reactor, &encrypted(server(), V1_3))
            .await
            .unwrap();
        let expectation = Expectation {
            cipher: Some("TLS_AES_128_CCM_SHA256".into()),
            ..Expectation::new(Transport::Tls13)
        };
        says(expectation.check(&session).unwrap_err(), "TLS_AES_128_CCM_SHA256");
        let word = expectation.check_status(&mut session).await.unwrap();
        assert!(word.unwrap_err().contains("TLS_AES_128_CCM_SHA256"));
    });
}

#[test]
fn what_answers_in_the_servers_place_is_asked_for_until_an_arm_is_proved() {
    run(async |reactor| {
        let (mut session, _) = Session::connect(reactor, &encrypted(server(), V1_3))
            .await
            .unwrap();
        let mut asked = Vec::new();
        for is_said_by_server in [None, Some(true)] {
            let expectation = Expectation {
                is_said_by_server,
                ..Expectation::new(Transport::Tls13)
            };
            let count = "SHOW SESSION STATUS LIKE 'Questions'";
            let before = session.query(count).await.unwrap()[0].text(1);
            let status = expectation.check_status(&mut session).await.unwrap().unwrap();
            assert_eq!(status.silence, None);
            let after = session.query(count).await.unwrap()[0].text(1);
            asked.push(after.parse::<u64>().unwrap() - before.parse::<u64>().unwrap());
        }
        // With the count itself.
        assert_eq!(asked, [3, 2]);
    });
}

#[test]
fn every_phase_of_a_connect_is_traced() {
    for tls in [None, Some(V1_2), Some(V1_3)] {
        let options = tls.map_or(plain(server()), |version| encrypted(server(), version));
        run(async |reactor| {
            let began = Instant::now();
            let (session, trace) = Session::connect(reactor, &options).await.unwrap();
            let took = began.elapsed().as_nanos() as u64;
            let phases: Vec<(Phase, PhaseTrace)> =
                trace.phases().map(|(phase, trace)| (phase, *trace)).collect();
            let of = |wanted| {
                phases
                    .iter()
                    .find(|(phase, _)| *phase == wanted)
                    .map(|(_, trace)| *trace)
            };

            let mut expected = vec![Phase::Resolve, Phase::Tcp, Phase::Preface, Phase::Auth];
            if tls.is_some() {
                expected.insert(3, Phase::Tls);
            }
            let found = phases.iter().map(|(phase, _)| *phase).collect::<Vec<_>>();
            assert_eq!(found, expected);
            assert_eq!(of(Phase::Tcp).unwrap().flights, 1);
            let preface = of(Phase::Preface).unwrap();
            assert_eq!(preface.flights, 1);
            assert!(preface.bytes_received > 50 && (preface.bytes_sent > 0) == tls.is_some());
            if let Some(version) = tls {
                let handshake = of(Phase::Tls).unwrap();
                assert_eq!(handshake.flights, if version == V1_2 { 2 } else { 1 });
                assert!(handshake.bytes_sent > 100 && handshake.bytes_received > 500);
                let cpu_ns = handshake.client_cpu_ns.unwrap();
                assert!(cpu_ns > 10_000 && cpu_ns < handshake.wall_ns, "{handshake:?}");
            }
            let login = of(Phase::Auth).unwrap();
            assert_eq!(login.flights, 1);
            assert!(login.bytes_sent > 30 && login.bytes_received > 5 && login.client_cpu_ns > Some(0));

            let sum = |of: fn(&PhaseTrace) -> u64| phases.iter().map(|(_, trace)| of(trace)).sum::<u64>();
            assert_eq!(sum(|trace| trace.bytes_sent), session.traffic().sent);
            assert_eq!(sum(|trace| trace.bytes_received), session.traffic().received);
            assert!(sum(|trace| trace.wall_ns) <= took);

            let close = session.close().await.unwrap();
            assert!(close.bytes_sent > 0 && close.flights == 1, "{close:?}");
        });
    }
}

#[test]
fn integers_and_texts_are_bound_and_changed_rows_are_counted() {
    run(async |reactor| {
        let (mut session, _) = Session::connect(reactor, &plain(server())).await.unwrap();
        let table = "CREATE TEMPORARY TABLE mysql.bound (id BIGINT, t MEDIUMTEXT)";
        session.query(table).await.unwrap();
        // On both sides of each length of a length.
        for (id, length) in [
            (-1, 0),
            (2, 1),
            (3, 250),
            (4, 251),
            (5, 65_535),
            (i64::MAX, 65_536),
        ] {
            let sql = "INSERT INTO mysql.bound VALUES (?, ?)";
            let parameters = [Parameter::Integer, Parameter::Text(length)];
            let mut insert = session.prepare(sql, &parameters).await.unwrap();
            for letter in [b'a', b'b'] {
                insert.set_integer(0, id);
                insert.text_mut(1).fill(letter);
                let answer = session.execute(&mut insert).await.unwrap();
                assert_eq!((answer.affected_rows, answer.rows), (1, 0));
            }
            let letters = |letter: &str| format!("t = REPEAT('{letter}', {length})");
            let mut count = Query::new("UPDATE mysql.bound SET id = 0 WHERE id = ");
            count.push(id.to_string().as_bytes());
            count.push(format!(" AND ({} OR {})", letters("a"), letters("b")).as_bytes());
            for changed in [2, 0] {
                assert_eq!(session.run(&mut count).await.unwrap().affected_rows, changed);
            }
        }
        let problem = session.prepare("SELECT ?", &[]).await.map(drop).unwrap_err();
        assert!(problem.to_string().contains("1 parameters, not 0"), "{problem}");
    });
}

//! Logins to a PostgreSQL by every method that it has, unencrypted and over TLS, as both sides see them.

use ciphertax_base::ConnectTrace;
use ciphertax_model::TlsLibrary::{OpenSsl, Rustls};
use ciphertax_wire::postgresql::{
    ALPN, ConnectOptions, Expectation, ExpectedLogin, Negotiation, ScramKeys, Session,
};
use ciphertax_wire::{Session as _, Word};
use openssl::ssl::{AlpnError, SslAcceptor, SslFiletype, SslMethod};

use crate::common::postgres::{ITERATIONS, Postgres, postgres};
use crate::common::*;

const LIBRARIES: [(TlsLibrary, TlsVersion); 3] = [(OpenSsl, V1_2), (OpenSsl, V1_3), (Rustls, V1_3)];

#[test]
fn each_account_is_logged_in_by_the_method_that_the_server_asks_for() {
    let Some(server) = postgres() else { return };
    for (user, method, path) in [
        ("trusted", Method::Trust, LoginPath::Single),
        ("hashed", Method::Md5, LoginPath::Single),
        ("scram", Method::ScramSha256, LoginPath::Derived),
        ("unencrypted", Method::ScramSha256, LoginPath::Derived),
    ] {
        for wanted in [None, Some(method)] {
            let options = by(server.plain(user), wanted);
            let facts = facts(&options);
            let found = (facts.0.as_str(), facts.1);
            assert_eq!(found, (method.name(), path), "{user} {wanted:?}");
        }
    }
    for (library, version) in LIBRARIES {
        for (user, wanted, method) in [
            ("trusted", None, Method::Trust),
            ("plain", None, Method::Password),
            ("hashed", Some(Method::Md5), Method::Md5),
            ("encrypted", None, Method::ScramSha256Plus),
            ("scram", Some(Method::ScramSha256), Method::ScramSha256),
            ("scram", Some(Method::ScramSha256Plus), Method::ScramSha256Plus),
        ] {
            let options = by(server.encrypted(user, library, version), wanted);
            assert_eq!(facts(&options).0, method.name(), "{user} {library:?} {version:?}");
        }
    }
}

#[test]
fn a_password_is_sent_in_plaintext_only_where_that_is_what_is_asked_for() {
    let Some(server) = postgres() else { return };
    let problem = refusal(&server.plain("plain"));
    assert!(matches!(problem, WireError::PasswordWithheld(_)), "{problem}");
    assert!(problem.to_string().contains("without TLS"), "{problem}");
    let asked_for = by(server.plain("plain"), Some(Method::Password));
    assert_eq!(facts(&asked_for).0, "password");
}

#[test]
fn a_login_by_a_clients_certificate_is_one_by_no_password() {
    let Some(server) = postgres() else { return };
    for (library, version) in LIBRARIES {
        let policy = TlsPolicy {
            client_certificate: Some(server.client_certificate()),
            library,
            ..server.policy(version)
        };
        let options = ConnectOptions {
            password: Secret::default(),
            method: Some(Method::Certificate),
            ..server.with_policy("certified", &policy)
        };
        assert_eq!(facts(&options).0, "cert");
        assert!(Session::with_wrong_secret(&options).is_none());
    }
    let without = by(
        server.encrypted("certified", OpenSsl, V1_3),
        Some(Method::Certificate),
    );
    assert!(refusal(&without).is_access_denied());
    let plain = by(server.plain("certified"), Some(Method::Certificate));
    assert!(refusal(&plain).to_string().contains("needs TLS"));
}

#[test]
fn a_server_that_asks_for_another_login_is_told_nothing() {
    let Some(server) = postgres() else { return };
    for (user, wanted, words) in [
        (
            "hashed",
            Method::ScramSha256,
            "asks for md5; expected SCRAM-SHA-256",
        ),
        ("scram", Method::Md5, "asks for SCRAM-SHA-256; expected md5"),
        (
            "plain",
            Method::ScramSha256,
            "asks for password; expected SCRAM-SHA-256",
        ),
        ("trusted", Method::ScramSha256, "asks for nothing"),
        ("scram", Method::Trust, "asks for SCRAM-SHA-256; expected trust"),
        ("scram", Method::ScramSha256Plus, "needs TLS"),
    ] {
        let problem = refusal(&by(server.plain(user), Some(wanted)));
        assert!(matches!(problem, WireError::Authentication(_)), "{problem}");
        assert!(problem.to_string().contains(words), "{user}: {problem}");
    }
}

#[test]
fn a_wrong_secret_and_a_wrong_way_in_are_refused_by_the_server() {
    let Some(server) = postgres() else { return };
    for options in [
        by(server.plain("scram"), Some(Method::ScramSha256)),
        by(server.plain("hashed"), Some(Method::Md5)),
        by(server.plain("plain"), Some(Method::Password)),
        by(
            server.encrypted("encrypted", Rustls, V1_3),
            Some(Method::ScramSha256Plus),
        ),
    ] {
        let (what, wrong) = Session::with_wrong_secret(&options).unwrap();
        let problem = refusal(&wrong);
        let is_denied = problem.is_access_denied() && !problem.is_tls_demanded();
        assert!(is_denied, "{problem}");
        assert_eq!(sql_state(&problem), "28P01", "{problem}");
        assert_eq!(what, "a wrong password");
    }
    let demanded = refusal(&server.plain("encrypted"));
    assert!(demanded.is_tls_demanded(), "{demanded}");
    let remedy = demanded.remedy(Protocol::PostgreSql);
    assert!(remedy.contains("hostssl may over TLS"), "{remedy}");
    let forbidden = refusal(&server.encrypted("unencrypted", OpenSsl, V1_3));
    let is_forbidden = forbidden.is_access_denied() && !forbidden.is_tls_demanded();
    assert!(is_forbidden, "{forbidden}");
}

#[test]
fn keys_that_are_kept_are_derived_once_whatever_the_iterations() {
    let Some(server) = postgres() else { return };
    let iterations = ITERATIONS.map(|iterations| (format!("scram{iterations}"), iterations));
    for (user, iterations) in iterations.into_iter().chain([("scram".to_owned(), 4096)]) {
        let options = ConnectOptions {
            scram_keys: ScramKeys::kept(),
            ..server.plain(&user)
        };
        run(async |reactor| {
            for path in [LoginPath::Derived, LoginPath::Cached, LoginPath::Cached] {
                let (session, _) = Session::connect(reactor, &options).await.unwrap();
                assert_eq!(session.authentication().path, path);
                assert_eq!(session.iterations(), Some(iterations as u32));
                session.close().await.unwrap();
            }
        });
    }
    let options = ConnectOptions {
        scram_keys: ScramKeys::kept(),
        ..server.encrypted("encrypted", OpenSsl, V1_3)
    };
    run(async |reactor| {
        Session::warm_up(reactor, &options, 8).await.unwrap();
        let (session, _) = Session::connect(reactor, &options).await.unwrap();
        assert_eq!(session.authentication().path, LoginPath::Cached);
        session.close().await.unwrap();
    });
}

#[test]
fn phases_and_flights_are_those_of_the_way_in() {
    let Some(server) = postgres() else { return };
    let flights = |trace: &ConnectTrace, phase| of(trace, phase).map(|phase| phase.flights);
    let plain = trace(&server.plain("trusted"));
    assert_eq!(flights(&plain, Phase::Preface), None);
    assert_eq!(flights(&plain, Phase::Tls), None);
    assert_eq!(flights(&plain, Phase::Tcp), Some(1));
    assert_eq!(flights(&plain, Phase::Auth), Some(1));
    assert_eq!(flights(&plain, Phase::Setup), Some(0));
    // The group that PostgreSQL has for its default (`ssl_ecdh_curve`) before 18: for another it asks a second time.
    let policy = TlsPolicy {
        group: Some(Group::P256),
        ..server.policy(V1_3)
    };
    let encrypted = trace(&server.with_policy("encrypted", &policy));
    assert_eq!(flights(&encrypted, Phase::Preface), Some(1));
    assert_eq!(flights(&encrypted, Phase::Tls), Some(1));
    assert_eq!(flights(&encrypted, Phase::Auth), Some(3));
    assert_eq!(flights(&encrypted, Phase::Setup), Some(0));
    let preface = of(&encrypted, Phase::Preface).unwrap();
    assert_eq!((preface.bytes_sent, preface.bytes_received), (8, 1));
    assert!(of(&encrypted, Phase::Auth).unwrap().client_cpu_ns.unwrap() > 0);
    let by_socket = trace(&server.owner());
    assert_eq!(flights(&by_socket, Phase::Resolve), None);
}

#[test]
fn the_server_agrees_with_what_the_client_says_of_a_session() {
    let Some(server) = postgres() else { return };
    let mut arms = vec![(server.plain("scram"), Expectation::new(Transport::Plain))];
    for (library, version) in LIBRARIES {
        let transport = match version {
            V1_2 => Transport::Tls12,
            _ => Transport::Tls13,
        };
        arms.push((
            server.encrypted("scram", library, version),
            Expectation::new(transport),
        ));
    }
    for (options, expectation) in &arms {
        let expectation = Expectation {
            login: Some(ExpectedLogin {
                method: Some(if options.tls.is_some() {
                    "SCRAM-SHA-256-PLUS".into()
                } else {
                    "SCRAM-SHA-256".into()
                }),
                path: Some(LoginPath::Derived),
            }),
            ..expectation.clone()
        };
        run(async |reactor| {
            let mut session = Session::connect_as(reactor, options, &expectation).await.unwrap();
            expectation.check(&session).unwrap();
            let facts = Client::facts(&mut session).await.unwrap();
            assert!(facts.server_version.starts_with("1"), "{facts:?}");
            assert_eq!(facts.tls.is_some(), options.tls.is_some());
            let word = session.check_by_server(options, &expectation).await.unwrap();
            let version = session.tls_summary().map_or("no TLS", |tls| tls.version);
            let agrees = matches!(&word, Word::Agrees(proof) if proof.evidence.contains(version));
            assert!(agrees, "{word:?}");
            let other = Expectation::new(match options.tls {
                None => Transport::Tls13,
                Some(_) => Transport::Plain,
            });
            let word = session.check_by_server(options, &other).await.unwrap();
            assert!(matches!(word, Word::Contradicts(_)), "{word:?}");
            session.close().await.unwrap();
        });
    }
    assert_eq!(Session::PROTOCOL, Protocol::PostgreSql);
}

#[test]
fn a_unix_socket_is_a_way_in_too() {
    let Some(server) = postgres() else { return };
    let options = server.owner();
    let socket = server.socket();
    assert_eq!(Session::endpoint(&options), Endpoint::Unix(&socket));
    assert_eq!(facts(&options).0, "trust");
    let over_tcp = Session::through(
        &server.owner(),
        SocketAddr::from((Ipv4Addr::LOCALHOST, server.port)),
    );
    assert!(refusal(&over_tcp).is_access_denied(), "it has no way in over TCP");
}

#[test]
fn a_certificate_of_another_authority_or_for_another_name_is_not_trusted() {
    let Some(server) = postgres() else { return };
    for verification in [
        Verification::Ca(server.client.certificate.clone()),
        Verification::HostName(server.files.ca.clone(), "db.example".into()),
    ] {
        let policy = TlsPolicy::new(V1_3, verification);
        let problem = refusal(&server.with_policy("encrypted", &policy));
        assert!(matches!(problem, WireError::NotTrusted { .. }), "{problem}");
        assert!(problem.remedy(Protocol::PostgreSql).contains("ssl"), "{problem}");
    }
}

/// PostgreSQL has it since 17, so TLS ends at a proxy in front of the server.
#[test]
fn direct_tls_saves_the_request_and_insists_on_the_protocols_name() {
    let Some(server) = postgres() else { return };
    for library in [OpenSsl, Rustls] {
        let direct = |port, alpn| {
            let policy = TlsPolicy {
                alpn,
                library,
                ..server.policy(V1_3)
            };
            ConnectOptions {
                port,
                negotiation: Negotiation::Direct,
                ..server.with_policy("trusted", &policy)
            }
        };
        let trace = trace(&direct(proxy(server, true), Some(ALPN)));
        assert!(of(&trace, Phase::Preface).is_none());
        assert_eq!(of(&trace, Phase::Tls).unwrap().flights, 1);
        for (port, alpn) in [(proxy(server, true), None), (proxy(server, false), Some(ALPN))] {
            let problem = refusal(&direct(port, alpn));
            assert!(problem.to_string().contains("ALPN"), "{problem}");
        }
    }
}

#[test]
fn a_server_without_direct_tls_is_named_as_that() {
    let Some(server) = postgres() else { return };
    let policy = TlsPolicy {
        alpn: Some(ALPN),
        ..server.policy(V1_3)
    };
    let options = ConnectOptions {
        negotiation: Negotiation::Direct,
        ..server.with_policy("trusted", &policy)
    };
    let major: Option<u32> = run(async |reactor| {
        let (session, _) = Session::connect(reactor, &server.plain("trusted")).await.unwrap();
        session.server_version().split('.').next()?.parse().ok()
    });
    if major.unwrap() >= 17 {
        return assert_eq!(facts(&options).0, "trust");
    }
    let problem = refusal(&options);
    let has_hung_up = matches!(problem, WireError::HungUp { encrypted: true });
    assert!(has_hung_up, "{problem}");
    assert!(problem.remedy(Protocol::PostgreSql).contains("PostgreSQL 17"));
}

/// Ends TLS for one connection and passes on what is said; returns its port.
fn proxy(server: &Postgres, agrees: bool) -> u16 {
    let mut acceptor = SslAcceptor::mozilla_intermediate_v5(SslMethod::tls_server()).unwrap();
    acceptor
        .set_private_key_file(&server.files.key, SslFiletype::PEM)
        .unwrap();
    acceptor
        .set_certificate_chain_file(&server.files.certificate)
        .unwrap();
    acceptor.set_alpn_select_callback(move |_, offered| {
        const WIRE: &[u8] = b"\x0Apostgresql";
        match agrees && offered == WIRE {
            true => Ok(&offered[1..]),
            false => Err(AlpnError::NOACK),
        }
    });
    let acceptor = acceptor.build();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let (port, target) = (listener.local_addr().unwrap().port(), server.port);
    thread::spawn(move || {
        let (client, _) = listener.accept().unwrap();
        let Ok(mut client) = acceptor.accept(client) else {
            return;
        };
        let mut target = TcpStream::connect((Ipv4Addr::LOCALHOST, target)).unwrap();
        // The client waits for each answer, so one direction at a time is enough.
        let mut buffer = [0; 16 << 10];
        while let Ok(count @ 1..) = client.read(&mut buffer) {
            target.write_all(&buffer[..count]).unwrap();
            match target.read(&mut buffer) {
                Ok(count @ 1..) => client.write_all(&buffer[..count]).unwrap(),
                _ => return,
            }
        }
    });
    port
}

fn by(options: ConnectOptions, method: Option<Method>) -> ConnectOptions {
    ConnectOptions { method, ..options }
}

/// How the login went; the session is closed again.
fn facts(options: &ConnectOptions) -> (String, LoginPath) {
    run(async |reactor| {
        let (mut session, _) = Session::connect(reactor, options).await.unwrap();
        let facts = session.facts().await.unwrap().authentication;
        session.close().await.unwrap();
        (facts.method, facts.path)
    })
}

fn trace(options: &ConnectOptions) -> ConnectTrace {
    run(async |reactor| {
        let (session, trace) = Session::connect(reactor, options).await.unwrap();
        session.close().await.unwrap();
        trace
    })
}

fn of(trace: &ConnectTrace, wanted: Phase) -> Option<PhaseTrace> {
    let mut phases = trace.phases();
    phases
        .find(|(phase, _)| *phase == wanted)
        .map(|(_, trace)| *trace)
}

fn refusal(options: &ConnectOptions) -> WireError {
    let outcome = run(async |reactor| Session::connect(reactor, options).await.map(drop));
    outcome.expect_err("a session was opened")
}

fn sql_state(error: &WireError) -> &str {
    match error {
        WireError::PostgreSql { sql_state, .. } => sql_state,
        error => panic!("{error}"),
    }
}

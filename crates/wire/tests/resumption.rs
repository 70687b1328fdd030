//! Sessions that take up earlier ones: by ticket and by id, with either library, as both sides see it.

use ciphertax_model::Resumption;
use ciphertax_wire::Client as _;
use ciphertax_wire::Session as _;
use ciphertax_wire::mysql::{ConnectOptions, Expectation, Session};
use ciphertax_wire::tls::TlsSummary;

use crate::common::*;

/// The combinations that libraries and the server can.
const KINDS: [(TlsLibrary, TlsVersion, Resumption); 6] = [
    (TlsLibrary::OpenSsl, V1_2, Resumption::SessionId),
    (TlsLibrary::OpenSsl, V1_2, Resumption::Ticket),
    (TlsLibrary::OpenSsl, V1_3, Resumption::Ticket),
    (TlsLibrary::Rustls, V1_2, Resumption::SessionId),
    (TlsLibrary::Rustls, V1_2, Resumption::Ticket),
    (TlsLibrary::Rustls, V1_3, Resumption::Ticket),
];

#[test]
fn a_resumed_session_sends_no_certificate_and_takes_fewer_bytes() {
    for (library, version, resumption) in KINDS {
        let options = options(library, version, resumption);
        run(async |reactor| {
            let (full, full_handshake) = connect(reactor, &options).await;
            assert!(!full.resumed && full.certificate.chain_length > 0, "{full:?}");
            for _ in 0..5 {
                let (resumed, handshake) = connect(reactor, &options).await;
                let what = format!("{library:?} {version} {resumption:?}: {resumed:?} {handshake:?}");
                assert!(resumed.resumed, "{what}");
                let found = (resumed.certificate.chain_length, resumed.certificate.chain_bytes);
                assert_eq!(found, (0, 0), "{what}");
                assert_eq!(resumed.certificate.key, full.certificate.key);
                assert_eq!((&resumed.version, &resumed.cipher), (&full.version, &full.cipher));
                let saved = full_handshake.bytes_received - handshake.bytes_received;
                let is_saved = saved > u64::from(full.certificate.chain_bytes);
                assert!(is_saved, "{what} {full_handshake:?}");
            }
        });
    }
}

/// In TLS 1.2 certificates travel unencrypted, so anybody on the way can tell; in TLS 1.3 only by the number of bytes.
#[test]
fn a_listener_on_the_way_sees_no_certificate_in_a_resumed_session() {
    let pem = std::fs::read(server().folder().join("server-cert.pem")).unwrap();
    let certificate = X509::from_pem(&pem).unwrap().to_der().unwrap();
    for (library, version, resumption) in KINDS {
        let options = options(library, version, resumption);
        let heard = [0, 1].map(|_| {
            let proxy = Proxy::start(server().address(), Tampering::Nothing);
            run(async |reactor| connect(reactor, &proxy.options(&options)).await);
            proxy.recorded()
        });
        let what = format!("{library:?} {version} {resumption:?}");
        assert_eq!(contains(&heard[0], &certificate), version == V1_2, "{what}");
        assert!(!contains(&heard[1], &certificate), "{what}");
        assert!(heard[1].len() + certificate.len() < heard[0].len(), "{what}");
    }
}

#[test]
fn old_versions_resume_too() {
    let server = builder()
        .option("--tls-version=TLSv1.0,TLSv1.1")
        .option("--ssl-cipher=ALL:@SECLEVEL=0")
        .start()
        .unwrap();
    for version in [V1_0, V1_1] {
        for resumption in [Resumption::SessionId, Resumption::Ticket] {
            let policy = TlsPolicy {
                resumption,
                ..policy(&server, version)
            };
            let options = with_policy(plain(&server), &policy);
            run(async |reactor| {
                assert!(!connect(reactor, &options).await.0.resumed);
                let is_resumed = connect(reactor, &options).await.0.resumed;
                assert!(is_resumed, "{version} {resumption:?}");
            });
        }
    }
}

#[test]
fn nothing_is_resumed_where_nothing_is_asked_for() {
    for library in [TlsLibrary::OpenSsl, TlsLibrary::Rustls] {
        for version in [V1_2, V1_3] {
            let options = options(library, version, Resumption::Off);
            run(async |reactor| {
                Session::warm_up(reactor, &options, 100).await.unwrap();
                for _ in 0..3 {
                    let summary = summary(reactor, &options).await;
                    assert!(!summary.offered && !summary.resumed, "{summary:?}");
                }
            });
        }
    }
}

#[test]
fn once_warm_every_one_of_many_connections_at_a_time_is_resumed() {
    const AT_A_TIME: usize = 24;
    for (library, version, resumption) in KINDS {
        let options = options(library, version, resumption);
        let expectation = Expectation {
            resumed: true,
            ..Expectation::new(match version {
                V1_2 => Transport::Tls12,
                _ => Transport::Tls13,
            })
        };
        let reactor = Reactor::new().unwrap();
        let deadline = Instant::now() + PATIENCE;
        let warm = reactor.run_one(Session::warm_up(&reactor, &options, AT_A_TIME), deadline);
        warm.unwrap().expect("it hangs").unwrap();
        for _ in 0..3 {
            let connect = async || {
                let (session, _) = Session::connect(&reactor, &options).await.unwrap();
                expectation.check(&session).unwrap();
                session.close().await.unwrap();
            };
            let outcomes = reactor.run((0..AT_A_TIME).map(|_| connect()), deadline).unwrap();
            assert!(outcomes.iter().all(Option::is_some), "it hangs");
        }
    }
}

#[test]
fn what_was_offered_and_what_was_taken_up_is_told_apart() {
    for (library, version, resumption) in KINDS {
        let first = builder().start().unwrap();
        let policy = TlsPolicy {
            library,
            resumption,
            verification: ciphertax_wire::tls::Verification::None,
            ..policy(&first, version)
        };
        let options = with_policy(plain(&first), &policy);
        let second = builder().start().unwrap();
        let elsewhere = ConnectOptions {
            tls: options.tls.clone(),
            ..plain(&second)
        };
        run(async |reactor| {
            let nothing = summary(reactor, &options).await;
            assert!(!nothing.offered && !nothing.resumed, "{nothing:?}");
            let taken = summary(reactor, &options).await;
            assert!(taken.offered && taken.resumed, "{taken:?}");
            let unknown = summary(reactor, &elsewhere).await;
            assert!(unknown.offered && !unknown.resumed, "{unknown:?}");
        });
    }
}

#[test]
fn a_session_that_should_have_been_resumed_is_told_with_the_reason() {
    let expectation = Expectation {
        resumed: true,
        ..Expectation::new(Transport::Tls13)
    };
    let options = options(TlsLibrary::OpenSsl, V1_3, Resumption::Ticket);
    run(async |reactor| {
        let (session, _) = Session::connect(reactor, &options).await.unwrap();
        let problem = expectation.check(&session).unwrap_err();
        assert!(problem.contains("no session left to offer"), "{problem}");
        session.close().await.unwrap();
        let (session, _) = Session::connect(reactor, &options).await.unwrap();
        expectation.check(&session).unwrap();
        let full = Expectation::new(Transport::Tls13);
        let problem = full.check(&session).unwrap_err();
        assert!(problem.contains("expected a full handshake"), "{problem}");
    });
}

/// OpenSSL marks the session of a connection that ends without a goodbye; so does the server with those it keeps
/// itself.
#[test]
fn connections_that_just_end_leave_their_tickets_to_others() {
    let by_ticket = KINDS
        .into_iter()
        .filter(|(_, _, resumption)| *resumption == Resumption::Ticket);
    for (library, version, resumption) in by_ticket {
        let options = options(library, version, resumption);
        run(async |reactor| {
            Session::warm_up(reactor, &options, 1).await.unwrap();
            for _ in 0..4 {
                let (session, _) = Session::connect(reactor, &options).await.unwrap();
                assert!(session.tls_summary().unwrap().resumed, "{library:?} {version}");
                drop(session);
            }
        });
    }
}

/// A connection that ends without a goodbye makes the server forget the session. The next one brings a new one.
#[test]
fn a_session_that_the_server_forgot_is_replaced() {
    for library in [TlsLibrary::OpenSsl, TlsLibrary::Rustls] {
        let options = options(library, V1_2, Resumption::SessionId);
        run(async |reactor| {
            Session::warm_up(reactor, &options, 1).await.unwrap();
            let (session, _) = Session::connect(reactor, &options).await.unwrap();
            drop(session);
            let mut resumed = Vec::new();
            for _ in 0..20 {
                let summary = summary(reactor, &options).await;
                assert!(summary.offered, "{library:?}");
                resumed.push(summary.resumed);
            }
            let are_resumed = resumed[10..].iter().all(|resumed| *resumed);
            assert!(are_resumed, "{library:?} {resumed:?}");
        });
    }
}

#[test]
fn what_keeps_from_connecting_keeps_from_warming_up() {
    let without_tls = builder().without_tls().start().unwrap();
    let no_tls = ConnectOptions {
        tls: options(TlsLibrary::OpenSsl, V1_3, Resumption::Ticket).tls,
        ..plain(&without_tls)
    };
    let problem = run(async |reactor| Session::warm_up(reactor, &no_tls, 1).await.unwrap_err());
    assert_eq!(problem.to_string(), refusal(&no_tls).to_string());
}

fn options(library: TlsLibrary, version: TlsVersion, resumption: Resumption) -> ConnectOptions {
    let policy = TlsPolicy {
        library,
        resumption,
        ..policy(server(), version)
    };
    with_policy(plain(server()), &policy)
}

/// The facts of a new session and what its handshake took; it is closed again.
async fn connect(reactor: &Rc<Reactor>, options: &ConnectOptions) -> (TlsFacts, PhaseTrace) {
    let (mut session, trace) = Session::connect(reactor, options).await.unwrap();
    let facts = session.facts().await.unwrap().tls.unwrap();
    session.close().await.unwrap();
    let handshake = trace.phases().find(|(phase, _)| *phase == Phase::Tls).unwrap();
    (facts, *handshake.1)
}

async fn summary(reactor: &Rc<Reactor>, options: &ConnectOptions) -> TlsSummary {
    let (session, _) = Session::connect(reactor, options).await.unwrap();
    let summary = session.tls_summary().unwrap();
    session.close().await.unwrap();
    summary
}

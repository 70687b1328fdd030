//! Real private PostgreSQL servers: how they are made, as whom they run, and that nothing of them stays.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

use std::fs;
use std::net::TcpStream;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ciphertax_lab::catalogue::{Entry, POSTGRESQL, POSTGRESQL_18};
use ciphertax_lab::{
    Account, PrivateServer, PrivateServerBuilder, ProofError, RunningLink, pooler, postgresql,
};
use ciphertax_model::{
    AuthenticationMethod, CertificateKind, Group, Link, PoolMode, Pooler, Resumption, TlsVersion, Transport,
};
use ciphertax_supervise::GuardProgram;
use ciphertax_testkit::{
    command_lines_with, fetched, files_with, is_root, not_tested, processes, run, within,
};
use ciphertax_wire::WireError;
use ciphertax_wire::postgresql::{
    ALPN, ConnectOptions, Expectation, Method, Negotiation, Session, SessionStatus,
};
use ciphertax_wire::tls::{ClientCertificate, TlsConnector, TlsPolicy, Verification};

ciphertax_testkit::plays_roles!();

const SECONDS: Duration = Duration::from_secs(5);

#[test]
fn it_listens_on_loopback_below_the_ephemeral_range_and_stops_without_a_trace() {
    for entry in servers() {
        let server = PrivateServer::builder(entry).start().unwrap();
        let (address, folder, pid) = (server.address(), server.folder().to_owned(), server.pids()[0]);
        let range = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap();
        let first_ephemeral: u16 = range.split_whitespace().next().unwrap().parse().unwrap();
        assert!(address.ip().is_loopback());
        assert!(address.port() < first_ephemeral, "{address}");
        assert!(server.is_alive());
        assert!(server.socket().unwrap().exists());
        // A session that is open does not keep it from ending.
        let _session = TcpStream::connect(address).unwrap();

        server.stop().unwrap();
        assert!(!folder.exists());
        assert!(!Path::new(&format!("/proc/{pid}")).exists());
        assert_eq!(command_lines_with(name(&folder)), Vec::<String>::new());
        assert!(!has_shared_memory(pid));
        assert!(TcpStream::connect(address).is_err());
    }
}

#[test]
fn it_is_ready_from_a_template() {
    for entry in servers() {
        // The first makes it, if it is not there.
        PrivateServer::builder(entry).start().unwrap().stop().unwrap();
        let begin = Instant::now();
        let server = PrivateServer::builder(entry).start().unwrap();
        eprintln!("{entry} was ready after {:?}", begin.elapsed());
        let log = fs::read_to_string(server.folder().join("server.log")).unwrap();
        assert!(!log.contains("initdb"), "{log}");
    }
}

#[test]
fn only_its_user_may_read_its_secrets() {
    for entry in servers() {
        let server = PrivateServer::builder(entry).start().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(server.folder()), 0o700);
        for folder in ["data", "data/pg_wal"] {
            let folder = server.folder().join(folder);
            assert_eq!(fs::metadata(&folder).unwrap().uid(), user_of(server.pids()[0]));
        }
        for (path, expected) in [
            ("data", 0o700),
            ("server-key.pem", 0o600),
            ("data/postgresql.conf", 0o600),
            ("data/pg_hba.conf", 0o600),
        ] {
            assert_eq!(mode(&server.folder().join(path)), expected, "{path}");
        }
        let password = server.password().expose();
        assert_eq!(
            files_with(server.folder(), password),
            Vec::<std::path::PathBuf>::new()
        );
    }
}

#[test]
fn for_root_it_runs_as_a_user_of_its_own_with_no_right_but_to_read() {
    if !is_root() {
        return not_tested("whom root lets it run as; the other tests have shown it as an ordinary user");
    }
    let users = fs::read_to_string("/etc/passwd").unwrap();
    for entry in servers() {
        let server = PrivateServer::builder(entry).start().unwrap();
        let pid = server.pids()[0];
        // Some end meanwhile.
        let statuses = processes()
            .filter_map(|process| fs::read_to_string(format!("/proc/{}/status", process.pid)).ok());
        let ours: Vec<String> = statuses
            .filter(|status| {
                status.contains(&format!("\nPid:\t{pid}\n")) || status.contains(&format!("\nPPid:\t{pid}\n"))
            })
            .collect();
        assert!(ours.len() > 3, "{ours:?}");
        let user = user_of(pid);
        assert!(!users.contains(&format!(":x:{user}:")), "{user} has a name");
        for status in ours {
            assert!(status.contains(&format!("\nUid:\t{user}\t{user}\t")), "{status}");
            // To read files, or where root cannot do that alone, to write them too.
            let rights = ["CapEff:\t0000000000000004", "CapEff:\t0000000000000002"];
            assert!(rights.iter().any(|right| status.contains(right)), "{status}");
            assert!(status.contains("Groups:\t \n"), "{status}");
        }
    }
}

#[test]
fn one_that_was_killed_is_known_to_be_dead_and_leaves_nothing() {
    for entry in servers() {
        let server = PrivateServer::builder(entry).start().unwrap();
        let (folder, pid) = (server.folder().to_owned(), server.pids()[0]);
        server.kill_member(server.address()).unwrap();
        assert!(!server.is_alive());
        // Its other processes notice, and its shared memory goes with the last of them.
        assert!(within(SECONDS, || command_lines_with(name(&folder)).is_empty()));
        assert!(!has_shared_memory(pid));
        drop(server);
        assert!(!folder.exists());
    }
}

#[test]
fn options_reach_the_server_and_its_record() {
    for entry in servers() {
        let server = PrivateServer::builder(entry)
            .cache_mb(64)
            .tls_versions(&[TlsVersion::V1_2, TlsVersion::V1_3])
            .option("--max_connections=30")
            .option("--synchronous-commit=off")
            .start()
            .unwrap();
        for (setting, value) in [
            ("max_connections", "30"),
            ("synchronous_commit", "off"),
            ("shared_buffers", "64MB"),
            ("ssl_min_protocol_version", "TLSv1.2"),
        ] {
            assert_eq!(server.settings()[setting], value);
        }
        let line = fs::read_to_string(format!("/proc/{}/cmdline", server.pids()[0])).unwrap();
        assert!(
            line.contains("--max_connections=30\0--synchronous-commit=off"),
            "{line}"
        );
    }
}

#[test]
fn an_option_the_server_refuses_is_reported_in_its_words() {
    for entry in servers() {
        let start = PrivateServer::builder(entry).option("--no-such-option=1").start();
        let error = start.unwrap_err().to_string();
        assert!(error.contains("no_such_option"), "{error}");
        assert_eq!(error.lines().count(), 1);
    }
}

#[test]
fn what_it_cannot_be_is_refused_before_it_is_looked_for() {
    let methods = [AuthenticationMethod::Cert, AuthenticationMethod::Ed25519];
    let impossible = methods
        .into_iter()
        .fold(PrivateServer::builder(&POSTGRESQL), PrivateServerBuilder::account)
        .access_control(false)
        .without_tls();
    let error = impossible.start().unwrap_err().to_string();
    for words in [
        "postgresql cannot do authentication by ed25519",
        "authentication by cert without TLS",
        "no access control",
    ] {
        assert!(error.contains(words), "{error}");
    }
    let error = PrivateServer::builder(&POSTGRESQL_18)
        .certificate(CertificateKind::Ed25519)
        .scram_account(AuthenticationMethod::ScramSha256Plus, 100_000)
        .start()
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("SCRAM-SHA-256-PLUS with a certificate ed25519"),
        "{error}"
    );
}

#[test]
fn each_account_logs_in_by_its_method_and_by_no_other() {
    for entry in servers() {
        let methods = entry.capabilities.authentication.iter().copied();
        let server = methods
            .fold(PrivateServer::builder(entry), PrivateServerBuilder::account)
            .scram_account(AuthenticationMethod::ScramSha256, 20_000)
            .start()
            .unwrap();
        let tls = connector(&TlsPolicy::new(None, trust(&server)));
        let certificate = connector(&with_certificate(&server, Known::Yes));
        for method in entry.capabilities.authentication {
            let account = server.account(*method).unwrap();
            let own = Method::called(method.name()).unwrap();
            // The certificate is shown to all, so that it is not for want of it that others are refused.
            for asked in Method::ALL {
                let options = ConnectOptions {
                    method: Some(asked),
                    tls: Some(Arc::clone(&certificate)),
                    ..options(&server, account)
                };
                // The server does not say which of these it is content with.
                let alike = [
                    [Method::ScramSha256, Method::ScramSha256Plus],
                    [Method::Trust, Method::Certificate],
                ];
                let may = asked == own || alike.iter().any(|two| two.contains(&asked) && two.contains(&own));
                let outcome = run(async |reactor| Session::connect(reactor, &options).await.map(drop));
                assert_eq!(outcome.is_ok(), may, "{entry}: {own} by {asked}: {outcome:?}");
            }
            // Without a certificate, and in plaintext.
            for tls in [Some(Arc::clone(&tls)), None] {
                let options = ConnectOptions {
                    method: Some(own),
                    tls,
                    ..options(&server, account)
                };
                let needs_tls = [Method::Certificate, Method::ScramSha256Plus].contains(&own);
                let may = own != Method::Certificate && (options.tls.is_some() || !needs_tls);
                let outcome = run(async |reactor| Session::connect(reactor, &options).await.map(drop));
                assert_eq!(outcome.is_ok(), may, "{entry}: {own}: {outcome:?}");
            }
        }
        let many = server
            .scram_account(AuthenticationMethod::ScramSha256, 20_000)
            .unwrap();
        let iterations = |account| {
            let options = options(&server, account);
            run(async |reactor| {
                Session::connect(reactor, &options)
                    .await
                    .map(|(session, _)| session.iterations())
            })
            .unwrap()
        };
        assert_eq!(iterations(many), Some(20_000));
        assert_eq!(iterations(server.default_account()), Some(4096));
        // Whom no line names is nobody.
        let nobody = ConnectOptions {
            user: "postgres".into(),
            ..options(&server, server.default_account())
        };
        let error = run(async |reactor| Session::connect(reactor, &nobody).await.map(drop)).unwrap_err();
        assert!(error.is_access_denied(), "{error}");
    }
}

#[test]
fn whom_everybody_can_be_reads_and_writes_data_and_runs_no_programs() {
    for entry in servers() {
        let server = PrivateServer::builder(entry)
            .account(AuthenticationMethod::Trust)
            .start()
            .unwrap();
        let default = options(&server, server.default_account());
        ask(&default, "CREATE SCHEMA ciphertax").unwrap();
        ask(&default, "CREATE TABLE numbers (number INT PRIMARY KEY)").unwrap();
        let trusted = options(&server, server.account(AuthenticationMethod::Trust).unwrap());
        ask(&trusted, "INSERT INTO ciphertax.numbers VALUES (42)").unwrap();
        assert_eq!(ask(&trusted, "SELECT number FROM numbers").unwrap(), "42");
        let error = ask(&trusted, "COPY numbers FROM PROGRAM 'true'").unwrap_err();
        assert!(error.is_missing_right(), "{error}");
    }
}

#[test]
fn an_arm_is_proved_and_one_that_is_not_what_it_says_is_disproved() {
    for entry in servers() {
        let methods = entry.capabilities.authentication.iter().copied();
        let server = methods
            .fold(PrivateServer::builder(entry), PrivateServerBuilder::account)
            .start()
            .unwrap();
        let known = connector(&with_certificate(&server, Known::Yes));
        let unknown = connector(&with_certificate(&server, Known::No));
        for method in entry.capabilities.authentication {
            let account = server.account(*method).unwrap();
            let arm = ConnectOptions {
                method: Method::called(method.name()),
                tls: Some(Arc::clone(&known)),
                ..options(&server, account)
            };
            let unknown = ConnectOptions {
                tls: Some(Arc::clone(&unknown)),
                ..arm.clone()
            };
            let conditions = postgresql::Conditions {
                unknown_client: Some(&unknown),
                behind_pooler: None,
            };
            let expectation = Expectation::new(Transport::Tls13);
            let proved = postgresql::prove("arm", &arm, &expectation, conditions)
                .unwrap_or_else(|error| panic!("{entry}: {method}: {error}"));
            let witnesses = proved.proofs.iter().map(|proof| proof.witness.to_string());
            let witnesses: Vec<String> = witnesses.collect();
            let expected: &[&str] = match method {
                AuthenticationMethod::Trust => &["client", "server", "wire"],
                _ => &["client", "server", "wire", "authentication"],
            };
            assert_eq!(witnesses, expected, "{method}");
            let evidence = &proved.proofs[1].evidence;
            assert!(evidence.starts_with("TLSv1.3 TLS_"), "{evidence}");
        }
        let plain = options(&server, server.default_account());
        let plain_expected = Expectation::new(Transport::Plain);
        postgresql::prove(
            "plain",
            &plain,
            &plain_expected,
            postgresql::Conditions::default(),
        )
        .unwrap();
        let error = postgresql::prove(
            "lies",
            &plain,
            &Expectation::new(Transport::Tls13),
            postgresql::Conditions::default(),
        );
        assert!(matches!(error, Err(ProofError::Disproved { .. })), "{error:?}");
    }
}

#[test]
fn every_tls_version_is_offered_where_it_is_asked_for() {
    for entry in servers() {
        let server = PrivateServer::builder(entry)
            .tls_versions(&TlsVersion::ALL)
            .start()
            .unwrap();
        for version in TlsVersion::ALL {
            let policy = TlsPolicy::new(version, trust(&server));
            let arm = ConnectOptions {
                tls: Some(connector(&policy)),
                ..options(&server, server.default_account())
            };
            let status = run(async |reactor| {
                let (mut session, _) = Session::connect(reactor, &arm).await?;
                SessionStatus::of(&mut session).await
            })
            .unwrap();
            assert_eq!(status.version, version.name(), "{entry}");
        }
    }
}

#[test]
fn each_group_of_the_catalogue_is_offered_and_its_own_choice_is_the_servers_default() {
    for entry in servers() {
        let server = PrivateServer::builder(entry).start().unwrap();
        let group_of = |policy: &TlsPolicy| {
            let arm = ConnectOptions {
                tls: Some(connector(policy)),
                ..options(&server, server.default_account())
            };
            let facts = run(async |reactor| Session::connect(reactor, &arm).await?.0.facts());
            facts.map(|facts| facts.tls.unwrap().group)
        };
        let any = TlsPolicy::new(None, trust(&server));
        for group in Group::ALL {
            let policy = TlsPolicy {
                group: Some(group),
                ..any.clone()
            };
            let offered = entry.capabilities.groups.contains(&group);
            let found = group_of(&policy);
            assert_eq!(found.ok(), offered.then(|| group.to_string()), "{entry}: {group}");
        }
        let default = if entry == &POSTGRESQL {
            Group::P256
        } else {
            Group::X25519
        };
        assert_eq!(group_of(&any).unwrap(), default.to_string(), "{entry}");
    }
}

#[test]
fn direct_tls_is_taken_where_the_catalogue_says_so_and_no_session_is_resumed() {
    for entry in servers() {
        let server = PrivateServer::builder(entry).start().unwrap();
        let arm = |policy: &TlsPolicy, negotiation| ConnectOptions {
            tls: Some(connector(policy)),
            negotiation,
            ..options(&server, server.default_account())
        };
        let policy = TlsPolicy {
            alpn: Some(ALPN),
            ..TlsPolicy::new(None, trust(&server))
        };
        let answer = ask(&arm(&policy, Negotiation::Direct), "SELECT 42");
        assert_eq!(
            answer.is_ok(),
            entry.capabilities.direct_tls,
            "{entry}: {answer:?}"
        );
        for (version, resumption) in [
            (TlsVersion::V1_3, Resumption::Ticket),
            (TlsVersion::V1_2, Resumption::Ticket),
            (TlsVersion::V1_2, Resumption::SessionId),
        ] {
            let policy = TlsPolicy {
                resumption,
                ..TlsPolicy::new(version, trust(&server))
            };
            let arm = arm(&policy, Negotiation::Request);
            let warm = run(async |reactor| Session::warm_up(reactor, &arm, 1).await);
            assert!(warm.is_err(), "{entry} resumes {version} by {resumption:?}");
        }
    }
}

#[test]
fn inside_a_link_it_is_reached_at_its_distance() {
    if !is_root() {
        return not_tested("links are for root");
    }
    if fetched(&POSTGRESQL).is_none() {
        return;
    }
    let distance = Link {
        rtt_ms: 20.0,
        ..Link::NONE
    };
    let link = RunningLink::start(&distance, &GuardProgram::this_program()).unwrap();
    let server = PrivateServer::builder(&POSTGRESQL).inside(&link).start().unwrap();
    let near = options(&server, server.default_account());
    let far = ConnectOptions {
        host: link.delayed_address().to_string(),
        ..near.clone()
    };
    for arm in [near, far] {
        assert_eq!(
            ask(&arm, "SELECT current_user").unwrap(),
            server.user(),
            "{}",
            arm.host
        );
    }
    let pooler = Pooler {
        pgbouncer: PoolMode::Session,
        server_transport: Transport::Plain,
    };
    let guard = GuardProgram::this_program();
    let pooler = pooler::start(pooler, Transport::Tls13, &server, Some(&link), &guard).unwrap();
    let through_it = ConnectOptions {
        host: pooler.address().ip().to_string(),
        port: pooler.address().port(),
        tls: Some(connector(&TlsPolicy::new(
            None,
            Verification::Ca(server.ca_file().unwrap().to_owned()),
        ))),
        ..options(&server, server.default_account())
    };
    assert_eq!(ask(&through_it, "SELECT current_user").unwrap(), server.user());
    pooler.stop().unwrap();
    server.stop().unwrap();
    link.stop().unwrap();
}

#[test]
fn it_is_reached_by_its_unix_socket_too() {
    for entry in servers() {
        let server = PrivateServer::builder(entry).start().unwrap();
        let arm = ConnectOptions {
            socket: server.socket().map(Path::to_owned),
            method: Some(Method::ScramSha256),
            ..options(&server, server.default_account())
        };
        assert_eq!(ask(&arm, "SELECT current_user").unwrap(), server.user());
    }
}

fn servers() -> impl Iterator<Item = &'static Entry> {
    let entries = [&POSTGRESQL, &POSTGRESQL_18];
    entries.into_iter().filter(|entry| fetched(entry).is_some())
}

/// By which its processes name themselves.
fn name(folder: &Path) -> &str {
    folder.file_name().unwrap().to_str().unwrap()
}

fn user_of(pid: u32) -> u32 {
    fs::metadata(format!("/proc/{pid}")).unwrap().uid()
}

/// Whether there is shared memory of System V that this process made.
fn has_shared_memory(pid: u32) -> bool {
    let segments = fs::read_to_string("/proc/sysvipc/shm").unwrap();
    let maker = |line: &str| line.split_whitespace().nth(4).map(str::to_owned);
    segments.lines().any(|line| maker(line) == Some(pid.to_string()))
}

/// Whether an account has a certificate.
enum Known {
    Yes,
    No,
}

fn with_certificate(server: &PrivateServer, known: Known) -> TlsPolicy {
    let files = match known {
        Known::Yes => server.client_certificate(CertificateKind::EcdsaP256),
        Known::No => server.unknown_client_certificate(CertificateKind::EcdsaP256),
    };
    let files = files.unwrap().unwrap();
    TlsPolicy {
        client_certificate: Some(ClientCertificate {
            certificate: files.certificate,
            key: files.key,
        }),
        ..TlsPolicy::new(None, trust(server))
    }
}

fn trust(server: &PrivateServer) -> Verification {
    Verification::HostName(server.ca_file().unwrap().to_owned(), "127.0.0.1".into())
}

fn connector(policy: &TlsPolicy) -> Arc<TlsConnector> {
    Arc::new(TlsConnector::new(policy).unwrap())
}

/// A plaintext connection of an account.
fn options(server: &PrivateServer, account: &Account) -> ConnectOptions {
    let address = server.address();
    ConnectOptions {
        database: Some(postgresql::DATABASE.into()),
        ..ConnectOptions::new(
            address.ip().to_string(),
            address.port(),
            account.user.clone(),
            account.password.clone(),
        )
    }
}

/// The first value of the first row, on a session of its own.
fn ask(options: &ConnectOptions, sql: &str) -> Result<String, WireError> {
    run(async |reactor| {
        let (mut session, _) = Session::connect(reactor, options).await?;
        let rows = session.query(sql).await?;
        let answer = rows.first().map_or(String::new(), |row| row.text(0));
        session.close().await?;
        Ok(answer)
    })
}

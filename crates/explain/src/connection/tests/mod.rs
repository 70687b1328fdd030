//! Connections of known cost, and what is said of them.

use ciphertax_base::{
    AuthenticationFacts, CertificateFacts, ChainCertificate, ConnectTrace, LoginPath, PhaseTrace,
    SessionFacts, TlsFacts, Verified,
};
use ciphertax_estimate::connection::{Asked, Seen, SeenConnection, Tried};
use ciphertax_records::Tool;

use super::*;

mod certificates;
mod who_computes;

const MS: u64 = 1_000_000;

fn facts(group: &str) -> SessionFacts {
    SessionFacts {
        server_version: "17.2".into(),
        authentication: login("SCRAM-SHA-256", LoginPath::Derived),
        tls: Some(TlsFacts {
            version: "TLSv1.3".into(),
            cipher: "TLS_AES_256_GCM_SHA384".into(),
            group: group.into(),
            certificate: CertificateFacts {
                key: "RSA 4096".into(),
                signature: "sha256WithRSAEncryption".into(),
                chain_bytes: 3_000,
                chain_length: 2,
            },
            resumed: false,
            hello_retry_request: false,
            client_hello_bytes: 500,
            verification: Verified::Ca,
            client_library: "OpenSSL 3.5.5".into(),
        }),
    }
}

fn login(method: &str, path: LoginPath) -> AuthenticationFacts {
    AuthenticationFacts {
        method: method.into(),
        path,
    }
}

fn certificate(subject: &str, issuer: &str, days_left: i64) -> ChainCertificate {
    ChainCertificate {
        subject: subject.into(),
        issuer: issuer.into(),
        names: Vec::new(),
        not_before: "2026-01-01T00:00:00Z".into(),
        not_after: "2027-01-01T00:00:00Z".into(),
        days_left,
        key: "RSA 4096".into(),
        signature: "sha256WithRSAEncryption".into(),
        bytes: 1_500,
    }
}

/// A connect whose phases take so many milliseconds; TLS takes `tls_ms`.
fn connected(tls_ms: u64) -> SeenConnection {
    let mut trace = ConnectTrace::default();
    for (phase, wall_ms, flights, received) in [
        (Phase::Resolve, 0, 0, 0),
        (Phase::Tcp, 2, 1, 0),
        (Phase::Preface, 2, 1, 1),
        (Phase::Tls, tls_ms, 1, 4_000),
        (Phase::Auth, 4, 2, 400),
        (Phase::FirstOperation, 2, 1, 60),
        (Phase::Close, 50, 1, 0),
    ] {
        let is_computed = matches!(phase, Phase::Tls | Phase::Auth);
        let took = PhaseTrace {
            wall_ns: wall_ms * MS,
            client_cpu_ns: is_computed.then_some(wall_ms * MS),
            thread_cpu_ns: Some(wall_ms * MS + MS / 2),
            bytes_sent: 100,
            bytes_received: received,
            flights,
        };
        trace.set(phase, took);
    }
    SeenConnection {
        trace,
        client_cpu_ns: 3 * MS,
        server_cpu_ns: Err("it runs on another machine".into()),
        login: login("SCRAM-SHA-256", LoginPath::Derived),
    }
}

fn asked(product: &str) -> Asked {
    Asked {
        tool: Tool {
            name: "ciphertax".into(),
            version: "0".into(),
            commit: "x".into(),
        },
        started: "2026-06-01T12:00:00.123456789Z".into(),
        target: "postgresql://app@db/".into(),
        product: product.into(),
        greets_over_tls: product == "MongoDB",
        address: "db:5432".into(),
        same_host: false,
        through: None,
    }
}

fn seen(connections: Vec<SeenConnection>) -> Seen {
    Seen {
        connections,
        facts: facts("X25519"),
        chain: vec![certificate("CN=db", "CN=root", 200)],
        tried: None,
    }
}

fn connection(asked: Asked, seen: &Seen) -> ConnectionRecord {
    let mut record = ciphertax_estimate::connection::connection(asked, seen);
    explain(&mut record);
    record
}

fn ids(record: &ConnectionRecord) -> Vec<&str> {
    record
        .findings
        .iter()
        .map(|finding| finding.id.as_str())
        .collect()
}

fn impossible() -> Tried {
    Tried {
        way: "resuming the TLS session",
        walls_ns: vec![MS],
        impossible: Some("it was declined".into()),
    }
}

#[test]
fn phases_have_medians_and_all_but_the_goodbye_count_until_the_first_answer() {
    let found = connection(asked("PostgreSQL"), &seen([3, 9, 5].map(connected).to_vec()));
    let tls = found
        .phases
        .iter()
        .find(|phase| phase.phase == Phase::Tls)
        .unwrap();
    let walls = (tls.wall_us.least, tls.wall_us.median, tls.wall_us.most);
    assert_eq!(walls, (3e3, 5e3, 9e3));
    assert_eq!((tls.wall_us.low, tls.wall_us.high), (4e3, 7e3));
    assert_eq!(found.first_answer.wall_us.median, 15e3);
    let sent = (found.first_answer.bytes_sent, found.first_answer.flights);
    assert_eq!(sent, (600.0, 6.0));
    let cpu = [&tls.client_cpu_us, &tls.cryptography_us].map(|cpu| cpu.unwrap().median);
    assert_eq!(cpu, [5_500.0, 5e3]);
    assert_eq!(found.first_answer.cryptography_us.median, 9e3);
    assert_eq!(found.phases[2].label, "TLS request");
}

#[test]
fn the_server_s_cpu_is_of_those_that_were_read_and_none_where_they_are_few() {
    let of = |read: &[Option<u64>]| {
        let mut seen = seen(vec![connected(3); read.len()]);
        for (connection, ms) in seen.connections.iter_mut().zip(read) {
            connection.server_cpu_ns = ms.map(|ms| ms * MS).ok_or_else(|| "busy".to_owned());
        }
        let total = connection(asked("MySQL"), &seen).first_answer;
        (total.server_cpu_us.map(|cpu| cpu.median), total.server_cpu_unread)
    };
    assert_eq!(of(&[Some(2), None, Some(4), None]), (Some(3e3), None));
    assert_eq!(of(&[Some(2), None, None]), (None, Some("busy".into())));
}

#[test]
fn a_session_that_was_not_always_taken_up_saves_nothing_that_can_be_told() {
    let of = |product: &str| {
        let mut seen = seen(vec![connected(3); 12]);
        seen.tried = Some(impossible());
        connection(asked(product), &seen)
    };
    let declined = of("MySQL");
    let tried = declined.tried.as_ref().unwrap();
    assert_eq!((tried.resumed, tried.wall_us, tried.saves_us), (1, None, None));
    let evidence = |record: &ConnectionRecord, id: &str| {
        let finding = record.findings.iter().find(|finding| finding.id == id);
        finding.unwrap().evidence.clone()
    };
    assert_eq!(evidence(&declined, "no-session-to-resume"), "it was declined");
    assert!(evidence(&of("PostgreSQL"), "no-resumption").starts_with("it was declined; PostgreSQL"));
}

#[test]
fn on_mongodb_tls_comes_before_the_greeting() {
    let order = |protocol: &str| {
        let found = connection(asked(protocol), &seen(vec![connected(3)]));
        found.phases.iter().map(|phase| phase.phase).collect::<Vec<_>>()
    };
    assert_eq!(order("PostgreSQL")[2..4], [Phase::Preface, Phase::Tls]);
    assert_eq!(order("MongoDB")[2..4], [Phase::Tls, Phase::Preface]);
}

#[test]
fn what_would_be_cheaper_is_said_by_what_was_seen_and_nothing_else() {
    let mut first = seen(vec![connected(3)]);
    first.tried = Some(impossible());
    let found = connection(asked("PostgreSQL"), &first);
    assert_eq!(
        ids(&found),
        [
            "no-resumption",
            "direct-tls",
            "keys-derived",
            "rsa-key",
            "round-trips"
        ]
    );
    // None of it is so here.
    let mut other = connected(30);
    other.login = login("mysql_native_password", LoginPath::Single);
    let mut quiet = seen(vec![other]);
    let tls = quiet.facts.tls.as_mut().unwrap();
    tls.certificate.key = "EC P-256".into();
    let found = connection(asked("MariaDB"), &quiet);
    assert_eq!((found.product.as_str(), ids(&found)), ("MariaDB", vec![]));
}

#[test]
fn rules_of_runs_hold_for_a_connection_too() {
    let mut seen = seen(vec![connected(3)]);
    let tls = seen.facts.tls.as_mut().unwrap();
    tls.verification = Verified::None;
    tls.hello_retry_request = true;
    let found = connection(asked("PostgreSQL"), &seen);
    for id in ["unverified-server", "hello-retry"] {
        assert!(ids(&found).contains(&id), "{:?}", ids(&found));
    }
}

#[test]
fn what_resuming_saves_is_a_median_with_its_interval_from_six_pairs_on_and_none_before() {
    let with = |count: usize, resumed_ms: u64| {
        let mut seen = seen((0..count as u64).map(|index| connected(5 + index % 3)).collect());
        seen.tried = Some(Tried {
            way: "resuming the TLS session",
            walls_ns: vec![resumed_ms * MS; count],
            impossible: None,
        });
        connection(asked("MySQL"), &seen)
    };
    let few = with(5, 1);
    assert_eq!(few.tried.as_ref().unwrap().saves_us, None);
    let many = with(12, 1);
    let saves = many.tried.as_ref().unwrap().saves_us.unwrap();
    assert_eq!((saves.low, saves.value, saves.high), (4e3, 5e3, 6e3));
    let says = |record: &ConnectionRecord| {
        let finding = record.findings.iter().find(|finding| finding.id == "resumption");
        finding.unwrap().summary.clone()
    };
    assert!(says(&few).contains("--count 20"), "{}", says(&few));
    assert!(says(&many).contains("5.00 ms ["), "{}", says(&many));
    // As long as the handshake in full.
    let nothing = with(12, 6);
    let words = "12 pairs cannot tell whether that makes a connect shorter (";
    assert!(says(&nothing).contains(words), "{}", says(&nothing));
    assert!(says(&nothing).contains("by little"), "{}", says(&nothing));
    // By 1 ms, where the interval reaches down to nothing.
    let little = with(12, 5);
    let words = "--count 100 would tell";
    assert!(says(&little).contains(words), "{}", says(&little));
}

//! Findings about what a connect waits for: round trips, handshakes that begin twice, processes.

use ciphertax_base::Phase;
use ciphertax_model::Study;
use ciphertax_records::{PhaseSample, Severity};

use crate::comparisons::{SERVERS, cost_of_servers, found, measured, only, two_servers};
use crate::made_up::{OPERATIONS, explain, handshake, head, of_arm, says};

fn phase(phase: Phase, wall_us: u64, flights: u64, bytes_received: u64) -> PhaseSample {
    PhaseSample {
        phase,
        flights: flights * OPERATIONS,
        bytes_received: bytes_received * OPERATIONS,
        client_cpu_sum_ns: None,
        ..handshake(wall_us * 1_000)
    }
}

#[test]
fn at_a_distance_the_waits_for_the_server_are_counted_and_held_against_the_time() {
    let text = SERVERS.replace(
        "workload = \"connect\"",
        "workload = \"connect\", link = { rtt_ms = 50 }",
    );
    let study = Study::from_toml(&text).unwrap();
    let mut samples = measured(&study, |_, _| [100.0, 100.0]);
    for sample in of_arm(&mut samples, "mariadb-connect", "") {
        sample.load.phases = vec![
            phase(Phase::Tcp, 50_000, 1, 0),
            phase(Phase::Auth, 155_000, 3, 300),
        ];
        if sample.slice.arm == "tls" {
            let request = phase(Phase::Preface, 50_000, 1, 1);
            sample
                .load
                .phases
                .extend([request, phase(Phase::Tls, 55_000, 1, 1_300)]);
        }
        let wall_ns: u64 = sample.load.phases.iter().map(|phase| phase.wall_sum_ns).sum();
        sample.load.operations[0].latency_sum_ns = wall_ns;
    }
    let head = head(study);
    let verdict = explain(&head, samples.as_slice()).unwrap().verdict;
    says(&verdict, "tls costs time in 1 of 4 cells: 105.0 ms more, +51 %");
    let finding = only(found(&head, &samples, "round-trips"));
    says(&finding.summary, "4 over plain, 6 over tls");
    // 200 of 205 ms, 300 of 310 ms.
    let is_said = finding.summary.contains("97 % to 98 %") || finding.summary.contains("97 to 98 %");
    assert!(is_said, "{finding:#?}");
    let by_phase = "tls: TCP 1, TLS request 1, TLS handshake 1, authentication 3: 6 × 50 ms = 300.0 ms";
    assert!(finding.evidence.contains(by_phase), "{finding:#?}");
}

#[test]
fn a_handshake_that_begins_twice_is_told_with_its_flights_and_what_helps() {
    let told = |version: &str, setting: (&str, &str), asked_again: bool| {
        let mut head = two_servers();
        let server = &mut head.servers[1];
        server.version = version.into();
        server.settings.insert(setting.0.into(), setting.1.into());
        head.arms[2].sessions[1]
            .facts
            .tls
            .as_mut()
            .unwrap()
            .hello_retry_request = asked_again;
        let mut samples = measured(&head.study, cost_of_servers);
        for sample in of_arm(&mut samples, "postgresql-connect", "") {
            sample.load.phases = vec![phase(Phase::Tcp, 200, 1, 0)];
            if sample.slice.arm == "tls" {
                sample.load.phases.push(phase(Phase::Tls, 900, 2, 1_300));
            }
        }
        found(&head, &samples, "hello-retry")
    };
    assert_eq!(told("15.18", ("ssl_ecdh_curve", "prime256v1"), false), []);
    let finding = only(told("15.18 (Debian)", ("ssl_ecdh_curve", "prime256v1"), true));
    let beginning = "postgresql: in tls ";
    assert!(finding.summary.starts_with(beginning), "{finding:#?}");
    says(&finding.summary, "version 18 has a list (ssl_groups)");
    says(&finding.summary, "a handshake takes 2 round trips instead of 1.");
    says(&finding.evidence, "ssl_ecdh_curve = prime256v1");
    assert!(
        !finding.summary.contains(" each)"),
        "on one machine: {finding:#?}"
    );
    let newer = only(told("18.6", ("ssl_groups", "prime256v1"), true));
    says(&newer.summary, "to ssl_groups");
}

#[test]
fn a_process_that_the_request_for_tls_waits_for_is_not_taken_for_the_cost_of_the_request() {
    let study = Study::from_toml(SERVERS).unwrap();
    let mut samples = measured(&study, cost_of_servers);
    for sample in of_arm(&mut samples, "mariadb-connect", "") {
        sample.load.phases = match sample.slice.arm.as_str() {
            "tls" => vec![
                phase(Phase::Preface, 600, 1, 1),
                phase(Phase::Tls, 900, 1, 1_300),
                phase(Phase::Auth, 300, 3, 300),
            ],
            _ => vec![phase(Phase::Auth, 160, 3, 300)],
        };
        let scale = if sample.slice.arm == "tls" { 1_860 } else { 160 };
        sample.load.operations[0].latency_sum_ns = OPERATIONS * scale * 1_000;
    }
    let told = found(&head(study), &samples, "slowest-phase");
    let of_tls = told
        .iter()
        .find(|finding| finding.summary.starts_with("mariadb-connect"));
    says(&of_tls.unwrap().summary, "in the phase TLS handshake");
}

#[test]
fn an_arm_that_is_faster_at_a_distance_since_it_waits_less_is_no_suspicion() {
    let text = SERVERS.replace(
        "workload = \"connect\"",
        "workload = \"connect\", link = { rtt_ms = 50 }",
    );
    let study = Study::from_toml(&text).unwrap();
    let told = |tls_flights: u64| {
        let mut samples = measured(&study, |_, _| [100.0, 100.0]);
        for sample in of_arm(&mut samples, "mariadb-connect", "") {
            let is_tls = sample.slice.arm == "tls";
            let flights = if is_tls { tls_flights } else { 4 };
            sample.load.phases = vec![phase(Phase::Auth, 200_000, flights, 300)];
            sample.load.duration_ns /= if is_tls { 2 } else { 1 };
        }
        found(&head(study.clone()), &samples, "impossible-gain")
    };
    let finding = only(told(2));
    assert_eq!(finding.severity, Severity::Cause);
    says(&finding.summary, "2 round trips instead of 4, of 50 ms each");
    assert!(
        told(4)
            .iter()
            .all(|finding| finding.severity == Severity::Suspicion)
    );
}

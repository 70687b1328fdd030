//! What is said of a database that runs in its client: nobody else pays, and nothing travels.

use ciphertax_base::Phase;
use ciphertax_model::Study;
use ciphertax_records::{Head, PhaseSample, Sample, ServerPlacement, Severity};

use crate::comparisons::{found, measured, only};
use crate::made_up::{OPERATIONS, explain, handshake, head};

const STUDY: &str = r#"
name = "files"
question = "What does SQLCipher cost?"
server = "sqlite"
time_s = 60
arm = [
    { name = "plain", transport = "plain" },
    { name = "SQLCipher", transport = "plain", at_rest = { sqlcipher = {} } },
]
cell = [
    { name = "open", workload = "connect", load = { connections = 1 } },
    { name = "scan", workload = "ycsb", mix = { scan = 1.0 }, load = { connections = 1 } },
    { name = "update", workload = "ycsb", mix = { update = 1.0 }, load = { connections = 1 } },
]
"#;

/// What opening takes besides the derivation, in microseconds.
const OPEN_US: u64 = 100;

fn embedded() -> Head {
    let mut head = head(Study::from_toml(STUDY).unwrap());
    head.servers[0].placement = ServerPlacement::Embedded;
    head.servers[0].same_host = false;
    head
}

/// SQLCipher's key takes `derivation_us` to derive, of which `cpu_us` are CPU time, and its first query `query_us` more.
fn samples(head: &Head, derivation_us: u64, cpu_us: u64, query_us: u64) -> Vec<Sample> {
    let mut samples = measured(&head.study, |cell, arm| match (cell, arm) {
        ("open", "SQLCipher") => [(OPEN_US + derivation_us + query_us) as f64, 0.0],
        (_, "SQLCipher") => [200.0, 0.0],
        _ => [OPEN_US as f64, 0.0],
    });
    let phase = |phase, wall_us: u64, cpu_us: Option<u64>| PhaseSample {
        phase,
        client_cpu_sum_ns: cpu_us.map(|us| us * 1_000 * OPERATIONS),
        bytes_sent: 0,
        bytes_received: 0,
        flights: 0,
        ..handshake(wall_us * 1_000)
    };
    for sample in &mut samples {
        sample.server.server_cpu = None;
        if sample.slice.cell != "open" {
            continue;
        }
        let is_encrypted = sample.slice.arm == "SQLCipher";
        sample.load.phases = vec![
            phase(Phase::Open, OPEN_US / 2, None),
            phase(
                Phase::FirstOperation,
                OPEN_US / 2 + if is_encrypted { query_us } else { 0 },
                None,
            ),
        ];
        if is_encrypted && derivation_us > 0 {
            let derivation = phase(Phase::KeyDerivation, derivation_us, Some(cpu_us));
            sample.load.phases.insert(1, derivation);
        }
    }
    samples
}

#[test]
fn databases_whose_key_takes_most_of_opening_them_are_better_kept_open() {
    let head = embedded();
    let samples = samples(&head, 80_000, 60_000, 0);
    let finding = only(found(&head, &samples, "key-derivation"));
    assert_eq!(finding.severity, Severity::Advice);
    // 80 ms, give or take what two arms' noise does to their difference.
    let beginning = "open: keep databases open: opening one takes 80.0 ms [";
    assert!(finding.summary.starts_with(beginning), "{finding:#?}");
    let ending = "longer with SQLCipher, 100 % of it for key derivation. If the passphrase is random, fewer KDF rounds (kdf_iter) are \
         enough.";
    assert!(finding.summary.ends_with(ending), "{finding:#?}");
    assert_eq!(
        finding.evidence,
        "key derivation by 256,000 rounds and the first page: 80.0 ms on average, of which 60.0 ms CPU"
    );
    let mut fewer = embedded();
    let sqlcipher = fewer.study.arms[1].at_rest.sqlcipher.as_mut().unwrap();
    sqlcipher.kdf_iter = 4000;
    let finding = only(found(&fewer, &samples, "key-derivation"));
    let ending = "% of it for key derivation.";
    assert!(finding.summary.ends_with(ending), "{finding:#?}");
    let cause = only(found(&head, &samples, "slowest-phase"));
    let beginning = "open: opening the database with SQLCipher takes 80.0 ms [";
    assert!(cause.summary.starts_with(beginning), "{cause:#?}");
    let expected = "key derivation: 80.0 ms on average, 60.0 ms of it the client's cryptography";
    assert_eq!(cause.evidence, expected);
}

#[test]
fn a_key_that_takes_little_of_opening_a_database_is_no_reason_to_keep_it_open() {
    let head = embedded();
    for (derivation_us, query_us) in [(10_000, 70_000), (0, 80_000)] {
        let samples = samples(&head, derivation_us, derivation_us, query_us);
        assert_eq!(found(&head, &samples, "key-derivation"), [], "{derivation_us} µs");
    }
}

#[test]
fn it_is_the_application_that_pays_and_cores_are_given_for_what_writes_alone() {
    let head = embedded();
    let results = explain(&head, samples(&head, 80_000, 60_000, 0).as_slice()).unwrap();
    let verdict = &results.verdict;
    let is_the_applications = verdict.contains("costs the application ")
        && !verdict.contains("client")
        && !verdict.contains("server");
    assert!(is_the_applications, "{verdict}");
    let cells = results.capacity.iter().map(|row| row.cell.as_str());
    assert_eq!(cells.collect::<Vec<_>>(), ["open", "update"]);
}

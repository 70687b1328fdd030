//! What is said of servers of the user's own.

use ciphertax_base::{Host, SessionFacts};
use ciphertax_records::*;
use serde_json::json;

use crate::made_up::{explain, head, samples, study};

#[test]
fn the_option_that_names_a_ca_is_that_of_the_targets_scheme_whatever_the_product() {
    for (url, product, option) in [
        ("mysql://app@db.example:3306/", "Percona Server", "ssl-ca=FILE"),
        (
            "postgresql://app@db.example:26257/",
            "CockroachDB",
            "sslrootcert=FILE",
        ),
        ("mongodb://app@db.example:27017/", "MongoDB", "tlsCAFile=FILE"),
    ] {
        let mut head = head(study());
        head.target = Some(url.to_owned());
        head.servers[0].placement = ServerPlacement::External;
        head.servers[0].product = product.to_owned();
        head.arms[2].sessions.push(session("none"));
        let advice = |head| {
            let results = explain(&head, samples(6).as_slice()).unwrap();
            let mut findings = results.findings.into_iter();
            findings.find(|finding| finding.id == "unverified-server")
        };
        let message = advice(head.clone()).unwrap().summary;
        assert!(message.contains(option), "{message}");
        head.arms[2].sessions[0] = session("ca");
        assert!(advice(head).is_none());
    }
}

/// An agent on a machine with this processor.
pub(crate) fn agent_on(processor: &str) -> CpuSource {
    CpuSource::Agent(AgentRecord {
        address: "ssh://db.example".into(),
        program: "mariadbd".into(),
        version: "0".into(),
        host: Host {
            os: "Debian".into(),
            kernel: "6.1".into(),
            cpu: processor.into(),
            cpus: 4,
            memory_bytes: 8_000_000_000,
            virtualization: "none".into(),
        },
        readings: 9,
        round_trip_us: 100.0,
        round_trip_max_us: 200.0,
        quiet_cpu_share: 0.001,
        error_share: None,
        not_looked_into: None,
    })
}

/// A counter of this CPU time.
pub(crate) fn counter(counts: &str) -> CpuSource {
    CpuSource::Counter(CounterRecord {
        source: "a command".into(),
        counts: counts.into(),
        resolution_s: 0.1,
    })
}

/// A TLS session of which this was verified.
pub(crate) fn session(verification: &str) -> SessionRecord {
    let facts: SessionFacts = serde_json::from_value(json!({
        "server_version": "1",
        "authentication": { "method": "it", "path": "single" },
        "tls": {
            "version": "TLSv1.3",
            "cipher": "TLS_AES_256_GCM_SHA384",
            "group": "X25519",
            "certificate": { "key": "EC P-256", "signature": "ecdsa-with-SHA256", "chain_bytes": 500, "chain_length": 1 },
            "resumed": false,
            "hello_retry_request": false,
            "client_hello_bytes": 500,
            "verification": verification,
            "client_library": "OpenSSL",
        },
    }))
    .unwrap();
    SessionRecord {
        server_id: ServerId::numbered(1),
        server: "db.example".into(),
        beside_id: None,
        beside: None,
        proofs: Vec::new(),
        unproved: None,
        disk: None,
        facts,
    }
}

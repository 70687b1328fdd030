//! The axes of what protects data in transit, through the whole command on a real private server.

use ciphertax_records::PhaseRow;

use crate::common::*;

const ARMS: &str = r#"
name = "axes"
question = "Does every axis reach the connection?"
time_s = 6
slice_s = 0.1
arm = [
    { name = "plain", transport = "plain" },
    { name = "rustls", transport = "tls1.3", tls = { library = "rustls", group = "X25519", cipher = "TLS_AES_128_GCM_SHA256" } },
    { name = "resumed", transport = "tls1.3", tls = { resumption = "ticket" } },
    { name = "old", transport = "tls1.1", tls = { verification = "none", client_certificate = "rsa-2048" } },
    { name = "by-socket", transport = "plain", authentication = { method = "unix_socket" } },
    { name = "ssh", transport = "plain", tunnel = { ssh = "aes256-gcm@openssh.com" } },
]
cell = [
    { name = "connect", workload = "connect", load = { connections = 2 } },
    { name = "chain", certificate = "rsa-2048", workload = "connect_only", load = { connections = 2 }, arms = ["plain", "rustls"] },
]
"#;

const DISTANCE: &str = r#"
name = "distance"
question = "Does a link keep its client at a distance, and a tunnel cross it?"
time_s = 12
slice_s = 0.5
link = { rtt_ms = 20 }
arm = [
    { name = "plain", transport = "plain" },
    { name = "tls", transport = "tls" },
    { name = "ssh", transport = "plain", tunnel = { ssh = "aes256-gcm@openssh.com" } },
]
cell = [
    { name = "connect", workload = "connect_only", load = { connections = 2 } },
    { name = "farther", link = { rtt_ms = 60 }, workload = "connect_only", load = { connections = 2 }, arms = ["plain", "ssh"] },
]
"#;

const LOGINS: &str = r#"
name = "logins"
question = "What does a login cost that the server does not remember?"
server = "mysql"
time_s = 8
slice_s = 0.1
arm = [
    { name = "warm", transport = "tls1.3", authentication = { method = "caching_sha2_password" } },
    { name = "cold", transport = "tls1.3", authentication = { method = "caching_sha2_password", password_cache = "cold" } },
    { name = "cold-plaintext", transport = "plain", authentication = { method = "caching_sha2_password", password_cache = "cold" } },
]
cell = [{ name = "connect", workload = "connect_only", load = { connections = 2 } }]
"#;

/// Runs a study of this text and returns what it says at the end too.
fn run_and_read(text: &str) -> (Run, String) {
    let sandbox = Sandbox::new();
    let finished = sandbox.start_study(text, &[]).finish();
    finished.measured();
    sandbox.expect_nothing_left();
    (record(&sandbox.run()), finished.stdout)
}

fn session<'a>(run: &'a Run, arm: &str, server: &str) -> &'a SessionRecord {
    let arm = arm_of(run, arm);
    let mut sessions = arm.sessions.iter();
    sessions.find(|session| session.server == server).unwrap()
}

#[test]
fn every_axis_is_measured_and_reported_as_a_fact() {
    let (_, run) = Sandbox::new().play(ARMS, 1);
    no_slice_failed(&run);
    let (ecdsa, rsa) = ("mariadb, ecdsa-p256", "mariadb, rsa-2048");
    let tls = |arm, server| session(&run, arm, server).facts.tls.clone().unwrap();

    let rustls = tls("rustls", ecdsa);
    assert_eq!(
        (
            rustls.version.as_str(),
            rustls.cipher.as_str(),
            rustls.group.as_str()
        ),
        ("TLSv1.3", "TLS_AES_128_GCM_SHA256", "X25519")
    );
    says(&rustls.client_library, "rustls");
    assert!(tls("rustls", rsa).certificate.key.contains("2048"));
    assert!(tls("resumed", ecdsa).resumed);
    let old = tls("old", ecdsa);
    let old = (old.version.as_str(), old.verification);
    assert_eq!(old, ("TLSv1.1", Verified::None));
    let handshakes = |arm| {
        let row = run
            .results
            .connects
            .iter()
            .find(|row| row.cell == "connect" && row.arm == arm);
        row.unwrap().handshakes.unwrap()
    };
    let resumed = handshakes("resumed");
    assert!(resumed.count > 0 && resumed.offered == resumed.count && resumed.resumed == resumed.count);
    let counts = (handshakes("rustls").offered, handshakes("rustls").resumed);
    assert_eq!(counts, (0, 0));
    let login = &session(&run, "by-socket", ecdsa).facts.authentication;
    assert_eq!(login.method, "unix_socket");
    let witnesses: Vec<String> = session(&run, "ssh", ecdsa)
        .proofs
        .iter()
        .map(|proof| proof.witness.to_string())
        .collect();
    assert!(witnesses.contains(&"tunnel".to_owned()), "{witnesses:?}");

    // An arm is measured where it is proved, and nowhere else.
    let by_socket = arm_of(&run, "by-socket");
    assert!(by_socket.sessions.iter().all(|session| session.server != *rsa));
    let tunnels = run
        .results
        .measurements
        .iter()
        .filter(|row| row.metric == Metric::TunnelCpuPerOp);
    assert!(tunnels.clone().all(|row| row.arm == "ssh" && row.value > 0.0));
    assert_eq!(tunnels.count(), 1);
    let measured = run.results.measurements.iter().filter(|row| {
        row.metric == Metric::ClientCpuPerOp && !["plain", BASELINE_AGAIN].contains(&row.arm.as_str())
    });
    let measured: Vec<(&str, &str)> = measured
        .map(|row| (row.cell.as_str(), row.arm.as_str()))
        .collect();
    assert_eq!(
        measured,
        [
            ("connect", "rustls"),
            ("connect", "resumed"),
            ("connect", "old"),
            ("connect", "by-socket"),
            ("connect", "ssh"),
            ("chain", "rustls")
        ]
    );
}

#[test]
fn a_cold_login_goes_the_full_path_every_time_and_a_warm_one_never() {
    let Some(_) = fetched(&MYSQL) else { return };
    let sandbox = Sandbox::new();
    let (_, run) = sandbox.play(LOGINS, FEWEST_BLOCKS);
    no_slice_failed(&run);
    for sample in samples(&sandbox.run()) {
        let path = match sample.slice.arm.as_str() {
            "cold" | "cold-plaintext" => "caching_sha2_password/full",
            _ => "caching_sha2_password/fast",
        };
        let paths: Vec<String> = sample.load.logins.keys().map(ToString::to_string).collect();
        assert_eq!(paths, [path], "{}", sample.slice.arm);
    }
    // The server computes 5,000 rounds of SHA-256 for each. What few blocks say of it on a busy machine may have a wide interval.
    let cold = run
        .results
        .estimates
        .iter()
        .find(|row| row.arm == "cold" && row.metric == Metric::ServerCpuPerOp)
        .unwrap();
    assert!(cold.change > 0.2, "{cold:?}");
    let suspicions = format!("{:?}", run.results.findings);
    assert!(!suspicions.contains("full authentication path"), "{suspicions}");
}

/// Whoever waits for a phase has waited for its round trips and those of the phases before it, but for the exceptions, over the
/// link of the cell. A single phase may be a little shorter than its own: it begins when a busy client sees that the one before
/// it has ended, and TCP's acknowledgement is under way by then.
pub(crate) fn expect_round_trips(run: &Run, exception: impl Fn(&PhaseRow) -> bool) {
    let mut arms: BTreeMap<(&str, &str), Vec<&PhaseRow>> = BTreeMap::new();
    for row in &run.results.connect_phases {
        arms.entry((&row.cell, &row.arm)).or_default().push(row);
    }
    let mut expected = 0;
    for rows in arms.values() {
        let rtt_us = run.cell(&rows[0].cell).unwrap().link.unwrap().rtt_ms * 1e3;
        let (mut waited_us, mut least_us) = (0.0, 0.0);
        for row in rows {
            waited_us += row.p50_us;
            if row.flights < 1.0 || exception(row) {
                continue;
            }
            let own_us = rtt_us * row.flights;
            least_us += own_us;
            let name = format!("{} {} {}", row.cell, row.arm, row.phase);
            assert!(row.p50_us >= 0.95 * own_us, "{name}: {} µs", row.p50_us);
            let has_waited = waited_us >= 0.99 * least_us;
            assert!(has_waited, "{name}: {waited_us} µs until its end");
            expected += 1;
        }
    }
    assert!(expected > 0);
}

/// Without the breaks between lines.
fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

mod test_all {
    use super::*;

    #[test]
    fn every_phase_of_a_distant_connect_takes_its_round_trips() {
        if !is_root() {
            return not_tested("links are for root; that others are refused is tested with ordinary users");
        }
        let (run, said) = run_and_read(DISTANCE);
        no_slice_failed(&run);
        // ssh takes connections on this machine, over a connection of its own that is there already.
        expect_round_trips(&run, |row| row.arm == "ssh" && row.phase == Phase::Tcp);
        let arms: BTreeSet<&str> = run
            .results
            .connect_phases
            .iter()
            .map(|row| row.arm.as_str())
            .collect();
        assert_eq!(arms, ["baseline again", "plain", "ssh", "tls"].into());
        assert!(
            run.results
                .measurements
                .iter()
                .any(|row| row.metric == Metric::TunnelCpuPerOp && row.arm == "ssh" && row.value > 0.0)
        );

        let link = run.head.servers[0].link.as_ref().unwrap();
        let distances: Vec<f64> = link.distances.iter().map(|link| link.rtt_ms).collect();
        assert_eq!(distances, [20.0, 60.0]);
        assert!(link.packets > 0 && link.lateness_median_us > 0.0, "{link:?}");
        assert!(link.lateness_max_us >= link.lateness_p99_us, "{link:?}");
        assert!(in_one_line(&said).contains("20 ms, 60 ms away: "), "{said}");
    }
}

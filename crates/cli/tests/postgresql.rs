//! PostgreSQL through the whole command, on real private servers: TLS, logins, programs of its own, faults.

use crate::common::*;

pub(crate) const STUDY: &str = r#"
name = "tls"
question = "What does TLS cost?"
server = "postgresql"
time_s = 4
slice_s = 0.1
dataset = { table_size = 2000 }
arm = [{ name = "plain", transport = "plain" }, { name = "tls", transport = "tls1.3" }]
cell = [
    { name = "queries", workload = "oltp_point_select", load = { connections = 4 } },
    { name = "connects", workload = "connect", load = { connections = 2 } },
    { name = "bulk", workload = "bulk_read", load = { connections = 1 } },
]
"#;

const LOGINS: &str = r#"
name = "logins"
question = "What does a login cost?"
server = "postgresql"
time_s = 4
slice_s = 0.1
arm = [
    { name = "trust", transport = "tls1.3", authentication = { method = "trust" } },
    { name = "password", transport = "tls1.3", authentication = { method = "password" } },
    { name = "md5", transport = "tls1.3", authentication = { method = "md5" } },
    { name = "scram", transport = "tls1.3", authentication = { method = "SCRAM-SHA-256", password_cache = "cold" } },
    { name = "bound", transport = "tls1.3", authentication = { method = "SCRAM-SHA-256-PLUS" } },
    { name = "certificate", transport = "tls1.3", tls = { client_certificate = "ecdsa-p256" }, authentication = { method = "cert" } },
    { name = "many", transport = "plain", authentication = { method = "SCRAM-SHA-256", password_cache = "cold", scram_iterations = 20000 } }
]
cell = [{ name = "connect", workload = "connect", load = { connections = 2 } }]
"#;

#[test]
fn tls_is_measured_on_a_private_server_and_nothing_is_left() {
    let sandbox = Sandbox::new();
    let (_, run) = sandbox.play(STUDY, 1);
    assert_eq!(run.head.status, RunStatus::Complete);
    no_slice_failed(&run);
    let [server] = &run.head.servers[..] else {
        panic!("{:?}", run.head.servers)
    };
    assert_eq!(server.product, "PostgreSQL");
    assert!(server.version.starts_with("15."), "{server:?}");
    for arm in &run.head.arms {
        let proofs = &arm.sessions[0].proofs;
        let is_asked = proofs.iter().any(|proof| proof.claim.contains("pg_stat_ssl"));
        assert!(is_asked, "{proofs:?}");
        assert_eq!(arm.sessions[0].facts.authentication.method, "SCRAM-SHA-256");
    }
    // Each connection has a process of its own, which has ended when the clocks are read.
    let mut connects = BTreeMap::<&str, (u64, u64)>::new();
    let samples = samples(&sandbox.run());
    for sample in samples.iter().filter(|sample| sample.is_valid()) {
        let cpu = sample.server.server_cpu.expect("the server's CPU");
        if sample.slice.cell == "connects" {
            let (total_ns, count) = connects.entry(&sample.slice.arm).or_default();
            *total_ns += cpu.total_ns;
            *count += sample.load.operation_count();
        } else {
            assert!(cpu.total_ns > 0, "{sample:?}");
        }
    }
    // A backend is forked, starts and ends: that cannot be had for a tenth of a millisecond. In one short slice the clocks may not
    // have seen it.
    let is_paid = |(total_ns, count): &(u64, u64)| *total_ns > 100_000 * count;
    assert!(connects.values().all(is_paid), "{connects:?}");
}

const FIRST_KEYS: &str = r#"
name = "first-keys"
question = "Whose first key does the server take?"
time_s = 4
slice_s = 0.1
arm = [
    { name = "tls", transport = "tls1.3" },
    { name = "its-group", transport = "tls1.3", tls = { group = "P-256" } },
]
cell = [{ name = "connects", workload = "connect_only", load = { connections = 2 } }]
"#;

/// OpenSSL offers X25519 first, which PostgreSQL takes since 18.
#[test]
fn handshakes_that_begin_twice_are_counted_and_told_and_others_are_not() {
    let told = |server: &str, version: &str| {
        let (_, run) = Sandbox::new().play(&format!("server = \"{server}\"\n{FIRST_KEYS}"), 1);
        let holds = run.head.servers[0].version.starts_with(version);
        assert!(holds, "{:?}", run.head.servers);
        let flights = |arm: &str| {
            let mut rows = run.results.connect_phases.iter();
            rows.find(|row| row.arm == arm && row.phase == Phase::Tls)
                .unwrap()
                .flights
        };
        assert_eq!(flights("its-group"), 1.0);
        let findings = run
            .results
            .findings
            .iter()
            .filter(|finding| finding.id == "hello-retry");
        (flights("tls"), findings.cloned().collect::<Vec<_>>())
    };
    let (flights, findings) = told("postgresql", "15.");
    assert_eq!(flights, 2.0);
    let [finding] = &findings[..] else {
        panic!("{findings:?}")
    };
    says(&finding.summary, "in tls the server accepts only P-256");
    says(&finding.evidence, "TLS handshake 2 round trips");
    let newer = catalogue::find("postgresql-18").unwrap();
    if fetched(newer).is_some() {
        assert_eq!(told("postgresql-18", "18."), (1.0, Vec::new()));
    }
}

#[test]
fn logins_take_the_way_their_arm_says() {
    let (_, run) = Sandbox::new().play(LOGINS, 1);
    no_slice_failed(&run);
    let connects = logins(&run, "connect");
    for (arm, login) in [
        ("trust", "trust/single"),
        ("password", "password/single"),
        ("md5", "md5/single"),
        ("scram", "SCRAM-SHA-256/derived"),
        ("bound", "SCRAM-SHA-256-PLUS/cached"),
        ("many", "SCRAM-SHA-256/derived"),
        ("certificate", "cert/single"),
    ] {
        assert_eq!(connects[arm], [login], "{arm}");
    }
    for (arm, words) in [
        ("password", "a wrong password"),
        ("md5", "a wrong password"),
        ("scram", "a wrong password"),
        ("bound", "a wrong password"),
        ("many", "a wrong password"),
        ("certificate", "a certificate of nobody"),
    ] {
        let claims = claims(&run, arm);
        assert!(claims.contains(words), "{arm}: {claims}");
    }
}

#[test]
fn pgbench_and_psql_are_told_how_to_reach_their_arm() {
    let Some(pgbench) = program("pgbench") else {
        return;
    };
    let sandbox = Sandbox::new();
    let study = with_program(&format!(
        "[\"{pgbench}\", \"--no-vacuum\", \"--file=lookup.sql\", \"--client=2\", \"--transactions=50\"], counts = \"queries\""
    ));
    fs::write(
        sandbox.work().join("lookup.sql"),
        "SELECT c FROM sbtest1 WHERE id = 7;\n",
    )
    .unwrap();
    no_slice_failed(&sandbox.play(&study, 1).1);
    for sample in samples(&sandbox.run()).iter().filter(|sample| sample.is_valid()) {
        // pgbench asks how many there are of its own tables' partitions besides, over a connection of its own.
        let queries = sample.load.operation_count();
        assert!((100..110).contains(&queries), "{queries}");
    }
}

#[test]
fn a_program_that_is_not_what_its_arm_says_is_found_out() {
    let Some(psql) = program("psql") else {
        return;
    };
    for (mode, words) in [
        ("disable", ["arm tls", "were over TLS, in a TLS arm"]),
        ("require", ["arm plain", "in a plaintext arm"]),
    ] {
        let sandbox = Sandbox::new();
        let study = with_program(&format!(
            "[\"env\", \"PGSSLMODE={mode}\", \"{psql}\", \"--command=SELECT 1\"]"
        ));
        let finished = sandbox.start_study(&study, &[]).finish();
        assert_eq!(finished.code, Some(2), "{finished:?}");
        for word in words {
            finished.says(word);
        }
        sandbox.expect_nothing_left();
    }
}

#[test]
fn a_backend_that_crashes_voids_its_slice_and_the_run_goes_on() {
    let sandbox = Sandbox::new();
    let study = STUDY.replace("time_s = 4", "time_s = 120");
    let mut running = sandbox.start_study(&study, &[]);
    running.measures();
    let first = servers_of(&sandbox.temporary())[0];
    // The server ends all sessions then, and begins anew.
    kill_process(a_backend_of(first), Signal::KILL).unwrap();
    goes_on(&sandbox, running, "");
}

/// One of PostgreSQL's own programs.
fn program(name: &str) -> Option<String> {
    let path: PathBuf = postgresql_programs()?.join(name);
    Some(path.display().to_string())
}

/// The study with a program as its only load.
fn with_program(command: &str) -> String {
    let (arms, _) = STUDY.split_once("cell = [").unwrap();
    format!("{arms}[[cell]]\nname = \"program\"\nworkload = \"command\"\ncommand = {{ run = {command} }}\n")
}

/// A process that serves a session.
fn a_backend_of(first: rustix::process::Pid) -> rustix::process::Pid {
    let children =
        fs::read_to_string(format!("/proc/{0}/task/{0}/children", first.as_raw_nonzero())).unwrap();
    let is_backend = |pid: &&str| {
        let title = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&title).contains("127.0.0.1")
    };
    let backend = children.split_whitespace().find(is_backend).expect("a backend");
    rustix::process::Pid::from_raw(backend.parse().unwrap()).unwrap()
}

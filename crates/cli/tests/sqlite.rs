//! SQLite and SQLCipher through the whole command: no server, everything paid by the client, nothing left.

use ciphertax_records::ServerPlacement;
use ciphertax_testkit::files_with;

use crate::common::*;
use crate::faults::{mounting_is_allowed, private_mounts};

const STUDY: &str = r#"
name = "files"
question = "What does SQLCipher cost?"
server = "sqlite"
time_s = 8
slice_s = 0.1
dataset = { tables = 1, table_size = 3000 }
ycsb = { record_count = 500 }
arm = [
    { name = "plain", transport = "plain" },
    { name = "encrypted", transport = "plain", at_rest = { sqlcipher = { kdf_iter = 20000 } } },
]
cell = [
    { name = "points", workload = "oltp_point_select", load = { connections = 2 } },
    { name = "writes", workload = "oltp_read_write", load = { connections = 2 } },
    { name = "records", workload = "ycsb_a", load = { connections = 1 } },
    { name = "open", workload = "connect", load = { connections = 1 } },
]
"#;

#[test]
fn a_file_holds_what_its_own_cells_ask_and_nothing_of_what_others_do() {
    let study = STUDY.replace("time_s = 8", "time_s = 2").replace(
        "workload = \"ycsb_a\"",
        "workload = \"ycsb_a\", storage = { memory_mb = 9 }",
    );
    let sandbox = Sandbox::new();
    let mut running = sandbox.start_study(&study, &[]);
    running.says("Loading the data set: 3000 rows");
    running.says("Loading the data set: 500 rows");
    running.finish_within(2 * PATIENCE).measured();
    sandbox.expect_nothing_left();
}

#[test]
fn an_encrypted_file_is_measured_beside_a_plain_one_and_nothing_is_left() {
    let sandbox = Sandbox::new();
    // Whether deriving the key pays is told of the fourth cell, which needs blocks enough.
    let study = STUDY.replace("time_s = 8", "time_s = 20");
    let (_, run) = sandbox.play(&study, 8);
    assert_eq!(run.head.status, RunStatus::Complete);
    no_slice_failed(&run);

    let names: Vec<&str> = run
        .head
        .servers
        .iter()
        .map(|server| server.name.as_str())
        .collect();
    assert_eq!(
        names,
        [
            "SQLite",
            "SQLite, a second one",
            "SQLite, at rest: SQLCipher, kdf_iter = 20000"
        ]
    );
    for server in &run.head.servers {
        let is = (server.product.as_str(), server.placement);
        assert_eq!(is, ("SQLite", ServerPlacement::Embedded));
        assert_eq!(server.settings["journal_mode"], "wal");
        assert!(!server.same_host, "there is nobody beside it");
    }
    let witnesses = |arm: &str| -> Vec<Witness> {
        let arm = arm_of(&run, arm);
        arm.sessions[0].proofs.iter().map(|proof| proof.witness).collect()
    };
    assert_eq!(witnesses("plain"), [Witness::Client, Witness::Disk]);
    let found = witnesses("encrypted");
    assert_eq!(found, [Witness::Client, Witness::Disk, Witness::Authentication]);
    for sample in samples(&sandbox.run()).iter().filter(|sample| sample.is_valid()) {
        let is_the_clients = sample.load.client_cpu.total_ns > 0 && sample.server.server_cpu.is_none();
        assert!(is_the_clients, "{sample:?}");
        assert!(!sample.load.client_bound, "there is nobody else to be bound by");
        let counts_bytes = sample.server.server_counters.contains_key("bytes_read");
        assert!(counts_bytes, "{sample:?}");
    }
    // 20,000 rounds of SHA-512 take milliseconds; without a key there are none.
    let phase = |arm: &str, phase| {
        let mut rows = run.results.connect_phases.iter();
        rows.find(|row| row.arm == arm && row.phase == phase).cloned()
    };
    assert!(phase("plain", Phase::KeyDerivation).is_none());
    let derivation = phase("encrypted", Phase::KeyDerivation).unwrap();
    let opening = phase("encrypted", Phase::Open).unwrap();
    assert!(derivation.mean_us > opening.mean_us, "{derivation:?} {opening:?}");
    // What is said of servers and of CPUs shared with them is not said here.
    let findings: Vec<&str> = run
        .results
        .findings
        .iter()
        .map(|finding| finding.id.as_str())
        .collect();
    assert!(findings.contains(&"key-derivation"), "{findings:?}");
    for of_servers in ["shared-cpus", "client-bound", "read-from-disk"] {
        assert!(!findings.contains(&of_servers), "{findings:?}");
    }
    // Of the tables that a cell asks alone.
    let data = |cell: &str| {
        run.results
            .storage(cell, "encrypted")
            .unwrap()
            .data_bytes
            .unwrap()
    };
    assert_eq!(data("points") + data("records"), data("open"));
    let all = sandbox.finish(&["report", "run", "--full"]);
    all.shows("embedded: it runs in the application's process … key derivation … opened ");
    for of_servers in ["server CPU", "logins by", "flights", "bytes sent"] {
        assert!(!all.stdout.contains(of_servers), "{of_servers}: {}", all.stdout);
    }
}

/// It is for the whole process, so no arm can be without it beside one with it.
#[test]
fn arms_that_all_secure_their_memory_are_measured_and_each_is_proved_to() {
    let secured = |rounds: u32| {
        format!(
            "transport = \"plain\", at_rest = {{ sqlcipher = {{ kdf_iter = {rounds}, memory_security = true }} }}"
        )
    };
    let study = STUDY
        .replace(", at_rest = { sqlcipher = { kdf_iter = 20000 } }", "")
        .replacen("transport = \"plain\"", &secured(1000), 1)
        .replace(
            "name = \"encrypted\", transport = \"plain\"",
            &format!("name = \"encrypted\", {}", secured(2000)),
        )
        .replace("time_s = 8", "time_s = 2");
    let sandbox = Sandbox::new();
    sandbox
        .start_study(&study, &[])
        .finish_within(2 * PATIENCE)
        .measured();
    let run = record(&sandbox.run());
    no_slice_failed(&run);
    assert_eq!(run.head.arms.len(), 3);
    for session in run.head.arms.iter().flat_map(|arm| &arm.sessions) {
        let mut proofs = session.proofs.iter();
        let said = proofs.find(|proof| proof.witness == Witness::Client).unwrap();
        assert!(said.evidence.contains("cipher_memory_security=1"), "{said:?}");
    }
    sandbox.expect_nothing_left();
}

/// There is no server that would have to be ended, but files, which the guard removes.
#[test]
fn a_run_that_is_killed_leaves_no_file() {
    let sandbox = Sandbox::new();
    let mut running = sandbox.start_study(&STUDY.replace("time_s = 8", "time_s = 60"), &[]);
    running.measures();
    // A write-ahead log that has just been written may hold the first page too.
    let mut plain = files_with(&sandbox.temporary(), "SQLite format 3");
    plain.retain(|file| file.extension().is_some_and(|extension| extension == "db"));
    assert_eq!(plain.len(), 2, "the two plain ones of three: {plain:?}");
    running.kill();
    sandbox.expect_nothing_left();
    assert_eq!(record(&sandbox.run()).head.status, RunStatus::Running);
}

#[test]
fn a_disk_that_fills_up_while_the_data_set_is_made_is_named_with_the_remedy() {
    let sandbox = Sandbox::new();
    if !mounting_is_allowed(&sandbox.temporary()) {
        return not_tested("no tmpfs may be mounted here, so no disk is full");
    }
    fs::write(
        sandbox.work().join("study.toml"),
        STUDY.replace("table_size = 3000", "table_size = 300000"),
    )
    .unwrap();
    // Room for the table of one arm, and not for those of three.
    let line = format!(
        "mount -t tmpfs -o size=105m none {0} && {1} run study.toml --out run; code=$?; ls -A {0}; exit $code",
        sandbox.temporary().display(),
        env!("CARGO_BIN_EXE_ciphertax")
    );
    let arguments = [private_mounts(), &["sh", "-c", &line]].concat();
    let finished =
        Running::start(sandbox.command_of(Path::new("unshare"), &arguments)).finish_within(2 * PATIENCE);
    finished.fails(
        2,
        "SQLite … database or disk is full … make room … TMPDIR … --set dataset.table_size",
    );
    assert_eq!(
        finished.stdout, "",
        "nothing is left on the disk that goes with the mount"
    );
}

//! Whatever ends a run: nothing stays behind, and what was measured is kept and can be reported.

use crate::common::*;
use crate::{mongodb, postgresql};

#[test]
fn ctrl_c_sigterm_and_a_terminal_that_hangs_up_end_the_run_in_order() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        stopped_in_order(signal, code);
    }
}

fn stopped_in_order(signal: Signal, code: i32) {
    let sandbox = Sandbox::new();
    let mut running = sandbox.start(&["quick", "--time", "60", "--out", "run"]);
    running.measures();
    running.signal(signal);
    let finished = running.finish();
    assert_eq!(finished.code, Some(code), "{}", finished.stderr);
    finished.shows("stopped by the user");
    assert_eq!(reason(&sandbox.run()), "stopped by the user");
    assert!(!samples(&sandbox.run()).is_empty());
    assert!(sandbox.run().join("report.html").exists());
    sandbox.expect_nothing_left();
}

#[test]
fn ctrl_c_before_anything_is_measured_leaves_nothing_at_all() {
    let sandbox = Sandbox::new();
    let mut running = sandbox.start(&["quick", "--out", "run"]);
    running.says("Starting a private");
    running.interrupt();
    assert!(!sandbox.run().exists());
    sandbox.expect_nothing_left();
}

#[test]
fn ctrl_c_is_heard_while_a_server_says_nothing() {
    // It takes connections and never says a word.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let sandbox = Sandbox::new();
    for scheme in ["mysql://app:secret", "mongodb://app:secret"] {
        let target = format!("{scheme}@{}/", silent.local_addr().unwrap());
        let study = match scheme.starts_with("mysql") {
            true => "quick",
            false => "mongodb-tls-connection",
        };
        let mut running = sandbox.start(&["run", study, &target, "--out", "run"]);
        running.says("Connecting to ");
        let (_connection, _) = silent.accept().unwrap();
        running.signal(Signal::INT);
        running.finish().fails(130, "");
        assert!(!sandbox.run().exists());
        sandbox.expect_nothing_left();
    }
}

#[test]
fn a_killed_run_leaves_no_server_and_can_be_reported() {
    let sandbox = Sandbox::new();
    let mut running = sandbox.start(&["quick", "--time", "60", "--out", "run"]);
    running.measures();
    assert_eq!(servers_of(&sandbox.temporary()).len(), 1);
    running.kill();
    sandbox.expect_nothing_left();
    assert_eq!(record(&sandbox.run()).head.status, RunStatus::Running);

    let whole = report(&sandbox);
    let expected = "ciphertax was ended before the run was complete";
    assert_eq!(reason(&sandbox.run()), expected);
    assert!(sandbox.run().join("report.html").exists());

    // The last line, cut off in the middle, is as if it had not been written.
    let path = sandbox.run().join("samples.jsonl");
    let mut samples = fs::OpenOptions::new().append(true).open(path).unwrap();
    samples
        .write_all(b"{\"cell\":\"connect\",\"block\":7,\"posi")
        .unwrap();
    assert_eq!(report(&sandbox), whole);
}

#[test]
fn a_run_killed_at_any_stage_of_its_start_leaves_no_server() {
    let sandbox = Sandbox::new();
    for (index, stage) in ["Starting a private", "Proving that tls1.3", "Loading", "Opening"]
        .iter()
        .enumerate()
    {
        for delay in [0, 60] {
            let folder = format!("run-{index}-{delay}");
            let mut running = sandbox.start(&["quick", "--out", &folder]);
            running.says(stage);
            thread::sleep(Duration::from_millis(delay));
            running.kill();
            let is_over = within(CLEANED_UP, || servers_of(&sandbox.temporary()).is_empty());
            assert!(is_over, "{stage}");
        }
    }
    // A folder made just before there was a guard is left to the next start.
    let mut next = sandbox.start(&["quick", "--out", "run"]);
    next.says("Proving");
    next.interrupt();
    sandbox.expect_nothing_left();
}

#[test]
fn a_server_that_dies_voids_the_slice_and_ends_the_run_with_a_partial_report() {
    let sandbox = Sandbox::new();
    let running = sandbox.start(&["quick", "--time", "60", "--out", "run"]);
    died(&sandbox, &killed(running, &sandbox.temporary()));
    for study in [postgresql::STUDY, mongodb::AUTHENTICATION] {
        let sandbox = Sandbox::new();
        let running = sandbox.start_study(study, &["--time=60"]);
        ended_early(&sandbox, &killed(running, &sandbox.temporary()));
    }
}

#[test]
fn a_server_of_the_users_own_that_dies_ends_the_run_with_a_partial_report() {
    let (server, sandbox) = (OwnServer::start(), Sandbox::new());
    let running = start_study(&sandbox, &server.verified_url(), &["--time=60"]);
    died(&sandbox, &killed(running, server.folder()));
    let (server, sandbox) = (OwnPostgreSql::start(), Sandbox::new());
    let running = start_study(&sandbox, &server.verified_url(), &["--time=60"]);
    ended_early(&sandbox, &killed(running, server.folder()));
}

/// The end of a run whose servers, which serve a folder below this one, are killed while it measures.
fn killed(mut running: Running, folder: &Path) -> Finished {
    running.measures();
    for server in servers_of(folder) {
        kill_process(server, Signal::KILL).unwrap();
    }
    running.finish_within(2 * PATIENCE)
}

#[test]
fn a_killed_run_leaves_no_server_of_any_database() {
    for (study, servers) in [(postgresql::STUDY, 1), (mongodb::AUTHENTICATION, 3)] {
        let sandbox = Sandbox::new();
        let mut running = sandbox.start_study(study, &["--time=60"]);
        running.measures();
        assert_eq!(servers_of(&sandbox.temporary()).len(), servers);
        running.kill();
        sandbox.expect_nothing_left();
    }
}

fn ended_early(sandbox: &Sandbox, finished: &Finished) {
    finished.fails(4, "");
    let last = finished.stderr.lines().last().unwrap();
    let words = "ciphertax: the run ended early: the server died: ";
    assert!(last.starts_with(words), "{last}");
    sandbox.expect_nothing_left();
}

fn died(sandbox: &Sandbox, finished: &Finished) {
    ended_early(sandbox, finished);
    let samples = samples(&sandbox.run());
    let is_death = |reason: &Option<VoidReason>| matches!(reason, Some(VoidReason::ServerDied { .. }));
    let deaths = samples.iter().filter(|sample| is_death(&sample.void)).count();
    assert_eq!(deaths, 1);
    assert!(is_death(&samples.last().unwrap().void));
    let run = record(&sandbox.run());
    assert_eq!(
        run.results
            .void
            .iter()
            .filter(|row| is_death(&Some(row.reason.clone())))
            .count(),
        1
    );
    assert!(reason(&sandbox.run()).starts_with("the server died: "));
    finished.shows("; 1 void slice.");
    assert!(sandbox.run().join("report.html").exists());
}

#[test]
fn a_full_disk_ends_the_run_with_what_was_measured_on_standard_output_and_no_truncated_file() {
    let sandbox = Sandbox::new();
    let small = sandbox.work().join("small");
    fs::create_dir(&small).unwrap();
    // What is left on the disk that goes with the mount.
    let line = format!(
        "mount -t tmpfs -o size=64k none {} && {} quick --time 20 --out small/run; code=$?; \
         cp small/run/samples.jsonl small/run/run.json . && ls -A small/run > files; exit $code",
        small.display(),
        env!("CARGO_BIN_EXE_ciphertax")
    );
    if !mounting_is_allowed(&small) {
        return not_tested("no tmpfs may be mounted here, so no disk is full");
    }
    let arguments = [private_mounts(), &["sh", "-c", &line]].concat();
    let finished = Running::start(sandbox.command_of(Path::new("unshare"), &arguments)).finish();
    finished.fails(
        4,
        "the run ended early: small/run/samples.jsonl cannot be written: No space left … make room … \
         --resume small/run … small/run/report.html cannot be written … `ciphertax report small/run` writes the rest",
    );
    finished.shows("This run ended early: ");
    let files = fs::read_to_string(sandbox.work().join("files")).unwrap();
    assert_eq!(files, "run.json\nsamples.jsonl\n");
    assert!(samples(&sandbox.work()).len() > 1);
    assert_eq!(record(&sandbox.work()).head.status, RunStatus::Running);
    sandbox.expect_nothing_left();
}

pub(crate) fn mounting_is_allowed(folder: &Path) -> bool {
    let line = format!("mount -t tmpfs -o size=64k none {}", folder.display());
    Command::new("unshare")
        .args(private_mounts())
        .args(["sh", "-c", &line])
        .output()
        .is_ok_and(|output| output.status.success())
}

/// The arguments of `unshare` for a mount that nobody else sees.
pub(crate) fn private_mounts() -> &'static [&'static str] {
    if is_root() {
        &["--mount"]
    } else {
        &["--mount", "--map-root-user"]
    }
}

/// `ciphertax report run --json`, which must succeed.
fn report(sandbox: &Sandbox) -> String {
    let finished = sandbox.finish(&["report", "run", "--json"]);
    finished.measured();
    finished.stdout
}

/// Why the run is partial.
fn reason(run: &Path) -> String {
    match record(run).head.status {
        RunStatus::Partial { reason } => reason,
        other => panic!("the run is {other:?}"),
    }
}

//! A server of the user's own is left as it was, however a run ends; and where it cannot be, the user is told what to do.

use std::fs::OpenOptions;
use std::io::pipe;

use crate::common::*;

/// Longer than it takes to be heard and to clean up, shorter than what is interrupted takes.
const SOON: Duration = Duration::from_secs(60);
/// Of loading, from its beginning on: it takes much longer.
const IN_THE_MIDST: Duration = Duration::from_secs(2);

#[test]
fn a_standard_error_that_nobody_reads_or_that_is_full_ends_nothing() {
    let server = OwnServer::start();
    let before = server.schemas();
    let nobody: fn() -> Stdio = || pipe().unwrap().1.into();
    let full: fn() -> Stdio = || OpenOptions::new().write(true).open("/dev/full").unwrap().into();
    for standard_error in [nobody, full] {
        let sandbox = Sandbox::new();
        let target = server.url_with(server.password());
        let mut command = sandbox.command(&["quick", &target, "--time", "4", "--out", "run"]);
        let status = command
            .stdout(Stdio::null())
            .stderr(standard_error())
            .status()
            .unwrap();
        // A few seconds need not suffice for an interval.
        assert!(matches!(status.code(), Some(0 | 3)), "{status}");
        assert_eq!(server.schemas(), before);
        assert!(sandbox.run().join("report.html").exists());
        // What goes wrong is told by the exit code alone then.
        let mut wrong = sandbox.command(&["quick", "mysql://", "--out", "run"]);
        assert_eq!(wrong.stderr(standard_error()).status().unwrap().code(), Some(2));
    }
}

#[test]
fn a_standard_output_that_is_full_is_said_and_the_report_is_kept() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command(&["quick", "--time", "4", "--out", "run"]);
    let errors = File::create(sandbox.work().join("errors")).unwrap();
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let status = command.stdout(full).stderr(errors).status().unwrap();
    let errors = fs::read_to_string(sandbox.work().join("errors")).unwrap();
    assert_eq!(status.code(), Some(4), "{errors}");
    assert!(errors.contains("standard output cannot be written"), "{errors}");
    assert!(sandbox.run().join("report.html").exists());
}

#[test]
fn ctrl_c_while_tables_are_loaded_is_heard_and_leaves_nothing() {
    const TABLES: &[&str] = &["--set=dataset.tables=4", "--set=dataset.table_size=40000000"];
    const RECORDS: &[&str] = &["--set=ycsb.record_count=40000000"];
    let (mysql, mongodb) = (OwnServer::start(), OwnMongoDb::start());
    let ycsb = [RECORDS, &["--set=cell.connect.workload=ycsb_c"]].concat();
    let each: [(&dyn AnyOwn, &[&str]); 3] = [(&mysql, TABLES), (&mysql, &ycsb), (&mongodb, RECORDS)];
    for (server, dataset) in each {
        let before = server.all();
        let sandbox = Sandbox::new();
        let target = server.verified_url();
        let mut running = start_study(&sandbox, &target, dataset);
        running.says("Loading");
        assert!(within(PATIENCE, || server.has_ours()), "nothing was loaded");
        thread::sleep(IN_THE_MIDST);
        running.signal(Signal::INT);
        running.finish_within(SOON).fails(130, "");
        assert_eq!(server.all(), before);
        assert!(!sandbox.run().exists());
    }
}

#[test]
fn ctrl_c_cuts_a_long_slice_short() {
    let server = OwnServer::start();
    let before = server.schemas();
    let target = server.url_with(server.password());
    for load in ["load.connections=2", "load.batch=1000000", "load.rate=10"] {
        let sandbox = Sandbox::new();
        let load = format!("--set={load}");
        let long = ["--time=3600", "--set=slice_s=10", &load];
        let mut running = start_study(&sandbox, &target, &long);
        running.says("Opening");
        // Nothing but a slice executes statements that were prepared.
        let before_it = executed(&server);
        assert!(within(PATIENCE, || executed(&server) > before_it + 5), "{load}");
        running.signal(Signal::INT);
        running.finish_within(SOON).fails(130, "");
        let samples = samples(&sandbox.run());
        let [only] = samples.as_slice() else {
            panic!("{load}: {} slices", samples.len())
        };
        assert_eq!(only.void, Some(VoidReason::Interrupted), "{load}");
        assert_eq!(server.schemas(), before);
    }
}

#[test]
fn ctrl_c_is_heard_where_the_server_has_stopped_answering_and_a_second_says_what_is_left() {
    let server = OwnServer::start();
    let before = server.schemas();
    let process = servers_of(server.folder())[0];
    let sandbox = Sandbox::new();
    let target = server.url_with(server.password());
    let mut running = sandbox.start(&["quick", &target, "--time", "600", "--out", "run"]);
    running.measures();
    kill_process(process, Signal::STOP).unwrap();
    running.signal(Signal::INT);
    running.says("Removing what was made");
    running.signal(Signal::INT);
    let finished = running.finish_within(SOON);
    kill_process(process, Signal::CONT).unwrap();

    assert_eq!(finished.code, Some(130), "{finished:?}");
    let last = finished.stderr.lines().last().unwrap();
    let command = format!("to remove it: ciphertax clean '{}'", server.url());
    for words in [
        "ended at once",
        "the schema ciphertax may be left",
        &command,
        "the run folder run is left",
    ] {
        assert!(last.contains(words), "{words:?} is not in {last}");
    }
    assert!(!finished.stderr.contains(server.password()));
    // The server keeps the claim until it notices that the connection is closed.
    assert!(within(PATIENCE, || server.is_free()));
    clean(&sandbox, &target, Some(0), "");
    assert_eq!(server.schemas(), before);
}

#[test]
fn clean_removes_what_is_marked_as_ours_and_nothing_else() {
    let server = OwnServer::start();
    server.session(|query| {
        query("CREATE DATABASE shop");
        query("CREATE TABLE shop.orders (id INT PRIMARY KEY)");
    });
    let before = server.schemas();
    let sandbox = Sandbox::new();
    let target = server.url_with(server.password());
    for stage in ["Loading", "Opening", "measured "] {
        let mut running = sandbox.start(&["quick", &target, "--time", "60", "--out", "killed"]);
        running.says(stage);
        running.kill();
        assert!(within(PATIENCE, || server.is_free()));
        clean(&sandbox, &target, Some(0), "");
        assert_eq!(server.schemas(), before, "{stage}");
        fs::remove_dir_all(sandbox.work().join("killed")).unwrap();
    }

    // What a run leaves that is killed between making the schema and marking it.
    server.query("CREATE DATABASE ciphertax");
    clean(&sandbox, &target, Some(0), "Removed the schema ciphertax");
    assert_eq!(server.schemas(), before);
    server.query("CREATE DATABASE ciphertax");
    let finished = sandbox.finish(&["quick", &target, "--time", "2", "--out", "run"]);
    finished.measured();
    assert_eq!(server.schemas(), before);
    clean(&sandbox, "mysql://", Some(2), "target");
}

#[test]
fn clean_leaves_a_run_that_measures_alone() {
    let server = OwnServer::start();
    let sandbox = Sandbox::new();
    let target = server.url_with(server.password());
    let mut running = sandbox.start(&["quick", &target, "--time", "60", "--out", "run"]);
    running.measures();
    clean(&sandbox, &target, Some(2), "another ciphertax measures it");
    let already = samples_so_far(&sandbox.run()).len();
    let goes_on = || {
        let samples = samples_so_far(&sandbox.run());
        samples.iter().skip(already).any(|sample| sample.is_valid())
    };
    assert!(within(PATIENCE, goes_on));
    running.interrupt();
}

#[test]
fn cleaning_up_that_fails_is_called_that_and_the_run_is_kept() {
    let server = OwnServer::start();
    server.session(|query| {
        query("CREATE USER own@'%' IDENTIFIED BY 'word'");
        query("GRANT ALL ON ciphertax.* TO own@'%'");
    });
    let target = server.url_of("own:word");
    let sandbox = Sandbox::new();
    let mut running = sandbox.start(&["quick", &target, "--time", "12", "--out", "run"]);
    running.measures();
    server.query("REVOKE DROP ON ciphertax.* FROM own@'%'");
    let finished = running.finish();
    assert_eq!(finished.code, Some(4), "{finished:?}");
    let RunStatus::NotCleanedUp { problem } = record(&sandbox.run()).head.status else {
        panic!("{:?}", record(&sandbox.run()).head.status)
    };
    let last = finished.stderr.lines().last().unwrap();
    for words in [
        "cleaning up failed: the schema ciphertax is left on mysql://own@",
        "DROP command denied",
        "to remove it: ciphertax clean 'mysql://own@",
    ] {
        assert!(problem.contains(words), "{words:?} is not in {problem}");
        assert!(last.contains(words), "{words:?} is not in {last}");
    }
    finished.shows("cleaning up failed");
    server.query("GRANT DROP ON ciphertax.* TO own@'%'");
    clean(&sandbox, &target, Some(0), "Removed the schema ciphertax");
}

#[test]
fn runs_that_begin_in_the_same_second_have_folders_of_their_own() {
    let sandbox = Sandbox::new();
    let runs: Vec<Running> = (0..3).map(|_| sandbox.start(&["quick", "--time", "3"])).collect();
    for run in runs {
        let finished = run.finish_within(Duration::from_secs(120));
        assert!(matches!(finished.code, Some(0 | 3)), "{finished:?}");
    }
    let folders = fs::read_dir(sandbox.work()).unwrap().flatten();
    let is_run = |path: &Path| path.join("report.html").exists();
    assert_eq!(folders.filter(|folder| is_run(&folder.path())).count(), 3);
}

#[test]
fn a_run_of_which_nothing_can_be_said_exits_3() {
    let sandbox = Sandbox::new();
    // Too short for a block of any cell.
    let finished = sandbox.finish(&["quick", "--time", "1", "--out", "run"]);
    assert_eq!(finished.code, Some(3), "{finished:?}");
    finished.shows("Nothing can be said");
    assert_eq!(record(&sandbox.run()).head.status, RunStatus::Complete);
}

/// `ciphertax clean`, which must end so and say these words.
fn clean(sandbox: &Sandbox, target: &str, code: Option<i32>, words: &str) {
    let finished = sandbox.finish(&["clean", target]);
    assert_eq!(finished.code, code, "{finished:?}");
    let said = if code == Some(0) {
        &finished.stdout
    } else {
        &finished.stderr
    };
    assert!(said.contains(words), "{words:?} is not in {finished:?}");
}

/// How many prepared statements the server has executed.
fn executed(server: &OwnServer) -> u64 {
    let asked = "SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'Com_stmt_execute'";
    server.query(asked)[0].parse().unwrap()
}

mod test_all {
    use super::*;

    #[test]
    fn blocks_that_others_disturb_are_waited_out() {
        let sandbox = Sandbox::new();
        let study = "name = \"disturbed\"\nquestion = \"?\"\ntime_s = 60\nslice_s = 0.3\n\
            [precision]\ncpu = 0.5\nthroughput = 0.5\n\
            [[arm]]\nname = \"plain\"\ntransport = \"plain\"\n[[arm]]\nname = \"tls\"\ntransport = \"tls1.3\"\n\
            [[cell]]\nname = \"rate\"\nworkload = \"oltp_point_select\"\nload = { connections = 4, rate = 200 }\n";
        fs::write(sandbox.work().join("study.toml"), study).unwrap();
        let mut running = sandbox.start(&["run", "study.toml", "--out", "run"]);
        running.says("Opening");
        // Whoever is not let run misses its schedule, through no fault of the server's.
        let is_disturbed_enough = || {
            let text = fs::read_to_string(sandbox.run().join("samples.jsonl")).unwrap_or_default();
            text.lines()
                .filter(|line| line.contains("schedule_missed"))
                .count()
                >= 12
        };
        for _ in 0..600 {
            if is_disturbed_enough() {
                break;
            }
            running.signal(Signal::STOP);
            thread::sleep(Duration::from_millis(60));
            running.signal(Signal::CONT);
            thread::sleep(Duration::from_millis(60));
        }
        assert!(is_disturbed_enough(), "nothing was disturbed");
        let finished = running.finish_within(Duration::from_secs(120));
        finished.measured();
        finished.says("Waiting until this has passed");
        let void = |reason: &Option<VoidReason>| matches!(reason, Some(VoidReason::ScheduleMissed { .. }));
        assert!(
            samples(&sandbox.run())
                .iter()
                .filter(|sample| void(&sample.void))
                .count()
                >= 12
        );
        assert_eq!(record(&sandbox.run()).head.status, RunStatus::Complete);
    }
}

//! A run that was cut off goes on: its samples are kept, its time counts, and nothing else is mixed into it.

use crate::common::*;

#[test]
fn a_run_that_was_killed_and_then_stopped_goes_on_to_its_end() {
    let server = OwnServer::start();
    let before = server.schemas();
    let sandbox = Sandbox::new();
    measure_and_kill(&server, &sandbox, "24");
    let killed = samples_so_far(&sandbox);
    let head = record(&sandbox.run()).head;
    assert_eq!(head.status, RunStatus::Running);

    let resume = || start(&server, &sandbox, &["run", "--resume", "run"]);
    let mut running = resume();
    running.measures();
    let finished = running.interrupt();
    finished.says("`ciphertax run --resume run` goes on with it");
    let stopped = samples(&sandbox.run());
    assert!(stopped.len() > killed.len());
    assert_eq!(stopped[..killed.len()], killed);
    assert!(matches!(
        record(&sandbox.run()).head.status,
        RunStatus::Partial { .. }
    ));

    let finished = resume().finish();
    finished.measured();
    let all = samples(&sandbox.run());
    assert!(all.len() > stopped.len());
    assert_eq!(all[..stopped.len()], stopped);
    let slices: BTreeSet<(&str, u32, &str)> = all
        .iter()
        .map(|sample| {
            (
                sample.slice.cell.as_str(),
                sample.slice.block,
                sample.slice.arm.as_str(),
            )
        })
        .collect();
    assert_eq!(slices.len(), all.len(), "a block has two slices of an arm");
    let is_in_order = all.windows(2).all(|pair| pair[0].start_ns < pair[1].start_ns);
    assert!(is_in_order, "time goes back");

    let run = record(&sandbox.run());
    assert_eq!(run.head.status, RunStatus::Complete);
    assert_eq!(
        (
            &run.head.started,
            run.head.seed,
            &run.head.study,
            &run.head.command,
            &run.head.target
        ),
        (&head.started, head.seed, &head.study, &head.command, &head.target)
    );
    // What was measured before it was cut off counts as time: it does not begin anew.
    assert!(run.results.elapsed_s < 24.0 + 5.0, "{}", run.results.elapsed_s);
    assert!(sandbox.run().join("report.html").exists());
    assert_eq!(server.schemas(), before);

    let finished = resume().finish();
    finished.refuses("the run in run cannot be resumed … it has come to its end");
    assert_eq!(samples(&sandbox.run()), all);
}

#[test]
fn what_was_left_out_stays_so_and_another_server_is_refused() {
    let server = OwnServer::start_with(|builder| builder.option("--tls-version=TLSv1.2"));
    let sandbox = Sandbox::new();
    measure_and_kill(&server, &sandbox, "8");
    let resume = || start(&server, &sandbox, &["run", "--resume", "run"]).finish();
    server.query("SET GLOBAL innodb_flush_log_at_trx_commit = 0");
    resume().refuses("cannot be resumed … innodb_flush_log_at_trx_commit = 0 … begin a new run");
    server.query("SET GLOBAL innodb_flush_log_at_trx_commit = 2");
    resume().measured();
    let run = record(&sandbox.run());
    assert_eq!(run.head.status, RunStatus::Complete);
    let left_out: Vec<&str> = run
        .head
        .left_out
        .iter()
        .map(|left_out| left_out.arm.as_str())
        .collect();
    assert_eq!(left_out, ["tls1.3"]);
}

#[test]
fn only_the_same_run_is_resumed() {
    let sandbox = Sandbox::new();
    let mut running = sandbox.start(&["quick", "--time", "60", "--out", "run"]);
    running.measures();
    sandbox
        .finish(&["run", "--resume", "run"])
        .refuses("another ciphertax still measures it");
    running.kill();
    let before = (
        samples_so_far(&sandbox),
        fs::read_to_string(sandbox.run().join("run.json")).unwrap(),
    );

    let refused = |arguments: &[&str], words: &str| {
        let finished = sandbox.finish(&[&["run", "--resume", "run"], arguments].concat());
        finished.refuses(words);
    };
    refused(
        &["mysql-tls-library"],
        "is of the study quick, not of mysql-tls-library",
    );
    refused(
        &["mysql://app@127.0.0.1:1/"],
        "is of private servers, not of mysql://app@127.0.0.1:1/",
    );
    refused(&["no-such-study"], "unknown study");
    let finished = sandbox.finish(&["run", "--resume", "run", "--time", "5"]);
    finished.fails(2, "cannot be used with");
    let finished = sandbox.finish(&["run", "--resume", "nowhere"]);
    finished.refuses("nowhere is not a run folder");
    for [from, to, word] in rows(
        r#"
        "schema": "ciphertax.run/ → "schema": "ciphertax.run/9 → has the format
        "commit": " → "commit": "0 → a run is measured by one version
        "kernel": " → "kernel": "0 → a run is measured on one machine
    "#,
    ) {
        fs::write(sandbox.run().join("run.json"), before.1.replace(from, to)).unwrap();
        refused(&[], word);
    }
    fs::write(sandbox.run().join("run.json"), &before.1).unwrap();
    assert_eq!(samples_so_far(&sandbox), before.0);

    let file = sandbox.run().join("samples.jsonl");
    let text = fs::read_to_string(&file).unwrap();
    let (line, last) = (text.lines().count() + 1, before.0.last().unwrap());
    let change = |change: &dyn Fn(&mut Sample)| {
        let mut sample = last.clone();
        change(&mut sample);
        fs::write(
            &file,
            format!("{text}{}\n", serde_json::to_string(&sample).unwrap()),
        )
        .unwrap();
        refused(
            &[],
            &format!("cannot be resumed … samples.jsonl, line {line}: … begin a new run"),
        );
    };
    change(&|sample| sample.slice.block = u32::MAX);
    change(&|sample| sample.start_ns = 0);
    change(&|sample| sample.start_ns = u64::MAX);
    change(&|sample| sample.load.duration_ns = u64::MAX);
    fs::write(&file, &text).unwrap();
    assert_eq!(samples_so_far(&sandbox), before.0);

    // Set up anew and stopped before anything more is measured, it is as it was.
    let mut running = sandbox.start(&["run", "quick", "--resume", "run"]);
    running.says("Proving");
    running.interrupt();
    assert_eq!(samples_so_far(&sandbox), before.0);
    sandbox.expect_nothing_left();
}

/// The samples of a run that may have been cut off in the middle of a line.
fn samples_so_far(sandbox: &Sandbox) -> Vec<Sample> {
    crate::common::samples_so_far(&sandbox.run())
}

/// Starts the command with the server's password in the environment.
fn start(server: &OwnServer, sandbox: &Sandbox, arguments: &[&str]) -> Running {
    let mut command = sandbox.command(arguments);
    command.env("CIPHERTAX_PASSWORD", server.password());
    Running::start(command)
}

/// A run that was killed while it measured; the server has noticed.
fn measure_and_kill(server: &OwnServer, sandbox: &Sandbox, time: &str) {
    let mut running = start(
        server,
        sandbox,
        &["quick", &server.url(), "--time", time, "--out", "run"],
    );
    running.measures();
    running.kill();
    assert!(within(PATIENCE, || server.is_free()));
}

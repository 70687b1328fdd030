//! What runs leave on a PostgreSQL of the user's own: who it is safe from, and who may keep it from being removed.

use crate::common::*;

/// The advisory lock of a run that measures.
const LOCK: &str = "1667854440, 1701999713";

#[test]
fn two_runs_do_not_measure_one_server_at_the_same_time_whatever_their_database() {
    let server = OwnPostgreSql::start();
    server.query("CREATE DATABASE other");
    server.session(|query| {
        assert_eq!(query(&format!("SELECT pg_try_advisory_lock({LOCK})")), ["t"]);
        let holder = query("SELECT pg_backend_pid()").remove(0);
        let words = format!("another ciphertax measures it … process {holder}; … wait");
        refused(&server.verified_url(), &words);
        refused(&server.verified_url().replace("/postgres?", "/other?"), &words);
    });
}

/// What `ciphertax` leaves that was killed while a session of its own worked for it, and the server has not noticed.
const WORKS_ON: &str = "BEGIN; LOCK TABLE ciphertax.sbtest1 IN SHARE MODE";

#[test]
fn a_session_of_a_killed_run_that_the_server_still_works_for_keeps_nobody_from_cleaning() {
    let server = OwnPostgreSql::start();
    let before = server.contents();
    for ends in ["run", "clean"] {
        server.leave_behind(&server.verified_url());
        server.session_called("ciphertax", |query| {
            query(WORKS_ON);
            if ends == "run" {
                let sandbox = Sandbox::new();
                // Its tables are others, so those that are there go first.
                fs::write(sandbox.work().join("study.toml"), with_rows(100)).unwrap();
                let next = sandbox.start(&["run", "study.toml", &server.verified_url(), "--out", "run"]);
                next.finish_within(2 * PATIENCE).measured();
            } else {
                cleaned(&clean(&server));
            }
            let own = "SELECT COUNT(*) FROM pg_stat_activity WHERE application_name = 'ciphertax'";
            assert!(within(PATIENCE, || server.query(own) == ["0"]));
        });
        assert_eq!(server.contents(), before);
    }
}

#[test]
fn who_keeps_the_tables_locked_is_named_and_neither_ended_nor_waited_for_for_ever() {
    let server = OwnPostgreSql::start();
    let before = server.contents();
    server.leave_behind(&server.verified_url());
    server.session_called("pg_dump", |query| {
        query("BEGIN; LOCK TABLE ciphertax.sbtest1 IN ACCESS SHARE MODE");
        let holder = query("SELECT pg_backend_pid()").remove(0);
        let process = format!("the server's process {holder} (pg_dump, user {}, ", server.user());
        let remedy = format!("SELECT pg_terminate_backend({holder})");
        clean(&server).refuses(&format!("{process} … keeps the table sbtest1 locked … {remedy}"));
        assert_eq!(query("SELECT 1"), ["1"], "it was ended");
        query("COMMIT");
    });
    cleaned(&clean(&server));
    assert_eq!(server.contents(), before);
}

#[test]
fn a_run_that_cannot_clean_up_reports_what_it_measured_and_says_what_is_left() {
    let server = OwnPostgreSql::start();
    let before = server.contents();
    let sandbox = Sandbox::new();
    let target = server.verified_url();
    let mut running = sandbox.start(&["quick", &target, "--time", "12", "--out", "run"]);
    running.measures();
    let finished = server.session_called("pg_dump", |query| {
        query("BEGIN; LOCK TABLE ciphertax.sbtest1 IN ACCESS SHARE MODE");
        running.finish_within(2 * PATIENCE)
    });
    finished.fails(
        4,
        "the schema ciphertax is left on postgresql:// … (pg_dump, user  … ciphertax clean 'postgresql://",
    );
    let status = record(&sandbox.run()).head.status;
    assert!(matches!(status, RunStatus::NotCleanedUp { .. }), "{status:?}");
    // The command that it names lacks the password alone.
    let url = finished.stderr.split("ciphertax clean '").nth(1).unwrap();
    let url = url.split('\'').next().unwrap();
    let mut command = sandbox.command(&["clean", url]);
    command.env("CIPHERTAX_PASSWORD", server.password());
    cleaned(&Running::start(command).finish());
    assert_eq!(server.contents(), before);
}

fn clean(server: &OwnPostgreSql) -> Finished {
    Sandbox::new().finish(&["clean", &server.verified_url()])
}

#[track_caller]
fn cleaned(finished: &Finished) {
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
}

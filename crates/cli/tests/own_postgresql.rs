//! A PostgreSQL that the user already has: what ciphertax touches there, and what it keeps to itself.

use ciphertax_lab::certificates::Authority;
use ciphertax_model::CertificateKind;
use ciphertax_records::{RunStatus, Verified, VoidReason};
use rustix::process::{Signal, kill_process};

use crate::common::{
    CLEANED_UP, OwnPostgreSql, Running, Sandbox, command_lines_with, no_secret_is_left, no_slice_failed,
    record, samples, servers_of, within,
};

/// The advisory lock of a run that measures.
const LOCK: &str = "1667854440, 1701999713";

#[test]
fn a_password_in_the_environment_stays_there_and_other_schemas_stay_as_they_are() {
    let server = OwnPostgreSql::start();
    server.session(|query| {
        query("CREATE SCHEMA shop");
        query("CREATE TABLE shop.orders (id INT PRIMARY KEY, item TEXT)");
        query("INSERT INTO shop.orders VALUES (1, 'a chair'), (2, 'a table')");
    });
    let sum = "SELECT md5(string_agg(id || item, ',' ORDER BY id)) FROM shop.orders";
    let before = (server.contents(), server.query(sum));

    let sandbox = Sandbox::new();
    let target = format!(
        "{}?sslmode=verify-full&sslrootcert={}",
        server.url(),
        server.ca_file().display()
    );
    let mut command = sandbox.command(&["quick", &target, "--time", "4", "--out", "run"]);
    command.env("CIPHERTAX_PASSWORD", server.password());
    let mut running = Running::start(command);
    running.measures();
    assert_eq!(command_lines_with(server.password()), Vec::<String>::new());
    assert!(server.contents().contains(&"ciphertax".to_owned()));
    let finished = running.finish();

    finished.measured();
    no_secret_is_left(&sandbox, &finished, server.password(), &server.url());
    assert_eq!((server.contents(), server.query(sum)), before);
    sandbox.expect_nothing_left();

    let run = record(&sandbox.run());
    assert_eq!(run.head.status, RunStatus::Complete);
    no_slice_failed(&run);
    let [own] = &run.head.servers[..] else {
        panic!("{:?}", run.head.servers)
    };
    assert_eq!(
        (own.product.as_str(), own.name.as_str()),
        ("PostgreSQL", server.url().as_str())
    );
    assert!(own.version.starts_with("15."), "{own:?}");
    assert_eq!(own.settings["fsync"], "on");
    assert!(own.tls_library.contains("SSL"), "{own:?}");
    // It runs here, and its processes may be looked at: also those of sessions that have ended.
    assert!(own.same_host && own.cpu_unread.is_none(), "{own:?}");
    let facts = &run.head.arms[2].sessions[0].facts;
    assert_eq!(facts.tls.as_ref().unwrap().verification, Verified::HostName);
}

#[test]
fn the_password_of_libpqs_variable_is_read() {
    let server = OwnPostgreSql::start();
    let sandbox = Sandbox::new();
    let target = format!("{}?sslrootcert={}", server.url(), server.ca_file().display());
    let mut command = sandbox.command(&["quick", &target, "--time", "2", "--out", "run"]);
    command.env("PGPASSWORD", server.password());
    let finished = Running::start(command).finish();
    finished.measured();
    no_secret_is_left(&sandbox, &finished, server.password(), &server.url());
}

#[test]
fn what_keeps_ciphertax_from_a_server_is_said_with_the_remedy_and_nothing_is_written() {
    let server = OwnPostgreSql::start();
    let before = server.contents();
    let ca = format!("sslrootcert={}", server.ca_file().display());
    let wrong = refused(
        &format!("{}?{ca}", server.url_with("tr0ub4dor")),
        &["password authentication failed", "check user and password"],
    );
    assert!(!wrong.contains("tr0ub4dor"), "{wrong}");
    refused(&format!("{}?{ca}", server.url()), &["CIPHERTAX_PASSWORD"]);
    let own = server.url_with(server.password());
    for mode in ["prefer", "allow"] {
        refused(
            &format!("{own}?sslmode={mode}"),
            &["sslmode", mode, "no baseline can rest on that"],
        );
    }
    assert_eq!(server.contents(), before);
}

#[test]
fn a_certificate_of_another_authority_is_mended_by_the_parameters_of_libpq() {
    let server = OwnPostgreSql::start();
    let elsewhere = tempfile::tempdir().unwrap();
    let other = Authority::new(CertificateKind::EcdsaP256)
        .unwrap()
        .issue_for_localhost(elsewhere.path())
        .unwrap();
    let own = server.url_with(server.password());
    let wrong = refused(
        &format!("{own}?sslrootcert={}", other.ca.display()),
        &["arm tls1.3", "signed by another CA", "sslrootcert must name"],
    );
    assert!(!wrong.contains("ssl-ca"), "{wrong}");
    let nowhere = elsewhere.path().join("none.pem");
    refused(
        &format!("{own}?sslrootcert={}", nowhere.display()),
        &["none.pem", "No such file"],
    );
}

#[test]
fn a_server_that_demands_tls_is_measured_by_studies_without_a_plain_arm() {
    let server = OwnPostgreSql::start();
    let target = server.verified_url();
    server.change_hba(|line| {
        let is_kept = !line.starts_with("hostnossl");
        is_kept.then(|| line.to_owned())
    });
    let said = refused(
        &target,
        &[
            "demands TLS",
            "hostssl",
            "ciphertax run postgres-tls-versions 'postgresql://",
        ],
    );
    // The URL that it names lacks the password alone.
    let url = said.split('\'').nth(1).unwrap();
    let sandbox = Sandbox::new();
    let words = ["run", "postgres-tls-versions", url, "--time", "4", "--out", "run"];
    let mut command = sandbox.command(&words);
    command.env("CIPHERTAX_PASSWORD", server.password());
    let finished = Running::start(command).finish();
    finished.measured();
    let run = record(&sandbox.run());
    assert_eq!(run.head.status, RunStatus::Complete);
    no_slice_failed(&run);
}

#[test]
fn a_user_whom_no_line_of_pg_hba_is_for_is_not_told_to_use_tls() {
    let server = OwnPostgreSql::start();
    server.query("CREATE ROLE nobody LOGIN PASSWORD 'tr0ub4dor'");
    let target = format!(
        "{}?sslrootcert={}",
        server.url_of("nobody:tr0ub4dor"),
        server.ca_file().display()
    );
    let said = refused(&target, &["pg_hba.conf"]);
    assert!(!said.contains("demands TLS of this user"), "{said}");
}

#[test]
fn a_standby_is_refused_with_the_reason() {
    // Its transactions are read-only as a standby's are; that it is none it says itself.
    let server = OwnPostgreSql::start();
    server.query("ALTER SYSTEM SET default_transaction_read_only = on");
    server.query("SELECT pg_reload_conf()");
    assert!(within(CLEANED_UP, || server
        .query("SELECT current_setting('transaction_read_only')")
        == ["on"]));
    let before = server.contents();
    refused(
        &server.verified_url(),
        &["read-only", "default_transaction_read_only"],
    );
    assert_eq!(server.contents(), before);
}

#[test]
fn other_clients_keep_connections() {
    let server = OwnPostgreSql::start_with(|builder| builder.option("--max-connections=30"));
    let before = server.contents();
    refused(
        &server.verified_url(),
        &[
            "connections at a time",
            "of the 30 that max_connections allows",
            "5 are kept for other clients",
            "--set load.connections=",
        ],
    );
    assert_eq!(server.contents(), before);
}

#[test]
fn an_accounts_own_limit_of_connections_is_heeded() {
    let server = OwnPostgreSql::start();
    server.query("CREATE ROLE app LOGIN PASSWORD 'tr0ub4dor' CONNECTION LIMIT 12");
    server.query("CREATE SCHEMA ciphertax AUTHORIZATION app");
    let_in(&server, "app");
    let before = server.contents();
    refused(
        &app_url(&server),
        &["of the 12 that the user's CONNECTION LIMIT allows"],
    );
    server.query("ALTER ROLE app CONNECTION LIMIT -1");
    server.query("ALTER DATABASE postgres CONNECTION LIMIT 20");
    refused(
        &app_url(&server),
        &["of the 20 that the database's CONNECTION LIMIT allows"],
    );
    assert_eq!(server.contents(), before);
}

#[test]
fn an_account_with_rights_in_the_schema_alone_is_enough_and_a_missing_right_is_named() {
    let server = OwnPostgreSql::start();
    server.query("CREATE ROLE app LOGIN PASSWORD 'tr0ub4dor'");
    let_in(&server, "app");
    let target = app_url(&server);
    refused(
        &target,
        &["have its administrator run: CREATE SCHEMA ciphertax AUTHORIZATION app"],
    );
    server.query("CREATE SCHEMA ciphertax");
    refused(
        &target,
        &[
            "somebody else's",
            "have its administrator run: ALTER SCHEMA ciphertax OWNER TO app",
        ],
    );
    server.query("ALTER SCHEMA ciphertax OWNER TO app");
    let before = server.contents();
    for _ in 0..2 {
        let sandbox = Sandbox::new();
        let finished = sandbox.finish(&["quick", &target, "--time", "2", "--out", "run"]);
        finished.measured();
        assert_eq!(server.contents(), before);
    }
    // One that may make schemas makes its own.
    server.query("DROP SCHEMA ciphertax");
    server.query("GRANT CREATE ON DATABASE postgres TO app");
    let before = server.contents();
    let sandbox = Sandbox::new();
    let finished = sandbox.finish(&["quick", &target, "--time", "2", "--out", "run"]);
    finished.measured();
    assert_eq!(server.contents(), before);
}

#[test]
fn a_schema_that_ciphertax_did_not_make_is_left_alone() {
    let server = OwnPostgreSql::start();
    server.query("CREATE SCHEMA ciphertax");
    server.query("CREATE TABLE ciphertax.precious (id INT)");
    let words = ["schema named ciphertax", "did not make", "rename it"];
    refused(&server.verified_url(), &words);
    // Nor is one that only looks like it.
    server.query("CREATE TABLE ciphertax.made_by_ciphertax (mark VARCHAR(100))");
    server.query("INSERT INTO ciphertax.made_by_ciphertax VALUES ('so they say')");
    let before = server.contents();
    refused(&server.verified_url(), &words);
    assert_eq!(server.contents(), before);
}

#[test]
fn two_runs_do_not_measure_one_server_at_the_same_time_whatever_their_database() {
    let server = OwnPostgreSql::start();
    server.query("CREATE DATABASE other");
    server.session(|query| {
        assert_eq!(query(&format!("SELECT pg_try_advisory_lock({LOCK})")), ["t"]);
        let holder = query("SELECT pg_backend_pid()").remove(0);
        let process = format!("process {holder};");
        let words = ["another ciphertax measures it", &process, "wait"];
        refused(&server.verified_url(), &words);
        refused(&server.verified_url().replace("/postgres?", "/other?"), &words);
    });
}

#[test]
fn what_a_killed_run_left_on_the_server_goes_with_the_next_or_by_clean() {
    let server = OwnPostgreSql::start();
    let before = server.contents();
    let target = server.verified_url();
    for ends in ["run", "clean"] {
        let sandbox = Sandbox::new();
        let mut running = sandbox.start(&["quick", &target, "--time", "30", "--out", "killed"]);
        running.measures();
        running.signal(Signal::KILL);
        assert_eq!(running.finish().code, None);
        assert!(server.contents().contains(&"ciphertax".to_owned()));

        // The claim ends when the server notices that the connection is closed.
        let locks = "SELECT COUNT(*) FROM pg_locks WHERE locktype = 'advisory'";
        assert!(within(CLEANED_UP, || server.query(locks) == ["0"]));
        if ends == "run" {
            let finished = sandbox.finish(&["quick", &target, "--time", "2", "--out", "run"]);
            finished.measured();
        } else {
            let cleaned = sandbox.finish(&["clean", &target]);
            assert_eq!(cleaned.code, Some(0), "{}", cleaned.stderr);
        }
        assert_eq!(server.contents(), before);
    }
}

#[test]
fn a_session_that_is_ended_voids_its_slice_and_the_run_goes_on() {
    let server = OwnPostgreSql::start();
    let sandbox = Sandbox::new();
    let mut running = sandbox.start(&["quick", &server.verified_url(), "--time", "8", "--out", "run"]);
    running.measures();
    // All of them, the one for what is not measured too.
    let ended = server.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'ciphertax' \
         AND pid <> pg_backend_pid()",
    );
    assert!(ended.len() > 1, "{ended:?}");
    let finished = running.finish();
    finished.measured();
    let run = record(&sandbox.run());
    assert_eq!(run.head.status, RunStatus::Complete);
    let is_failure = |reason: &VoidReason| matches!(reason, VoidReason::Errors { .. });
    assert!(
        run.results.void.iter().any(|row| is_failure(&row.reason)),
        "{:?}",
        run.results.void
    );
    let samples = samples(&sandbox.run());
    assert!(samples.iter().rev().take(6).any(|sample| sample.is_valid()));
}

#[test]
fn a_server_whose_first_process_dies_ends_the_run_with_a_partial_report() {
    let server = OwnPostgreSql::start();
    let sandbox = Sandbox::new();
    let mut running = sandbox.start(&["quick", &server.verified_url(), "--time", "60", "--out", "run"]);
    running.measures();
    kill_process(servers_of(server.folder())[0], Signal::KILL).unwrap();
    let finished = running.finish();
    assert_eq!(finished.code, Some(4), "{}", finished.stderr);
    let last = finished.stderr.lines().last().unwrap();
    assert!(last.contains("the run ended early: the server died: "), "{last}");
    sandbox.expect_nothing_left();
}

/// Lets an account in that logs in by its password.
fn let_in(server: &OwnPostgreSql, user: &str) {
    let of = server.user().to_owned();
    server.change_hba(|line| {
        let own = line.replace(&format!(" {of} "), &format!(" {user},{of} "));
        Some(own)
    });
}

fn app_url(server: &OwnPostgreSql) -> String {
    format!(
        "{}?sslrootcert={}",
        server.url_of("app:tr0ub4dor"),
        server.ca_file().display()
    )
}

/// A run that is refused; returns what it says.
fn refused(target: &str, words: &[&str]) -> String {
    let sandbox = Sandbox::new();
    let finished = sandbox.finish(&["quick", target, "--time", "2", "--out", "run"]);
    finished.refuses(words);
    assert!(!sandbox.run().exists());
    sandbox.expect_nothing_left();
    finished.stderr
}

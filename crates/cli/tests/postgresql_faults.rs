//! What happens to a PostgreSQL while it is measured: the run goes on, or ends and says why.

use crate::common::*;

#[test]
fn a_session_that_is_ended_voids_its_slice_and_the_run_goes_on() {
    let server = OwnPostgreSql::start();
    let sandbox = Sandbox::new();
    let mut running = sandbox.start(&["quick", &server.verified_url(), "--time", "120", "--out", "run"]);
    running.measures();
    // All of them, the one for what is not measured too.
    let ended = server.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'ciphertax' \
         AND pid <> pg_backend_pid()",
    );
    assert!(ended.len() > 1, "{ended:?}");
    goes_on(
        &sandbox,
        running,
        "terminating connection due to administrator command",
    );
}

#[test]
fn a_server_that_has_no_connection_left_for_a_while_voids_slices_and_the_run_goes_on() {
    let server = OwnPostgreSql::start();
    server.query("CREATE ROLE app LOGIN PASSWORD 'tr0ub4dor'");
    server.query("CREATE SCHEMA ciphertax AUTHORIZATION app");
    server.let_in("app");
    let sandbox = Sandbox::new();
    let mut running = sandbox.start(&["quick", &server.app_url(), "--time", "120", "--out", "run"]);
    running.measures();
    // Those that are open stay so, and no other is opened.
    server.query("ALTER ROLE app CONNECTION LIMIT 1");
    let is_refused = || {
        let samples = samples_so_far(&sandbox.run());
        let mut void = samples.iter().filter_map(|sample| sample.void.as_ref());
        void.any(|reason| reason.to_string().contains("53300"))
    };
    assert!(within(2 * PATIENCE, is_refused));
    server.query("ALTER ROLE app CONNECTION LIMIT -1");
    goes_on(&sandbox, running, "53300: too many connections for role \"app\"");
}

#[test]
fn a_session_that_is_ended_while_it_loads_ends_the_run_and_nothing_is_left() {
    let server = OwnPostgreSql::start();
    let before = server.contents();
    let sandbox = Sandbox::new();
    // It takes a while.
    fs::write(sandbox.work().join("study.toml"), with_rows(3_000_000)).unwrap();
    let running = sandbox.start(&["run", "study.toml", &server.verified_url(), "--out", "run"]);
    let copies = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'ciphertax' \
        AND query LIKE 'COPY %' AND state = 'active'";
    assert!(within(PATIENCE, || !server.query(copies).is_empty()));
    let finished = running.finish_within(2 * PATIENCE);
    finished.refuses("terminating connection due to administrator command");
    assert!(!sandbox.run().exists());
    assert_eq!(server.contents(), before);
    sandbox.expect_nothing_left();
}

#[test]
fn a_disk_that_is_full_ends_the_load_and_nothing_is_left() {
    if !is_root() {
        return not_tested("whoever is not root can mount no disk that is full");
    }
    let server = OwnPostgreSql::start();
    let Some(small) = PostgreSqlCopy::with_a_small_disk(&server) else {
        return;
    };
    small.query(&format!(
        "CREATE TABLESPACE small LOCATION '{}'",
        small.disk().display()
    ));
    small.query(&format!(
        "ALTER ROLE {} SET default_tablespace = small",
        server.user()
    ));
    let contents = "SELECT COUNT(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
        WHERE n.nspname = 'ciphertax'";
    // It needs as many rows as there are by default.
    let finished = Sandbox::new().finish(&["quick", &small.url(), "--out=run"]);
    finished.refuses(
        "the data set cannot be made … No space left on device … \
         make room on the server's disk, or take a smaller data set",
    );
    assert_eq!(small.query(contents), ["0"]);
}

//! A server that the user already has: what ciphertax touches there, and what it keeps to itself.

use ciphertax_records::Verified;
use rustix::process::Signal;

use crate::common::{
    OwnServer, PATIENCE, Running, Sandbox, command_lines_with, no_secret_is_left, record, within,
};

#[test]
fn a_password_in_the_environment_stays_there_and_other_schemas_stay_as_they_are() {
    let server = OwnServer::start();
    server.session(|query| {
        query("CREATE DATABASE shop");
        query("CREATE TABLE shop.orders (id INT PRIMARY KEY, item TEXT)");
        query("INSERT INTO shop.orders VALUES (1, 'a chair'), (2, 'a table')");
    });
    let checksum = "SELECT SUM(CRC32(CONCAT(id, item))) FROM shop.orders";
    let before = (server.schemas(), server.query(checksum));

    let sandbox = Sandbox::new();
    let mut command = sandbox.command(&["quick", &server.url(), "--time", "12", "--out", "run"]);
    command.env("CIPHERTAX_PASSWORD", server.password());
    let mut running = Running::start(command);
    running.measures();
    assert_eq!(command_lines_with(server.password()), Vec::<String>::new());
    assert!(server.schemas().contains(&"ciphertax".to_owned()));
    let finished = running.finish();

    finished.measured();
    no_secret_is_left(&sandbox, &finished, server.password(), &server.url());
    assert_eq!((server.schemas(), server.query(checksum)), before);
    sandbox.expect_nothing_left();
}

#[test]
fn a_password_in_the_url_is_in_nothing_that_is_left() {
    let server = OwnServer::start();
    let sandbox = Sandbox::new();
    let target = format!(
        "{}?ssl-mode=VERIFY_IDENTITY&ssl-ca={}",
        server.url_with(server.password()),
        server.ca_file().display()
    );
    let finished = sandbox.finish(&["quick", &target, "--time", "2", "--out", "run"]);
    finished.measured();
    no_secret_is_left(&sandbox, &finished, server.password(), &server.url());
    let run = record(&sandbox.run());
    let tls = run.head.arms[2].sessions[0].facts.tls.as_ref().unwrap();
    assert_eq!(tls.verification, Verified::HostName);
    assert!(run.head.command.contains(&server.url()), "{}", run.head.command);
}

#[test]
fn a_schema_that_ciphertax_did_not_make_is_left_alone() {
    let server = OwnServer::start();
    server.session(|query| {
        query("CREATE DATABASE ciphertax");
        query("CREATE TABLE ciphertax.precious (id INT)");
    });
    refused(&server, &["schema named ciphertax", "did not make", "rename it"]);
    // Nor is one that only looks like it.
    server.query("CREATE TABLE ciphertax.made_by_ciphertax (mark VARCHAR(100))");
    server.query("INSERT INTO ciphertax.made_by_ciphertax VALUES ('so they say')");
    refused(&server, &["schema named ciphertax", "did not make", "rename it"]);
    assert_eq!(
        server.query("SHOW TABLES FROM ciphertax"),
        ["made_by_ciphertax", "precious"]
    );
}

#[test]
fn two_runs_do_not_measure_one_server_at_the_same_time() {
    let server = OwnServer::start();
    server.session(|query| {
        assert_eq!(query("SELECT GET_LOCK('ciphertax', 0)"), ["1"]);
        let holder = query("SELECT CONNECTION_ID()").remove(0);
        let connection = format!("connection {holder};");
        refused(&server, &["another ciphertax measures it", &connection, "wait"]);
    });
}

#[test]
fn what_a_killed_run_left_on_the_server_goes_with_the_next() {
    let server = OwnServer::start();
    let before = server.schemas();
    let sandbox = Sandbox::new();
    let target = server.url_with(server.password());
    let mut running = sandbox.start(&["quick", &target, "--time", "30", "--out", "killed"]);
    running.measures();
    running.signal(Signal::KILL);
    assert_eq!(running.finish().code, None);
    assert!(server.schemas().contains(&"ciphertax".to_owned()));

    // The claim ends when the server notices that the connection is closed.
    let released = || server.query("SELECT IS_FREE_LOCK('ciphertax')") == ["1"];
    assert!(within(PATIENCE, released));
    let finished = sandbox.finish(&["quick", &target, "--time", "2", "--out", "run"]);
    finished.measured();
    assert_eq!(server.schemas(), before);
}

fn refused(server: &OwnServer, words: &[&str]) {
    let sandbox = Sandbox::new();
    let target = server.url_with(server.password());
    sandbox.finish(&["quick", &target, "--out", "run"]).refuses(words);
    assert!(!sandbox.run().exists());
}

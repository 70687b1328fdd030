//! A PostgreSQL that the user already has: what ciphertax touches there, and what it keeps to itself.

use ciphertax_records::{RunStatus, Verified};

use crate::common::{
    OwnPostgreSql, PostgreSqlCopy, Running, Sandbox, command_lines_with, no_secret_is_left, no_slice_failed,
    record, refused,
};

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
    let mut command = sandbox.command(&["quick", &target, "--time", "12", "--out", "run"]);
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
fn an_account_with_rights_in_the_schema_alone_is_enough_and_a_missing_right_is_named() {
    let server = OwnPostgreSql::start();
    server.query("CREATE ROLE app LOGIN PASSWORD 'tr0ub4dor'");
    server.let_in("app");
    let target = server.app_url();
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

mod test_all {
    use super::*;

    #[test]
    fn of_a_primary_and_its_standby_the_primary_is_measured() {
        let server = OwnPostgreSql::start();
        let Some(standby) = PostgreSqlCopy::standby(&server) else {
            return;
        };
        let primary = format!("{}:{}", server.options().host, server.options().port);
        let target = server
            .url_with(server.password())
            .replace(&primary, &format!("{},{primary}", standby.address()));
        let sandbox = Sandbox::new();
        let finished = sandbox.finish(&["quick", &target, "--time", "9", "--out", "run"]);
        finished.measured();
        let run = record(&sandbox.run());
        let members = run.head.servers[0].members.iter();
        let members: Vec<(&str, &str)> = members
            .map(|member| (member.address.as_str(), member.role.as_str()))
            .collect();
        assert_eq!(
            members,
            [(primary.as_str(), "primary"), (&standby.address(), "standby")]
        );
    }
}

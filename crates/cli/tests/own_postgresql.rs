//! What a PostgreSQL of the user's own has, demands and allows.

use ciphertax_records::ConnectionRecord;

use crate::common::*;

#[test]
fn the_password_of_libpqs_variable_is_read() {
    let server = OwnPostgreSql::start();
    let sandbox = Sandbox::new();
    let target = server.with_ca(&server.url());
    let mut command = sandbox.command(&["quick", &target, "--time", "2", "--out", "run"]);
    command.env("PGPASSWORD", server.password());
    let finished = Running::start(command).finish();
    finished.measured();
    no_secret_is_left(&sandbox, &finished, server.password(), &server.url());
}

#[test]
fn an_account_with_rights_in_the_schema_alone_is_enough_and_a_missing_right_is_named() {
    let server = OwnPostgreSql::start();
    server.query("CREATE ROLE app LOGIN PASSWORD 'tr0ub4dor'");
    server.let_in("app");
    let target = server.app_url();
    refused(
        &target,
        "have its administrator run: CREATE SCHEMA ciphertax AUTHORIZATION app",
    );
    server.query("CREATE SCHEMA ciphertax");
    refused(
        &target,
        "somebody else's … have its administrator run: ALTER SCHEMA ciphertax OWNER TO app",
    );
    server.query("ALTER SCHEMA ciphertax OWNER TO app");
    let before = server.contents();
    for _ in 0..2 {
        measured_in_a_moment(&target);
        assert_eq!(server.contents(), before);
    }
    // One that may make schemas makes its own.
    server.query("DROP SCHEMA ciphertax");
    server.query("GRANT CREATE ON DATABASE postgres TO app");
    let before = server.contents();
    measured_in_a_moment(&target);
    assert_eq!(server.contents(), before);
}

#[test]
fn of_a_database_a_function_or_a_tablespace_the_right_to_it_is_named() {
    let server = OwnPostgreSql::start();
    server.query("CREATE ROLE app LOGIN PASSWORD 'tr0ub4dor'");
    server.query("CREATE SCHEMA ciphertax AUTHORIZATION app");
    server.let_in("app");
    let target = server.app_url();
    let lock = "FUNCTION pg_try_advisory_lock(int, int)";
    server.query("REVOKE CONNECT ON DATABASE postgres FROM PUBLIC");
    server.query(&format!("REVOKE EXECUTE ON {lock} FROM PUBLIC"));
    server.session(|query| {
        query("SET allow_in_place_tablespaces = on");
        query("CREATE TABLESPACE fast LOCATION ''")
    });
    server.query("ALTER ROLE app SET default_tablespace = fast");
    let before = server.contents();
    for (object, right, of) in [
        ("database \"postgres\"", "GRANT CONNECT ON", "DATABASE postgres"),
        ("function pg_try_advisory_lock", "GRANT EXECUTE ON", lock),
        ("tablespace fast", "GRANT CREATE ON", "TABLESPACE fast"),
    ] {
        let said = refused(&target, &format!("permission denied for {object} … {right}"));
        assert!(!said.contains("the schema ciphertax"), "{said}");
        assert_eq!(server.contents(), before);
        server.query(&format!("{right} {of} TO app"));
    }
    measured_in_a_moment(&target);
    assert_eq!(server.contents(), before);
}

/// Where the study does not say of which server it is, the target does.
#[test]
fn a_study_that_names_no_server_is_about_the_targets() {
    let server = OwnPostgreSql::start();
    let text = r#"
name = "mine"
question = "What does TLS cost?"
time_s = 2
SERVER
[[arm]]
name = "plain"
transport = "plain"

[[arm]]
name = "tls1.3"
transport = "tls1.3"

[[cell]]
name = "select"
workload = "pgbench_select_only"
load = { connections = 2 }
"#;
    let play = |named: &str, setting: &str| {
        let (text, url) = (text.replace("SERVER", named), server.url_with(server.password()));
        let options = [&*url, setting];
        let sandbox = Sandbox::new();
        let finished = sandbox.start_study(&text, &options).finish();
        (sandbox, finished)
    };
    let (sandbox, finished) = play("", "--quiet");
    finished.measured();
    assert_eq!(record(&sandbox.run()).head.study.server, "postgresql");
    for (named, setting) in [("server = \"mariadb\"", "--quiet"), ("", "--set=server=mariadb")] {
        let (_, finished) = play(named, setting);
        finished.refuses("about mariadb servers … write server = \"postgresql\"");
    }
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

/// As with libpq, whose `system` is what OpenSSL trusts by default; `SSL_CERT_FILE` names it.
#[test]
fn the_systems_cas_verify_a_server_and_its_name() {
    let (server, sandbox) = (OwnPostgreSql::start(), Sandbox::new());
    let connect = |options: &str| {
        let target = format!(
            "{}?sslrootcert=system{options}",
            server.url_with(server.password())
        );
        let mut command = sandbox.command(&["connect", &target, "--json"]);
        command.env("SSL_CERT_FILE", server.ca_file());
        Running::start(command).finish()
    };
    for options in ["", "&sslmode=verify-full"] {
        let finished = connect(options);
        assert_eq!(finished.code, Some(0), "{finished:?}");
        let record: ConnectionRecord = serde_json::from_str(&finished.stdout).unwrap();
        assert_eq!(record.facts.tls.unwrap().verification, Verified::HostName);
    }
    for mode in ["require", "verify-ca"] {
        let finished = connect(&format!("&sslmode={mode}"));
        finished.refuses(&format!("{mode} … expected verify-full, or to leave it out"));
    }
}

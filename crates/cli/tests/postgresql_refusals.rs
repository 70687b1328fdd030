//! What keeps ciphertax from a PostgreSQL of the user's own: it is said with the remedy, and nothing is written.

use crate::common::*;

#[test]
fn what_keeps_ciphertax_from_a_server_is_said_with_the_remedy_and_nothing_is_written() {
    let server = OwnPostgreSql::start();
    let before = server.contents();
    let wrong = refused(
        &server.with_ca(&server.url_with("tr0ub4dor")),
        "password authentication failed … 28P01 … check user and password",
    );
    assert!(!wrong.contains("tr0ub4dor"), "{wrong}");
    refused(&server.with_ca(&server.url()), "CIPHERTAX_PASSWORD");
    let own = server.url_with(server.password());
    for mode in ["prefer", "allow"] {
        refused(
            &format!("{own}?sslmode={mode}"),
            &format!("sslmode … {mode} … no baseline can rest on that"),
        );
    }
    assert_eq!(server.contents(), before);
}

#[test]
fn a_user_whom_no_line_of_pg_hba_is_for_is_not_told_to_use_tls() {
    let server = OwnPostgreSql::start();
    server.query("CREATE ROLE nobody LOGIN PASSWORD 'tr0ub4dor'");
    let target = server.with_ca(&server.url_of("nobody:tr0ub4dor"));
    let said = refused(&target, "pg_hba.conf");
    assert!(!said.contains("demands TLS of this user"), "{said}");
}

/// The login without TLS is refused too, for want of TLS: the words are those of the login over it.
#[test]
fn what_a_server_says_over_tls_is_said_where_without_tls_it_wants_tls_alone() {
    let server = OwnPostgreSql::start();
    server.query("CREATE ROLE app LOGIN PASSWORD 'tr0ub4dor'");
    let [right, wrong] = ["tr0ub4dor", "wrong"].map(|password| server.url_of(&format!("app:{password}")));
    let none = server.url_of("app");
    let of = format!(" {} ", server.user());
    server.change_hba(|line| match line.contains(&of) {
        true => Some(format!(
            "{}\n{line}",
            line.replace(&of, " app ").replace("scram-sha-256", "password")
        )),
        false => Some(line.to_owned()),
    });
    for lets_in_without_tls in [true, false] {
        server.change_hba(|line| {
            let is_kept = lets_in_without_tls || !line.starts_with("hostnossl all app ");
            is_kept.then(|| line.to_owned())
        });
        for (target, said) in [
            (&wrong, "password authentication failed"),
            (
                &none,
                "give the password in the environment variable CIPHERTAX_PASSWORD",
            ),
            (&format!("{right}x"), "database \"postgresx\" does not exist"),
        ] {
            refused(target, said);
            Sandbox::new().finish(&["clean", target]).refuses(said);
        }
    }
}

#[test]
fn whom_pg_hba_rejects_is_told_of_the_file_and_not_of_the_password() {
    let server = OwnPostgreSql::start();
    server.query("CREATE ROLE app LOGIN PASSWORD 'tr0ub4dor'");
    // By its last line, and then by none at all.
    for keeps_the_last_line in [true, false] {
        server.change_hba(|line| {
            let is_kept = keeps_the_last_line || line != "host all all all reject";
            is_kept.then(|| line.to_owned())
        });
        let words = match keeps_the_last_line {
            true => "pg_hba.conf rejects connection for host",
            false => "no pg_hba.conf entry for host",
        };
        for target in [server.app_url(), server.app_url().replace(":tr0ub4dor", "")] {
            let said = refused(
                &target,
                &format!("{words} … user \"app\" … add a line for this user … pg_reload_conf()"),
            );
            assert!(!said.contains("CIPHERTAX_PASSWORD"), "{said}");
        }
    }
}

#[test]
fn a_standby_is_refused_with_the_reason() {
    let server = OwnPostgreSql::start();
    let Some(standby) = PostgreSqlCopy::standby(&server) else {
        return;
    };
    assert_eq!(standby.query("SELECT pg_is_in_recovery()"), ["t"]);
    let before = server.contents();
    refused(&standby.url(), "it is a standby … name the primary");
    // Nothing to clean is there either.
    let cleaned = Sandbox::new().finish(&["clean", &standby.url()]);
    assert_eq!(cleaned.code, Some(0), "{}", cleaned.stderr);
    assert_eq!(server.contents(), before);
}

#[test]
fn a_database_all_of_whose_tables_are_published_is_refused_and_another_is_measured() {
    let server = OwnPostgreSql::start();
    server.query("CREATE PUBLICATION \"All\" FOR ALL TABLES");
    let before = server.contents();
    refused(
        &server.verified_url(),
        "publication \"All\" is FOR ALL TABLES … name another database in the URL",
    );
    assert_eq!(server.contents(), before);
    server.query("CREATE DATABASE shop");
    let target = server.verified_url().replace("/postgres?", "/shop?");
    measured_in_a_moment(&target);
}

#[test]
fn event_triggers_that_forbid_drops_are_refused_and_measured_when_they_are_disabled() {
    let server = OwnPostgreSql::start();
    server.query(
        "CREATE FUNCTION forbid() RETURNS event_trigger LANGUAGE plpgsql AS \
         $$BEGIN RAISE EXCEPTION 'drops are forbidden here'; END$$",
    );
    for trigger in ["sql_drop", "ddl_command_start WHEN TAG IN ('DROP SCHEMA')"] {
        server.query(&format!(
            "CREATE EVENT TRIGGER \"No drops\" ON {trigger} EXECUTE FUNCTION forbid()"
        ));
        let before = server.contents();
        let said = refused(&server.verified_url(), "drops are forbidden here");
        assert_eq!(server.contents(), before);
        let (_, statement) = said.split_once("have its administrator run: ").unwrap();
        server.query(statement);
        let target = server.verified_url();
        measured_in_a_moment(&target);
        assert_eq!(server.contents(), before);
        server.query("DROP EVENT TRIGGER \"No drops\"");
    }
}

#[test]
fn commits_that_wait_for_a_standby_that_is_not_there_are_refused_and_measured_without() {
    let server = OwnPostgreSql::start();
    server.query("ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (far)'");
    server.query("SELECT pg_reload_conf()");
    assert!(within(PATIENCE, || server
        .query("SELECT current_setting('synchronous_standby_names')")
        == ["ANY 1 (far)"]));
    let before = server.contents();
    let said = refused(
        &server.verified_url(),
        "synchronous_standby_names = 'ANY 1 (far)' … synchronous_commit … start the standby",
    );
    assert_eq!(server.contents(), before);
    let cleaned = Sandbox::new().finish(&["clean", &server.verified_url()]);
    cleaned.refuses("synchronous_standby_names");
    let (_, option) = said.split_once("add options=").unwrap();
    let option = option.split(' ').next().unwrap();
    let target = format!("{}&options={option}", server.verified_url());
    measured_in_a_moment(&target);
    assert_eq!(server.contents(), before);
}

#[test]
fn a_server_whose_transactions_are_read_only_is_refused_with_the_setting() {
    let server = OwnPostgreSql::start();
    server.query("ALTER SYSTEM SET default_transaction_read_only = on");
    server.query("SELECT pg_reload_conf()");
    assert!(within(PATIENCE, || server
        .query("SELECT current_setting('transaction_read_only')")
        == ["on"]));
    let before = server.contents();
    refused(
        &server.verified_url(),
        "read-only … default_transaction_read_only",
    );
    assert_eq!(server.contents(), before);
}

#[test]
fn a_database_that_is_not_there_is_named() {
    let server = OwnPostgreSql::start();
    let target = server.verified_url().replace("/postgres?", "/shop?");
    refused(
        &target,
        "database \"shop\" does not exist … 3D000 … the URL names the database",
    );
}

#[test]
fn a_server_without_a_free_connection_is_refused_with_the_limit() {
    let server = OwnPostgreSql::start_with(|builder| builder.option("--max-connections=8"));
    server.query("CREATE ROLE app LOGIN PASSWORD 'tr0ub4dor'");
    server.let_in("app");
    with_sessions(&server, 8, &mut || {
        refused(
            &server.app_url(),
            "53300 … sorry, too many clients already … raise max_connections",
        );
    });
}

/// Does it while so many sessions are open.
fn with_sessions(server: &OwnPostgreSql, count: u32, then: &mut dyn FnMut()) {
    match count {
        0 => then(),
        _ => server.session(|_| with_sessions(server, count - 1, then)),
    }
}

/// As on a server from before SCRAM, or that was moved from one.
#[test]
fn accounts_with_an_md5_password_are_measured_by_it_and_cannot_do_scram() {
    let server = OwnPostgreSql::start();
    server.session(|query| {
        query("SET password_encryption = 'md5'");
        query("CREATE ROLE app LOGIN PASSWORD 'tr0ub4dor'");
        query("CREATE SCHEMA ciphertax AUTHORIZATION app");
    });
    server.let_in("app");
    let target = server.app_url();
    // Its lines ask for SCRAM, which the account's password has no keys for: the server says that to its log alone.
    let said = refused(
        &target,
        "password authentication failed for user \"app\" … no md5 one from before",
    );
    assert!(!said.contains("tr0ub4dor"), "{said}");

    server.change_hba(|line| match line.contains(" app,") {
        true => Some(line.replace("scram-sha-256", "md5")),
        false => Some(line.to_owned()),
    });
    let sandbox = measured_in_a_moment(&target);
    for arm in &record(&sandbox.run()).head.arms {
        assert_eq!(arm.sessions[0].facts.authentication.method, "md5", "{}", arm.name);
    }
    refused(
        &format!("{target}&channel_binding=require"),
        "asks for md5; expected SCRAM-SHA-256-PLUS … password_encryption",
    );
}

/// The other way round: the account's password is one of SCRAM, and an arm wants md5. A server of the user's own has one
/// account, so that is known without asking it.
#[test]
fn an_arm_that_asks_md5_of_an_account_with_scram_is_refused() {
    let server = OwnPostgreSql::start();
    let sandbox = Sandbox::new();
    let study = r#"
        name = "old"
        question = "What does md5 cost?"
        server = "postgresql"
        time_s = 2
        arm = [
            { name = "plain", transport = "plain" },
            { name = "md5", transport = "tls1.3", authentication = { method = "md5" } },
        ]
        cell = [{ name = "connect", workload = "connect", load = { connections = 1 } }]
    "#;
    fs::write(sandbox.work().join("study.toml"), study).unwrap();
    let before = server.contents();
    let finished = sandbox.finish(&["run", "study.toml", &server.verified_url(), "--out", "run"]);
    finished.refuses("arm \"md5\" … on a private server alone … leave the target out");
    assert_eq!(server.contents(), before);
}

#[test]
fn over_a_unix_socket_there_is_no_tls_and_plain_arms_are_measured() {
    let name = format!("@/ciphertax-{}", std::process::id());
    let server =
        OwnPostgreSql::start_with(|builder| builder.option(format!("--unix-socket-directories=.,{name}")));
    let folder = server.file("data_directory").display().to_string();
    for host in [folder, name] {
        over_a_unix_socket(&format!(
            "postgresql://{}:{}@/postgres?host={}&port={}",
            server.user(),
            server.password(),
            host.replace('@', "%40"),
            server.options().port
        ));
    }
}

fn over_a_unix_socket(target: &str) {
    refused(
        target,
        "arm tls1.3 … PostgreSQL does not have over Unix sockets … give host:port",
    );
    let sandbox = Sandbox::new();
    let study = r#"
        name = "noise"
        question = "How much do two measurements of the same differ?"
        server = "postgresql"
        time_s = 2
        arm = [{ name = "plain", transport = "plain" }, { name = "same", transport = "plain" }]
        cell = [{ name = "connect", workload = "connect", load = { connections = 1 } }]
    "#;
    fs::write(sandbox.work().join("study.toml"), study).unwrap();
    let finished = sandbox.finish(&["run", "study.toml", target, "--out", "run"]);
    finished.measured();
    no_slice_failed(&record(&sandbox.run()));
}

#[test]
fn a_server_that_does_not_answer_is_waited_for_as_long_as_the_url_says() {
    // It takes connections and never says a word.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = format!(
        "postgresql://app:tr0ub4dor@{}/?connect_timeout=1",
        silent.local_addr().unwrap()
    );
    refused(&target, "no answer within 1 s");
}

#[test]
fn other_clients_keep_connections() {
    let server = OwnPostgreSql::start_with(|builder| builder.option("--max-connections=30"));
    let before = server.contents();
    refused(
        &server.verified_url(),
        "connections at a time … of the 30 that max_connections allows … 5 are kept for other clients … \
         --set load.connections=",
    );
    assert_eq!(server.contents(), before);
}

#[test]
fn an_accounts_own_limit_of_connections_is_heeded() {
    let server = OwnPostgreSql::start();
    server.query("CREATE ROLE app LOGIN PASSWORD 'tr0ub4dor' CONNECTION LIMIT 12");
    server.query("CREATE SCHEMA ciphertax AUTHORIZATION app");
    server.let_in("app");
    let before = server.contents();
    refused(
        &server.app_url(),
        "of the 12 that the user's CONNECTION LIMIT allows",
    );
    server.query("ALTER ROLE app CONNECTION LIMIT -1");
    server.query("ALTER DATABASE postgres CONNECTION LIMIT 20");
    refused(
        &server.app_url(),
        "of the 20 that the database's CONNECTION LIMIT allows",
    );
    assert_eq!(server.contents(), before);
}

/// A real server that says of itself what others say.
#[test]
fn servers_that_are_compatible_are_known_by_their_own_words() {
    for [says, product] in rows("
        CockroachDB CCL v24.1.0 (x86_64-pc-linux-gnu, built 2024/05/15 21:28:29, go1.22.2 X:nocoverageredesign) → CockroachDB
        PostgreSQL 11.2-YB-2.20.1.0-b0 on x86_64-pc-linux-gnu, compiled by clang version 16.0.6, 64-bit → YugabyteDB
    ") {
        let server = OwnPostgreSql::start_with(|builder| builder.option("--allow-system-table-mods=on"));
        server.query(&format!(
            "CREATE OR REPLACE FUNCTION pg_catalog.version() RETURNS text LANGUAGE sql AS $$SELECT '{says}'$$"
        ));
        let target = server.verified_url();
        let sandbox = measured_in_a_moment(&target);
        let own = &record(&sandbox.run()).head.servers[0];
        assert_eq!((own.product.as_str(), own.version.as_str()), (product, says));
    }
}

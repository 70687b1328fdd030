//! Servers of the user's own whose settings would make statements of ciphertax mean something else, or fail.

use crate::common::*;

const OF_MYSQL: &str = "SET GLOBAL autocommit = 0, sql_select_limit = 1, sql_safe_updates = 1, completion_type = 2, wait_timeout = 10, \
                        max_join_size = 1000, sql_mode = 'NO_BACKSLASH_ESCAPES,NO_AUTO_VALUE_ON_ZERO,ANSI_QUOTES,PAD_CHAR_TO_FULL_LENGTH'";
const OF_MARIADB: &str = "SET GLOBAL autocommit = 0, sql_select_limit = 1, sql_safe_updates = 1, completion_type = 2, wait_timeout = 10, \
                          max_join_size = 1000, max_statement_time = 10, sql_mode = 'ORACLE,EMPTY_STRING_IS_NULL,NO_AUTO_VALUE_ON_ZERO'";
const OF_POSTGRESQL: [&str; 6] = [
    "statement_timeout = '10s'",
    "idle_session_timeout = '10s'",
    "idle_in_transaction_session_timeout = '10s'",
    "standard_conforming_strings = off",
    "bytea_output = 'escape'",
    "datestyle = 'German'",
];

/// A run of all that depends on them, which leaves nothing and says what it did not take over.
fn is_measured(server: &dyn AnyOwn, target: &str, cells: &[&str], overridden: &[&str]) -> Run {
    let before = server.all();
    let sandbox = Sandbox::new();
    let cells: Vec<String> = cells
        .iter()
        .map(|cell| format!("{{ name = \"{cell}\", workload = \"{cell}\", load = {{ connections = 2 }} }}"))
        .collect();
    let product = match server.url().starts_with("postgresql") {
        true => "server = \"postgresql\"",
        false => "",
    };
    let study = format!(
        "name = \"settings\"\nquestion = \"What does it cost?\"\n{product}\ntime_s = 4\nslice_s = 0.1\n\
         dataset = {{ table_size = 2000 }}\ntpcc = {{ warehouses = 1 }}\n\
         arm = [{{ name = \"plain\", transport = \"plain\" }}, {{ name = \"tls\", transport = \"tls1.3\" }}]\ncell = [{}]\n",
        cells.join(", ")
    );
    let mut command = sandbox.study(&study, &[]);
    command.arg(target);
    let finished = Running::start(command).finish_within(Duration::from_secs(180));
    finished.measured();
    let run = record(&sandbox.run());
    assert_eq!(run.head.status, RunStatus::Complete);
    no_slice_failed(&run);
    let found: Vec<&str> = run.head.servers[0]
        .overridden
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(found, overridden);
    assert_eq!(server.all(), before);
    run
}

#[test]
fn settings_that_no_table_can_be_made_under_are_refused() {
    let server = OwnServer::start_with(|builder| builder.option("--innodb-read-only=ON".to_owned()));
    let before = server.all();
    refused(
        &server.url_with(server.password()),
        "takes no writes (innodb_read_only)",
    );
    assert_eq!(server.all(), before);

    let server = OwnServer::start();
    server.query("SET GLOBAL max_allowed_packet = 65536");
    let target = server.url_with(server.password());
    let says = refused(&target, "max_allowed_packet is 65536 bytes");
    let (_, advised) = says.split_once("have more: ").unwrap();
    server.query(advised.split_once(',').unwrap().0);
    start_study(&Sandbox::new(), &target, &[]).finish().measured();
}

/// The server says so in answer to the first statement, and ends the session.
#[test]
fn an_init_connect_that_fails_is_named() {
    let server = OwnServer::start();
    server.query("CREATE USER app IDENTIFIED BY 'tr0ub4dor'");
    server.query("SET GLOBAL init_connect = 'SET no_such_thing = 1'");
    for target in [server.app_url(), server.url_of("app:tr0ub4dor")] {
        refused(&target, "1184 … init_connect command failed");
        let cleaned = Sandbox::new().finish(&["clean", &target]);
        cleaned.refuses("1184 … init_connect command failed");
    }
}

fn mysql(server: &OwnServer, settings: &str, cells: &[&str], also: [&'static str; 2]) {
    server.query(settings);
    let mut overridden = vec![
        "autocommit",
        "completion_type",
        also[0],
        also[1],
        "sql_big_selects",
        "sql_mode",
        "sql_safe_updates",
        "sql_select_limit",
        "wait_timeout",
    ];
    overridden.retain(|name| !name.is_empty());
    is_measured(server, &server.url_with(server.password()), cells, &overridden);
}

fn postgresql(cells: &[&str]) {
    let server = OwnPostgreSql::start();
    server.query("CREATE ROLE app LOGIN PASSWORD 'tr0ub4dor'");
    server.query("GRANT CREATE ON DATABASE postgres TO app");
    server.let_in("app");
    let mut overridden: Vec<&str> = Vec::new();
    for setting in OF_POSTGRESQL {
        server.query(&format!("ALTER ROLE app SET {setting}"));
        overridden.extend(setting.split(' ').next());
    }
    overridden.sort_unstable();
    is_measured(&server, &server.app_url(), cells, &overridden);
}

const CELLS: [&str; 3] = ["oltp_insert", "oltp_read_write", "bulk_read"];

#[test]
fn what_a_server_or_an_account_sets_changes_no_statement_of_ours() {
    let caching = OwnServer::start_with(|builder| builder.option("--query-cache-type=1"));
    mysql(
        &caching,
        OF_MARIADB,
        &CELLS,
        ["max_statement_time", "query_cache_type"],
    );
    postgresql(&CELLS);
}

#[test]
fn what_new_connections_insert_and_would_not_commit_is_refused() {
    let server = OwnServer::start();
    server.query("SET GLOBAL autocommit = 0");
    let sandbox = Sandbox::new();
    let study = "name = \"inserts\"\nquestion = \"What does it cost?\"\ntime_s = 4\n\
                 arm = [{ name = \"plain\", transport = \"plain\" }, { name = \"tls\", transport = \"tls1.3\" }]\n\
                 cell = [{ name = \"short\", workload = \"connect_insert_count\", load = { connections = 2 } }]\n";
    let mut command = sandbox.study(study, &[]);
    command.arg(server.url_with(server.password()));
    let finished = Running::start(command).finish();
    finished.refuses("what short inserts would never be committed … SET GLOBAL autocommit = 1");
    // As it says.
    server.query("SET GLOBAL autocommit = 1");
    let mut command = sandbox.study(study, &[]);
    command.arg(server.url_with(server.password()));
    Running::start(command).finish().measured();
}

mod test_all {
    use ciphertax_lab::catalogue::MYSQL;

    use super::*;

    const ALL: [&str; 6] = [
        "oltp_insert",
        "oltp_read_write",
        "bulk_read",
        "bulk_insert",
        "ycsb_a",
        "tpcc",
    ];

    #[test]
    fn tables_get_primary_keys_where_the_server_wants_them() {
        if fetched(&MYSQL).is_none() {
            return;
        }
        let server = OwnServer::start_of(&MYSQL, |server| server);
        let is_said = |setting: &str| {
            let run = is_measured(
                &server,
                &server.url_with(server.password()),
                &["tpcc", "pgbench_tpcb_like"],
                &[],
            );
            let said = run.head.servers[0].settings.get(setting);
            said.is_some_and(|said| said == "ON, so every table has a primary key")
        };
        for setting in ["sql_require_primary_key", "sql_generate_invisible_primary_key"] {
            assert!(!is_said(setting));
            server.query(&format!("SET GLOBAL {setting} = ON"));
            assert!(is_said(setting));
            server.query(&format!("SET GLOBAL {setting} = OFF"));
        }
    }

    #[test]
    fn nor_of_any_workload() {
        mysql(&OwnServer::start(), OF_MARIADB, &ALL, ["max_statement_time", ""]);
        if fetched(&MYSQL).is_some() {
            mysql(
                &OwnServer::start_of(&MYSQL, |server| server),
                OF_MYSQL,
                &ALL,
                ["", ""],
            );
        }
        postgresql(&ALL);
    }
}

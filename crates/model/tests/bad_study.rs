//! What is wrong with a study file is said all at once, where it is, and with what is meant or known.

use ciphertax_model::{Position, StudyText};
use insta::assert_snapshot;

use crate::{refused, rule_cases};

fn refusal(text: &str) -> String {
    StudyText::new("study.toml", text)
        .study()
        .unwrap_err()
        .to_string()
}

/// A good study, changed.
fn changed(from: &str, to: &str) -> String {
    assert!(STUDY.contains(from), "{from}");
    refusal(&STUDY.replacen(from, to, 1))
}

const STUDY: &str = r#"name = "small"
question = "What does TLS cost?"
time_s = 10

[[arm]]
name = "plain"
transport = "plain"

[[arm]]
name = "tls"
transport = "tls1.3"

[[arm]]
name = "ssh"
transport = "plain"
tunnel = { ssh = "aes256-ctr" }

[[cell]]
name = "near"
workload = "oltp_point_select"
load = { connections = 8 }

[[cell]]
name = "far"
workload = "connect"
load = { connections = 8 }
link = { rtt_ms = 45 }
arms = ["plain", "tls"]
"#;

#[test]
fn the_study_itself_is_good() {
    StudyText::new("study.toml", STUDY).study().unwrap();
}

#[test]
fn everything_of_the_wrong_shape_is_told_at_once() {
    assert_snapshot!(refusal(
        r#"
name = 5
questoin = "What does TLS cost?"
link = { rtt_ms = 1, colour = "blue" }
time_s = "ten"
certificate = "rsa-4069"
precision = 0.01
chain_length = 300

[[arm]]
name = "plain"
transport = "preferred"

[[arm]]
name = "tls"
transport = "tls1.4"
tls = { group = "p-384", cypher = "AES256-SHA", resumption = ["ticket"] }
tunnel = { sssh = "aes256-cbc" }

[[arm]]
transport = "tls"
tunnel = "ssh"

[[arm]]
name = "tunnels"
transport = "tls"
tunnel = { stunnel = 1 }
authentication = { method = "native" }

[[cell]]
name = "select"
workload = "oltp_pointselect"
load = { connections = 8.5, workers = -1, poll_delay_us = 99999999999 }
arms = ["plain", 3]
"#
    ), @r#"
    22 problems in study.toml
    study.toml:2:8: "name" must be a string, not a whole number
    study.toml:3:1: unknown key "questoin"; did you mean "question"?
    study.toml:4:22: unknown key "colour"; known are "bandwidth_mbit", "jitter_ms", "rtt_ms"
    study.toml:5:10: "time_s" must be a number, not a string
    study.toml:6:15: "certificate" cannot be "rsa-4069"; did you mean "rsa-4096"?
    study.toml:7:13: "precision" must be a table, not a number with a fraction
    study.toml:8:16: "chain_length" is 300; it must lie between 0 and 255
    study.toml:12:13: "transport" cannot be "preferred"; known are "plain", "tls", "tls1.0", "tls1.1", "tls1.2", "tls1.3"
    study.toml:16:13: "transport" cannot be "tls1.4"; did you mean "tls1.3"?
    study.toml:17:17: "group" cannot be "p-384"; did you mean "P-384"?
    study.toml:17:26: unknown key "cypher"; did you mean "cipher"?
    study.toml:17:62: "resumption" must be one of "off", "session_id", "ticket", not a list
    study.toml:18:10: "tunnel" cannot be "sssh"; did you mean "ssh"?
    study.toml:20:1: key "name" is missing
    study.toml:22:10: "ssh" needs a value: write "tunnel" as { ssh = … }
    study.toml:27:10: "stunnel" takes no value: write "tunnel" as "stunnel"
    study.toml:28:29: "method" cannot be "native"; did you mean "mysql_native_password"?
    study.toml:32:12: "workload" cannot be "oltp_pointselect"; did you mean "oltp_point_select"?
    study.toml:33:24: "connections" must be a whole number, not a number with a fraction
    study.toml:33:39: "workers" is -1; it must lie between 0 and 4294967295
    study.toml:33:59: "poll_delay_us" is 99999999999; it must lie between 0 and 4294967295
    study.toml:34:18: an entry of "arms" must be a string, not a whole number
    "#);
}

#[test]
fn a_table_where_a_list_of_tables_belongs_is_explained() {
    assert_snapshot!(refusal(
        r#"
name = "x"
question = "?"
time_s = 1
[arm]
name = "plain"
[cell]
name = "select"
"#
    ), @r#"
    2 problems in study.toml
    study.toml:5:1: "arm" must be a list of tables, each headed [[arm]], not a table
    study.toml:7:1: "cell" must be a list of tables, each headed [[cell]], not a table
    "#);
}

#[test]
fn contradictions_are_told_with_what_is_unknown() {
    assert_snapshot!(refusal(
        r#"
name = "x"
question = "?"
time_s = 0
slice_s = 60
serverr = "mariadb"
placement = "together"
chain_length = 5
precision.cpu = 2.0
link = { rtt_ms = 10, jitter_ms = 6 }

[[arm]]
name = "plain"
transport = "plain"
tls.group = "X25519"
authentication.password_cache = "cold"

[[arm]]
name = "old"
transport = "tls1.1"
[arm.tls]
cipher = "TLS_AES_128_GCM_SHA256"
group = "X25519MLKEM768"
library = "rustls"
resumption = "session_id"

[[arm]]
name = "new"
transport = "tls1.3"
tunnel = "stunnel"
[arm.tls]
cipher = "AES256-SHA"
resumption = "session_id"
[arm.authentication]
method = "unix_socket"

[[arm]]
name = "new"
transport = "tls1.2"
tls = { cipher = "AES256-SHA", group = "P-256" }

[[arm]]
name = "baseline again"
transport = "tls"

[[cell]]
name = "far"
workload = "connect"
load = { connections = 0, poll_delay_us = 20000 }
link = { rtt_ms = 1e9, bandwidth_mbit = 0 }
arms = ["old", "odl", "old"]

[[cell]]
name = "far"
workload = "connect"
load = { connections = 8, workers = 9 }
arms = ["plain"]
"#
    ), @r#"
    30 problems in study.toml
    study.toml:4:10: time_s is 0; it must lie between 1 and 86400
    study.toml:5:11: slice_s is 60; it must lie between 0.05 and 10
    study.toml:6:1: unknown key "serverr"; did you mean "server"?
    study.toml:7:13: placement = "together" puts server and load on one CPU, but the link of cell "far" needs a CPU of its own; take placement = "free"
    study.toml:8:16: chain_length is 5; it must lie between 1 and 4
    study.toml:9:17: precision.cpu is 2; it must lie between 0.0005 and 0.5
    study.toml:10:35: jitter_ms is 6; it must lie between 0 and 2.5, a quarter of rtt_ms, so that hardly any delay would be negative
    study.toml:15:1: arm "plain": it is plain, so its tls settings say nothing; leave them out or give it a TLS transport
    study.toml:16:33: arm "plain": only caching_sha2_password and the methods of SCRAM have a password cache; leave password_cache out or set method
    study.toml:22:10: arm "old": TLS_AES_128_GCM_SHA256 is a cipher suite of TLSv1.3, not of TLSv1.1; take another
    study.toml:23:9: arm "old": X25519MLKEM768 is a group of TLS 1.3 alone; take another group, or TLS 1.3
    study.toml:24:11: arm "old": rustls knows TLS 1.2 and 1.3 alone; take library = "openssl"
    study.toml:25:14: arm "old": sessions are resumed by id with library = "openssl" alone; with rustls take resumption = "ticket"
    study.toml:32:10: arm "new": AES256-SHA is a cipher suite of TLSv1, TLSv1.1, TLSv1.2, not of TLSv1.3; take another
    study.toml:33:14: arm "new": TLS 1.3 resumes by ticket alone; take resumption = "ticket", or TLS 1.2 or older
    study.toml:35:10: arm "new": a login by unix_socket is not over TCP, so it cannot use TLS; take transport = "plain"
    study.toml:35:10: arm "new": a login by unix_socket is not over TCP, so it cannot use a tunnel; leave tunnel out
    study.toml:38:8: two arms are named "new"; arm names must be unique
    study.toml:40:40: arm "new": AES256-SHA exchanges keys without a group; leave group out or take a cipher whose name begins with ECDHE- or TLS_
    study.toml:43:8: the arm name "baseline again" is taken by the noise-floor arm; take another
    study.toml:49:24: cell "far": load.connections is 0; it must lie between 1 and 100000
    study.toml:49:43: cell "far": load.poll_delay_us is 20000; it must lie between 0 and 10000
    study.toml:50:19: cell "far": rtt_ms is 1000000000; it must lie between 0 and 10000 milliseconds
    study.toml:50:41: cell "far": bandwidth_mbit is 0; it must lie between 0.01 and 100000 Mbit/s
    study.toml:51:8: cell "far": its arms must include "plain", the baseline they are compared with; add it
    study.toml:51:16: cell "far": unknown arm "odl"; did you mean "old"?
    study.toml:51:23: cell "far": it names arm "old" twice; name it once
    study.toml:54:8: two cells are named "far"; cell names must be unique
    study.toml:56:37: cell "far": load.workers is 9; it must lie between 1 and 8
    study.toml:57:8: cell "far": a comparison needs a variant beside the baseline; add one to arms
    "#);
}

#[test]
fn what_is_not_understood_hides_nothing_that_is_refused_beside_it() {
    let text = STUDY
        .replacen("time_s = 10", "time_s = 0", 1)
        .replacen("\"tls1.3\"", "\"tls1.4\"", 1)
        .replacen(
            "transport = \"plain\"",
            "transport = \"plain\"\ncertificate = \"rsa-2048\"",
            1,
        )
        .replacen("{ connections = 8 }", "{ connections = 8, batch = 7 }", 1);
    assert_snapshot!(refusal(&text), @r#"
    4 problems in study.toml
    study.toml:3:10: time_s is 0; it must lie between 1 and 86400
    study.toml:8:15: arm "plain": it is plain and never shown a certificate; leave rsa-2048 out or give it a TLS transport
    study.toml:12:13: "transport" cannot be "tls1.4"; did you mean "tls1.3"?
    study.toml:22:35: cell "near": a batch of 7 keeps no 8 connections busy; make it at least as large as connections
    "#);
}

#[test]
fn published_figures_must_be_of_something_that_is_measured() {
    let published = |row: &str| {
        let rows = row.replace("ROW", "[[published]]\nsource = \"s\"\nmetric = \"throughput\"\n");
        refusal(&format!("{STUDY}{rows}"))
    };
    assert_snapshot!(published(
        r#"
ROW
cell = "fra"
arm = "tls"
change = -0.5
ROW
cell = "far"
arm = "ssh"
change = -0.5
ROW
cell = "near"
arm = "plain"
change = -1.5
ROW
cell = "near"
arm = "tls"
baseline = 100
ROW
cell = "near"
arm = "tls"
change = -0.5
within = 0.5
ROW
cell = "near"
arm = "tls"
baseline = 0
variant = 100
ROW
cell = "near"
arm = "tls"
within = -0.05
"#
    ), @r#"
    8 problems in study.toml
    study.toml:34:8: unknown cell "fra"; did you mean "far"?
    study.toml:42:7: arm "ssh" is not measured in cell "far"; take another, or add it to the arms of the cell
    study.toml:44:1: change must be a fraction above -1, and baseline and variant must be positive; -0.25 is a quarter less
    study.toml:49:7: "plain" is no variant of the study; known are "tls", "ssh"
    study.toml:51:1: a published figure is one thing; give change, or baseline and variant, or within
    study.toml:58:1: a published figure is one thing; give change, or baseline and variant, or within
    study.toml:66:1: change must be a fraction above -1, and baseline and variant must be positive; -0.25 is a quarter less
    study.toml:80:10: within must be a positive fraction; 0.05 is five percent
    "#);
}

#[test]
fn what_is_no_toml_is_told_line_by_line() {
    assert_snapshot!(changed("transport = \"tls1.3\"", "transport = tls1.3\ntls.group = \"P-256\n= 3"), @r#"
    3 problems in study.toml
    study.toml:11:13: string values must be quoted
    study.toml:12:19: invalid basic string, expected `"`
    study.toml:13:1: unquoted keys cannot be empty, expected letters, numbers, `-`, `_`
    "#);
}

#[test]
fn numbers_that_are_none_are_refused() {
    for number in ["nan", "inf", "-inf", "1e400", "99999999999999999999"] {
        let message = changed("time_s = 10", &format!("time_s = {number}"));
        assert!(message.starts_with("study.toml:3:10: time_s is "), "{message}");
    }
}

/// The study with a cell of a command instead of its first.
fn of_command(cell: &str) -> String {
    let (from, _) = STUDY.split_once("[[cell]]").unwrap();
    refusal(&format!(
        "{from}[[cell]]\nname = \"mine\"\nworkload = \"command\"\n{cell}\n"
    ))
}

#[test]
fn a_command_that_cannot_be_run_is_refused() {
    assert_snapshot!(of_command("command = { run = [\"x\"], counts = \"querys\" }"), @r#"study.toml:21:35: "counts" cannot be "querys"; did you mean "queries"?"#);
    assert_snapshot!(of_command("command = { run = [] }"), @r#"study.toml:21:19: cell "mine": run must name a program; write it with its arguments: run = ["sysbench", …]"#);
    assert_snapshot!(of_command("command = { run = [\"x\", \"{hots}\", \"a\\u0000\"], timeout_s = 0 }"), @r#"
    3 problems in study.toml
    study.toml:21:19: cell "mine": no argument of a program can hold a zero byte; leave it out
    study.toml:21:19: cell "mine": there is no placeholder {hots}; did you mean "host"?
    study.toml:21:59: cell "mine": timeout_s is 0; it must lie between 0.1 and 86400
    "#);
    assert_snapshot!(of_command("command = { run = \"sysbench run\" }"), @r#"study.toml:21:19: "run" must be a list, not a string"#);
}

#[test]
fn an_argument_never_holds_the_password() {
    assert_snapshot!(of_command("command = { run = [\"x\", \"-p{password}\", \"{url}\"] }"), @r#"
    2 problems in study.toml
    study.toml:21:19: cell "mine": {password} would show the password to everybody who lists processes; the program finds it in its environment as CIPHERTAX_PASSWORD, in the file {my_cnf}, or for sysbench in {sysbench_cnf}
    study.toml:21:19: cell "mine": {url} would show the password to everybody who lists processes; the program finds it in its environment as CIPHERTAX_URL, in the file {my_cnf}, or for sysbench in {sysbench_cnf}
    "#);
}

#[test]
fn a_link_and_a_tunnel_need_a_cpu_beside_that_of_server_and_load() {
    assert_snapshot!(changed("time_s = 10", "time_s = 10\nplacement = \"together\""), @r#"study.toml:4:13: placement = "together" puts server and load on one CPU, but the tunnel of arm "ssh" needs a CPU of its own; take placement = "free""#);
}

#[test]
fn a_problem_has_a_place_that_programs_can_read() {
    let text = STUDY.replace("time_s", "tiem_s");
    let error = StudyText::new("study.toml", &text).study().unwrap_err();
    let [problem] = error.problems() else {
        panic!("{error}");
    };
    let place = Position::Text {
        file: "study.toml".into(),
        line: 3,
        column: 1,
    };
    assert_eq!(problem.position, place);
}

#[test]
fn contradictions_made_by_a_program_are_told_without_a_line() {
    let mut study = StudyText::new("study.toml", STUDY).study().unwrap();
    study.time_s = 0.0;
    study.cells[0].load.connections = 0;
    assert_snapshot!(study.validated().unwrap_err(), @r#"
    2 problems in study small
    study small: time_s is 0; it must lie between 1 and 86400
    study small: cell "near": load must say how many connections; add load = { connections = 8 }, from 1 to 100000
    "#);
}

#[test]
fn how_far_blocks_are_looked_into_is_one_of_three() {
    for depth in ["off", "waits", "full"] {
        let text = STUDY.replacen("time_s", &format!("profile = \"{depth}\"\ntime_s"), 1);
        let study = StudyText::new("study.toml", &text).study().unwrap();
        assert_eq!(study.profile.name(), depth);
    }
    let refusal = changed("time_s", "profile = \"ful\"\ntime_s");
    assert!(refusal.contains("did you mean \"full\"?"), "{refusal}");
}

/// Each rule has a case of its own in the reference of what is refused.
#[test]
fn what_rules_and_types_refuse_besides() {
    let cases = r#"
        connections = 8 ⇒ connections = 8, gather_us = 100 → study.toml:16:27: gather_us was removed: it is poll_delay_us now
        tunnel = "wireguard" → "tunnel" cannot be "wireguard": wireguard was removed: take the tunnel ssh, stunnel or haproxy
        connections = 8 ⇒ connections = 8, batch = 0 → load.batch is 0; it must lie between 1 and 1000000
        connections = 8 ⇒ connections = 8, rate = 0 → load.rate is 0; it must lie between 1 and 1000000
        connections = 8 ⇒ connections = 8, rate = 0.5 → "rate" must be a whole number, not a number with a fraction
        time_s ⇒ dataset = { tables = 0 } ¶ time_s → dataset.tables
        time_s ⇒ dataset = { table_size = 4000000000 } ¶ time_s → dataset.table_size
        time_s ⇒ storage = { binary_log = true, sync_binlog = 1000001 } ¶ time_s → it must lie between 0 and 1000000
        time_s ⇒ storage = { memory_mb = 4 } ¶ time_s → storage.memory_mb is 4; it must lie between 8 and 1048576
        time_s ⇒ storage = { flush_log_at_trx_commit = 3 } ¶ time_s → it must lie between 0 and 2
        time_s ⇒ storage = { flush = "O_DIRECT" } ¶ time_s → "flush" cannot be "O_DIRECT"
        time_s ⇒ nodes = 3 ¶ node_link = { rtt_ms = -1 } ¶ time_s → rtt_ms is -1
        authentication = { method = "SCRAM-SHA-256", scram_iterations = 0 } → it must lie between 1000 and 1000000
        transport = "plain" ⇒ transport = "plain" ¶ authentication = { method = "cert" } → cert is a login by TLS
        authentication.method = "cert" ¶ tls.client_certificate = "ecdsa-p256" ¶ pooler = { program = "pgbouncer", pool_mode = "session" }
            → a pooler cannot log in to the server by cert in a client's name; take SCRAM-SHA-256, md5 or trust
        pooler = "proxysql" → study.toml:12:10: ProxySQL is not available, since no package client here has it; pgbouncer is, before
            → is, before PostgreSQL, and mysqlrouter before MySQL
        pooler = { proxysql = "transaction" } → study.toml:12:12: ProxySQL is not available
        pooler = { program = "proxysql", pool_mode = "session" } → study.toml:12:22: ProxySQL is not available
        pooler = "maxscale" → MaxScale is not available
        pooler = "pgbouncer" → "pooler" must be a table, not a string
        pooler = { program = "pgbouncer", pool_mode = "statement" } → "statement"; known are "session", "transaction"
        pooler = { pgbouncer = "session" } → pgbouncer was removed: a pooler is {
        at_rest = { tables = true, encryption_threads = 17 } → it must lie between 0 and 16
        at_rest = { sqlcipher = { kdf_iter = 0 } } → sqlcipher.kdf_iter is 0; it must lie between 1 and 10000000
        at_rest = { sqlcipher = { page_size = 512 } } → sqlcipher.page_size is 512; it must lie between 1024 and 65536
        at_rest = { sqlcipher = { kdf = 1 } } → did you mean "kdf_iter"?
        at_rest = { tabels = true } → did you mean "tables"?
        at_rest = { file_system = "fscypt" } → did you mean "fscrypt"?
        at_rest = { columns = "pg_crypto" } → did you mean "pgcrypto"?
        probe = { variable = "sync_binlog" } → a probe says one thing
        probe = { value = 0 } → a probe says one thing
        probe = { variable = "sync_binlog", value = 0, cpus = 1 } → a probe says one thing
        probe = { cpus = 70000 } → it must lie between 0 and 65535
        probe = { variable = "a = 1; DROP TABLE x", value = 0 } → is no name of a variable
        probe = { variable = "sync_binlog", value = "0'; --" } → is no value for a probe
        probe = { variable = "sync_binlog", value = 0.5 } → "value" must be a whole number or a string
        probe = { varible = "sync_binlog", value = 0 } → did you mean "variable"?
        probe = "sync_binlog" → "probe" must be a table
        time_s ⇒ placement = "together" ¶ time_s ; probe = { cpus = 1 } → leaves the server one CPU already
        probe = { cpus = 1 } ¶ at_rest = { tables = true } → where arms differ in at_rest
        load = { ⇒ mix = { read = 0.5 } ¶ load = { → mix of its own
        "oltp_point_select" ⇒ "ycsb" ¶ mix = { read = 0.5, insert = 0.4 } → add up to 1
        load = { ⇒ replica_set = { members = 2 } ¶ load = { → 1, 3 or 5
    "#;
    refused(cases, |change| refusal(&rule_cases::changed(change)));
}

#[test]
fn what_no_rule_refuses_is_taken() {
    for change in [
        r#"oltp_point_select ⇒ ycsb_a ; at_rest = { columns = "pgcrypto" }"#,
        "time_s ⇒ storage = { binary_log = true, sync_binlog = 1 } ¶ time_s ; at_rest = { binary_log = true }",
        "time_s ⇒ nodes = 3 ¶ time_s ; cluster_tls = true",
        "time_s ⇒ nodes = 5 ¶ node_link = { rtt_ms = 10, jitter_ms = 1 } ¶ time_s",
        "time_s ⇒ replica_set = { members = 3 } ¶ time_s ; cluster_tls = true",
        "time_s ⇒ replica_set = { members = 3 } ¶ node_link = { rtt_ms = 10, jitter_ms = 1 } ¶ time_s",
        r#"probe = { variable = "sync_binlog", value = 0 }"#,
        r#"probe = { variable = "innodb_adaptive_hash_index", value = "OFF" }"#,
        "probe = { cpus = 1 }",
    ] {
        let text = rule_cases::changed(change);
        let study = StudyText::new("study.toml", &text).study();
        assert!(study.is_ok(), "{change}: {study:?}");
    }
}

//! What is wrong with a study file is said all at once, where it is, and with what is meant or known.

use ciphertax_model::{Position, StudyText};
use insta::assert_snapshot;

use crate::refused;

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
fn a_key_of_a_former_release_is_refused_with_its_new_name() {
    let message = changed("connections = 8 }", "connections = 8, gather_us = 100 }");
    assert_snapshot!(message, @"study.toml:21:27: gather_us was removed: it is poll_delay_us now");
}

#[test]
fn a_value_of_a_former_release_is_refused_with_what_to_use_instead() {
    let message = changed("{ ssh = \"aes256-ctr\" }", "\"wireguard\"");
    assert_snapshot!(message, @r#"study.toml:16:10: "tunnel" cannot be "wireguard": wireguard was removed: take the tunnel ssh, stunnel or haproxy"#);
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

#[test]
fn a_cell_without_the_baseline_is_refused() {
    assert_snapshot!(changed("[\"plain\", \"tls\"]", "[\"tls\"]"), @r#"study.toml:28:8: cell "far": its arms must include "plain", the baseline they are compared with; add it"#);
}

/// The study with a cell of a command instead of its first.
fn of_command(cell: &str) -> String {
    let (from, _) = STUDY.split_once("[[cell]]").unwrap();
    refusal(&format!(
        "{from}[[cell]]\nname = \"mine\"\nworkload = \"command\"\n{cell}\n"
    ))
}

#[test]
fn a_command_and_its_workload_belong_together() {
    assert_snapshot!(of_command(""), @r#"study.toml:20:12: cell "mine": the workload "command" needs a program; add command = { run = ["sysbench", …] }"#);
    assert_snapshot!(changed("\nload =", "\ncommand = { run = [\"x\"] }\nload ="), @r#"study.toml:21:11: cell "near": a command is run by workload = "command" alone, not by "oltp_point_select"; leave one of them out"#);
    assert_snapshot!(changed("load = { connections = 8 }\n", ""), @r#"study.toml:18:1: cell "near": load must say how many connections; add load = { connections = 8 }, from 1 to 100000"#);
    assert_snapshot!(of_command("command = { run = [\"x\"] }\nload = { connections = 8 }"), @r#"study.toml:22:8: cell "mine": load says nothing of a command, which is a load of its own; leave it out and tell the program"#);
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
fn a_program_cannot_be_held_to_what_clients_have_no_word_for() {
    let text = STUDY
        .replacen("oltp_point_select", "command", 1)
        .replacen("load = { connections = 8 }", "command = { run = [\"x\"] }", 1)
        .replace("\"tls1.3\"", "\"tls1.3\"\ntls = { group = \"X25519\" }");
    assert_snapshot!(refusal(&text), @r#"study.toml:21:12: arm "tls" in cell "near": it sets tls.group, which a program of your own cannot be held to; leave the arm out with arms = […]"#);
}

#[test]
fn a_load_is_a_batch_or_has_a_rate_and_both_have_bounds() {
    let load = |keys: &str| {
        changed(
            "load = { connections = 8 }",
            &format!("load = {{ connections = 8, {keys} }}"),
        )
    };
    assert_snapshot!(load("batch = 100, rate = 5"), @r#"study.toml:21:47: cell "near": batch asks for operations as fast as possible, rate for so many a second; leave one out"#);
    assert_snapshot!(load("batch = 0"), @r#"study.toml:21:35: cell "near": load.batch is 0; it must lie between 1 and 1000000"#);
    assert_snapshot!(load("batch = 7"), @r#"study.toml:21:35: cell "near": a batch of 7 keeps no 8 connections busy; make it at least as large as connections"#);
    assert_snapshot!(load("rate = 0"), @r#"study.toml:21:34: cell "near": load.rate is 0; it must lie between 1 and 1000000"#);
    assert_snapshot!(load("rate = 1"), @r#"study.toml:21:34: cell "near": at a rate of 1 a second no operation falls into a slice of 0.5 s; raise rate or slice_s"#);
    assert_snapshot!(load("rate = 0.5"), @r#"study.toml:21:34: "rate" must be a whole number, not a number with a fraction"#);
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
fn what_postgresql_cannot_do_is_refused_in_an_arm_that_can_only_be_its() {
    let message = changed(
        "[[cell]]",
        r#"
[[arm]]
name = "direct"
transport = "tls1.3"
tls = { negotiation = "direct", resumption = "ticket" }

[[arm]]
name = "bound"
transport = "plain"
authentication = { method = "SCRAM-SHA-256-PLUS", scram_iterations = 0 }

[[arm]]
name = "md5"
transport = "plain"
authentication = { method = "md5", scram_iterations = 4096, password_cache = "cold" }

[[arm]]
name = "cert"
transport = "tls1.3"
authentication = { method = "cert" }

[[arm]]
name = "plain cert"
transport = "plain"
authentication = { method = "cert" }

[[arm]]
name = "pooled"
transport = "tls1.3"
tls = { negotiation = "direct" }
tunnel = "stunnel"
pooler = { program = "pgbouncer", pool_mode = "transaction" }
authentication = { method = "SCRAM-SHA-256-PLUS" }

[[arm]]
name = "pooled mysql"
transport = "tls1.3"
pooler = { program = "pgbouncer", pool_mode = "session", server_transport = "tls1.2" }
authentication = { method = "ed25519" }

[[cell]]
name = "last id"
workload = "connect_insert_count"
load = { connections = 1 }

[[cell]]
"#,
    );
    assert_snapshot!(message, @r#"
    11 problems in study.toml
    study.toml:22:46: arm "direct": PostgreSQL resumes no TLS sessions; leave resumption out
    study.toml:27:29: arm "bound": SCRAM-SHA-256-PLUS binds the login to the TLS session; give it a TLS transport, or take SCRAM-SHA-256
    study.toml:27:70: arm "bound": authentication.scram_iterations is 0; it must lie between 1000 and 1000000
    study.toml:32:55: arm "md5": only SCRAM-SHA-256 and SCRAM-SHA-256-PLUS on PostgreSQL have iterations to choose; leave scram_iterations out or set method
    study.toml:32:78: arm "md5": only caching_sha2_password and the methods of SCRAM have a password cache; leave password_cache out or set method
    study.toml:37:29: arm "cert": cert is a login by certificate; add tls = { client_certificate = "ecdsa-p256" }
    study.toml:42:29: arm "plain cert": cert is a login by TLS; give it a TLS transport
    study.toml:47:23: arm "pooled": a pooler must be asked for TLS; leave negotiation out
    study.toml:49:10: arm "pooled": it has a tunnel and a pooler; leave one of them out
    study.toml:50:29: arm "pooled": a pooler binds no login to its TLS session; take SCRAM-SHA-256
    study.toml:60:12: arm "pooled" in cell "last id": connect_insert_count asks its session for the last id, and its pooler gives every transaction another; take pool_mode = "session", or leave the arm out with arms = […]
    "#);
}

#[test]
fn what_goes_through_no_pooler_is_refused_with_the_remedy() {
    let refusal = |more: &str| {
        let pooled = "name = \"pooled\"\ntransport = \"tls1.3\"\npooler = { program = \"pgbouncer\", pool_mode = \"session\" }";
        changed("[[cell]]", &format!("[[arm]]\n{pooled}\n{more}\n\n[[cell]]"))
    };
    let cases = r#"
        authentication = { method = "password" }
            → a pooler cannot log in to the server by password in a client's name; take SCRAM-SHA-256, md5 or trust
            → "pooled"
        authentication = { method = "cert" } ¶ tls = { client_certificate = "ecdsa-p256" }
            → a pooler cannot log in to the server by cert in a client's name; take SCRAM-SHA-256, md5 or trust
            → "pooled"
        tls = { client_certificate = "ecdsa-p256" }
            → a pooler asks no client for a certificate; leave client_certificate out
            → "pooled"
        [[cell]] ¶ name = "program" ¶ workload = "command" ¶ command = { run = ["true"] }
            → the server sees none of a program's own connections
            → "pooled"
    "#;
    refused(cases, refusal);
}

#[test]
fn poolers_that_no_package_client_has_are_refused_by_name() {
    let refusal = |pooler: &str| {
        let arm =
            format!("[[arm]]\nname = \"pooled\"\ntransport = \"tls1.3\"\npooler = {pooler}\n\n[[cell]]");
        changed("[[cell]]", &arm)
    };
    let proxysql = "ProxySQL is not available, since no package client here has it; pgbouncer is, before PostgreSQL, \
                    and mysqlrouter before MySQL";
    assert_eq!(refusal("\"proxysql\""), format!("study.toml:21:10: {proxysql}"));
    assert_eq!(
        refusal("{ proxysql = \"transaction\" }"),
        format!("study.toml:21:12: {proxysql}")
    );
    assert!(refusal("\"maxscale\"").contains("MaxScale is not available"));
    let program = refusal("{ program = \"proxysql\", pool_mode = \"session\" }");
    assert_eq!(program, format!("study.toml:21:22: {proxysql}"));
    assert!(refusal("\"pgbouncer\"").ends_with("\"pooler\" must be a table, not a string"));
    let mode = refusal("{ program = \"pgbouncer\", pool_mode = \"statement\" }");
    assert!(
        mode.ends_with("\"pool_mode\" cannot be \"statement\"; known are \"session\", \"transaction\""),
        "{mode}"
    );
    let former = refusal("{ pgbouncer = \"session\" }");
    assert!(
        former.contains("pgbouncer was removed: a pooler is {"),
        "{former}"
    );
}

#[test]
fn what_no_server_encrypts_at_rest_is_refused_with_the_remedy() {
    let refusal = |at_rest: &str| {
        let arm = format!("[[arm]]\nname = \"at rest\"\ntransport = \"plain\"\n{at_rest}\n\n[[cell]]");
        changed("[[cell]]", &arm)
    };
    let cases = r#"
        at_rest = { algorithm = "AES-CTR" } → AES-CTR encrypts nothing yet; add tables = true
        at_rest = { aria = true, encryption_threads = 2 } → encryption threads encrypt tables; add tables
        at_rest = { tables = true, encryption_threads = 17 } → it must lie between 0 and 16
        at_rest = { sqlcipher = { kdf_iter = 0 } } → sqlcipher.kdf_iter is 0; it must lie between 1 and 10000000
        at_rest = { sqlcipher = { page_size = 512 } } → sqlcipher.page_size is 512; it must lie between 1024 and 65536
        at_rest = { sqlcipher = { memory_security = true } } → what it costs is what the same arm takes more in a run that has it
        at_rest = { sqlcipher = { kdf = 1 } } → did you mean "kdf_iter"?
        at_rest = { tabels = true } → did you mean "tables"?
        at_rest = { file_system = "fscypt" } → did you mean "fscrypt"?
    "#;
    refused(cases, refusal);
}

#[test]
fn columns_are_encrypted_where_ycsb_asks_for_them_and_the_key_and_the_values_stay_with_the_session() {
    let text = |arm: &str, rest: &str| {
        format!(
            "name = \"s\"\nquestion = \"?\"\ntime_s = 60\n{rest}\n[[arm]]\nname = \"plain\"\ntransport = \"plain\"\n\
             [[arm]]\nname = \"columns\"\ntransport = \"plain\"\n{arm}\n[[cell]]\nname = \"c\"\nworkload = \"ycsb_a\"\n\
             load = {{ connections = 1 }}\n"
        )
    };
    let by = "at_rest = { columns = \"pgcrypto\" }";
    StudyText::new("study.toml", &text(by, "")).study().unwrap();
    for (text, words) in [
        (
            text(by, "").replace("ycsb_a", "oltp_point_select"),
            "which oltp_point_select does not ask",
        ),
        (
            text(
                &format!("{by}\npooler = {{ program = \"pgbouncer\", pool_mode = \"session\" }}"),
                "",
            ),
            "which a pooler gives to others",
        ),
        (
            text(by, "storage = { binary_log = true }"),
            "a binary log may hold the statements",
        ),
        (
            text("at_rest = { columns = \"pg_crypto\" }", ""),
            "did you mean \"pgcrypto\"?",
        ),
    ] {
        let refusal = refusal(&text);
        assert!(refusal.contains(words), "{refusal}");
    }
}

#[test]
fn a_binary_log_that_nobody_writes_is_neither_encrypted_nor_flushed() {
    let arm = "[[arm]]\nname = \"log\"\ntransport = \"plain\"\nat_rest = { binary_log = true }\n\n[[cell]]";
    let text = STUDY.replacen("[[cell]]", arm, 1);
    let refusal = refusal(&text);
    let words = "it encrypts the binary log, and the server writes none; add storage = { binary_log = true }";
    assert!(refusal.contains(words), "{refusal}");
    let written = text.replacen(
        "time_s",
        "storage = { binary_log = true, sync_binlog = 1 }\ntime_s",
        1,
    );
    StudyText::new("study.toml", &written).study().unwrap();
    let storage = |storage: &str| changed("time_s", &format!("storage = {storage}\ntime_s"));
    let cases = r#"
        { sync_binlog = 1 } → says nothing without a binary log; add binary_log = true
        { binary_log = true, sync_binlog = 1000001 } → it must lie between 0 and 1000000
        { memory_mb = 4 } → storage.memory_mb is 4; it must lie between 8 and 1048576
        { flush_log_at_trx_commit = 3 } → it must lie between 0 and 2
        { flush = "O_DIRECT" } → "flush" cannot be "O_DIRECT"
    "#;
    refused(cases, storage);
}

#[test]
fn what_servers_tell_each_other_is_encrypted_where_there_are_several() {
    let with = |nodes: &str, arm: &str| {
        let arm = format!("[[arm]]\nname = \"nodes\"\ntransport = \"plain\"\n{arm}\n\n[[cell]]");
        let text = STUDY.replacen("time_s", &format!("{nodes}\ntime_s"), 1);
        let text = text.replacen("tunnel = { ssh = \"aes256-ctr\" }\n", "", 1);
        StudyText::new("study.toml", &text.replacen("[[cell]]", &arm, 1)).study()
    };
    for nodes in ["nodes = 3", "nodes = 5", "replica_set = { members = 3 }"] {
        with(nodes, "cluster_tls = true").unwrap();
        with(
            &format!("{nodes}\nnode_link = {{ rtt_ms = 10, jitter_ms = 1 }}"),
            "",
        )
        .unwrap();
    }
    let cases = r#"
        nodes = 3 ¶ replica_set = { members = 3 } / → nodes are those of MariaDB and MySQL, replica_set is MongoDB's
        nodes = 2 / → a cluster has 3 or 5 nodes
        nodes = 3 / at_rest = { tables = true } → it encrypts at rest, which is measured on single servers
        nodes = 3 / probe = { cpus = 1 } → a probe changes one server, and a cluster or replica set has several
        node_link = { rtt_ms = 10 } / → node_link is the distance between servers, and there is one
        nodes = 3 ¶ node_link = { rtt_ms = -1 } / → rtt_ms is -1
        nodes = 3 ¶ node_link = { rtt_ms = 10, bandwidth_mbit = 10 } / → leave bandwidth_mbit out of node_link
    "#;
    refused(cases, |case| {
        let (nodes, arm) = case.split_once(" /").unwrap();
        with(nodes, arm).unwrap_err().to_string()
    });
}

#[test]
fn a_probe_says_one_thing_by_harmless_words_and_is_a_deviation_from_the_baseline() {
    let probed = |probe: &str| {
        let arm = format!("[[arm]]\nname = \"probed\"\ntransport = \"plain\"\nprobe = {probe}\n\n[[cell]]");
        STUDY.replacen("[[cell]]", &arm, 1)
    };
    for good in [
        "{ variable = \"sync_binlog\", value = 0 }",
        "{ variable = \"innodb_adaptive_hash_index\", value = \"OFF\" }",
        "{ cpus = 1 }",
    ] {
        StudyText::new("study.toml", &probed(good)).study().unwrap();
    }
    let cases = r#"
        {} → a probe says one thing; give either variable and value
        { variable = "sync_binlog" } → a probe says one thing
        { value = 0 } → a probe says one thing
        { variable = "sync_binlog", value = 0, cpus = 1 } → a probe says one thing
        { cpus = 0 } → a server needs a CPU
        { cpus = 70000 } → it must lie between 0 and 65535
        { variable = "a = 1; DROP TABLE x", value = 0 } → is no name of a variable
        { variable = "sync_binlog", value = "0'; --" } → is no value for a probe
        { variable = "sync_binlog", value = 0.5 } → "value" must be a whole number or a string
        { varible = "sync_binlog", value = 0 } → did you mean "variable"?
        "sync_binlog" → "probe" must be a table
    "#;
    refused(cases, |probe| refusal(&probed(probe)));
    let of_baseline = changed(
        "transport = \"plain\"",
        "transport = \"plain\"\nprobe = { cpus = 1 }",
    );
    assert!(
        of_baseline.contains("is the baseline, from which a probe is a deviation"),
        "{of_baseline}"
    );
    let together = probed("{ cpus = 1 }").replacen("time_s", "placement = \"together\"\ntime_s", 1);
    let together = refusal(&together);
    assert!(
        together.contains("leaves the server one CPU already"),
        "{together}"
    );
    let at_rest = probed("{ cpus = 1 }").replacen(
        "transport = \"tls1.3\"",
        "transport = \"tls1.3\"\nat_rest = { tables = true }",
        1,
    );
    let at_rest = refusal(&at_rest);
    assert!(at_rest.contains("where arms differ in at_rest"), "{at_rest}");
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

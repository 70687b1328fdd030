//! Every rule refuses something, by name and with a remedy, and the reference of what is refused lists them.

#[path = "../../tests/rule_cases.rs"]
mod rule_cases;

use std::collections::BTreeSet;

use rule_cases::{STUDY, cases, changed, hold};

use super::{RULES, Rule};
use crate::file::StudyText;
use crate::study::Study;
use crate::tpcc::{COLUMNS, StoredUse};

/// A change of the study for every rule: ` ; ` parts replacements, ` ¶ ` is a new line, and what has no arrow follows `transport =
/// "tls1.3"`.
const CASES: &str = r#"
bounds: time_s = 10 ⇒ time_s = 0
names: "tls" ⇒ "plain"
link: time_s ⇒ link = { rtt_ms = -1 } ¶ time_s
members: time_s ⇒ nodes = 2 ¶ time_s
unwritten-binary-log: time_s ⇒ storage = { sync_binlog = 1 } ¶ time_s
agent: time_s ⇒ agent = "http://db" ¶ time_s
counter: time_s ⇒ server_cpu = {} ¶ time_s
two-arms: [[arm]] ¶ name = "tls" ¶ transport = "tls1.3" ⇒
a-cell: time_s ⇒ cell = [] ¶ time_s ; [[cell]] ¶ name = "near" ¶ workload = "oltp_point_select" ¶ load = { connections = 8 }
    ⇒
placement: time_s ⇒ placement = "together" ¶ link = { rtt_ms = 1 } ¶ time_s
agent-and-counter: time_s ⇒ agent = "ssh://db" ¶ server_cpu = { command = ["x"] } ¶ time_s
memory-security: at_rest = { sqlcipher = { memory_security = true } }
probe: "plain" ⇒ "plain" ¶ probe = { cpus = 1 }
arms-of-cell: load = { ⇒ arms = ["tls"] ¶ load = {
budget: [[arm]] ⇒ budget = [{ arm = "x", metric = "throughput", at_most = 0.1 }] ¶ [[arm]]
published: [[arm]] ⇒ published = [{ source = "?", cell = "near", arm = "tls", metric = "throughput" }] ¶ [[arm]]
plain-tls: transport = "plain" ⇒ transport = "plain" ¶ tls = { group = "X25519" }
plain-certificate: transport = "plain" ⇒ transport = "plain" ¶ certificate = "rsa-2048"
cipher: tls = { cipher = "AES256-SHA" }
cipher-without-group: "tls1.3" ⇒ "tls1.2" ¶ tls = { cipher = "AES256-SHA", group = "P-256" }
hybrid-group: "tls1.3" ⇒ "tls1.2" ¶ tls = { group = "X25519MLKEM768" }
session-id-in-tls-1.3: tls = { resumption = "session_id" }
rustls-before-tls-1.2: "tls1.3" ⇒ "tls1.1" ¶ tls = { library = "rustls" }
session-id-with-rustls: "tls1.3" ⇒ "tls1.2" ¶ tls = { library = "rustls", resumption = "session_id" }
resumption-on-postgresql: tls = { negotiation = "direct", resumption = "ticket" }
cold-cache: authentication = { password_cache = "cold" }
speculative: authentication = { speculative = false }
certificate-without-tls: transport = "plain" ⇒ transport = "plain" ¶ authentication = { method = "MONGODB-X509" }
no-client-certificate: authentication = { method = "cert" }
unix-socket-with-tls: authentication = { method = "unix_socket" }
unix-socket-in-tunnel: transport = "plain" ⇒ transport = "plain" ¶ tunnel = "stunnel" ¶ authentication = { method =
    "unix_socket" }
scram-plus-without-tls: transport = "plain" ⇒ transport = "plain" ¶ authentication = { method = "SCRAM-SHA-256-PLUS" }
scram-iterations: authentication = { scram_iterations = 4096 }
tunnel-and-pooler: tunnel = "stunnel" ¶ pooler = { program = "pgbouncer", pool_mode = "session" }
pooler-direct-tls: tls = { negotiation = "direct" } ¶ pooler = { program = "pgbouncer", pool_mode = "session" }
pooler-channel-binding: authentication = { method = "SCRAM-SHA-256-PLUS" } ¶ pooler = { program = "pgbouncer", pool_mode = "session" }
pooler-login: authentication = { method = "password" } ¶ pooler = { program = "pgbouncer", pool_mode = "session" }
pooler-scram-keys: pooler = { program = "pgpool", pool_mode = "session", server_transport = "tls" }
pooler-scram-iterations: authentication={method="SCRAM-SHA-256", scram_iterations=900} ¶ pooler = {program="odyssey", pool_mode="session"}
pooler-client-certificate: tls = { client_certificate = "ecdsa-p256" } ¶ pooler = { program = "pgbouncer", pool_mode = "session" }
pool-mode: authentication = { method = "md5" } ¶ pooler = { program = "pgpool", pool_mode = "transaction", server_transport = "tls" }
pooler-transport: pooler = { program = "odyssey", pool_mode = "session", server_transport = "tls1.2" }
idle-algorithm: at_rest = { algorithm = "AES-CTR" }
idle-encryption-threads: at_rest = { aria = true, encryption_threads = 2 }
sqlcipher-page-size: at_rest = { sqlcipher = { page_size = 5000 } }
unclear-probe: probe = {}
probe-without-cpu: probe = { cpus = 0 }
probe-words: probe = { variable = "a b", value = 0 }
cell-algorithm: columns = { feature = "stored", format = "aead_cbc_hmac", algorithm = "sm4_ecb", columns = "all" }
deterministic-gcm: columns = { feature = "in_results", mode = "deterministic", columns = "all" }
csfle-in-results: columns = { feature = "in_results", format = "csfle", columns = "all" }
cells-and-functions: at_rest = { columns = "aes_encrypt" } ¶ columns = { feature = "stored", columns = "all" }
cells-between: tunnel = "stunnel" ¶ columns = { feature = "stored", columns = "all" }
results-over-tls: columns = { feature = "in_results", columns = "all" }
results-over-unix-socket: authentication = { method = "unix_socket" } ¶ columns = { feature = "in_results", columns = "all" }
column-names: columns = { feature = "stored", columns = ["c_last"] }
stored-columns: oltp_point_select ⇒ tpcc ; "tls1.3" ⇒ "tls1.3" ¶ columns = { feature = "stored", columns =
    ["customer.c_balance"] }
results-and-stored: columns = { feature = "stored", columns = "all" } ; "plain" ⇒ "plain" ¶ columns = { feature =
    "in_results", columns = "all" }
stored-without-batch: oltp_point_select ⇒ tpcc ; "tls1.3" ⇒ "tls1.3" ¶ columns = { feature = "stored", columns = "payload" }
cells-workload: columns = { feature = "stored", columns = "all" }
command-of-other-workload: load = { ⇒ command = { run = ["x"] } ¶ load = {
no-command: oltp_point_select ⇒ command
command: "oltp_point_select" ⇒ "command" ¶ command = { run = [] }
load-of-command: oltp_point_select ⇒ command
no-load: load = { connections = 8 } ⇒
small-batch: connections = 8 ⇒ connections = 8, batch = 7
batch-and-rate: connections = 8 ⇒ connections = 8, batch = 100, rate = 5
slow-rate: connections = 8 ⇒ connections = 8, rate = 1
mix: oltp_point_select ⇒ ycsb
operations-of-command: load = { ⇒ keep_operations = true ¶ load = { ; oltp_point_select ⇒ command
reading-nothing: "oltp_point_select" ⇒ "ycsb_load" ¶ read_preference = "secondary"
no-secondaries: load = { ⇒ read_preference = "secondary" ¶ load = {
nodes-and-replica-set: load = { ⇒ nodes = 3 ¶ replica_set = { members = 3 } ¶ load = {
node-link-of-one: load = { ⇒ node_link = { rtt_ms = 1 } ¶ load = {
node-link-bandwidth: load = { ⇒ nodes = 3 ¶ node_link = { rtt_ms = 1, bandwidth_mbit = 10 } ¶ load = {
two-certificates: load = { ⇒ certificate = "rsa-2048" ¶ load = { ; "tls1.3" ⇒ "tls1.3" ¶ certificate = "rsa-4096"
cluster-at-rest: time_s ⇒ nodes = 3 ¶ time_s ; "tls1.3" ⇒ "tls1.3" ¶ at_rest = { tables = true }
probe-of-several: time_s ⇒ nodes = 3 ¶ time_s ; "tls1.3" ⇒ "tls1.3" ¶ probe = { cpus = 1 }
replica-set-resumption: time_s ⇒ replica_set = { members = 3 } ¶ time_s ; "tls1.3" ⇒ "tls1.3" ¶ tls = { resumption = "ticket"
    }
no-binary-log: at_rest = { binary_log = true }
functions-workload: at_rest = { columns = "pgcrypto" }
functions-pooler: at_rest = { columns = "pgcrypto" } ¶ pooler = { program = "pgbouncer", pool_mode = "session" }
functions-binary-log: time_s ⇒ storage = { binary_log = true } ¶ time_s ; "tls1.3" ⇒ "tls1.3" ¶ at_rest = { columns =
    "pgcrypto" }
unix-socket-at-distance: time_s ⇒ link = { rtt_ms = 1 } ¶ time_s ; transport = "plain" ⇒ transport = "plain" ¶ authentication
    = { method = "unix_socket" }
command-behind-pooler: oltp_point_select ⇒ command ; "tls1.3" ⇒ "tls1.3" ¶ pooler = { program = "pgbouncer", pool_mode = "session" }
last-id-behind-pooler: oltp_point_select ⇒ connect_insert_count ; "tls1.3" ⇒ "tls" ¶ pooler = { program="odyssey", pool_mode="transaction"
    }
tls-of-command: oltp_point_select ⇒ command ; "tls1.3" ⇒ "tls1.3" ¶ tls = { group = "X25519" }
"#;

fn rules() -> impl Iterator<Item = &'static Rule> {
    RULES.into_iter().flatten()
}

#[test]
fn every_rule_has_a_name_of_its_own_and_refuses_with_a_remedy() {
    StudyText::new("study.toml", STUDY).study().unwrap();
    let names: BTreeSet<&str> = rules().map(|rule| rule.id).collect();
    assert_eq!(names.len(), rules().count());
    let cases = cases(CASES);
    let mut cases = cases.iter();
    let mut table = String::new();
    let mut wrong = Vec::new();
    for rule in rules() {
        let case = cases
            .next()
            .and_then(|case| case.strip_prefix(rule.id)?.strip_prefix(": "));
        let case = case.unwrap_or_else(|| panic!("{} has no case in its turn", rule.id));
        let study = match toml::from_str::<Study>(&changed(case)) {
            Ok(study) => study,
            Err(problem) => {
                wrong.push(format!("{}: {problem}", rule.id));
                continue;
            }
        };
        match rule.refusals(&study, true).first() {
            Some((path, refusal)) if path.contains(rule.key) && !refusal.instead.is_empty() => {
                table += &format!(
                    "| `{}` | {} |\n",
                    rule.id,
                    refusal.to_string().replace('|', "\\|")
                );
            }
            found => wrong.push(format!("{}: {found:?}", rule.id)),
        }
    }
    assert_eq!(wrong, [""; 0]);
    assert_eq!(cases.next(), None);
    hold("## Of every study", &table);
}

/// What is said of an arm that stores these columns of TPC-C in this mode.
fn refusal(columns: &[&str], mode: &str) -> Option<String> {
    let text = format!(
        "name = \"mine\"\nquestion = \"?\"\ntime_s = 1\n[[arm]]\nname = \"plain\"\ntransport = \"plain\"\n[[arm]]\n\
         name = \"stored\"\ntransport = \"plain\"\ncolumns = {{ feature = \"stored\", format = \"aead_cbc_hmac\", \
         mode = \"{mode}\", columns = {columns:?} }}\n[[cell]]\nname = \"only\"\nworkload = \"tpcc\"\n\
         load = {{ connections = 1, batch = 100 }}\n"
    );
    Study::from_toml(&text).err().map(|error| error.to_string())
}

/// By statement: what it asks, of which columns, and whether random and deterministic cells answer it rightly.
#[test]
fn every_kind_of_statement_on_stored_cells_is_answered_rightly_or_refused() {
    for (asked, columns, random, deterministic) in [
        ("kept and read", vec!["customer.c_data"], true, true),
        (
            "NULL or not",
            vec!["oorder.o_carrier_id", "order_line.ol_delivery_d"],
            true,
            true,
        ),
        ("counted", vec!["history.h_amount"], true, true),
        // By the client.
        ("sorted", vec!["customer.c_first"], true, true),
        ("equality", vec!["customer.c_last"], false, true),
        ("equality", vec!["item.i_id"], false, true),
        ("join", vec!["stock.s_i_id", "order_line.ol_i_id"], false, true),
        ("join with what is plain", vec!["stock.s_i_id"], false, false),
        (
            "join with what is plain",
            vec!["order_line.ol_i_id"],
            false,
            false,
        ),
        ("join with what is plain", vec!["customer.c_w_id"], false, false),
        ("range", vec!["stock.s_quantity"], false, false),
        ("range", vec!["order_line.ol_o_id"], false, false),
        ("smallest", vec!["new_order.no_o_id"], false, false),
        ("largest", vec!["oorder.o_id"], false, false),
        ("addition", vec!["warehouse.w_ytd"], false, false),
        ("subtraction", vec!["customer.c_balance"], false, false),
        ("sum", vec!["order_line.ol_amount"], false, false),
    ] {
        for (mode, is_right) in [("random", random), ("deterministic", deterministic)] {
            let refusal = refusal(&columns, mode);
            let found = refusal.is_none();
            assert_eq!(found, is_right, "{asked} of {mode} cells: {refusal:?}");
            if let Some(refusal) = refusal {
                assert!(columns.iter().any(|column| refusal.contains(column)), "{refusal}");
            }
        }
    }
}

#[test]
fn every_column_that_no_cell_can_be_stored_in_has_its_statement() {
    for column in COLUMNS {
        let stands_alone = match column.stored_use {
            StoredUse::Payload => true,
            // Some are joined, and cannot be encrypted alone.
            StoredUse::Equality => continue,
            StoredUse::Order | StoredUse::Arithmetic => false,
        };
        let name = format!("{}.{}", column.table, column.column);
        match refusal(&[&name], "deterministic") {
            None => assert!(stands_alone, "{name}"),
            Some(refusal) => {
                assert!(!stands_alone, "{refusal}");
                let statement = refusal.split_once('(').map(|(_, statement)| statement);
                assert!(
                    statement.is_some_and(|statement| statement.contains(column.column)),
                    "{refusal}"
                );
            }
        }
    }
}

//! Every rule refuses something, by name and with a remedy, and the reference of what is refused lists them.

#[path = "../../../model/tests/rule_cases.rs"]
mod rule_cases;

use std::collections::BTreeSet;
use std::fs;

use ciphertax_base::Secret;
use ciphertax_lab::catalogue::{CATALOGUE, MARIADB, SQLITE};
use ciphertax_model::StudyText;

use rule_cases::{cases, changed, hold};

use super::*;

/// For every rule what is asked besides the study, a bar, and changes of the study: ` ; ` parts replacements, ` ¶ ` is a new line, and
/// what has no arrow follows `transport = "tls1.3"`.
const CASES: &str = r#"
counter-of-private-server: | time_s ⇒ agent = "ssh://db" ¶ time_s
plain-login-by-certificate: target=mongodb://db/?tls=true&authMechanism=MONGODB-X509&tlsCertificateKeyFile=/key.pem |
private-server-alone: target=mysql://u:p@db/ | tunnel = "stunnel"
probe-of-target: target=mysql://u:p@db/ | probe = { cpus = 1 }
certificate-of-target: target=mysql://u:p@db/ | certificate = "rsa-2048"
cluster-tls-of-target: target=mysql://u:p@db/ | cluster_tls = true
encrypted-key-of-command: target=postgresql://u:p@db/app?sslcert=/c.pem&sslkey=/k.pem&sslpassword=x | oltp_point_select ⇒ command ;
    load = { connections = 8 } ⇒ command = { run = ["x"] }
link-of-target: target=mysql://u:p@db/ | time_s ⇒ link = { rtt_ms = 1 } ¶ time_s
server-of-target: target=mysql://u:p@db/ | load = { ⇒ server = "mysql" ¶ load = {
account: encdb=alice |
results-of-target: target=mysql://u:p@db/ | oltp_point_select ⇒ tpcc ; "tls1.3" ⇒ "plain" ¶ columns = { feature =
    "in_results", columns = "all" }
cells-that-no-server-makes: encdb=alice target=mysql://u:p@db/ | oltp_point_select ⇒ tpcc ; "tls1.3" ⇒ "plain" ¶ columns = {
    feature = "in_results", algorithm = "wrapped", columns = "all" }
other-columns-of-account: encdb=alice target=mysql://u:p@db/ | oltp_point_select ⇒ tpcc ; "tls1.3" ⇒ "plain" ¶ columns = {
    feature = "in_results", columns = "all" } ; "plain" ¶ ⇒ "plain" ¶ columns = { feature = "in_results", columns = "keys" }
    ¶
secondaries: | time_s ⇒ read_preference = "secondary" ¶ time_s
pooler: pgbouncer=none |
cluster-tls: | cluster_tls = true
command-on-replica-set: | time_s ⇒ replica_set = { members = 3 } ¶ time_s ; oltp_point_select ⇒ command ; load = { connections = 8 } ⇒
    command = { run = ["x"] }
ed25519-before-tls-1.2: | time_s ⇒ certificate = "ed25519" ¶ time_s ; "tls1.3" ⇒ "tls1.1"
short-key-with-rustls: | time_s ⇒ certificate = "rsa-1024" ¶ time_s ; "tls1.3" ⇒ "tls1.3" ¶ tls = { library = "rustls" }
cipher-of-another-key: | "tls1.3" ⇒ "tls1.2" ¶ tls = { cipher = "ECDHE-RSA-AES256-GCM-SHA384" }
channel-binding-by-ed25519: | time_s ⇒ certificate = "ed25519" ¶ time_s ; "tls1.3" ⇒ "tls1.3" ¶ authentication = { method =
    "SCRAM-SHA-256-PLUS" }
cold-cache-in-vain: | authentication = { method = "caching_sha2_password", password_cache = "cold" }
tunnel-to-replica-set: | time_s ⇒ replica_set = { members = 3 } ¶ time_s ; "tls1.3" ⇒ "tls1.3" ¶ tunnel = "stunnel"
pooler-without-certificate: | "tls1.3" ⇒ "plain" ¶ pooler = { program = "pgbouncer", pool_mode = "session", server_transport = "tls1.3" }
workload: | time_s ⇒ server = "mongodb" ¶ time_s
replica-set: | time_s ⇒ replica_set = { members = 3 } ¶ time_s
placeholder: | time_s ⇒ server = "postgresql" ¶ time_s ; oltp_point_select ⇒ command ; load = { connections = 8 } ⇒ command =
    { run = ["x", "{my_cnf}"] }
too-many-cold-logins: | time_s ⇒ server = "mysql" ¶ time_s ; oltp_point_select ⇒ connect ; connections = 8 ⇒ connections = 8,
    batch = 2000 ; "tls1.3" ⇒ "tls1.3" ¶ authentication = { method = "caching_sha2_password", password_cache = "cold" }
setting-of-postgresql: | tls = { negotiation = "direct" }
pooler-of-mysql: | "tls1.3" ⇒ "tls1.3" ¶ pooler = { program = "mysqlrouter", pool_mode = "session" }
probe-of-variable: | time_s ⇒ server = "postgresql" ¶ time_s ; "tls1.3" ⇒ "tls1.3" ¶ probe = { variable = "fsync", value =
    "off" }
functions: | oltp_point_select ⇒ ycsb_a ; "tls1.3" ⇒ "tls1.3" ¶ at_rest = { columns = "pgcrypto" }
cells: | time_s ⇒ server = "mongodb" ¶ time_s ; oltp_point_select ⇒ ycsb_a ; "tls1.3" ⇒ "tls1.3" ¶ columns = { feature =
    "stored", columns = "all" }
sqlite: | time_s ⇒ server = "sqlite" ¶ link = { rtt_ms = 1 } ¶ time_s
sqlite-without-server: | time_s ⇒ server = "sqlite" ¶ time_s ; "tls1.3" ⇒ "tls1.3" ¶ tunnel = "stunnel"
sqlite-on-file-system: | time_s ⇒ server = "sqlite" ¶ time_s ; "tls1.3" ⇒ "tls1.3" ¶ at_rest = { file_system = "fscrypt" }
sqlite-caches: | time_s ⇒ server = "sqlite" ¶ storage = { memory_mb = 1000000 } ¶ time_s
nodes: | time_s ⇒ server = "mongodb" ¶ nodes = 3 ¶ time_s
storage: | time_s ⇒ server = "postgresql" ¶ storage = { doublewrite = false } ¶ time_s
memory: | time_s ⇒ server = "mongodb" ¶ storage = { memory_mb = 255 } ¶ time_s
tls-version: | time_s ⇒ server = "mysql-5.6" ¶ time_s
certificate: | time_s ⇒ server = "mariadb-10.2" ¶ time_s ; "tls1.3" ⇒ "tls1.1"
rustls: | time_s ⇒ server = "mysql-5.6" ¶ time_s ; "tls1.3" ⇒ "tls" ¶ tls = { library = "rustls" }
client-certificate: | time_s ⇒ server = "mariadb-10.2" ¶ time_s ; "tls1.3" ⇒ "tls1.1" ¶ tls = { client_certificate =
    "ecdsa-p256" }
group: | time_s ⇒ server = "mysql" ¶ time_s ; "tls1.3" ⇒ "tls1.3" ¶ tls = { group = "X25519" }
unknown-cipher: | "tls1.3" ⇒ "tls1.2" ¶ tls = { cipher = "ECDHE-RSA-AES512-SHA" }
cipher: | tls = { cipher = "TLS_AES_128_CCM_SHA256" }
resumption: | time_s ⇒ server = "mariadb-11.4-wolfssl" ¶ time_s ; "tls1.3" ⇒ "tls1.3" ¶ tls = { resumption = "ticket" }
negotiation: | time_s ⇒ server = "postgresql" ¶ time_s ; "tls1.3" ⇒ "tls1.3" ¶ tls = { negotiation = "direct" }
login: | time_s ⇒ server = "mysql" ¶ time_s ; "tls1.3" ⇒ "tls1.3" ¶ authentication = { method = "ed25519" }
warm-cache: | time_s ⇒ server = "mariadb-11.8" ¶ time_s ; "tls1.3" ⇒ "tls1.3" ¶ authentication = { method =
    "caching_sha2_password" }
part-at-rest: | time_s ⇒ server = "mongodb" ¶ time_s ; "tls1.3" ⇒ "tls1.3" ¶ at_rest = { tables = true }
algorithm-at-rest: | time_s ⇒ server = "mysql" ¶ time_s ; "tls1.3" ⇒ "tls1.3" ¶ at_rest = { tables = true, algorithm =
    "AES-CTR" }
threads-at-rest: | time_s ⇒ server = "mysql" ¶ time_s ; "tls1.3" ⇒ "tls1.3" ¶ at_rest = { tables = true, encryption_threads =
    2 }
sqlcipher: | at_rest = { sqlcipher = {} }
cell-of-several-generators: ranks=3 | connections = 8 ⇒ connections = 8, rate = 100
arm-of-several-generators: ranks=2 | oltp_point_select ⇒ connect ; "tls1.3" ⇒ "tls1.3" ¶ authentication = { method =
    "caching_sha2_password", password_cache = "cold" }
files: files=10 |
ports: ports=10 |
"#;

/// What depends on the machine alone, and is tested where it is asked.
const OF_THE_MACHINE: [&str; 5] = ["link", "file-system", "cluster", "capture", "prepared-statements"];

/// What is refused of a case; an error where the model refuses its study already.
fn refused(case: &str, refuse: impl Fn(&Asked<'_>) -> Vec<Refusal>) -> Result<Vec<Refusal>, String> {
    let (besides, changes) = case.split_once('|').unwrap();
    let besides = |name: &str| {
        besides
            .split(' ')
            .find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
    };
    let number = |name: &str| besides(name).map(|number| number.parse::<u64>().unwrap());
    let target = besides("target").map(|url| Target::parse(url, None).unwrap());
    let encdb = besides("encdb").map(|user| EncdbAccount {
        user: user.to_owned(),
        password: Secret::new(""),
    });
    let text = changed(changes.trim());
    let study = Study::from_toml(&text).map_err(|error| format!("{error} in {text}"))?;
    Ok(refuse(&Asked {
        study: &study,
        target: target.as_ref(),
        encdb: encdb.as_ref(),
        ranks: number("ranks").map(|count| count as u32),
        limits: OwnLimits {
            files: number("files"),
            ports: number("ports"),
        },
        poolers: besides("pgbouncer")
            .map(|_| {
                let missing = Err("there is no pgbouncer; install it".to_owned());
                (PoolerProgram::Pgbouncer, missing)
            })
            .into_iter()
            .collect(),
    }))
}

#[test]
fn every_rule_has_a_name_of_its_own_and_refuses_with_a_remedy() {
    let all = || RULES.into_iter().chain([limits::RULES]).flatten();
    let names: BTreeSet<&str> = all().map(|rule| rule.id).collect();
    assert_eq!(names.len(), all().count());
    assert_eq!(refused("|", refusals), Ok(Vec::new()));
    let cases = cases(CASES);
    let mut cases = cases.iter();
    let mut table = String::new();
    let mut wrong = Vec::new();
    for rule in all().filter(|rule| !OF_THE_MACHINE.contains(&rule.id)) {
        let case = cases
            .next()
            .and_then(|case| case.strip_prefix(rule.id)?.strip_prefix(": "));
        let case = case.unwrap_or_else(|| panic!("{} has no case in its turn", rule.id));
        match refused(case, |asked| rule.refusals(asked)) {
            Ok(found) if found.first().is_some_and(|refusal| !refusal.instead.is_empty()) => {
                table += &format!(
                    "| `{}` | {} |\n",
                    rule.id,
                    found[0].to_string().replace('|', "\\|")
                );
            }
            found => wrong.push(format!("{}: {found:?}", rule.id)),
        }
    }
    assert_eq!(wrong, [""; 0]);
    assert_eq!(cases.next(), None);
    hold("## Of servers, machines and what is asked besides", &table);
}

/// What the capabilities of a server are refused for, of a study that is changed so.
fn beyond(server: &str, changes: &str) -> Vec<String> {
    let case = format!("| time_s ⇒ server = \"{server}\" ¶ time_s ; {changes}");
    let refusals = refused(&case, |asked| {
        let rules = capabilities::RULES.iter();
        rules.flat_map(|rule| rule.refusals(asked)).collect()
    });
    refusals.unwrap().iter().map(Refusal::to_string).collect()
}

#[test]
fn what_a_server_cannot_do_is_refused_by_name_with_what_it_can() {
    let cases = r#"
        mariadb-10.2 | "tls1.3" ⇒ "tls1.1" → mariadb-10.2 cannot do a certificate ecdsa-p256 → rsa-2048
        mysql | tls = { group = "X25519" } → mysql cannot do the group X25519; it can do P-256, P-384
        mariadb | tls = { group = "X25519MLKEM768" } → cannot do the group X25519MLKEM768; it can do X25519, P-256
        mysql-5.6 | "tls1.3" ⇒ "tls1.3" → mysql-5.6 cannot do TLSv1.3; it can do TLSv1
        mysql-5.6 | "tls1.3" ⇒ "tls" ¶ tls = { library = "rustls" } → with rustls
        mysql | authentication = { method = "ed25519" } → authentication by ed25519; it can do caching_sha2_password
        mongodb | authentication = { method = "caching_sha2_password" } → authentication by caching_sha2_password → SCRAM-SHA-256
        mariadb | authentication = { method = "SCRAM-SHA-256" } → authentication by SCRAM-SHA-256 → mysql_native_password
        postgresql | authentication = { method = "ed25519" } ¶ pooler = {program="odyssey", pool_mode="session"} → authentication by ed25519
        sqlite | tls = { group = "X25519" } → sqlite cannot do TLSv1.3 → sqlite cannot do a certificate ecdsa-p256
        mariadb | at_rest = { undo_log = true } → mariadb cannot do undo_log at rest; it can do tables, redo_log
        mysql | at_rest = { temporary = true } → mysql cannot do temporary at rest; it can do tables, redo_log
        mongodb | at_rest = { tables = true } → mongodb cannot do tables at rest; it can do file_system at rest
        postgresql | at_rest = { redo_log = true } → it can do file_system at rest
        sqlite | at_rest = { tables = true } → sqlite cannot do tables at rest; it can do sqlcipher at rest
        sqlite | load = { ⇒ storage = { doublewrite = true } ¶ load = { → cannot do storage.doublewrite; it can do storage.memory_mb
        mariadb-10.2 | at_rest = { tables = true, algorithm = "AES-CTR" } → AES-CTR at rest; it can do AES-CBC at rest
        mariadb-11.4-wolfssl | at_rest = { tables = true, algorithm = "AES-CTR" } → it can do AES-CBC at rest
        mysql | at_rest = { tables = true, algorithm = "AES-CTR" } → its own cipher
        mongodb | load = { ⇒ storage = { memory_mb = 255 } ¶ load = { → cannot do storage.memory_mb = 255; it can do 256 MB and more
        mongodb | load = { ⇒ nodes = 3 ¶ load = { → cannot do a cluster of 3 nodes; it can do a single server
        mysql | at_rest = { system_tables = true, algorithm = "AES-CBC" } → AES-CBC at rest
        mariadb | at_rest = { temporary = true, undo_log = true } → mariadb cannot do undo_log at rest
        mariadb | at_rest = { tables = true, sqlcipher = {} } → mariadb cannot do sqlcipher at rest
        sqlite | at_rest = { tables = true, sqlcipher = {} } → sqlite cannot do tables at rest
        mariadb-10.2 | load = { ⇒ nodes = 3 ¶ load = { → cannot do a cluster of 3 nodes; it can do a single server
    "#;
    for case in cases.trim().lines() {
        let (asked, words) = case.split_once(" → ").unwrap();
        let (server, changes) = asked.trim().split_once(" | ").unwrap();
        let found = beyond(server, changes).join("\n");
        for words in words.split(" → ") {
            assert!(found.contains(words), "{case}: {found}");
        }
    }
    // It has no cipher that could be another.
    let found = beyond(
        "postgresql",
        "at_rest = { tables = true, algorithm = \"AES-CTR\" }",
    );
    assert_eq!(found.len(), 1, "{found:?}");
}

#[test]
fn a_server_whose_cell_has_no_tls_arm_has_a_certificate_too() {
    let refuse = |changes: &str| {
        let refusals = refused(changes, |asked| {
            let mut rules = capabilities::RULES.iter();
            rules
                .find(|rule| rule.id == "certificate")
                .unwrap()
                .refusals(asked)
        });
        refusals
            .unwrap()
            .iter()
            .map(Refusal::to_string)
            .collect::<String>()
    };
    let other_cell = "load = { connections = 8 } ⇒ load = { connections = 8 } ¶ arms = [\"plain\", \"slow\"] ¶ server = \"mariadb-10.2\" ¶ \
                      [[cell]] ¶ name = \"far\" ¶ workload = \"oltp_point_select\" ¶ load = { connections = 8 } ; [[cell]] ⇒ [[arm]] ¶ \
                      name = \"slow\" ¶ transport = \"plain\" ¶ [[cell]]";
    let of_cell = refuse(&format!("| {other_cell}"));
    assert!(
        of_cell.starts_with("arm \"plain\": mariadb-10.2 cannot do a certificate ecdsa-p256"),
        "{of_cell}"
    );
    let of_nodes = refuse(
        "| time_s ⇒ server = \"mysql\" ¶ nodes = 3 ¶ certificate = \"rsa-1024\" ¶ time_s ; \"tls1.3\" ⇒ \"plain\" ¶ cluster_tls = true",
    );
    assert!(
        of_nodes.contains("mysql cannot do a certificate rsa-1024"),
        "{of_nodes}"
    );
}

#[test]
fn what_one_load_generator_alone_knows_is_refused_and_all_else_is_not() {
    let refuse = |case: String| {
        let rules = |asked: &Asked<'_>| {
            ranks::RULES
                .iter()
                .flat_map(|rule| rule.refusals(asked))
                .collect()
        };
        let refusals: Vec<Refusal> = refused(&case, rules).unwrap();
        refusals.iter().map(Refusal::to_string).collect::<Vec<_>>()
    };
    for workload in ["oltp_point_select", "tpcc", "ycsb_d"] {
        assert_eq!(
            refuse(format!("ranks=4 | oltp_point_select ⇒ {workload}")),
            [""; 0]
        );
    }
    for (case, words) in [
        ("ranks=2 | oltp_point_select ⇒ ycsb_load", "one process empties"),
        (
            "ranks=2 | connections = 8 ⇒ connections = 8, batch = 100",
            "a batch is done",
        ),
        (
            "ranks=3 | connections = 8 ⇒ connections = 8, rate = 100",
            "share a rate",
        ),
        (
            "ranks=2 | load = { ⇒ keep_operations = true ¶ load = {",
            "single operations",
        ),
    ] {
        let found = refuse(case.to_owned());
        let is_said = found.len() == 1 && found[0].starts_with("cell \"near\": ") && found[0].contains(words);
        assert!(is_said, "{case}: {found:?}");
    }
}

#[test]
fn cells_are_refused_where_the_server_has_others() {
    let cells = |server: &str, columns: &str| {
        let asks = format!(
            "oltp_point_select ⇒ ycsb_a ; \"tls1.3\" ⇒ \"plain\" ¶ columns = {{ {columns}, columns = \"all\" }}"
        );
        let asks = match columns.contains("in_results") {
            true => asks.replace("ycsb_a", "tpcc"),
            false => asks,
        };
        let case = format!("| time_s ⇒ server = \"{server}\" ¶ time_s ; {asks}");
        let refusals = refused(&case, |asked| {
            let mut rules = database::RULES.iter();
            rules.find(|rule| rule.id == "cells").unwrap().refusals(asked)
        });
        refusals
            .unwrap()
            .iter()
            .map(Refusal::to_string)
            .collect::<String>()
    };
    for (server, columns, words) in [
        (
            "postgresql",
            "feature = \"in_results\"",
            "over MySQL's protocol alone so far",
        ),
        (
            "mongodb",
            "feature = \"in_results\"",
            "over MySQL's protocol alone so far",
        ),
        (
            "mariadb",
            "feature = \"stored\", format = \"csfle\"",
            "csfle are stored in MongoDB alone",
        ),
        (
            "postgresql",
            "feature = \"stored\", format = \"csfle\"",
            "csfle are stored in MongoDB alone",
        ),
        (
            "mongodb",
            "feature = \"stored\"",
            "cells in MongoDB are those of csfle",
        ),
    ] {
        let refusal = cells(server, columns);
        assert!(refusal.contains(words), "{server}: {refusal}");
    }
    for (server, columns) in [
        ("mariadb", "feature = \"in_results\""),
        ("postgresql", "feature = \"stored\""),
        (
            "mongodb",
            "feature = \"stored\", format = \"csfle\", encoding = \"binary\"",
        ),
    ] {
        assert_eq!(cells(server, columns), "", "{server}");
    }
}

#[test]
fn everything_that_a_server_cannot_do_is_named_and_nothing_of_tls_for_a_plain_arm() {
    let asks = "certificate = \"ed25519\" ¶ tls = { cipher = \"ECDHE-RSA-AES128-GCM-SHA256\", group = \"X25519\", resumption = \
                \"ticket\", client_certificate = \"ecdsa-p384\" } ¶ authentication = { method = \"ed25519\" }";
    let found = beyond("mysql-5.6", &format!("\"tls1.3\" ⇒ \"tls\" ¶ {asks}"));
    assert!(found.len() >= 6, "{found:#?}");
    assert_eq!(beyond("mysql-5.6", "\"tls1.3\" ⇒ \"plain\""), [""; 0]);
}

#[test]
fn a_cipher_is_one_that_openssl_has_and_the_servers_key_suits() {
    for (kind, cipher, words) in [
        ("ecdsa-p384", "ECDHE-ECDSA-AES256-GCM-SHA384", ""),
        ("ed25519", "ECDHE-ECDSA-AES256-GCM-SHA384", ""),
        (
            "rsa-2048",
            "ECDHE-ECDSA-AES256-GCM-SHA384",
            "certificate = \"ecdsa-p256\"",
        ),
        ("rsa-2048", "DHE-RSA-AES256-SHA", ""),
        ("rsa-2048", "AES256-SHA", ""),
        ("ecdsa-p256", "AES256-SHA", "certificate = \"rsa-2048\""),
        (
            "rsa-2048",
            "HIGH",
            "OpenSSL has no cipher suite HIGH; the nearest",
        ),
        ("rsa-2048", "DHE-RSA-AES256-SHA1", "DHE-RSA-AES256-SHA"),
    ] {
        let changes =
            format!("\"tls1.3\" ⇒ \"tls1.2\" ¶ certificate = \"{kind}\" ¶ tls = {{ cipher = \"{cipher}\" }}");
        let found = refused(&format!("| {changes}"), refusals).unwrap();
        let found: Vec<String> = found.iter().map(Refusal::to_string).collect();
        let is_right = match words {
            "" => found.is_empty(),
            words => matches!(&found[..], [one] if one.contains(words)),
        };
        assert!(is_right, "{kind}, {cipher}: {found:?}");
    }
}

#[test]
fn every_server_can_do_what_it_says_and_its_own_newest_tls() {
    for entry in CATALOGUE {
        let certificate = entry.capabilities.certificates.first();
        let kind = certificate.map_or("rsa-2048", |kind| kind.name());
        let with_tls = beyond(
            entry.name,
            &format!("\"tls1.3\" ⇒ \"tls\" ¶ certificate = \"{kind}\""),
        );
        assert_eq!(with_tls.is_empty(), certificate.is_some(), "{with_tls:?}");
        assert_eq!(with_tls.is_empty(), *entry != SQLITE, "{with_tls:?}");
        assert!(entry.capabilities.tls_versions.is_sorted(), "{}", entry.name);
        let parts = entry.capabilities.at_rest.parts.iter();
        let parts: Vec<String> = parts.map(|part| format!("{part} = true")).collect();
        let logs = "storage = { binary_log = true } ¶ load = {";
        let at_rest = beyond(
            entry.name,
            &format!(
                "\"tls1.3\" ⇒ \"plain\" ¶ at_rest = {{ {} }} ; load = {{ ⇒ {logs}",
                parts.join(", ")
            ),
        );
        let is_of_mysql = entry.protocol() == Some(Protocol::MySql);
        assert_eq!(at_rest.is_empty(), is_of_mysql, "{}: {at_rest:?}", entry.name);
        let memory = |mb: u32| {
            let changes =
                format!("\"tls1.3\" ⇒ \"plain\" ; load = {{ ⇒ storage = {{ memory_mb = {mb} }} ¶ load = {{");
            beyond(entry.name, &changes).is_empty()
        };
        assert!(memory(256), "{}", entry.name);
        assert_eq!(
            memory(64),
            entry.protocol() != Some(Protocol::MongoDb),
            "{}",
            entry.name
        );
    }
    assert_eq!(
        beyond(
            MARIADB.name,
            "at_rest = { tables = true, algorithm = \"AES-CTR\" }"
        ),
        [""; 0]
    );
}

#[test]
fn every_built_in_study_asks_of_its_servers_what_they_can_do() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../cli/studies");
    for file in fs::read_dir(folder).unwrap() {
        let toml = fs::read_to_string(file.unwrap().path()).unwrap();
        let text = StudyText::new("study", &toml);
        let scales = text.scales().unwrap();
        let scales = scales.iter().map(|scale| Some(scale.as_str()));
        for scale in std::iter::once(None).chain(scales) {
            let study = text.clone().scale(scale).study().unwrap();
            let asked = Asked::of_study(&study);
            let rules = [capabilities::RULES, database::RULES].into_iter().flatten();
            let refusals: Vec<Refusal> = rules.flat_map(|rule| rule.refusals(&asked)).collect();
            assert_eq!(refusals, [], "{}", study.name);
        }
    }
}

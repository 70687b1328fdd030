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
    let server = besides("server").map(|server| format!("time_s ⇒ server = \"{server}\" ¶ time_s ; "));
    let text = changed(&(server.unwrap_or_default() + changes.trim()));
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
    let refusals = refused(&format!("server={server} | {changes}"), |asked| {
        let rules = capabilities::RULES.iter();
        rules.flat_map(|rule| rule.refusals(asked)).collect()
    });
    refusals.unwrap().iter().map(Refusal::to_string).collect()
}

/// What all rules say of a case.
fn said(case: &str) -> Vec<String> {
    let refusals = refused(case, refusals).unwrap_or_else(|error| panic!("{case}: {error}"));
    refusals.iter().map(Refusal::to_string).collect()
}

/// Cases as above, besides those, and words of what is said of them.
const FURTHER_CASES: &str = r#"
server=mariadb-10.2 | "tls1.3" ⇒ "tls1.1" → mariadb-10.2 cannot do a certificate ecdsa-p256 … rsa-2048
server=mariadb | tls = { group = "X25519MLKEM768" } → cannot do the group X25519MLKEM768; it can do X25519, P-256
server=mongodb | authentication = { method = "caching_sha2_password" } → by caching_sha2_password … SCRAM-SHA-256
server=mariadb | authentication = { method = "SCRAM-SHA-256" } → by SCRAM-SHA-256 … mysql_native_password
server=postgresql | authentication = { method = "ed25519" } ¶ pooler = {program="odyssey", pool_mode="session"} → by ed25519
server=sqlite | tls = { group = "X25519" } → sqlite cannot do TLSv1.3 … sqlite cannot do a certificate ecdsa-p256
server=sqlite | authentication = { method = "ed25519" } → sqlite cannot do authentication by ed25519; it can do none
server=sqlite | time_s ⇒ placement = "together" ¶ time_s → needs a thread for each connection
server=sqlite | oltp_point_select ⇒ pgbench_tpcb_like → sqlite adds no key to a table that has rows
server=postgresql | tls = { resumption = "ticket" } → postgresql cannot do resumption by ticket
server=mysql-5.6 | at_rest = { tables = true } → mysql-5.6 cannot do tables at rest
server=mariadb | at_rest = { undo_log = true } → mariadb cannot do undo_log at rest; it can do tables, redo_log
server=mysql | at_rest = { temporary = true } → mysql cannot do temporary at rest; it can do tables, redo_log
server=postgresql | at_rest = { redo_log = true } → it can do file_system at rest
server=sqlite | at_rest = { tables = true } → sqlite cannot do tables at rest; it can do sqlcipher at rest
server=sqlite | load = { ⇒ storage = { doublewrite = true } ¶ load = { → storage.doublewrite; it can do storage.memory_mb
server=mariadb-10.2 | at_rest = { tables = true, algorithm = "AES-CTR" } → AES-CTR at rest; it can do AES-CBC at rest
server=mariadb-11.4-wolfssl | at_rest = { tables = true, algorithm = "AES-CTR" } → it can do AES-CBC at rest
server=mysql | at_rest = { system_tables = true, algorithm = "AES-CBC" } → AES-CBC at rest
server=mariadb | at_rest = { temporary = true, undo_log = true } → mariadb cannot do undo_log at rest
server=mariadb | at_rest = { tables = true, sqlcipher = {} } → mariadb cannot do sqlcipher at rest
server=sqlite | at_rest = { tables = true, sqlcipher = {} } → sqlite cannot do tables at rest
server=mariadb-10.2 | load = { ⇒ nodes = 3 ¶ load = { → cannot do a cluster of 3 nodes; it can do a single server
server=postgresql | oltp_point_select ⇒ ycsb_a ; at_rest = { columns = "aes_encrypt" } → take columns = "pgcrypto"
server=mongodb | oltp_point_select ⇒ ycsb_a ; at_rest = { columns = "aes_encrypt" } → leave columns out
server=postgresql | oltp_point_select ⇒ tpcc ; "tls1.3" ⇒ "plain" ¶ columns = { feature = "in_results", columns = "all" }
    → over MySQL's protocol alone so far
server=mongodb | oltp_point_select ⇒ tpcc ; "tls1.3" ⇒ "plain" ¶ columns = { feature = "in_results", columns = "all" }
    → over MySQL's protocol alone so far
server=mariadb | oltp_point_select ⇒ ycsb_a ; columns = { feature = "stored", format = "csfle", columns = "all" }
    → csfle are stored in MongoDB alone
server=postgresql | oltp_point_select ⇒ ycsb_a ; columns = { feature = "stored", format = "csfle", columns = "all" }
    → csfle are stored in MongoDB alone
| "tls1.3" ⇒ "tls1.2" ¶ certificate = "rsa-2048" ¶ tls = { cipher = "ECDHE-ECDSA-AES256-GCM-SHA384" } → certificate = "ecdsa-p256"
| "tls1.3" ⇒ "tls1.2" ¶ tls = { cipher = "AES256-SHA" } → certificate = "rsa-2048"
| "tls1.3" ⇒ "tls1.2" ¶ certificate = "rsa-2048" ¶ tls = { cipher = "HIGH" } → OpenSSL has no cipher suite HIGH; the nearest
| "tls1.3" ⇒ "tls1.2" ¶ certificate = "rsa-2048" ¶ tls = { cipher = "DHE-RSA-AES256-SHA1" } → DHE-RSA-AES256-SHA
| load = { connections = 8 } ⇒ load = { connections = 8 } ¶ arms = ["plain", "slow"] ¶ server = "mariadb-10.2" ¶ [[cell]] ¶
    name = "far" ¶ workload = "oltp_point_select" ¶ load = { connections = 8 } ; [[cell]] ⇒ [[arm]] ¶ name = "slow" ¶
    transport = "plain" ¶ [[cell]] → arm "plain": mariadb-10.2 cannot do a certificate ecdsa-p256
server=mongodb | oltp_point_select ⇒ command ; load = { connections = 8 } ⇒ command = { run = ["x", "{my_cnf}"] }
    → {my_cnf} is for programs that speak to MySQL … CIPHERTAX_URL
ranks=2 | oltp_point_select ⇒ ycsb_load → cell "near": one process empties
ranks=2 | connections = 8 ⇒ connections = 8, batch = 100 → cell "near": a batch is done
ranks=2 | load = { ⇒ keep_operations = true ¶ load = { → cell "near": … single operations
server=mysql | time_s ⇒ nodes = 3 ¶ certificate = "rsa-1024" ¶ time_s ; "tls1.3" ⇒ "plain" ¶ cluster_tls = true
    → mysql cannot do a certificate rsa-1024
"#;

#[test]
fn what_rules_refuse_besides_is_told_with_what_can_be_had() {
    for case in cases(FURTHER_CASES) {
        let (case, words) = case.split_once(" → ").unwrap();
        let found = said(case).join("\n");
        for words in words.split(" … ") {
            assert!(found.contains(words), "{case}: {words:?} is not in {found:?}");
        }
    }
    // It has no cipher that could be another.
    let found = beyond(
        "postgresql",
        r#"at_rest = { tables = true, algorithm = "AES-CTR" }"#,
    );
    assert_eq!(found.len(), 1, "{found:?}");
}

#[test]
fn what_no_rule_refuses_is_taken() {
    let taken = r#"
ranks=4 |
ranks=4 | oltp_point_select ⇒ tpcc
ranks=4 | oltp_point_select ⇒ ycsb_d
server=mariadb | oltp_point_select ⇒ tpcc ; "tls1.3" ⇒ "plain" ¶ columns = { feature = "in_results", columns = "all" }
server=postgresql | oltp_point_select ⇒ ycsb_a ; connections = 8 ⇒ connections = 8, batch = 100 ; "tls1.3" ⇒ "plain" ¶ columns =
    { feature = "stored", columns = "all" }
server=mongodb | oltp_point_select ⇒ ycsb_a ; connections = 8 ⇒ connections = 8, batch = 100 ; "tls1.3" ⇒ "plain" ¶ columns =
    { feature = "stored", format = "csfle", encoding = "binary", columns = "all" }
| "tls1.3" ⇒ "tls1.2" ¶ certificate = "ecdsa-p384" ¶ tls = { cipher = "ECDHE-ECDSA-AES256-GCM-SHA384" }
| "tls1.3" ⇒ "tls1.2" ¶ certificate = "ed25519" ¶ tls = { cipher = "ECDHE-ECDSA-AES256-GCM-SHA384" }
| "tls1.3" ⇒ "tls1.2" ¶ certificate = "rsa-2048" ¶ tls = { cipher = "DHE-RSA-AES256-SHA" }
| "tls1.3" ⇒ "tls1.2" ¶ certificate = "rsa-2048" ¶ tls = { cipher = "AES256-SHA" }
"#;
    for case in cases(taken) {
        assert_eq!(said(&case), [""; 0], "{case}");
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

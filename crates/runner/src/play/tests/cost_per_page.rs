//! What servers are billed for a page that is encrypted or decrypted, beside what the cipher takes by itself.

use std::process::Command;

use ciphertax_lab::catalogue::{Entry, MARIADB, MARIADB_11_8, MYSQL};
use ciphertax_model::Metric;
use ciphertax_model::study::BASELINE_AGAIN;

use super::*;

const TIME_VARIABLE: &str = "CIPHERTAX_COST_PER_PAGE_S";

/// Bytes of a page of InnoDB's.
const PAGE: f64 = 16384.0;
/// What the cipher is given again and again: a page, and more than the CPU's caches hold.
const HOT: &str = "16384";
const COLD: &str = "134217728";

/// A table of 8,000 pages with two rows each, since rows are no business of encryption's, which is read with memory for a fifth
/// of it, and is changed where it lies in memory, so that every page is written once.
const CELLS: &str = r#"
[[cell]]
name = "read"
workload = "command"
storage = { memory_mb = 24, flush = "direct" }
command = { run = ["mariadb", "--defaults-file={my_cnf}", "--execute", """
CREATE TABLE IF NOT EXISTS pages (id INT PRIMARY KEY, n INT NOT NULL, pad VARCHAR(7500) NOT NULL)
  SELECT id, 0 AS n, REPEAT(c, 62) AS pad FROM sbtest1;
SELECT SUM(n) FROM pages; SELECT SUM(n) FROM pages;
"""] }
[[cell]]
name = "write"
workload = "command"
storage = { memory_mb = 256, flush = "direct" }
command = { run = ["mariadb", "--defaults-file={my_cnf}", "--execute", """
CREATE TABLE IF NOT EXISTS pages (id INT PRIMARY KEY, n INT NOT NULL, pad VARCHAR(7500) NOT NULL)
  SELECT id, 0 AS n, REPEAT(c, 62) AS pad FROM sbtest1;
UPDATE pages SET n = n + 1;
"""] }
"#;

/// Ciphers by the arms' names, with what MariaDB is told.
const MARIADBS: [(&str, &str); 2] = [
    (
        "aes-256-cbc",
        r#"at_rest = { tables = true, algorithm = "AES-CBC" }"#,
    ),
    (
        "aes-256-ctr",
        r#"at_rest = { tables = true, algorithm = "AES-CTR" }"#,
    ),
];
/// MySQL has but one.
const MYSQLS: [(&str, &str); 1] = [("aes-256-cbc", "at_rest = { tables = true }")];

#[test]
#[ignore = "takes four minutes; `scripts/cost-per-page.sh` runs it"]
fn mariadb_is_billed_at_least_what_its_cipher_takes() {
    cost_per_page(&MARIADB, &MARIADBS);
}

#[test]
#[ignore = "takes four minutes; `scripts/cost-per-page.sh` runs it"]
fn mariadb_11_8_is_billed_at_least_what_its_cipher_takes() {
    cost_per_page(&MARIADB_11_8, &MARIADBS);
}

#[test]
#[ignore = "takes four minutes; `scripts/cost-per-page.sh` runs it"]
fn mysql_is_billed_at_least_what_its_cipher_takes() {
    cost_per_page(&MYSQL, &MYSQLS);
}

fn cost_per_page(server: &'static Entry, ciphers: &[(&'static str, &str)]) {
    if ciphertax_testkit::fetched(server).is_none() {
        return;
    }
    let run = played(&study(server.name, ciphers), TIME_VARIABLE, at_once(ciphers));
    let name = format!("{} {}", run.head.servers[0].product, run.head.servers[0].version);
    let mut text = format!(
        "\n# What a page costs: the cipher by itself, and inside {name}\n\n| | |\n|---|---|\n\
         | command | `scripts/cost-per-page.sh` |\n{}\
         | cipher | `{}`, by its CPU time |\n\n\
         CPU time of a page of 16 KiB, in µs: what the server takes more than without encryption over whole rounds, by the pages \
         that it read or wrote in them, beside `openssl speed` in the same minutes: of one page that stays in the CPU's caches, \
         and of {COLD} bytes, which come from memory as a page does that was just read.\n\n\
         | cell | cipher | rounds | pages per operation | server CPU, whole round | more per page | cipher | \
         more / cipher | cipher, from memory |\n\
         |---|---|--:|--:|--:|--:|--:|--:|--:|\n",
        machine(),
        speed("CIPHER", HOT).join(" "),
    );
    let mut too_cheap = Vec::new();
    for (cipher, _) in ciphers {
        for (cell, decrypts) in [("read", true), ("write", false)] {
            let [by_itself, cold] = [HOT, COLD].map(|bytes| cipher_us(cipher, bytes, decrypts));
            let row = run.results.estimate(cell, cipher, Metric::ServerCpuRoundPerOp);
            let row = row.expect("enough rounds");
            let moved = run.results.storage(cell, cipher).unwrap();
            let [read, written] = [moved.pages_read, moved.pages_written].map(Option::unwrap);
            let difference = row.difference;
            let [more, low, high] =
                [difference.value, difference.low, difference.high].map(|us| us / (read + written));
            text += &format!(
                "| {cell} | {cipher} | {} | {read:.0} read, {written:.0} written | {:.0} → {:.0} µs, {} | \
                 {more:.2} [{low:.2}, {high:.2}] | {by_itself:.2} | {:.2} | {cold:.2} |\n",
                row.blocks,
                row.baseline,
                row.variant,
                change(row),
                more / by_itself,
            );
            // No server computes it faster than its library.
            if high < 0.8 * by_itself {
                too_cheap.push(format!("{cell}, {cipher}"));
            }
        }
    }
    println!("{text}");
    assert!(too_cheap.is_empty(), "{too_cheap:?}");
}

fn study(server: &str, ciphers: &[(&str, &str)]) -> String {
    let arms = ciphers
        .iter()
        .map(|(name, at_rest)| format!("[[arm]]\nname = \"{name}\"\ntransport = \"plain\"\n{at_rest}\n"));
    format!(
        "name = \"cost-per-page\"\nquestion = \"What does a page cost?\"\nserver = \"{server}\"\ntime_s = 180\n\
         dataset = {{ tables = 1, table_size = 16000 }}\n[[arm]]\nname = \"plain\"\ntransport = \"plain\"\n{}{CELLS}",
        arms.collect::<String>()
    )
}

fn at_once(ciphers: &[(&'static str, &str)]) -> Vec<(&'static str, &'static str)> {
    let arms = ciphers.iter().map(|(name, _)| *name);
    let arms = ["plain", BASELINE_AGAIN].into_iter().chain(arms);
    arms.flat_map(|arm| AT_ONCE.map(|option| (arm, option))).collect()
}

/// The library is that of the servers' packages, which ciphertax's own is not.
fn speed<'a>(cipher: &'a str, bytes: &'a str) -> [&'a str; 9] {
    [
        "openssl", "speed", "-evp", cipher, "-seconds", "2", "-bytes", bytes, "-mr",
    ]
}

/// CPU time that the library takes for a page, in microseconds, where it is given so many bytes again and again.
fn cipher_us(cipher: &str, bytes: &str, decrypts: bool) -> f64 {
    let line = speed(cipher, bytes);
    let said = Command::new(line[0])
        .args(&line[1..])
        .args(decrypts.then_some("-decrypt"))
        .output()
        .unwrap();
    let said = String::from_utf8(said.stdout).unwrap();
    // `+F:22:AES-256-CBC:1245714070.00`, in bytes a second.
    let last = said.lines().rfind(|line| line.starts_with("+F:"));
    let bytes_per_s: f64 = last.unwrap().rsplit(':').next().unwrap().parse().unwrap();
    1e6 * PAGE / bytes_per_s
}

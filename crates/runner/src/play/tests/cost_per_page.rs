//! What servers are billed for a page that is encrypted or decrypted, beside what the cipher takes by itself.

use std::process::Command;

use ciphertax_lab::catalogue::{MARIADB, MARIADB_11_8, MYSQL};
use ciphertax_model::Metric;
use ciphertax_model::study::BASELINE_AGAIN;

use super::*;

const TIME_VARIABLE: &str = "CIPHERTAX_COST_PER_PAGE_S";

/// Bytes of a page of InnoDB's.
const PAGE: f64 = 16384.0;

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
        r#"at_rest = { tables = true, algorithm = "aes_cbc" }"#,
    ),
    (
        "aes-256-ctr",
        r#"at_rest = { tables = true, algorithm = "aes_ctr" }"#,
    ),
];
/// MySQL has but one.
const MYSQLS: [(&str, &str); 1] = [("aes-256-cbc", "at_rest = { tables = true }")];

#[test]
#[ignore = "takes ten minutes; `scripts/cost-per-page.sh` runs it"]
fn a_page_is_billed_at_least_what_its_cipher_takes() {
    let mut text = format!(
        "\n# What a page costs: the cipher by itself, and inside the server\n\n| | |\n|---|---|\n\
         | command | `scripts/cost-per-page.sh` |\n{}\
         | cipher | `{}`, by its CPU time |\n\n\
         CPU time of a page of 16 KiB, in µs: what the server takes more than without encryption over whole rounds, by the pages \
         that it read or wrote in them, beside `openssl speed` in the same minutes.\n\n\
         | server | cell | cipher | rounds | pages per operation | server CPU, whole round | more per page | \
         cipher | more / cipher |\n|---|---|---|--:|--:|--:|--:|--:|--:|\n",
        machine(),
        speed("CIPHER").join(" "),
    );
    let mut too_cheap = Vec::new();
    for (server, ciphers) in [
        (&MARIADB, &MARIADBS[..]),
        (&MARIADB_11_8, &MARIADBS[..]),
        (&MYSQL, &MYSQLS[..]),
    ] {
        if ciphertax_testkit::fetched(server).is_none() {
            continue;
        }
        let run = played(&study(server.name, ciphers), TIME_VARIABLE, at_once(ciphers));
        let name = format!("{} {}", run.head.servers[0].product, run.head.servers[0].version);
        for (cipher, _) in ciphers {
            for (cell, decrypts) in [("read", true), ("write", false)] {
                let by_itself = cipher_us(cipher, decrypts);
                let row = run
                    .results
                    .estimate(cell, cipher, Metric::ServerCpuRoundPerOp)
                    .unwrap();
                let moved = run.results.storage(cell, cipher).unwrap();
                let pages = moved.pages_read.unwrap() + moved.pages_written.unwrap();
                let [more, low, high] = {
                    let difference = row.difference.unwrap();
                    [difference.value, difference.low, difference.high].map(|us| us / pages)
                };
                text += &format!(
                    "| {name} | {cell} | {cipher} | {} | {:.0} read, {:.0} written | {:.0} → {:.0} µs, {} | \
                     {more:.2} [{low:.2}, {high:.2}] | {by_itself:.2} | {:.2} |\n",
                    row.blocks,
                    moved.pages_read.unwrap(),
                    moved.pages_written.unwrap(),
                    row.baseline,
                    row.variant,
                    change(row),
                    more / by_itself,
                );
                // No server computes it faster than its library.
                if high < 0.8 * by_itself {
                    too_cheap.push(format!("{name}, {cell}, {cipher}"));
                }
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
fn speed(cipher: &str) -> Vec<&str> {
    let pages = ["-seconds", "2", "-bytes", "16384", "-mr"];
    ["openssl", "speed", "-evp", cipher]
        .into_iter()
        .chain(pages)
        .collect()
}

/// CPU time that the library takes for a page, in microseconds.
fn cipher_us(cipher: &str, decrypts: bool) -> f64 {
    let line = speed(cipher);
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

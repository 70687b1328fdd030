//! What the rules say of stacks of real servers.
//!
//! `stacks/PRODUCT.txt` has a stack a line: its category, then its functions with their modules, the one that ran first, up to the
//! last that the category rests on; a module that is not said is that of the function before it. They were seen in servers of the
//! catalogue and in the load generator.

use std::collections::BTreeSet;

use super::*;

const STACKS: [(&str, &str); 4] = [
    ("MariaDB and MySQL", include_str!("stacks/mysql.txt")),
    ("PostgreSQL", include_str!("stacks/postgresql.txt")),
    ("MongoDB", include_str!("stacks/mongodb.txt")),
    ("client", include_str!("stacks/client.txt")),
];

/// The tables that hold for a product, by name.
fn tables(product: &str) -> Vec<(&'static str, Table)> {
    let own = match product {
        "MariaDB and MySQL" => vec![("mysql", servers::MYSQL), ("innodb", servers::INNODB)],
        "PostgreSQL" => vec![("postgresql", servers::POSTGRESQL)],
        "MongoDB" => vec![("mongodb", servers::MONGODB)],
        _ => vec![("client", libraries::CLIENT)],
    };
    let common = [
        ("system", kernel::SYSTEM),
        ("openssl", libraries::OPENSSL),
        ("yassl_wolfssl", libraries::YASSL_WOLFSSL),
    ];
    common
        .into_iter()
        .chain(own)
        .chain([("last", kernel::LAST)])
        .collect()
}

fn rules(product: &str) -> Rules {
    match product {
        "client" => Rules::of_client(),
        server => Rules::of_server(server),
    }
}

/// The row of a table that a pattern which told a category is in.
fn row(product: &str, found: &Found, in_kernel: bool) -> (&'static str, usize) {
    let tables = if in_kernel && found.category != KERNEL_OTHER {
        vec![("kernel", kernel::KERNEL)]
    } else {
        tables(product)
    };
    let places = tables.into_iter().flat_map(|(name, table)| {
        let rows = table.iter().enumerate();
        rows.map(move |(row, (_, patterns))| ((name, row), *patterns))
    });
    let mut has_it = places.filter(|(_, patterns)| {
        patterns
            .split_whitespace()
            .any(|pattern| pattern == found.pattern)
    });
    has_it
        .next()
        .unwrap_or_else(|| panic!("{product}: {}", found.pattern))
        .0
}

fn patterns_of_phases() -> impl Iterator<Item = &'static str> {
    Phase::ALL
        .into_iter()
        .flat_map(|(_, patterns)| patterns.split_whitespace())
}

/// Category and functions of a line.
fn parsed(line: &str) -> (&str, Vec<(&str, &str)>) {
    let (category, stack) = line.split_once('\t').unwrap();
    let mut module = "";
    let frames = stack.split(';').map(|frame| {
        let (function, of) = frame.split_once("@@").unwrap_or((frame, module));
        module = of;
        (function, of)
    });
    (category, frames.collect())
}

#[test]
fn stacks_of_real_servers_have_their_categories() {
    for (product, stacks) in STACKS {
        let rules = rules(product);
        for line in stacks.lines() {
            let (category, stack) = parsed(line);
            assert_eq!(rules.category(&stack), Some(category), "{product}: {line}");
        }
    }
}

#[test]
fn every_rule_tells_the_category_of_a_real_stack() {
    let (mut rows, mut phases) = (BTreeSet::new(), BTreeSet::new());
    for (product, stacks) in STACKS {
        let rules = rules(product);
        for line in stacks.lines() {
            let (_, stack) = parsed(line);
            let found = rules.find(&stack).unwrap();
            if !found.pattern.is_empty() {
                rows.insert(row(product, &found, stack[found.depth].1 == KERNEL));
            }
            phases.extend(found.phase.map(|(_, pattern, _)| pattern));
        }
    }
    let all = STACKS
        .iter()
        .flat_map(|(product, _)| tables(product))
        .chain([("kernel", kernel::KERNEL)]);
    for (name, table) in all {
        for (place, (work, patterns)) in table.iter().enumerate() {
            let has_stack = rows.contains(&(name, place));
            assert!(has_stack, "no stack for {work:?} in {name}: {patterns:?}");
        }
    }
    for pattern in patterns_of_phases() {
        assert!(phases.contains(&pattern), "no stack for the phase of {pattern}");
    }
}

#[test]
fn no_pattern_is_hidden_by_an_earlier_one() {
    let patterns = |table: Table| -> Vec<&'static str> {
        table
            .iter()
            .flat_map(|(_, patterns)| patterns.split_whitespace())
            .collect()
    };
    let of_product = |product: &str| -> Vec<&'static str> {
        let tables = tables(product).into_iter().filter(|(name, _)| *name != "last");
        tables.flat_map(|(_, table)| patterns(table)).collect()
    };
    let phases = patterns_of_phases().collect();
    let together = STACKS.iter().map(|(product, _)| of_product(product));
    let together = together.chain([patterns(kernel::KERNEL), patterns(kernel::LAST), phases]);
    let mut hidden = BTreeSet::new();
    for patterns in together {
        let rules = Compiled::of(patterns.iter().map(|pattern| (*pattern, ())));
        for pattern in patterns {
            let example = pattern.replace('*', "Q");
            let (module, function) = example.split_once('!').unwrap_or(("Q", &example));
            let first = rules.find(function, module).unwrap().pattern;
            if first != pattern {
                hidden.insert((pattern, first));
            }
        }
    }
    assert_eq!(
        hidden,
        BTreeSet::new(),
        "each behind the pattern that comes before it"
    );
}

#[test]
fn functions_without_names_belong_to_the_nearest_one_that_has_one() {
    let rules = Rules::of_server("10.11.14-MariaDB-0+deb12u2");
    let stack = |names: &'static [&'static str]| -> Vec<(&str, &str)> {
        let module = |name: &'static str| name.split_once('+').map_or("mariadbd", |(module, _)| module);
        names.iter().map(|name| (*name, module(name))).collect()
    };
    let innodb = [
        "mariadbd+0xdcf39d",
        "mariadbd+0xdced25",
        "handler::ha_index_read_idx_map",
        "JOIN::optimize",
    ];
    let innodb: &'static [&'static str] = Box::leak(Box::new(innodb));
    assert_eq!(rules.category(&stack(innodb)), Some("storage engine"));
    let record = [
        "libcrypto.so.3+0x2424c0",
        "EVP_EncryptUpdate",
        "libssl.so.3+0x596ce",
        "SSL_write",
        "vio_ssl_write",
    ];
    let record: &'static [&'static str] = Box::leak(Box::new(record));
    assert_eq!(rules.category(&stack(record)), Some("TLS record: cipher"));
    let handshake = [
        "libcrypto.so.3+0x12cd08",
        "RSA_sign",
        "libssl.so.3+0x70d4f",
        "libssl.so.3+0x6689e",
    ];
    let handshake: &'static [&'static str] = Box::leak(Box::new(handshake));
    let category = rules.category(&stack(handshake));
    assert_eq!(category, Some("TLS handshake: public key"));
    assert_eq!(rules.category(&[("mariadbd+0xdcf39d", "mariadbd")]), None);
    assert_eq!(rules.category(&[]), None);
    assert_eq!(rules.category(&[("", "")]), None);
}

#[test]
fn the_kernel_without_names_is_known_by_who_called_it() {
    let rules = Rules::of_server("PostgreSQL 15");
    let unnamed = ("[kernel]+0x0", "[kernel]");
    assert_eq!(rules.category(&[unnamed]), Some("kernel: other"));
    let category = rules.category(&[unnamed, ("send", "libc.so.6")]);
    assert_eq!(category, Some("kernel: network"));
    let category = rules.category(&[unnamed, ("PostgresMain", "postgres")]);
    assert_eq!(category, Some("kernel: other"));
}

#[test]
fn a_server_that_nobody_knows_is_looked_up_in_all_tables() {
    let rules = Rules::of_server("");
    assert_eq!(rules.category(&[("ExecScan", "db")]), Some("SQL: execute"));
    let category = rules.category(&[("row_search_mvcc", "db")]);
    assert_eq!(category, Some("storage engine"));
    let category = rules.category(&[("mongo::BSONObj::copy", "db")]);
    assert_eq!(category, Some("documents"));
}

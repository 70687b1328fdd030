//! Which product a server is, by its own words.

/// What a product's `version` or `version_comment` holds, in lower case. Whoever speaks MySQL's protocol says a version of
/// MySQL first, so the more particular words come first.
const PRODUCTS: [(&str, &str); 9] = [
    ("mariadb", "MariaDB"),
    ("percona", "Percona Server"),
    ("tidb", "TiDB"),
    ("tddl", "PolarDB-X"),
    ("polardb-x", "PolarDB-X"),
    ("oceanbase", "OceanBase"),
    ("vitess", "Vitess"),
    ("txsql", "TXSQL"),
    ("singlestore", "SingleStore"),
];

/// The product of a server with these variables; MySQL where nothing speaks against it.
pub(crate) fn product(version: &str, version_comment: &str) -> &'static str {
    let words = format!("{version} {version_comment}").to_lowercase();
    let known = PRODUCTS.iter().find(|(word, _)| words.contains(word));
    known.map_or("MySQL", |(_, product)| product)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_known_by_what_it_says_of_itself() {
        for (version, comment, expected) in [
            ("10.11.19-MariaDB-0+deb12u1", "Debian 12", "MariaDB"),
            ("9.7.4-2", "(Debian)", "MySQL"),
            ("5.6.24", "MySQL Community Server (GPL)", "MySQL"),
            (
                "8.0.36-28",
                "Percona Server (GPL), Release 28, Revision 47601f19",
                "Percona Server",
            ),
            ("8.0.11-TiDB-v8.5.0", "TiDB Server (Apache License 2.0)", "TiDB"),
            ("5.7.25-TDDL-5.4.13-16415631", "PXC Distributed SQL", "PolarDB-X"),
        ] {
            assert_eq!(product(version, comment), expected, "{version} {comment}");
        }
    }
}

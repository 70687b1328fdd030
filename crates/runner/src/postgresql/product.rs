//! Which product a server is, by its own words.

/// What a product's `version()` holds, in lower case. Whoever speaks PostgreSQL's protocol says a version of PostgreSQL
/// too, so the more particular words come first.
const PRODUCTS: [(&str, &str); 15] = [
    ("cockroachdb", "CockroachDB"),
    ("-yb-", "YugabyteDB"),
    ("yugabyte", "YugabyteDB"),
    ("redshift", "Amazon Redshift"),
    ("greenplum", "Greenplum"),
    ("enterprisedb", "EDB Postgres Advanced Server"),
    ("materialize", "Materialize"),
    ("risingwave", "RisingWave"),
    ("questdb", "QuestDB"),
    ("cratedb", "CrateDB"),
    ("opengauss", "openGauss"),
    ("gaussdb", "GaussDB"),
    ("kingbase", "KingbaseES"),
    ("polardb", "PolarDB"),
    ("cloud spanner", "Cloud Spanner"),
];

/// The product of a server that says this of its version; PostgreSQL where nothing speaks against it.
pub(super) fn product(version: &str) -> &'static str {
    let words = version.to_lowercase();
    let known = PRODUCTS.iter().find(|(word, _)| words.contains(word));
    known.map_or("PostgreSQL", |(_, product)| product)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_known_by_what_it_says_of_itself() {
        for (version, expected) in [
            (
                "PostgreSQL 15.18 (Debian 15.18-0+deb12u1) on x86_64-pc-linux-gnu, compiled by gcc",
                "PostgreSQL",
            ),
            (
                "CockroachDB CCL v24.1.0 (x86_64-pc-linux-gnu, built 2024/05/15 21:28:29, go1.22.2)",
                "CockroachDB",
            ),
            (
                "PostgreSQL 11.2-YB-2.20.1.0-b0 on x86_64-pc-linux-gnu, compiled by clang version 16.0.6",
                "YugabyteDB",
            ),
            (
                "PostgreSQL 8.0.2 on i686-pc-linux-gnu, compiled by GCC, Redshift 1.0.12103",
                "Amazon Redshift",
            ),
            (
                "PostgreSQL 9.4.26 (Greenplum Database 6.25.3 build commit:367edc6b4dfd)",
                "Greenplum",
            ),
            (
                "(openGauss 5.0.0 build a07d57c3) compiled at 2023-03-29 03:37:13",
                "openGauss",
            ),
        ] {
            assert_eq!(product(version), expected, "{version}");
        }
    }
}

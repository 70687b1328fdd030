//! Which product a server is, and what among those that form one database with it, by its own words.

use std::collections::BTreeMap;

use ciphertax_wire::WireError;
use ciphertax_wire::mysql::Session;

use super::control::pairs;
use crate::database::Standing;

/// Variables that say it. Of Galera, group replication and Aurora each server has its own, and none has all.
const VARIABLES: &str = "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('aurora_server_id', 'group_replication_group_name', \
    'innodb_read_only', 'read_only', 'super_read_only', 'version', 'version_comment', 'wsrep_on')";
/// <https://galeracluster.com/library/documentation/galera-status-variables.html>
const GALERA: &str = "SHOW GLOBAL STATUS WHERE Variable_name IN ('wsrep_cluster_state_uuid', \
    'wsrep_local_state_comment', 'wsrep_ready')";
/// <https://dev.mysql.com/doc/refman/8.4/en/performance-schema-replication-group-members-table.html>
const GROUP_MEMBER: &str = "SELECT MEMBER_ROLE, MEMBER_STATE FROM performance_schema.replication_group_members \
    WHERE MEMBER_ID = @@server_uuid";

type Pairs = BTreeMap<String, String>;

/// Asks a server what it is.
pub(super) async fn standing(session: &mut Session) -> Result<Standing, WireError> {
    let variables = pairs(session, VARIABLES).await?;
    let galera = match is_on(&variables, "wsrep_on") {
        true => pairs(session, GALERA).await?,
        false => Pairs::new(),
    };
    let group_member = match said(&variables, "group_replication_group_name").is_empty() {
        true => None,
        // Whoever may not read the table sees by the variables which server takes writes.
        false => pairs(session, GROUP_MEMBER)
            .await
            .ok()
            .and_then(|member| member.into_iter().next()),
    };
    Ok(judged(&variables, &galera, group_member))
}

fn said<'a>(pairs: &'a Pairs, name: &str) -> &'a str {
    pairs.get(name).map_or("", String::as_str)
}

fn is_on(pairs: &Pairs, name: &str) -> bool {
    ["ON", "1"]
        .iter()
        .any(|on| said(pairs, name).eq_ignore_ascii_case(on))
}

/// What a server is that has these variables, counters of Galera, and role and state in a replication group.
fn judged(variables: &Pairs, galera: &Pairs, group_member: Option<(String, String)>) -> Standing {
    let is_read_only = ["read_only", "super_read_only", "innodb_read_only"]
        .iter()
        .any(|name| is_on(variables, name));
    let access = if is_read_only { "read_only" } else { "takes writes" };
    let group_name = said(variables, "group_replication_group_name");
    let product = product(said(variables, "version"), said(variables, "version_comment"));
    let (role, is_ready, group) = match product {
        _ if !galera.is_empty() => (
            format!("Galera, {}", said(galera, "wsrep_local_state_comment")),
            is_on(galera, "wsrep_ready"),
            Some(said(galera, "wsrep_cluster_state_uuid").to_owned()),
        ),
        _ if !group_name.is_empty() => {
            let (role, state) = group_member.unwrap_or_default();
            let is_online = state.is_empty() || state == "ONLINE";
            let role = match (role.as_str(), is_online) {
                ("", true) => access.to_owned(),
                (role, true) => role.to_owned(),
                (_, false) => state,
            };
            (
                format!("group replication, {role}"),
                is_online,
                Some(group_name.to_owned()),
            )
        }
        _ if variables.contains_key("aurora_server_id") => {
            let role = if is_read_only { "reader" } else { "writer" };
            (format!("Aurora {role}"), true, None)
        }
        // Servers before a distributed store, each of which does all.
        "TiDB" | "PolarDB-X" | "OceanBase" | "Vitess" | "SingleStore" => {
            (format!("{product}, {access}"), true, Some(product.to_owned()))
        }
        _ => (access.to_owned(), true, None),
    };
    Standing {
        role,
        takes_writes: is_ready && !is_read_only,
        group,
    }
}

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

    fn of(pairs: &[(&str, &str)]) -> Pairs {
        pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn a_node_of_galera_takes_writes_once_it_is_ready() {
        let variables = of(&[
            ("wsrep_on", "ON"),
            ("read_only", "OFF"),
            ("version", "10.11.19-MariaDB"),
        ]);
        let node = |state: &str, ready: &str| {
            let galera = of(&[
                ("wsrep_cluster_state_uuid", "8a6f"),
                ("wsrep_local_state_comment", state),
                ("wsrep_ready", ready),
            ]);
            judged(&variables, &galera, None)
        };
        assert_eq!(
            node("Synced", "ON"),
            Standing {
                role: "Galera, Synced".into(),
                takes_writes: true,
                group: Some("8a6f".into())
            }
        );
        assert!(!node("Joining", "OFF").takes_writes);
    }

    #[test]
    fn a_secondary_of_a_replication_group_takes_none() {
        let member = |read_only: &str, role: &str, state: &str| {
            let variables = of(&[
                ("group_replication_group_name", "aaaa"),
                ("super_read_only", read_only),
            ]);
            let standing = judged(
                &variables,
                &Pairs::new(),
                Some((role.to_owned(), state.to_owned())),
            );
            (standing.role, standing.takes_writes)
        };
        let found = member("OFF", "PRIMARY", "ONLINE");
        assert_eq!(found, ("group replication, PRIMARY".to_owned(), true));
        let found = member("ON", "SECONDARY", "ONLINE");
        assert_eq!(found, ("group replication, SECONDARY".to_owned(), false));
        let found = member("OFF", "", "OFFLINE");
        assert_eq!(found, ("group replication, OFFLINE".to_owned(), false));
    }

    #[test]
    fn others_are_what_their_variables_say() {
        let role = |pairs: &[(&str, &str)]| {
            let standing = judged(&of(pairs), &Pairs::new(), None);
            (standing.role, standing.takes_writes, standing.group)
        };
        let found = role(&[("read_only", "OFF")]);
        assert_eq!(found, ("takes writes".to_owned(), true, None));
        let found = role(&[("read_only", "ON")]);
        assert_eq!(found, ("read_only".to_owned(), false, None));
        let found = role(&[("aurora_server_id", "db-1"), ("innodb_read_only", "ON")]);
        assert_eq!(found, ("Aurora reader".to_owned(), false, None));
        assert_eq!(
            role(&[("version", "8.0.11-TiDB-v8.5.0"), ("read_only", "OFF")]),
            ("TiDB, takes writes".to_owned(), true, Some("TiDB".to_owned()))
        );
    }

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

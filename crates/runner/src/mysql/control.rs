//! What is asked of a server over its control session.

use std::collections::BTreeMap;

use ciphertax_wire::WireError;
use ciphertax_wire::mysql::Session;
use ciphertax_wire::sql::SqlSession as _;
use ciphertax_workload::dataset::SCHEMA;

use super::clients::MySql;
use crate::connections::{Limit, Limited};
use crate::database::Control;
use crate::error::Result;

/// The default of MySQL 5.6 and 5.7, which all statements fit in.
const LEAST_PACKET: u64 = 4 << 20;

impl Control<MySql> {
    /// The limit that the server or the account sets to the connections of a user; `None` for none.
    pub(super) fn limit_of_user(&mut self) -> Result<Option<Limit>> {
        let rows = self.pairs("SELECT @@SESSION.max_user_connections, SUBSTRING_INDEX(USER(), '@', 1)")?;
        let Some((most, user)) = rows.into_iter().next() else {
            return Ok(None);
        };
        let most = most.parse().unwrap_or(0);
        // By number; whoever may not see those of others sees the user's own.
        let sessions = self.pairs("SHOW PROCESSLIST")?;
        let open = sessions.into_values().filter(|other| *other == user).count() as u64;
        Ok((most > 0).then_some(Limit {
            name: "max_user_connections",
            of: Limited::Connections,
            most,
            open,
        }))
    }

    /// The server's variables of these names.
    pub(super) fn variables(&mut self, names: &[&str]) -> Result<BTreeMap<String, String>> {
        let list = names
            .iter()
            .map(|name| format!("'{name}'"))
            .collect::<Vec<_>>()
            .join(", ");
        let sql = format!("SHOW GLOBAL VARIABLES WHERE Variable_name IN ({list})");
        self.pairs(&sql)
    }

    /// Refuses settings by which tables cannot be made or loaded. Servers of MySQL 5.6 have the least packets by default.
    pub(super) fn refuse_settings(&mut self) -> Result<()> {
        let set = self.variables(&["innodb_read_only", "max_allowed_packet"])?;
        if set.get("innodb_read_only").is_some_and(|value| value == "ON") {
            return Err(self.unusable(
                "it takes no writes (innodb_read_only): start it without that setting, or name another server",
            ));
        }
        let most = set.get("max_allowed_packet").and_then(|value| value.parse().ok());
        match most.filter(|most: &u64| *most < LEAST_PACKET) {
            None => Ok(()),
            Some(most) => Err(self.unusable(format!(
                "max_allowed_packet is {most} bytes, and statements that load tables have more: SET GLOBAL max_allowed_packet = \
                 {LEAST_PACKET}, which holds for new sessions"
            ))),
        }
    }

    /// The account that the server takes the user for, written `user@host`.
    pub(super) fn account(&mut self) -> Result<String> {
        let account = "SELECT CURRENT_USER(), ''";
        Ok(self.pairs(account)?.into_keys().next().unwrap_or_default())
    }

    /// The statement that makes the account, ended by a blank; empty on servers before MySQL 5.7 and MariaDB 10.2.
    pub(super) fn account_definition(&mut self) -> Result<String> {
        let ask = "SHOW CREATE USER CURRENT_USER()";
        let rows = self.ask(async |session| session.query_or_none(ask).await)?;
        Ok(rows.first().map(|row| row.text(0) + " ").unwrap_or_default())
    }

    /// Runs a statement that answers nothing.
    pub(super) fn run(&mut self, sql: &str) -> Result<()> {
        self.pairs(sql).map(|_| ())
    }

    /// The rows of a query with two columns.
    pub(super) fn pairs(&mut self, sql: &str) -> Result<BTreeMap<String, String>> {
        self.ask(async |session| pairs(session, sql).await)
    }
}

pub(super) async fn pairs(session: &mut Session, sql: &str) -> Result<BTreeMap<String, String>, WireError> {
    let rows = session.query(sql).await?;
    Ok(rows.iter().map(|row| (row.text(0), row.text(1))).collect())
}

/// What gives an account, written `user@host`, all it needs. An anonymous one is everybody's, and is given nothing.
pub(super) fn remedy(account: &str) -> String {
    let (user, host) = account.rsplit_once('@').unwrap_or((account, "%"));
    // Between others a backslash would mean something else.
    let quoted = |name: &str| format!("`{}`", name.replace('`', "``"));
    if user.is_empty() {
        let host = quoted(host);
        return format!(
            "the server took the user for ''@{host}, an anonymous account that goes before those of other hosts: have its \
             administrator run DROP USER ''@{host}, or make the user an account at {host} too"
        );
    }
    let rights = match SCHEMA.is_given() {
        false => "ALL",
        true => "CREATE, DROP, ALTER, INDEX, SELECT, INSERT, UPDATE, DELETE",
    };
    // Else it would stand for any character.
    let schema = match SCHEMA.contains('_') {
        true => quoted(&SCHEMA.replace('_', r"\_")),
        false => SCHEMA.quoted(),
    };
    format!(
        "have its administrator run: GRANT {rights} ON {schema}.* TO {}@{}",
        quoted(user),
        quoted(host)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_names_an_account_as_servers_write_it() {
        let grant = |account| format!("have its administrator run: GRANT ALL ON ciphertax.* TO {account}");
        assert_eq!(remedy("app@%"), grant("`app`@`%`"));
        let found = remedy(r"CORP\o'n`eil@home@db.example");
        assert_eq!(found, grant(r"`CORP\o'n``eil@home`@`db.example`"));
        let anonymous = remedy("@localhost");
        assert!(!anonymous.contains("GRANT") && anonymous.contains("DROP USER ''@`localhost`"));
    }
}

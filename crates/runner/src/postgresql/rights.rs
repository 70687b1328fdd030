//! Whether an account of the user's own may make, and remove, what ciphertax makes.

use ciphertax_workload::dataset::{self, SCHEMA};

use super::clients::PostgreSql;
use crate::database::Control;
use crate::error::RunError;
use crate::patience::PATIENCE;

/// Why nothing can be written; whether the schema is there, whose owner's rights the account has; whether it may make
/// one; the account and the database as statements name them.
const RIGHTS: &str = "\
    SELECT pg_catalog.pg_is_in_recovery(), pg_catalog.current_setting('transaction_read_only'), \
        (SELECT pg_catalog.pg_has_role(n.nspowner, 'USAGE') FROM pg_catalog.pg_namespace n WHERE n.nspname = 'ciphertax'), \
        pg_catalog.has_database_privilege(pg_catalog.current_database(), 'CREATE'), \
        pg_catalog.quote_ident(CURRENT_USER)";

impl Control<PostgreSql> {
    /// Makes sure that the schema's name is free or the schema ciphertax's own, and that the account may make and remove
    /// what is in it: before anything is written.
    ///
    /// # Errors
    /// Names what is missing, and the statement that gives it.
    pub(super) fn refuse_what_cannot_be_removed(&mut self) -> Result<(), RunError> {
        let rows = self.rows(RIGHTS)?;
        let column = |index: usize| rows.first().map(|row| row.text(index)).unwrap_or_default();
        if column(0) == "t" {
            return Err(self.unusable(
                "it is a standby, which takes no writes, and ciphertax needs data of its own; name the primary, which has \
                 the same costs",
            ));
        }
        if column(1) == "on" {
            return Err(self.unusable(
                "its transactions are read-only (default_transaction_read_only of the server, the database or the user), and \
                 ciphertax needs data of its own; name a server or a user that may write",
            ));
        }
        let user = column(4);
        let missing = match (column(2).as_str(), column(3).as_str()) {
            ("t", _) | ("", "t") => None,
            ("f", _) => Some((
                format!("the schema {SCHEMA} is somebody else's"),
                format!("ALTER SCHEMA {SCHEMA} OWNER TO {user}"),
            )),
            _ => Some((
                format!("the user may make no schema, and none named {SCHEMA} is there for it"),
                format!("CREATE SCHEMA {SCHEMA} AUTHORIZATION {user}"),
            )),
        };
        // Somebody else's data are said to be so, and not to be given away.
        self.ask_dataset(PATIENCE, async |session| dataset::refuse_foreign(session).await)?;
        match missing {
            None => Ok(()),
            Some((problem, statement)) => Err(self.unusable(format!(
                "{problem}, so ciphertax could not remove what it makes there and makes nothing; have its administrator run: \
                 {statement}"
            ))),
        }
    }
}

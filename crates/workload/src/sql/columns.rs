//! Columns that the server encrypts in the statements that write and read them.
//!
//! | functions | of | what they compute |
//! |---|---|---|
//! | `aes_encrypt` | MySQL's family | `AES_ENCRYPT()` and `AES_DECRYPT()` as they are by default: AES-128-ECB |
//! | `pgcrypto` | PostgreSQL | `encrypt()` and `decrypt()` of pgcrypto: AES-128-CBC, from a vector of zeros |
//!
//! Both have no salt: equal values are equal on the disk. The key is random, is in no statement's text, and is set by a bound
//! parameter when a session begins: a variable of the session, which goes with it.

use std::fmt;

use ciphertax_model::ColumnFunctions;
use ciphertax_wire::WireError;
use rand::RngExt;

use super::session::{Parameter, SqlSession, Statement};
use crate::dataset::SCHEMA;

/// By which functions columns are encrypted, and the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Columns {
    functions: ColumnFunctions,
    key: ColumnKey,
}

/// The key of AES-128; it is in this process and in sessions alone.
#[derive(Clone, Copy, PartialEq, Eq)]
struct ColumnKey([u8; 16]);

impl fmt::Debug for ColumnKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ColumnKey(…)")
    }
}

impl Columns {
    /// By a new key.
    pub fn new(functions: ColumnFunctions) -> Self {
        Self {
            functions,
            key: ColumnKey(rand::rng().random()),
        }
    }

    /// The functions.
    pub fn functions(&self) -> ColumnFunctions {
        self.functions
    }

    /// What stands around a value to have it encrypted.
    pub(crate) fn around_value(&self) -> [&'static str; 2] {
        match self.functions {
            ColumnFunctions::AesEncrypt => ["AES_ENCRYPT(", ", @ciphertax_key)"],
            ColumnFunctions::Pgcrypto => [
                "encrypt(convert_to(",
                ", 'UTF8'), current_setting('ciphertax.key')::bytea, 'aes')",
            ],
        }
    }

    /// The text of an encrypted column.
    pub(crate) fn decrypted(&self, column: &str) -> String {
        match self.functions {
            ColumnFunctions::AesEncrypt => format!("AES_DECRYPT({column}, @ciphertax_key)"),
            ColumnFunctions::Pgcrypto => format!(
                "convert_from(decrypt({column}, current_setting('ciphertax.key')::bytea, 'aes'), 'UTF8')"
            ),
        }
    }

    /// An encrypted column as it lies there, printable or not.
    pub(crate) fn as_it_lies(&self, column: &str) -> String {
        match self.functions {
            ColumnFunctions::AesEncrypt => column.to_owned(),
            ColumnFunctions::Pgcrypto => format!("encode({column}, 'escape')"),
        }
    }

    /// The type of an encrypted column for a text of so many bytes.
    pub(crate) fn column_type(&self, length: usize) -> &'static str {
        /// The longest text that AES pads to no more than a BLOB holds.
        const LONGEST_IN_BLOB: usize = 65_519;
        match self.functions {
            ColumnFunctions::AesEncrypt if length <= LONGEST_IN_BLOB => "BLOB",
            ColumnFunctions::AesEncrypt => "MEDIUMBLOB",
            ColumnFunctions::Pgcrypto => "BYTEA",
        }
    }

    /// What makes the functions available in ciphertax's schema; `None` where they always are.
    pub(crate) fn installation(&self) -> Option<String> {
        match self.functions {
            ColumnFunctions::AesEncrypt => None,
            ColumnFunctions::Pgcrypto => Some(format!(
                "CREATE EXTENSION IF NOT EXISTS pgcrypto SCHEMA {}",
                SCHEMA.quoted()
            )),
        }
    }

    /// What brings a table of ciphertax's schema to the disk.
    pub(crate) fn flush(&self, table: &str) -> Vec<String> {
        match self.functions {
            ColumnFunctions::AesEncrypt => vec![
                format!("FLUSH TABLES {table} FOR EXPORT"),
                "UNLOCK TABLES".to_owned(),
            ],
            ColumnFunctions::Pgcrypto => vec!["CHECKPOINT".to_owned()],
        }
    }

    /// Gives a session the key.
    pub(crate) async fn begin<S: SqlSession>(&self, session: &mut S) -> Result<(), WireError> {
        let (sql, before) = match self.functions {
            ColumnFunctions::AesEncrypt => ("SET @ciphertax_key = UNHEX(?)", ""),
            ColumnFunctions::Pgcrypto => ("SELECT set_config('ciphertax.key', ?, false)", "\\x"),
        };
        let mut key = before.to_owned();
        for byte in self.key.0 {
            key.push_str(&format!("{byte:02x}"));
        }
        let sql = S::DIALECT.prepared(sql);
        let mut set = session.prepare(&sql, &[Parameter::VariableText]).await?;
        set.set_text(0, key.as_bytes())?;
        session.execute(&mut set).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_another_each_time_and_is_never_printed() {
        let (one, other) = (
            Columns::new(ColumnFunctions::AesEncrypt),
            Columns::new(ColumnFunctions::AesEncrypt),
        );
        assert_ne!(one, other);
        assert_eq!(format!("{one:?}"), format!("{other:?}"));
    }
}

//! What of a server's data is encrypted on the disk, and at which layer.

use std::fmt;
use std::ops::RangeInclusive;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::all;
use crate::storage::SqlCipher;

/// What an arm's private server encrypts on the disk. Every part stands for itself, so that each can be measured alone and
/// together with others. Arms that differ in it have servers of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AtRest {
    /// Tables, and what belongs to their pages: on MariaDB the system tablespace and the undo log too, on MySQL general
    /// tablespaces and the doublewrite files.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub tables: bool,
    /// The redo log.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub redo_log: bool,
    /// MySQL: the undo log. MariaDB encrypts it with the tables.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub undo_log: bool,
    /// The binary log; on MySQL also what a transaction has written for it so far.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub binary_log: bool,
    /// MariaDB: temporary files and tables.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub temporary: bool,
    /// MariaDB: tables of the engine Aria, the system tables among them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub aria: bool,
    /// MySQL: the general tablespace of the system tables, `mysql.ibd`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub system_tables: bool,
    /// MariaDB: the cipher; `None` for the server's default, AES-CBC. MySQL has no choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub algorithm: Option<AtRestAlgorithm>,
    /// MariaDB: background threads that look for pages to encrypt or to encrypt anew (`innodb_encryption_threads`). With
    /// none, nothing of that is measured.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub encryption_threads: u8,
    /// The functions by which the server encrypts the fields of YCSB's table, in the statements that write and read them;
    /// `None` for plain fields.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub columns: Option<ColumnFunctions>,
    /// SQLite: the whole file, by SQLCipher; `None` for a file in plaintext.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sqlcipher: Option<SqlCipher>,
    /// The file system that the server's folder lies on; `None` for the disk's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_system: Option<FileSystem>,
}

impl AtRest {
    /// How many background threads there may be.
    pub const ENCRYPTION_THREADS: RangeInclusive<u8> = 0..=16;

    /// True when nothing is asked for.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// True for a part that the server encrypts.
    pub fn encrypts(mut self, part: AtRestPart) -> bool {
        *self.flag(part)
    }

    fn flag(&mut self, part: AtRestPart) -> &mut bool {
        match part {
            AtRestPart::Tables => &mut self.tables,
            AtRestPart::RedoLog => &mut self.redo_log,
            AtRestPart::UndoLog => &mut self.undo_log,
            AtRestPart::BinaryLog => &mut self.binary_log,
            AtRestPart::Temporary => &mut self.temporary,
            AtRestPart::Aria => &mut self.aria,
            AtRestPart::SystemTables => &mut self.system_tables,
        }
    }

    /// The parts that the server encrypts by itself.
    pub fn parts(&self) -> impl Iterator<Item = AtRestPart> {
        AtRestPart::ALL.into_iter().filter(|part| self.encrypts(*part))
    }

    /// The same with plain columns: what the server's files and what they lie on have to do with.
    #[must_use]
    pub fn beside_columns(self) -> Self {
        Self {
            columns: None,
            ..self
        }
    }

    /// True if something lies on the disk encrypted, at whichever layer.
    pub fn is_encrypted(&self) -> bool {
        self.columns.is_some() || self.encrypts_pages()
    }

    /// True if pages are encrypted where they leave the server's memory, and decrypted where they enter it.
    pub fn encrypts_pages(&self) -> bool {
        self.parts().next().is_some()
            || self.sqlcipher.is_some()
            || self.file_system.is_some_and(FileSystem::is_encrypted)
    }
}

impl FromIterator<AtRestPart> for AtRest {
    fn from_iter<I: IntoIterator<Item = AtRestPart>>(parts: I) -> Self {
        let mut at_rest = Self::default();
        parts.into_iter().for_each(|part| *at_rest.flag(part) = true);
        at_rest
    }
}

/// `tables, redo_log by AES-CTR, on fscrypt`; `plaintext` where nothing is asked for.
impl fmt::Display for AtRest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<&str> = self.parts().map(AtRestPart::name).collect();
        let algorithm = self.algorithm.map(|algorithm| format!(" by {algorithm}"));
        let threads = match self.encryption_threads {
            0 => String::new(),
            1 => " with 1 thread".into(),
            threads => format!(" with {threads} threads"),
        };
        let of_server = format!("{}{}{threads}", parts.join(", "), algorithm.unwrap_or_default());
        let words: Vec<String> = [
            self.sqlcipher.map(|sqlcipher| sqlcipher.to_string()),
            Some(of_server).filter(|words| !words.is_empty()),
            self.columns.map(|columns| format!("columns by {columns}")),
            self.file_system.map(|file_system| format!("on {file_system}")),
        ]
        .into_iter()
        .flatten()
        .collect();
        match words.is_empty() {
            true => f.write_str("plaintext"),
            false => f.write_str(&words.join(", ")),
        }
    }
}

/// A part of a server's files that it can encrypt by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::Display, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum AtRestPart {
    /// See [`AtRest::tables`].
    Tables,
    /// See [`AtRest::redo_log`].
    RedoLog,
    /// See [`AtRest::undo_log`].
    UndoLog,
    /// See [`AtRest::binary_log`].
    BinaryLog,
    /// See [`AtRest::temporary`].
    Temporary,
    /// See [`AtRest::aria`].
    Aria,
    /// See [`AtRest::system_tables`].
    SystemTables,
}

impl AtRestPart {
    /// Every part, in the order help texts list them.
    pub const ALL: [Self; 7] = all();

    /// The name used in study files.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// How a server encrypts what it writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING-KEBAB-CASE")]
#[derive(strum::Display, strum::IntoStaticStr)]
#[strum(serialize_all = "SCREAMING-KEBAB-CASE")]
pub enum AtRestAlgorithm {
    /// AES in CBC mode.
    AesCbc,
    /// AES in counter mode.
    AesCtr,
}

/// Functions of a server by which columns are encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[derive(strum::Display, strum::EnumString, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum ColumnFunctions {
    /// MySQL's family: `AES_ENCRYPT()` and `AES_DECRYPT()`, by AES-128-ECB.
    AesEncrypt,
    /// PostgreSQL: `encrypt()` and `decrypt()` of the extension pgcrypto, by AES-128-CBC.
    Pgcrypto,
}

impl ColumnFunctions {
    /// The name used in study files.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The file system of a server's folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[derive(strum::Display, strum::EnumString, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum FileSystem {
    /// ext4 in an image file, without encryption: what `fscrypt` is to be compared with. Needs root.
    Ext4,
    /// ext4 in an image file, with its own encryption (AES-256-XTS). Needs root.
    Fscrypt,
    /// That of the machine, by a bind mount; for an ordinary user the folder as it is. What `gocryptfs` is to be compared
    /// with, besides `ext4`: there is none that does not encrypt.
    Bind,
    /// gocryptfs, a file system in user space (AES-256-GCM).
    Gocryptfs,
}

impl FileSystem {
    /// Every one, in the order help texts list them.
    pub const ALL: [Self; 4] = all();

    /// The name used in study files.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// True if neither what is in files nor their names can be read on the disk.
    pub fn is_encrypted(self) -> bool {
        !matches!(self, Self::Ext4 | Self::Bind)
    }

    /// True if it lies in an image file, whose size it is given beforehand.
    pub fn is_in_an_image(self) -> bool {
        matches!(self, Self::Ext4 | Self::Fscrypt)
    }

    /// True if a daemon (FUSE) reads and writes the disk in place of who uses its files.
    pub fn is_in_user_space(self) -> bool {
        self == Self::Gocryptfs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_added_one_by_one_and_said_by_their_names() {
        assert_eq!(AtRest::default().to_string(), "plaintext");
        for part in AtRestPart::ALL {
            let only = AtRest::from_iter([part]);
            assert_eq!(only.parts().collect::<Vec<_>>(), [part]);
            assert_eq!(only.to_string(), part.name());
            assert!(only.is_encrypted());
        }
        let all = AtRest::from_iter(AtRestPart::ALL);
        assert_eq!(all.parts().count(), AtRestPart::ALL.len());
    }

    #[test]
    fn a_file_system_that_does_not_encrypt_protects_nothing() {
        let on = |file_system| AtRest {
            file_system: Some(file_system),
            ..AtRest::default()
        };
        assert!(!on(FileSystem::Ext4).is_encrypted() && !on(FileSystem::Bind).is_encrypted());
        assert!(on(FileSystem::Fscrypt).is_encrypted());
        assert_eq!(on(FileSystem::Gocryptfs).to_string(), "on gocryptfs");
    }

    #[test]
    fn encrypted_columns_are_encrypted_in_memory_too() {
        let columns = AtRest {
            columns: Some(ColumnFunctions::AesEncrypt),
            ..AtRest::default()
        };
        assert!(columns.is_encrypted() && !columns.encrypts_pages());
        assert_eq!(columns.to_string(), "columns by aes_encrypt");
    }
}

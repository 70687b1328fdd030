//! How much of its data a private server keeps in memory, and how it writes the rest: what decides about the cost of
//! encryption at rest; and SQLCipher's settings.

use std::fmt;
use std::ops::RangeInclusive;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Memory and writing of a private server.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(deny_unknown_fields, default)]
pub struct Storage {
    /// Memory for data and indexes in megabytes: the buffer pool, the cache of WiredTiger, the shared buffers; on SQLite the
    /// cache of pages of each connection, which shares it with no other. `None` for 256 MB, on MongoDB for 1024.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_mb: Option<u32>,
    /// MySQL's family: how data files are written (`innodb_flush_method`); `None` for the server's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flush: Option<FlushMethod>,
    /// MySQL's family: when the redo log is written and flushed (`innodb_flush_log_at_trx_commit`): 0 for both once a
    /// second, 1 for both at every commit, 2 for writing at every commit. `None` for 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flush_log_at_trx_commit: Option<u8>,
    /// MySQL's family: whether the server writes a binary log.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub binary_log: bool,
    /// MySQL's family: after how many commits the binary log is flushed (`sync_binlog`), 0 for never; `None` for the
    /// server's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sync_binlog: Option<u32>,
    /// MySQL's family: whether pages are written twice, so that half a page can be mended (`innodb_doublewrite`); `None`
    /// for the server's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doublewrite: Option<bool>,
}

impl Storage {
    /// How much memory there may be, in megabytes.
    pub const MEMORY_MB: RangeInclusive<u32> = 8..=1_048_576;
    /// What `flush_log_at_trx_commit` may be.
    pub const FLUSH_LOG_AT_TRX_COMMIT: RangeInclusive<u8> = 0..=2;
    /// What `sync_binlog` may be.
    pub const SYNC_BINLOG: RangeInclusive<u32> = 0..=1_000_000;

    /// True when nothing is asked for.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// The settings that are asked for, as study files name them.
    pub fn named(&self) -> impl Iterator<Item = &'static str> {
        let named = [
            (self.memory_mb.is_some(), "memory_mb"),
            (self.flush.is_some(), "flush"),
            (self.flush_log_at_trx_commit.is_some(), "flush_log_at_trx_commit"),
            (self.binary_log, "binary_log"),
            (self.sync_binlog.is_some(), "sync_binlog"),
            (self.doublewrite.is_some(), "doublewrite"),
        ];
        named
            .into_iter()
            .filter_map(|(is_asked, name)| is_asked.then_some(name))
    }
}

/// `memory_mb = 64, flush = direct, binary_log`: what is asked for, by the names of study files.
impl fmt::Display for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |name, number: u32| format!("{name} = {number}");
        let words: Vec<String> = [
            self.memory_mb.map(|mb| number("memory_mb", mb)),
            self.flush.map(|flush| format!("flush = {flush}")),
            self.flush_log_at_trx_commit
                .map(|when| number("flush_log_at_trx_commit", when.into())),
            self.binary_log.then(|| "binary_log".to_owned()),
            self.sync_binlog.map(|commits| number("sync_binlog", commits)),
            self.doublewrite.map(|on| format!("doublewrite = {on}")),
        ]
        .into_iter()
        .flatten()
        .collect();
        f.write_str(&words.join(", "))
    }
}

/// How data files are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[derive(strum::Display, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum FlushMethod {
    /// Past the page cache of the system (`O_DIRECT`): what is not in the server's memory is read from the disk.
    Direct,
    /// Through the page cache (`fsync`), which keeps what the server's own memory has no room for.
    Buffered,
}

/// SQLCipher's settings (AES-256 in CBC mode, a page at a time), by its own names. What is left out is as its release 4 has
/// it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SqlCipher {
    /// Rounds by which the key is derived from the passphrase when a database is opened (PBKDF2-HMAC-SHA512).
    pub kdf_iter: u32,
    /// Bytes of a page, what SQLCipher keeps of it for itself included (`cipher_page_size`): a power of two.
    pub page_size: u32,
    /// Whether every page is authenticated (HMAC-SHA512, `cipher_use_hmac`). Of each, 80 bytes are reserved either way.
    pub hmac: bool,
    /// Whether memory is kept from being swapped and is wiped before it is freed (`cipher_memory_security`). It is so for
    /// the whole process, and cannot be taken back: all arms of a study have it, or none. What the process may not lock
    /// (`RLIMIT_MEMLOCK`) stays unlocked, and SQLCipher does not say so.
    pub memory_security: bool,
}

impl SqlCipher {
    /// How many rounds there may be.
    pub const KDF_ITER: RangeInclusive<u32> = 1..=10_000_000;
    /// How many bytes a page may have; only powers of two. Of one with 512 bytes SQLCipher leaves SQLite fewer than it needs.
    pub const PAGE_SIZE: RangeInclusive<u32> = 1024..=65_536;
}

/// That of SQLCipher 4.
impl Default for SqlCipher {
    fn default() -> Self {
        Self {
            kdf_iter: 256_000,
            page_size: 4096,
            hmac: true,
            memory_security: false,
        }
    }
}

/// `SQLCipher, kdf_iter = 4000, without HMAC`: what differs from its defaults.
impl fmt::Display for SqlCipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let usual = Self::default();
        f.write_str("SQLCipher")?;
        if self.kdf_iter != usual.kdf_iter {
            write!(f, ", kdf_iter = {}", self.kdf_iter)?;
        }
        if self.page_size != usual.page_size {
            write!(f, ", page_size = {}", self.page_size)?;
        }
        if !self.hmac {
            f.write_str(", without HMAC")?;
        }
        if self.memory_security {
            f.write_str(", with memory_security")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_is_named_and_said() {
        assert_eq!(Storage::default().to_string(), "");
        let all = Storage {
            memory_mb: Some(64),
            flush: Some(FlushMethod::Direct),
            flush_log_at_trx_commit: Some(1),
            binary_log: true,
            sync_binlog: Some(0),
            doublewrite: Some(false),
        };
        assert_eq!(
            all.to_string(),
            "memory_mb = 64, flush = direct, flush_log_at_trx_commit = 1, binary_log, sync_binlog = 0, doublewrite = false"
        );
        for name in all.named() {
            assert!(all.to_string().contains(name), "{name}");
        }
        assert_eq!(all.named().count(), 6);
    }

    #[test]
    fn what_differs_from_the_defaults_is_said() {
        assert_eq!(SqlCipher::default().to_string(), "SQLCipher");
        let other = SqlCipher {
            kdf_iter: 4000,
            page_size: 8192,
            hmac: false,
            memory_security: true,
        };
        assert_eq!(
            other.to_string(),
            "SQLCipher, kdf_iter = 4000, page_size = 8192, without HMAC, with memory_security"
        );
    }
}

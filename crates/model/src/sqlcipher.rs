//! How SQLCipher encrypts the file of an SQLite database.

use std::fmt;
use std::ops::RangeInclusive;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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

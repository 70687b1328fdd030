//! What SQLite and SQLCipher say of an open file.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::ptr;

use ciphertax_model::SqlCipher;
use rusqlite::ffi;

use super::connect::ConnectOptions;
use super::session::Session;
use crate::error::{Result, WireError};

/// What SQLite and SQLCipher say of an open file, by the names of their pragmas; and what of each page is reserved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status(BTreeMap<&'static str, String>);

/// Pragmas of SQLite that say how a file is read and written.
const OF_SQLITE: [&str; 5] = [
    "journal_mode",
    "synchronous",
    "page_size",
    "cache_size",
    "temp_store",
];
/// Those of SQLCipher that have a value also where there is no key.
const OF_SQLCIPHER: [&str; 3] = ["cipher_status", "cipher_version", "cipher_memory_security"];
/// Those that have one only for an encrypted file.
const OF_ENCRYPTED: [&str; 7] = [
    "cipher_provider",
    "cipher_provider_version",
    "kdf_iter",
    "cipher_page_size",
    "cipher_use_hmac",
    "cipher_hmac_algorithm",
    "cipher_kdf_algorithm",
];

/// By SQLite's name for it in a file's header.
const RESERVED: &str = "reserved_bytes_per_page";

impl Status {
    /// The value of a pragma; empty where it has none.
    pub fn value(&self, pragma: &str) -> &str {
        self.0.get(pragma).map_or("", String::as_str)
    }

    /// Those that have one, as `name=value`.
    pub fn words(&self) -> Vec<String> {
        let named = self.0.iter().filter(|(_, value)| !value.is_empty());
        named.map(|(name, value)| format!("{name}={value}")).collect()
    }

    /// What of it contradicts how the file was to be opened.
    ///
    /// # Errors
    /// Says what was expected and what is.
    pub fn check(&self, options: &ConnectOptions) -> Result<(), String> {
        let flag = |on: bool| if on { "1" } else { "0" }.to_owned();
        let mut expected = vec![
            ("journal_mode", "wal".to_owned()),
            // NORMAL
            ("synchronous", "1".to_owned()),
            ("cache_size", format!("-{}", options.cache_kib())),
            ("cipher_status", flag(options.cipher().is_some())),
        ];
        if let Some(cipher) = options.cipher() {
            let SqlCipher {
                kdf_iter,
                page_size,
                hmac,
                memory_security,
            } = cipher.settings;
            expected.extend([
                ("kdf_iter", kdf_iter.to_string()),
                ("cipher_page_size", page_size.to_string()),
                ("cipher_use_hmac", flag(hmac)),
                ("cipher_memory_security", flag(memory_security)),
            ]);
        }
        match expected
            .iter()
            .find(|(pragma, value)| self.value(pragma) != value)
        {
            None => Ok(()),
            Some((pragma, value)) => Err(format!(
                "SQLite says {pragma} = {:?}; expected {value:?}",
                self.value(pragma)
            )),
        }
    }
}

impl Session {
    /// What SQLite and SQLCipher say of the file.
    ///
    /// # Errors
    /// SQLite's own.
    pub fn status(&mut self) -> Result<Status> {
        let mut status = BTreeMap::new();
        for pragma in OF_SQLITE.into_iter().chain(OF_SQLCIPHER).chain(OF_ENCRYPTED) {
            let rows = self.query(&format!("PRAGMA {pragma}"))?;
            status.insert(pragma, rows.first().map(|row| row.text(0)).unwrap_or_default());
        }
        status.insert(RESERVED, self.reserved_bytes()?.to_string());
        Ok(Status(status))
    }

    /// Bytes at the end of every page that SQLite has none of: for SQLCipher's initialization vector and its HMAC.
    fn reserved_bytes(&self) -> Result<c_int> {
        // Less than none asks, and sets nothing.
        let mut bytes: c_int = -1;
        let operation = ffi::SQLITE_FCNTL_RESERVE_BYTES;
        // SAFETY: the connection is open, no name means its main database, and SQLite reads and writes one int.
        let code = unsafe {
            let handle = self.connection()?.handle();
            ffi::sqlite3_file_control(handle, ptr::null(), operation, (&raw mut bytes).cast())
        };
        match code {
            ffi::SQLITE_OK => Ok(bytes),
            code => Err(WireError::Sqlite {
                code,
                message: "it does not say how many bytes of a page are reserved".into(),
            }),
        }
    }
}

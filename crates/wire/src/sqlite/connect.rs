//! From a file and how it is opened to a session that can be asked.

use std::ffi::c_int;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use ciphertax_base::{ConnectTrace, Phase, Secret};
use ciphertax_model::SqlCipher;
use rusqlite::{Connection, OpenFlags, ffi};

use super::session::{Session, refused};
use super::{BUSY, SCHEMA};
use crate::error::{Result, WireError};
use crate::trace::{Tracer, Traffic, thread_cpu_ns};

/// The file, and no mutex around each session: it is of one thread.
const FLAGS: OpenFlags = OpenFlags::SQLITE_OPEN_READ_WRITE.union(OpenFlags::SQLITE_OPEN_NO_MUTEX);

impl Session {
    /// Opens a file that is there. The trace tells what each phase took: `open`, `key_derivation` with the first page that
    /// is read by the key, where there is one, and `setup`.
    ///
    /// # Errors
    /// SQLite's own: for a wrong key that the file is no database.
    pub fn open(options: &ConnectOptions) -> Result<(Self, ConnectTrace)> {
        open_with(options, FLAGS)
    }

    /// Makes the file, which is not there yet, in WAL mode.
    ///
    /// # Errors
    /// SQLite's own.
    pub fn create(options: &ConnectOptions) -> Result<Self> {
        let (session, _) = open_with(options, FLAGS | OpenFlags::SQLITE_OPEN_CREATE)?;
        session.batch("PRAGMA journal_mode = WAL")?;
        Ok(session)
    }
}

fn open_with(options: &ConnectOptions, flags: OpenFlags) -> Result<(Session, ConnectTrace)> {
    let mut tracer = Tracer::start();
    let connection = Connection::open_with_flags(options.path(), flags).map_err(refused)?;
    connection.busy_timeout(BUSY).map_err(refused)?;
    tracer.end(Phase::Open, Traffic::default(), None);
    if let Some(unlock) = &options.unlock {
        let began = thread_cpu_ns();
        connection.execute_batch(unlock.expose()).map_err(refused)?;
        read_first_page(&connection)?;
        let cpu_ns = thread_cpu_ns() - began;
        tracer.end(Phase::KeyDerivation, Traffic::default(), Some(cpu_ns));
    }
    connection.execute_batch(&options.settings).map_err(refused)?;
    name(&connection)?;
    tracer.end(Phase::Setup, Traffic::default(), None);
    Ok((Session::new(connection), tracer.finish()))
}

/// The key is derived when it is needed first.
fn read_first_page(connection: &Connection) -> Result<()> {
    connection
        .query_row("PRAGMA schema_version", (), |_| Ok(()))
        .map_err(refused)
}

/// Has statements know the database by the name of the schema that ciphertax has on servers.
fn name(connection: &Connection) -> Result<()> {
    const NAME: &std::ffi::CStr = c"ciphertax";
    debug_assert_eq!(NAME.to_str(), Ok(SCHEMA));
    // SAFETY: the connection is open, and the name lives for ever, which SQLite asks of it.
    let code: c_int = unsafe {
        ffi::sqlite3_db_config(
            connection.handle(),
            ffi::SQLITE_DBCONFIG_MAINDBNAME,
            NAME.as_ptr(),
        )
    };
    match code {
        ffi::SQLITE_OK => Ok(()),
        code => Err(WireError::Sqlite {
            code,
            message: "the database cannot be named".into(),
        }),
    }
}

/// Which file is opened, and how. What is said to SQLite is written once, and not for every session.
#[derive(Debug, Clone)]
pub struct ConnectOptions {
    path: PathBuf,
    cipher: Option<Cipher>,
    cache_kib: u32,
    /// What gives the key; `None` for a file in plaintext.
    pub(super) unlock: Option<Secret>,
    /// What is said once the file can be read.
    pub(super) settings: String,
}

/// How a file is encrypted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cipher {
    /// The passphrase that its key is derived from.
    pub passphrase: Secret,
    /// SQLCipher's settings.
    pub settings: SqlCipher,
}

impl ConnectOptions {
    /// A file, as it is or encrypted, of whose pages each session keeps so many KiB in memory.
    pub fn new(path: &Path, cipher: Option<Cipher>, cache_kib: u32) -> Self {
        Self {
            path: path.to_owned(),
            unlock: cipher.as_ref().map(unlock),
            settings: format!("PRAGMA cache_size = -{cache_kib}; PRAGMA synchronous = NORMAL"),
            cipher,
            cache_kib,
        }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How it is encrypted; `None` for a file in plaintext.
    pub fn cipher(&self) -> Option<&Cipher> {
        self.cipher.as_ref()
    }

    /// Memory for pages of each session, in KiB.
    pub fn cache_kib(&self) -> u32 {
        self.cache_kib
    }

    /// Another file in the same way.
    #[must_use]
    pub fn at(&self, path: &Path) -> Self {
        Self::new(path, self.cipher.clone(), self.cache_kib)
    }

    /// The same with a passphrase that the file must refuse; `None` for a file in plaintext.
    pub fn with_wrong_passphrase(&self) -> Option<Self> {
        let cipher = self.cipher.as_ref()?;
        let wrong = Cipher {
            passphrase: Secret::new(format!("not{}", cipher.passphrase.expose())),
            ..cipher.clone()
        };
        Some(Self::new(&self.path, Some(wrong), self.cache_kib))
    }

    /// The same without a passphrase, as whoever finds the file would open it.
    #[must_use]
    pub fn without_passphrase(&self) -> Self {
        Self::new(&self.path, None, self.cache_kib)
    }
}

fn unlock(cipher: &Cipher) -> Secret {
    let SqlCipher {
        kdf_iter,
        page_size,
        hmac,
        memory_security,
    } = cipher.settings;
    let passphrase = cipher.passphrase.expose().replace('\'', "''");
    // It would write to standard error what it gives back as an error too.
    let mut sql = format!(
        "PRAGMA cipher_log_level = NONE; PRAGMA key = '{passphrase}'; PRAGMA cipher_page_size = {page_size}; PRAGMA kdf_iter = {kdf_iter}; \
         PRAGMA cipher_use_hmac = {hmac}"
    );
    if memory_security {
        // Writing to a text cannot fail.
        let _ = write!(sql, "; PRAGMA cipher_memory_security = ON");
    }
    Secret::new(sql)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_passphrase_is_shown() {
        let cipher = Cipher {
            passphrase: Secret::new("correct horse"),
            settings: SqlCipher::default(),
        };
        let options = ConnectOptions::new(Path::new("/tmp/file"), Some(cipher), 1024);
        let wrong = options.with_wrong_passphrase().unwrap();
        for shown in [format!("{options:?}"), format!("{wrong:?}")] {
            let holds = shown.contains("/tmp/file") && !shown.contains("correct");
            assert!(holds, "{shown}");
        }
    }

    #[test]
    fn a_passphrase_cannot_end_its_quotes() {
        let cipher = Cipher {
            passphrase: Secret::new("a'; DROP"),
            settings: SqlCipher::default(),
        };
        assert!(unlock(&cipher).expose().contains("PRAGMA key = 'a''; DROP'; "));
    }
}

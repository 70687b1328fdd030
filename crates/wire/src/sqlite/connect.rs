//! From a file to a session that can be asked.

use std::ffi::c_int;

use ciphertax_records::{ConnectTrace, Phase};
use rusqlite::{Connection, OpenFlags, ffi};

use super::error::refused;
use super::options::ConnectOptions;
use super::session::Session;
use super::{BUSY, SCHEMA};
use crate::error::WireError;
use crate::trace::{Tracer, Traffic, thread_cpu_ns};

/// The file, and no mutex around each session: it is of one thread.
const FLAGS: OpenFlags = OpenFlags::SQLITE_OPEN_READ_WRITE.union(OpenFlags::SQLITE_OPEN_NO_MUTEX);

impl Session {
    /// Opens a file that is there. The trace tells what each phase took: `open`, `key_derivation` with the first page that
    /// is read by the key, where there is one, and `setup`.
    ///
    /// # Errors
    /// SQLite's own: for a wrong key that the file is no database.
    pub fn open(options: &ConnectOptions) -> Result<(Self, ConnectTrace), WireError> {
        open(options, FLAGS)
    }

    /// Makes the file, which is not there yet, in WAL mode.
    ///
    /// # Errors
    /// SQLite's own.
    pub fn create(options: &ConnectOptions) -> Result<Self, WireError> {
        let (session, _) = open(options, FLAGS | OpenFlags::SQLITE_OPEN_CREATE)?;
        session.batch("PRAGMA journal_mode = WAL")?;
        Ok(session)
    }
}

fn open(options: &ConnectOptions, flags: OpenFlags) -> Result<(Session, ConnectTrace), WireError> {
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
fn read_first_page(connection: &Connection) -> Result<(), WireError> {
    connection
        .query_row("PRAGMA schema_version", (), |_| Ok(()))
        .map_err(refused)
}

/// Has statements know the database by the name of the schema that ciphertax has on servers.
fn name(connection: &Connection) -> Result<(), WireError> {
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

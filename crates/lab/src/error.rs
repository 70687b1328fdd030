//! What can go wrong, each with its remedy.

use std::io;
use std::path::{Path, PathBuf};

use crate::tunnel::TunnelError;

/// Result of everything in this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why something in the lab did not work. Every message is one sentence that names the thing and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No server program on this machine.
    #[error(
        "MariaDB is not installed: found no mariadbd in {searched}; run `scripts/setup.sh demo`, or install the \
         package mariadb-server-core"
    )]
    NotInstalled {
        /// Where it was looked for.
        searched: String,
    },
    /// A server program without the files it needs.
    #[error("{program} lacks its {missing}; install the package mariadb-server-core again")]
    Incomplete {
        /// The server program.
        program: PathBuf,
        /// What is not there.
        missing: String,
    },
    /// The private folder cannot be made.
    #[error("cannot make a private folder in {parent}: {cause}; set TMPDIR to a folder you may write to")]
    Folder {
        /// Where it should have been.
        parent: PathBuf,
        /// The system's word.
        cause: io::Error,
    },
    /// The path of the server's socket would be longer than the system allows.
    #[error(
        "the path {parent} is too long for a Unix socket in it; set TMPDIR to a shorter one, for example /tmp"
    )]
    PathTooLong {
        /// The folder for temporary files.
        parent: PathBuf,
    },
    /// Not enough space for a server.
    #[error(
        "the disk is full: {folder} has {free_mb} MB free and {needed_mb} MB are needed; make room, or \
         set TMPDIR to a folder on another disk"
    )]
    DiskFull {
        /// The folder for temporary files.
        folder: PathBuf,
        /// What is free, in megabytes.
        free_mb: u64,
        /// What is needed, in megabytes.
        needed_mb: u64,
    },
    /// A file cannot be written.
    #[error("cannot write {path}: {cause}")]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's word.
        cause: io::Error,
    },
    /// A file cannot be read.
    #[error("cannot read {path}: {cause}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's word.
        cause: io::Error,
    },
    /// A program cannot be started.
    #[error("cannot start {program}: {cause}")]
    Spawn {
        /// The program.
        program: PathBuf,
        /// The system's word.
        cause: io::Error,
    },
    /// The process that cleans up after us does not work, so no server is started.
    #[error("the guard process that removes the private server {problem}; no server is started without it")]
    Guard {
        /// What it did.
        problem: String,
    },
    /// The system tables could not be made.
    #[error("the private MariaDB could not make its system tables; it says: {log}")]
    Bootstrap {
        /// Last lines of its log.
        log: String,
    },
    /// The server ended before it was ready.
    #[error("the private MariaDB ended while it started; it says: {log}")]
    EndedEarly {
        /// Last lines of its log.
        log: String,
    },
    /// The server did not become ready.
    #[error("the private MariaDB was not ready after {seconds} s; it says: {log}")]
    NotReady {
        /// How long it was waited for.
        seconds: u64,
        /// Last lines of its log.
        log: String,
    },
    /// Every port tried was taken by someone else.
    #[error("found no free port between {low} and {high} on 127.0.0.1; end what listens there")]
    NoPort {
        /// Lowest port tried.
        low: u16,
        /// Highest port tried.
        high: u16,
    },
    /// Something was left behind.
    #[error("the private server's folder {folder} could not be removed: {problem}; remove it by hand")]
    LeftBehind {
        /// The folder.
        folder: PathBuf,
        /// Why.
        problem: String,
    },
    /// A tunnel.
    #[error(transparent)]
    Tunnel(#[from] TunnelError),
    /// OpenSSL could not make a key or a certificate.
    #[error("cannot make a certificate: {0}")]
    Certificate(#[from] openssl::error::ErrorStack),
    /// The relay cannot listen.
    #[error("cannot listen on 127.0.0.1 for a relay to {target}: {cause}")]
    Relay {
        /// Where it leads.
        target: std::net::SocketAddr,
        /// The system's word.
        cause: io::Error,
    },
    /// The relay saw more than it can keep, so it cannot say that something was absent.
    #[error("the relay saw more than {limit_mb} MB and cannot say what was not in it; send less through it")]
    RelayFull {
        /// What it can keep, in megabytes.
        limit_mb: usize,
    },
    /// There is no link.
    #[error(transparent)]
    Link(#[from] crate::link::LinkError),
}

impl Error {
    /// For `map_err` after writing `path`.
    pub(crate) fn write(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |cause| Self::Write { path, cause }
    }

    /// For `map_err` after reading `path`.
    pub(crate) fn read(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |cause| Self::Read { path, cause }
    }
}

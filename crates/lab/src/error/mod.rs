//! Errors, each with its remedy.

pub(crate) mod path;

use std::io;
use std::path::{Path, PathBuf};

use ciphertax_model::AuthenticationMethod;
use ciphertax_supervise::free_mb;

use crate::catalogue::entry::Product;
use crate::error::path::{HelperError, LinkError, TunnelError};
use crate::file_system::error::FileSystemError;

/// Result of everything in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why something in the lab did not work. Every message is one sentence that names the thing and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server is not on this machine.
    #[error("{server} is not installed (looked in {searched}); run `ciphertax servers install {server}`")]
    NotInstalled {
        /// Its name in the catalogue.
        server: &'static str,
        /// Where it was looked for.
        searched: String,
    },
    /// The server of this name is a part of ciphertax.
    #[error("{0} is built into ciphertax; there is nothing to install")]
    BuiltIn(&'static str),
    /// A server without the files it needs.
    #[error(
        "the installation of {server} in {folder} lacks its {missing}; run `ciphertax servers install {server}`, or \
         remove that folder first if it is in your cache"
    )]
    Incomplete {
        /// Its name in the catalogue.
        server: &'static str,
        /// Where it is.
        folder: PathBuf,
        /// What is not there.
        missing: String,
    },
    /// Something leads to one address, and the server has several.
    #[error(
        "{server} has {members} members here, each with an address of its own, and a tunnel, a pooler or a relay leads to one alone; \
         measure a single server"
    )]
    SeveralAddresses {
        /// Its name in the catalogue.
        server: &'static str,
        /// How many they are.
        members: usize,
    },
    /// A library of the system is missing.
    #[error(
        "{server} needs the library {library} of the system, which is not there; install the packages {packages}"
    )]
    NoLibrary {
        /// The server's name in the catalogue.
        server: &'static str,
        /// The library.
        library: String,
        /// Debian's packages of all that it needs.
        packages: &'static str,
    },
    /// A server without an authentication plugin.
    #[error(
        "the installed {server} has no library {plugin} for accounts of {method}; `ciphertax servers install {server}` \
         fetches one that has"
    )]
    NoPlugin {
        /// Its name in the catalogue.
        server: &'static str,
        /// The library.
        plugin: &'static str,
        /// What it is for.
        method: AuthenticationMethod,
    },
    /// A server without the library that has its keys.
    #[error(
        "the installed {server} has no library {plugin}, without which it encrypts nothing at rest; `ciphertax servers install \
         {from}` fetches it"
    )]
    NoKeyPlugin {
        /// Its name in the catalogue.
        server: &'static str,
        /// The library.
        plugin: &'static str,
        /// The server that comes with it.
        from: &'static str,
    },
    /// A server that cannot read its data, for want of their key.
    #[error(
        "{server} cannot open its encrypted data: its key is lost, or it is another; start the run anew, which makes new keys; \
         the server says: {log}"
    )]
    NoKey {
        /// Its name in the catalogue.
        server: &'static str,
        /// The last lines of its log.
        log: String,
    },
    /// The user of this number has no name in the operating system, so no account can be made for it.
    #[error(
        "the user {0} of this process has no name, so there is no account for unix_socket; run as another"
    )]
    Nameless(u32),
    /// There is no user left for servers that refuse to run as root.
    #[error(
        "{0} refuses to run as root, and every user number from 65520 to 65533 has a name here, so there is none \
         of its own; run as an ordinary user"
    )]
    NoUser(Product),
    /// There is no folder for what is to be kept.
    #[error("there is no folder to keep servers in; set HOME, or XDG_CACHE_HOME to an absolute path")]
    NoCache,
    /// A program that fetches servers is missing.
    #[error("{program} is not installed, and {server} is fetched with it; install the package {package}")]
    NoClient {
        /// The program.
        program: &'static str,
        /// Debian's package of it.
        package: &'static str,
        /// What was to be fetched.
        server: &'static str,
    },
    /// A program that fetches servers failed.
    #[error("{server} could not be installed: {program} failed; it says: {said}")]
    Client {
        /// The program.
        program: &'static str,
        /// What was to be installed.
        server: &'static str,
        /// The end of what it printed, in one line.
        said: String,
    },
    /// What was fetched is not what the catalogue describes.
    #[error("{server} was not installed: {artifact} is {found}, expected {expected}")]
    Unexpected {
        /// What was to be installed.
        server: &'static str,
        /// The file or package.
        artifact: String,
        /// What it is.
        found: String,
        /// What it should be.
        expected: String,
    },
    /// Not enough space to install a server.
    #[error(
        "{folder} has {free_mb} MB free and installing {server} needs {needed_mb} MB; make room, or set \
         XDG_CACHE_HOME to a folder on another disk"
    )]
    NoRoom {
        /// What was to be installed.
        server: &'static str,
        /// Where it was to be installed.
        folder: PathBuf,
        /// What is free, in megabytes.
        free_mb: u64,
        /// What is needed, in megabytes.
        needed_mb: u64,
    },
    /// An archive cannot be unpacked.
    #[error("{server} was not installed: {archive} cannot be unpacked: {problem}")]
    Archive {
        /// What was to be installed.
        server: &'static str,
        /// The file.
        archive: PathBuf,
        /// Why.
        problem: String,
    },
    /// There is no such build for this machine.
    #[error("{server} exists for x86-64 alone; this machine is {machine}")]
    Architecture {
        /// What was to be installed.
        server: &'static str,
        /// What the machine is.
        machine: &'static str,
    },
    /// The machine has no Debian mirror for the server of this name.
    #[error(
        "{0} is fetched from Debian's archive, and the package sources of this machine name none; run ciphertax \
         on Debian, or in a container of it"
    )]
    NoDebian(&'static str),
    /// The user has asked to stop.
    #[error("stopped; what was begun is removed")]
    Stopped,
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
    /// What a server or a tunnel runs in could not be made, kept or removed.
    #[error(transparent)]
    Supervise(#[from] ciphertax_supervise::Error),
    /// The disk filled up although it seemed to have room.
    #[error(
        "the disk is full: {server} found no space left in {folder} ({free_mb} MB are free there now); make room, or \
         set TMPDIR to a folder on another disk"
    )]
    DiskFilled {
        /// The server's name in the catalogue.
        server: &'static str,
        /// Its private folder.
        folder: PathBuf,
        /// What is free now, in megabytes.
        free_mb: u64,
    },
    /// The system tables could not be made; the last lines of the log say why.
    #[error("the private server could not make its system tables; it says: {0}")]
    Bootstrap(String),
    /// A program ended before it was ready.
    #[error("{program} ended while it started; it says: {log}")]
    Ended {
        /// What it is called.
        program: &'static str,
        /// Last lines of its log.
        log: String,
    },
    /// A program did not become ready.
    #[error("{program} was not ready after {seconds} s; it says: {log}")]
    NotReady {
        /// What it is called.
        program: &'static str,
        /// How long it was waited for.
        seconds: u64,
        /// Last lines of its log.
        log: String,
    },
    /// A replica set or an account could not be made, or a member did not do what it was asked.
    #[error("the private {server} did not do what it was asked: {problem}")]
    SetUp {
        /// Its name in the catalogue.
        server: &'static str,
        /// The server's word, or what it did not do.
        problem: String,
    },
    /// What travels between servers cannot be seen.
    #[error(
        "what travels between the servers cannot be captured: {0}; run as root, or give ciphertax the right: `setcap \
         cap_net_raw,cap_net_admin+ep`"
    )]
    Capture(#[source] io::Error),
    /// More travelled between servers than could be looked at.
    #[error(
        "not all that travels between the servers could be looked at, so nothing of it can be proved: this machine is too busy, or \
         they tell each other too much; measure when others leave it alone"
    )]
    MissedPackets,
    /// Every port tried was taken by someone else.
    #[error("found no free port between {low} and {high} on 127.0.0.1; end what listens there")]
    NoPort {
        /// Lowest port tried.
        low: u16,
        /// Highest port tried.
        high: u16,
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
    /// The relay saw more than it can keep (in megabytes), so it cannot say that something was absent.
    #[error("the relay saw more than {0} MB and cannot say what was not in it; send less through it")]
    RelayFull(usize),
    /// There is no link.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// A link or a relay that was started does not work.
    #[error(transparent)]
    Helper(#[from] HelperError),
    /// There is no such file system.
    #[error(transparent)]
    FileSystem(#[from] FileSystemError),
}

impl Error {
    pub(crate) fn disk_filled(server: &'static str, folder: &Path) -> Self {
        Self::DiskFilled {
            server,
            folder: folder.into(),
            free_mb: free_mb(folder).unwrap_or(0),
        }
    }

    /// What a server did not do that it was asked for, or its word.
    pub(crate) fn set_up(server: &'static str, problem: impl ToString) -> Self {
        let problem = problem.to_string();
        Self::SetUp { server, problem }
    }

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

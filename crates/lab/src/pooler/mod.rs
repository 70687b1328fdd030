//! A pooler before a private PostgreSQL or MySQL.
//!
//! Clients connect to it in place of the server, and it keeps connections to the server open for them. It runs beside
//! the server, on a link's far side if there is one, belongs to a guard as private servers do, shows the server's
//! certificate, and logs in to the server in its clients' names. A further one is a file with a [`PoolerKind`] and its
//! line in [`kind`].

mod mysqlrouter;
mod odyssey;
mod pgbouncer;
mod pgpool;
mod proof;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::{fmt, fs};

use ciphertax_model::{PoolMode, Pooler, PoolerProgram, Transport};
use ciphertax_supervise::PrivateFolder;
use ciphertax_supervise::guard::{Ending, Guard, GuardProgram, Helper};

use crate::accounts::Account;
use crate::catalogue::{Entry, POSTGRESQL_18};
use crate::certificates::CertificateFiles;
use crate::error::{Error, Result};
use crate::files::write_private;
use crate::link::RunningLink;
use crate::locate::Installation;
use crate::postgresql::Tenant;
use crate::server::PrivateServer;
use crate::server::family::sweep_stale;
use crate::server::spec::Endpoints;
use crate::tunnel::Side;
use crate::tunnel::pair::Half;
use crate::tunnel::program::Program;

const LOG: &str = "pooler.log";

/// Space that a pooler needs: settings and a log.
const NEEDED_MB: u64 = 10;

/// Connections to the server that an account's transactions share: PgBouncer's own number.
const TRANSACTION_POOL: u32 = 20;

/// A program that pools connections.
trait PoolerKind: Sync {
    /// The server that one is fetched with.
    fn fetched_with(&self) -> &'static Entry {
        &POSTGRESQL_18
    }

    /// The distribution's package of it; `None` for one that is only fetched with a server.
    fn package(&self) -> Option<&'static str>;

    /// The folder of its own libraries, where these have to be told of it.
    fn libraries(&self) -> Option<&'static str> {
        None
    }

    /// What comes before the version in what it says with `--version`.
    fn version_mark(&self) -> &'static str;

    /// True for a release that knows which statements a client has prepared, where the connection to the server may be another one
    /// by the time they are executed.
    fn keeps_prepared_statements(&self, version: Version) -> bool;

    /// How it is made to end at once.
    fn ending(&self, version: Version) -> Ending;

    /// What of its settings matters for a measurement.
    fn facts(&self, start: &Start) -> Vec<(&'static str, String)>;

    /// Writes its files, and returns the arguments that it is started with.
    fn prepare(&self, start: &Start, place: &Place<'_>) -> Result<Vec<OsString>>;
}

fn kind(program: PoolerProgram) -> &'static dyn PoolerKind {
    match program {
        PoolerProgram::Pgbouncer => &pgbouncer::PgBouncer,
        PoolerProgram::Odyssey => &odyssey::Odyssey,
        PoolerProgram::Pgpool => &pgpool::Pgpool,
        PoolerProgram::Mysqlrouter => &mysqlrouter::MySqlRouter,
    }
}

#[derive(Debug)]
struct Start {
    pooler: Pooler,
    /// That of its clients.
    transport: Transport,
    /// How many clients it has at most at a time.
    clients: u32,
    release: Release,
    program: Program,
    /// The server's certificate.
    tls: Option<CertificateFiles>,
    /// Whom it lets in, and logs in to the server as.
    accounts: Vec<Account>,
    /// Where it runs; `None` for beside this process.
    far: Option<Endpoints>,
    guard: GuardProgram,
}

/// Where one is started.
struct Place<'a> {
    /// Of its files; it may write there.
    folder: &'a Path,
    listen: SocketAddr,
    /// Where the server listens on the loopback address.
    server_port: u16,
}

impl Place<'_> {
    fn write(&self, name: &str, text: &str) -> Result<String> {
        let path = self.folder.join(name);
        write_private(&path, text)?;
        Ok(path.display().to_string())
    }
}

/// Starts a pooler before a server and waits until it listens: less than a second. `transport` is that of its clients, of whom there
/// are at most so many at a time. It must be stopped before the link is.
///
/// # Errors
/// If the program is missing or does not start, as before a server of another database or without a certificate for what is to be
/// encrypted.
pub fn start(
    pooler: Pooler,
    transport: Transport,
    clients: u32,
    server: &PrivateServer,
    link: Option<&RunningLink>,
    guard: &GuardProgram,
) -> Result<RunningPooler> {
    let program = find(pooler.program)?;
    let accounts = server.accounts().iter();
    let start = Start {
        pooler,
        transport,
        clients,
        release: Release::of(pooler.program, &program)?,
        program,
        tls: server.certificate_files().cloned(),
        accounts: accounts
            .filter(|account| account.method.is_served_by_poolers())
            .cloned()
            .collect(),
        far: link.map(|link| link.endpoints.clone()),
        guard: guard.clone(),
    };
    let server_port = server.only_address()?.port();
    let (process, address, guard) = start.run(server_port)?;
    Ok(RunningPooler {
        address,
        server_port,
        start,
        process,
        guard,
    })
}

impl Start {
    /// Connections to the server that all clients of an account have at most.
    fn pool_size(&self) -> u32 {
        match self.pooler.pool_mode {
            PoolMode::Session => self.clients,
            PoolMode::Transaction => TRANSACTION_POOL,
        }
    }

    /// Runs it before a server that listens on this port beside it.
    fn run(&self, server_port: u16) -> Result<(Half, SocketAddr, Guard)> {
        let kind = kind(self.pooler.program);
        let tenant = Tenant::of_servers()?;
        sweep_stale();
        let mut guard = Guard::start(&self.guard, PrivateFolder::create(NEEDED_MB)?)?;
        let private = guard.folder().to_owned();
        let host = self.far.as_ref().map_or(Ipv4Addr::LOCALHOST, |far| far.delayed);
        let name = self.pooler.program.name();
        let (process, address) = Half::start_listening(&mut guard, name, Side::Server, host, |listen| {
            let folder = private.join(listen.port().to_string());
            fs::create_dir(&folder).map_err(Error::write(&folder))?;
            let place = Place {
                folder: &folder,
                listen,
                server_port,
            };
            let arguments = kind.prepare(self, &place)?;
            tenant.give(&folder)?;
            Ok(Helper {
                command_line: self.program.command_line(arguments),
                log: LOG.into(),
                user: tenant.user(),
                namespace: self.far.as_ref().map(|far| far.namespace.clone()),
                ending: kind.ending(self.release.version),
            })
        })?;
        Ok((process, address, guard))
    }
}

/// The release that is fetched with a server: with PostgreSQL 18, because it knows prepared statements where transactions share
/// connections; else that of the system, or of the tunnels' programs.
fn find(program: PoolerProgram) -> Result<Program> {
    let (name, kind) = (program.name(), kind(program));
    let fetched = Installation::locate(kind.fetched_with());
    if let Some(path) = fetched.as_ref().ok().and_then(|fetched| fetched.beside(name)) {
        return Ok(Program::at(path, kind.libraries()));
    }
    let package = kind.package();
    Program::find(&[name], package.unwrap_or(name)).map_err(|error| match (package, fetched) {
        (Some(_), _) => error,
        (None, Err(not_fetched)) => not_fetched,
        (None, Ok(fetched)) => Error::Incomplete {
            server: fetched.entry.name,
            folder: fetched.basedir,
            missing: format!("program {name}"),
        },
    })
}

/// The release that would be started.
///
/// # Errors
/// If there is none.
pub fn release(program: PoolerProgram) -> Result<Release> {
    Release::of(program, &find(program)?)
}

/// A release of a pooler.
#[derive(Debug, Clone, Copy)]
pub struct Release {
    program: PoolerProgram,
    version: Version,
}

impl Release {
    fn of(program: PoolerProgram, found: &Program) -> Result<Self> {
        let said = found.says("--version", kind(program).version_mark())?;
        Ok(Self {
            program,
            version: Version::parse(&said),
        })
    }

    /// True if a client may prepare a statement and execute it later also where the connection to the server may be another one by
    /// then.
    pub fn keeps_prepared_statements(self) -> bool {
        kind(self.program).keeps_prepared_statements(self.version)
    }
}

/// `pgbouncer 1.18`
impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}.{}", self.program.name(), self.version.0, self.version.1)
    }
}

/// Major and minor version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Version(u32, u32);

impl Version {
    /// What cannot be read is as good as the oldest.
    fn parse(text: &str) -> Self {
        let mut numbers = text.trim().split('.').map(|number| number.parse().unwrap_or(0));
        Self(numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
    }
}

/// A pooler of our own. It ends, and all its files go, when this is dropped or when this process ends in whatever way.
#[derive(Debug)]
pub struct RunningPooler {
    address: SocketAddr,
    server_port: u16,
    start: Start,
    process: Half,
    guard: Guard,
}

impl RunningPooler {
    /// Where clients connect to in place of the server.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its first process. The CPU of its processes is neither the client's nor the server's.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// What was started, for the record: `program` with its version, and its settings by its own names.
    pub fn facts(&self) -> BTreeMap<String, String> {
        let program = ("program", self.start.release.to_string());
        let settings = kind(self.start.pooler.program).facts(&self.start);
        let facts = [program].into_iter().chain(settings);
        facts.map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// How bytes travel between it and the server.
    pub fn server_transport(&self) -> Transport {
        self.start.pooler.server_transport
    }

    /// Its last words, if it has ended; `None` while it lives.
    pub fn death(&self) -> Option<String> {
        self.process.has_ended().then(|| {
            format!(
                "{} (process {}) ended; the last lines of its log: {}",
                self.start.pooler,
                self.pid(),
                self.process.last_words()
            )
        })
    }

    /// The folder of its settings and its log.
    pub fn folder(&self) -> &Path {
        self.guard.folder()
    }

    /// Ends it and removes everything it had. Dropping does the same without a word.
    ///
    /// # Errors
    /// If something could not be removed.
    pub fn stop(mut self) -> Result<()> {
        Ok(self.guard.finish()?)
    }
}

//! A pooler before a private PostgreSQL: PgBouncer.
//!
//! Clients connect to it in place of the server, and it keeps connections to the server open for them. It runs beside
//! the server, on a link's far side if there is one, belongs to a guard as private servers do, and shows the server's
//! certificate. It knows accounts by what the server keeps of their passwords, and by it logs in to the server in their
//! names.

mod proof;
mod settings;

use std::collections::BTreeMap;
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use ciphertax_model::{Pooler, Transport};
use ciphertax_supervise::PrivateFolder;
use ciphertax_supervise::guard::{Guard, GuardProgram, Helper};

use crate::accounts::Account;
use crate::catalogue::POSTGRESQL_18;
use crate::error::Result;
use crate::files;
use crate::link::RunningLink;
use crate::locate::Installation;
use crate::postgresql::Tenant;
use crate::server::PrivateServer;
use crate::server::family::sweep_stale;
use crate::tunnel::Side;
use crate::tunnel::pair::Half;
use crate::tunnel::program::{Program, write_settings};

use proof::Console;
use settings::{Settings, Version};

/// The program, and Debian's package of it.
const PGBOUNCER: &str = "pgbouncer";

/// What it writes down.
const LOG: &str = "pgbouncer.log";

/// Space that a pooler needs: settings and a log.
const NEEDED_MB: u64 = 10;

/// Starts a pooler before a server and waits until it listens: less than a second. `transport` is that of its clients.
/// It must be stopped before the link is.
///
/// # Errors
/// If the program is missing or does not start, as before a server of another database or without a certificate for what is to be
/// encrypted.
pub fn start(
    pooler: Pooler,
    transport: Transport,
    server: &PrivateServer,
    link: Option<&RunningLink>,
    guard: &GuardProgram,
) -> Result<RunningPooler> {
    let program = find()?;
    let version = Version::of(&program)?;
    let tenant = Tenant::of_servers()?;
    let far = link.map(RunningLink::far_side);
    sweep_stale();
    let mut guard = Guard::start(guard, PrivateFolder::create(NEEDED_MB)?)?;
    let folder = guard.folder().to_owned();
    let host = far.as_ref().map_or(Ipv4Addr::LOCALHOST, |far| far.delayed);
    // Beside the server, it is on the loopback address.
    let server_port = server.only_address()?.port();
    let settings = Settings {
        pooler,
        transport,
        version,
        server_port,
        tls: server.certificate_files().cloned(),
        folder,
        console: Console::new()?,
    };
    let accounts: Vec<&Account> = server
        .accounts()
        .iter()
        .filter(|account| account.method.is_served_by_poolers())
        .collect();
    settings.write_accounts(&accounts)?;
    let (process, address) = Half::start_listening(&mut guard, PGBOUNCER, Side::Server, host, |listen| {
        let path = settings.path(listen);
        write_settings(&path, &settings.text(listen, None))?;
        Ok(Helper {
            command_line: program.command_line([path]),
            log: LOG.into(),
            user: tenant.user(),
            namespace: far.as_ref().map(|far| far.namespace.clone()),
            ending: version.ending(),
        })
    })?;
    Ok(RunningPooler {
        address,
        facts: settings.facts(),
        settings,
        is_within_reach: link.is_none(),
        process,
        guard,
    })
}

/// The release that is fetched with PostgreSQL 18, because it knows prepared statements where transactions share
/// connections; else that of the system, or of the tunnels' programs.
fn find() -> Result<Program> {
    let fetched = Installation::locate(&POSTGRESQL_18).ok();
    let fetched = fetched.and_then(|installation| installation.beside(PGBOUNCER));
    fetched.map_or_else(
        || Program::find(&[PGBOUNCER], PGBOUNCER),
        |path| Ok(Program::at(path)),
    )
}

/// The release that would be started.
///
/// # Errors
/// If there is none.
pub fn release() -> Result<Release> {
    Ok(Release(Version::of(&find()?)?))
}

/// A release of PgBouncer.
#[derive(Debug, Clone, Copy)]
pub struct Release(Version);

impl Release {
    /// True if a client may prepare a statement and execute it later also where the connection to the server may be
    /// another one by then: since 1.21.
    pub fn keeps_prepared_statements(self) -> bool {
        self.0.keeps_prepared_statements()
    }
}

/// `PgBouncer 1.18`
impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A pooler of our own. It ends, and all its files go, when this is dropped or when this process ends in whatever way.
#[derive(Debug)]
pub struct RunningPooler {
    address: SocketAddr,
    facts: BTreeMap<String, String>,
    settings: Settings,
    /// False on the far side of a link, where no relay of this process can be.
    is_within_reach: bool,
    process: Half,
    guard: Guard,
}

impl RunningPooler {
    /// Where clients connect to in place of the server.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its only process, whose CPU is neither the client's nor the server's.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// What was started, for the record: `program` with its version, and its settings by its own names.
    pub fn facts(&self) -> &BTreeMap<String, String> {
        &self.facts
    }

    /// How bytes travel between it and the server.
    pub fn server_transport(&self) -> Transport {
        self.settings.pooler.server_transport
    }

    /// False once it has ended.
    pub fn is_alive(&self) -> bool {
        !self.process.has_ended()
    }

    /// Which one has ended, with its last words; `None` while it lives.
    pub fn death(&self) -> Option<String> {
        let log = self.guard.folder().join(LOG);
        (!self.is_alive()).then(|| {
            format!(
                "{} (process {}) ended; the last lines of its log: {}",
                self.settings.pooler,
                self.pid(),
                files::tail_of(&log)
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

//! PostgreSQL.
//!
//! Neither it nor its `initdb` runs as root. What root starts runs as a user of its own, which has no name (see
//! [`privilege`](ciphertax_supervise::privilege)), and owns the data folder.

pub(crate) mod accounts;
mod cluster;
mod proof;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, lchown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use ciphertax_supervise::guard::{Ending, User};
use ciphertax_supervise::privilege::{NOBODY, own_user, run_as_reader};
use rustix::process::geteuid;

use crate::accounts::Account;
use crate::catalogue::{PostgreSqlVariant, Product, Source};
use crate::certificates::{CertificateFiles, KeyFormat};
use crate::error::{Error, Result};
use crate::files::{unless_gone, write_private};
use crate::locate::{InstallStep, Installation};
use crate::server::PrivateServer;
use crate::server::family::{Canary, Family, Members, Outline, Plan};
use crate::server::spec::{Spec, disk_of};
use accounts::CERTIFICATE_USER;
use cluster::{Configuration, INITDB, NEEDED_MB, data_of, recipe, works_in};

pub use accounts::DATABASE;
pub use proof::{Conditions, prove, select_canary};

impl Family for PostgreSqlVariant {
    fn works_in(&self) -> fn(argument: &[u8], folder: &Path) -> bool {
        works_in
    }

    fn check_files(&self, installation: &Installation) -> Result<()> {
        if installation.program.with_file_name(INITDB).is_file() {
            return Ok(());
        }
        Err(Error::Incomplete {
            server: installation.entry.name,
            folder: installation.basedir.clone(),
            missing: format!("program {INITDB}"),
        })
    }

    /// One that was fetched has what its entry says is beside it.
    fn is_complete(&self, installation: &Installation) -> bool {
        let Source::Apt { beside, .. } = installation.entry.source else {
            return true;
        };
        beside.iter().all(|name| installation.beside(name).is_some())
    }

    fn after_install(&self, installation: &Installation, on_step: &mut dyn FnMut(InstallStep)) -> Result<()> {
        on_step(InstallStep::Initialising);
        recipe(installation).prepare()
    }

    fn plan<'a>(&'a self, spec: &'a Spec) -> Result<Box<dyn Plan + 'a>> {
        Ok(Box::new(PostgreSqlPlan::new(self, spec)?))
    }

    /// The disk beneath the server's file system is searched for what is written.
    fn canary(&self, server: &PrivateServer, canary: Canary<'_>) -> Result<()> {
        const TABLE: &str = "ciphertax_file_system";
        let name = server.entry().name;
        let statements = match canary {
            Canary::Write(canary) => vec![
                format!("CREATE TABLE {TABLE} (v text)"),
                format!("INSERT INTO {TABLE} VALUES ('{canary}')"),
                "CHECKPOINT".into(),
            ],
            Canary::Replicate(_) => {
                return Err(Error::set_up(name, "it tells no other server what was written"));
            }
            Canary::Remove => vec![format!("DROP TABLE IF EXISTS {TABLE}")],
        };
        // Every server of this family has a socket.
        cluster::run_statements(name, server.socket().unwrap_or("".as_ref()), &statements)
    }
}

/// A link in the private folder to the Unix socket, whose name has the port in it.
const SOCKET: &str = "server.sock";

struct PostgreSqlPlan<'a> {
    variant: &'a PostgreSqlVariant,
    spec: &'a Spec,
    installation: Installation,
    tenant: Tenant,
    accounts: Vec<Account>,
    /// The private folder, once it is prepared.
    folder: PathBuf,
}

impl<'a> PostgreSqlPlan<'a> {
    fn new(variant: &'a PostgreSqlVariant, spec: &'a Spec) -> Result<Self> {
        Ok(Self {
            variant,
            spec,
            installation: Installation::locate(spec.entry)?,
            tenant: Tenant::of_servers()?,
            accounts: accounts::accounts(spec)?,
            folder: PathBuf::new(),
        })
    }

    fn configuration<'b>(&'b self, tls: Option<&'b CertificateFiles>) -> Configuration<'b> {
        Configuration {
            variant: self.variant,
            spec: self.spec,
            tls,
        }
    }
}

impl Plan for PostgreSqlPlan<'_> {
    fn accounts(&self) -> &[Account] {
        &self.accounts
    }

    fn outline(&self) -> Outline {
        Outline {
            members: 1,
            needed_mb: NEEDED_MB,
            key_format: KeyFormat::Pkcs8,
            client_name: CERTIFICATE_USER,
            user: self.tenant.user(),
            // After `SIGTERM` it waits for its clients, and after `SIGINT` it writes everything down that it has in memory.
            ending: Ending::Quit,
            socket: Some(SOCKET),
        }
    }

    fn prepare(&mut self, folder: &Path, tls: Option<&CertificateFiles>) -> Result<()> {
        recipe(&self.installation).provide(&disk_of(folder))?;
        folder.clone_into(&mut self.folder);
        let data = data_of(folder);
        for (name, text) in [
            ("postgresql.conf", self.configuration(tls).text(folder)),
            ("pg_hba.conf", accounts::hba_lines(&self.accounts, tls.is_some())),
        ] {
            let path = data.join(name);
            unless_gone(fs::remove_file(&path)).map_err(Error::write(&path))?;
            write_private(&path, text)?;
        }
        // It takes no folder that others may enter.
        fs::set_permissions(&data, Permissions::from_mode(0o700)).map_err(Error::write(&data))?;
        self.tenant.give(&data)
    }

    fn command_line(&self, _: usize, folder: &Path, port: u16) -> Result<Vec<OsString>> {
        let mut command_line = self.installation.command();
        command_line.extend(["-D".into(), data_of(folder).into()]);
        command_line.extend(["-p".into(), port.to_string().into()]);
        Ok(command_line)
    }

    fn set_up(&self, members: &Members) -> Result<()> {
        let name = self.spec.entry.name;
        cluster::let_it_go_with_the_server(&self.folder).map_err(|problem| Error::set_up(name, problem))?;
        let socket = self.folder.join(SOCKET);
        for address in &members.from_beside {
            let own = data_of(&self.folder).join(format!(".s.PGSQL.{}", address.port()));
            symlink(&own, &socket).map_err(Error::write(&socket))?;
        }
        let statements: Vec<String> = self.accounts.iter().flat_map(accounts::statements).collect();
        cluster::run_statements(name, &socket, &statements)
    }

    fn settings(&self) -> BTreeMap<String, String> {
        self.configuration(None).of_interest()
    }
}

/// Whom a server that refuses root runs as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tenant {
    /// Who runs this process, who is not root.
    Owner,
    /// A user with this number, who is not the one that runs this process: root.
    Other(u32),
}

impl Tenant {
    /// Who this process is, or for root a user without a name.
    pub(crate) fn of_servers() -> Result<Self> {
        if !geteuid().is_root() {
            return Ok(Self::Owner);
        }
        own_user()
            .map(Self::Other)
            .ok_or(Error::NoUser(Product::PostgreSql))
    }

    /// Who this process is, or for root `nobody`: `initdb` insists on a name. What it makes is not `nobody`'s for long,
    /// and holds no secret.
    pub(crate) fn with_name() -> Self {
        if geteuid().is_root() {
            Self::Other(NOBODY)
        } else {
            Self::Owner
        }
    }

    /// The same for a guard.
    pub(crate) fn user(self) -> User {
        match self {
            Self::Owner => User::Owner,
            Self::Other(user) => User::Own(user),
        }
    }

    /// Has it run a command.
    pub(crate) fn run(self, command: &mut Command) {
        if let Self::Other(user) = self {
            run_as_reader(command, user);
        }
    }

    /// Gives it a folder with all that is in it.
    pub(crate) fn give(self, folder: &Path) -> Result<()> {
        match self {
            Self::Owner => Ok(()),
            Self::Other(user) => give(folder, user),
        }
    }

    /// Takes a folder back that was given to it.
    pub(crate) fn take_back(self, folder: &Path) -> Result<()> {
        match self {
            Self::Owner => Ok(()),
            Self::Other(_) => give(folder, geteuid().as_raw()),
        }
    }
}

/// Links are not followed: what they lead to is not theirs to give.
fn give(path: &Path, user: u32) -> Result<()> {
    lchown(path, Some(user), Some(user)).map_err(Error::write(path))?;
    if !path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return Ok(());
    }
    for entry in fs::read_dir(path).map_err(Error::read(path))? {
        give(&entry.map_err(Error::read(path))?.path(), user)?;
    }
    Ok(())
}

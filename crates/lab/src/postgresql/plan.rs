//! How a private PostgreSQL server is prepared and set up.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use ciphertax_supervise::create_private_file;
use ciphertax_supervise::guard::{Ending, User};

use crate::accounts::Account;
use crate::catalogue::PostgreSqlVariant;
use crate::certificates::CertificateFiles;
use crate::error::{Error, Result};
use crate::locate::Installation;
use crate::server::family::{Members, Plan};
use crate::server::file_system::disk_of;
use crate::server::spec::Spec;

use super::cluster::{NEEDED_MB, data_of, recipe};
use super::configuration::Configuration;
use super::tenant::Tenant;
use super::{accounts, client, pg_hba, shared_memory};

/// A link in the private folder to the Unix socket, whose name has the port in it.
const SOCKET: &str = "server.sock";

/// A server that is to be made.
pub(super) struct PostgreSqlPlan<'a> {
    variant: &'a PostgreSqlVariant,
    spec: &'a Spec,
    installation: Installation,
    tenant: Tenant,
    accounts: Vec<Account>,
    /// The private folder, once it is prepared.
    folder: PathBuf,
}

impl<'a> PostgreSqlPlan<'a> {
    pub(super) fn new(variant: &'a PostgreSqlVariant, spec: &'a Spec) -> Result<Self> {
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

    fn needed_mb(&self) -> u64 {
        NEEDED_MB
    }

    fn prepare(&mut self, folder: &Path, tls: Option<&CertificateFiles>) -> Result<()> {
        recipe(&self.installation).provide(&disk_of(folder))?;
        folder.clone_into(&mut self.folder);
        let data = data_of(folder);
        for (name, text) in [
            ("postgresql.conf", self.configuration(tls).text(folder)),
            ("pg_hba.conf", pg_hba::lines(&self.accounts, tls.is_some())),
        ] {
            let path = data.join(name);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(Error::write(&path)(error));
                }
                _ => {}
            }
            create_private_file(&path)?
                .write_all(text.as_bytes())
                .map_err(Error::write(&path))?;
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

    fn user(&self) -> User {
        self.tenant.user()
    }

    /// After `SIGTERM` it waits for its clients, and after `SIGINT` it writes everything down that it has in memory.
    fn ending(&self) -> Ending {
        Ending::Quit
    }

    fn set_up(&self, members: &Members) -> Result<()> {
        let failed = |problem: io::Error| Error::SetUp {
            server: self.spec.entry.name,
            problem: problem.to_string(),
        };
        shared_memory::let_it_go_with_the_server(&self.folder).map_err(failed)?;
        let socket = self.folder.join(SOCKET);
        for address in &members.from_beside {
            let own = data_of(&self.folder).join(format!(".s.PGSQL.{}", address.port()));
            symlink(&own, &socket).map_err(Error::write(&socket))?;
        }
        let statements: Vec<String> = self.accounts.iter().flat_map(accounts::statements).collect();
        client::run(&socket, &statements).map_err(failed)
    }

    fn socket(&self, folder: &Path) -> Option<PathBuf> {
        Some(folder.join(SOCKET))
    }

    fn settings(&self) -> BTreeMap<String, String> {
        self.configuration(None).of_interest()
    }
}

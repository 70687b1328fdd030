//! How a private TiDB is prepared and set up.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::Path;

use ciphertax_model::Secret;
use ciphertax_wire::mysql::ConnectOptions;

use crate::accounts::{Account, USER};
use crate::certificates::CertificateFiles;
use crate::error::{Error, Result};
use crate::locate::Installation;
use crate::mysql::{ask, native_password_hash};
use crate::server::disk::disk_of;
use crate::server::family::{Members, Plan};
use crate::server::spec::Spec;

use super::settings::{file_option, of_interest, write};

/// Space that a server needs, in megabytes: its store makes files ahead of what is written.
const NEEDED_MB: u64 = 350;

/// Who may do everything without a password until somebody changes that.
const ROOT: &str = "root";

/// A server that is to be made.
pub(super) struct TiDbPlan<'a> {
    spec: &'a Spec,
    installation: Installation,
    accounts: Vec<Account>,
}

impl<'a> TiDbPlan<'a> {
    pub(super) fn new(spec: &'a Spec) -> Result<Self> {
        let others = spec
            .accounts
            .iter()
            .map(|&method| Account::with_password(format!("{USER}_{}", method.name()), method));
        let accounts = std::iter::once(Account::default_of(spec.entry)).chain(others);
        Ok(Self {
            spec,
            installation: Installation::locate(spec.entry)?,
            accounts: accounts.collect::<Result<_>>()?,
        })
    }
}

impl Plan for TiDbPlan<'_> {
    fn accounts(&self) -> &[Account] {
        &self.accounts
    }

    fn needed_mb(&self) -> u64 {
        NEEDED_MB
    }

    fn prepare(&mut self, folder: &Path, tls: Option<&CertificateFiles>) -> Result<()> {
        let disk = disk_of(folder);
        fs::create_dir_all(&disk).map_err(Error::write(&disk))?;
        write(self.spec, folder, tls)
    }

    fn command_line(&self, _: usize, folder: &Path, port: u16) -> Result<Vec<OsString>> {
        let mut command_line = self.installation.command();
        command_line.push(file_option(folder));
        command_line.push(format!("-P={port}").into());
        Ok(command_line)
    }

    /// Whoever is on this machine could come first, as root, so nobody is root any more.
    fn set_up(&self, members: &Members) -> Result<()> {
        let [server] = members.from_beside[..] else {
            return Ok(());
        };
        let root = ConnectOptions::new(server.ip().to_string(), server.port(), ROOT, Secret::default());
        ask(self.spec.entry.name, &root, async |_, session| {
            for account in &self.accounts {
                let hash = native_password_hash(&account.password);
                let name = format!("'{}'@'%'", account.user);
                let creation =
                    format!("CREATE USER {name} IDENTIFIED WITH mysql_native_password AS '{hash}'");
                session.query(&creation).await?;
                let right = format!("GRANT ALL PRIVILEGES ON *.* TO {name} WITH GRANT OPTION");
                session.query(&right).await?;
            }
            session.query(&format!("DROP USER '{ROOT}'@'%'")).await?;
            Ok(())
        })
    }

    fn settings(&self) -> BTreeMap<String, String> {
        of_interest(self.spec)
    }
}

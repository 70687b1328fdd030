//! How a private TiDB is prepared and set up.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::Path;

use crate::accounts::{Account, USER};
use crate::certificates::CertificateFiles;
use crate::error::{Error, Result};
use crate::locate::Installation;
use crate::server::disk::disk_of;
use crate::server::family::Plan;
use crate::server::spec::Spec;

use super::first_accounts;
use super::settings::{file_option, of_interest, write};

/// Space that a server needs, in megabytes: its store makes files ahead of what is written.
const NEEDED_MB: u64 = 350;

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
        write(self.spec, folder, tls)?;
        first_accounts::make(&self.installation, folder, &self.accounts)
    }

    fn command_line(&self, _: usize, folder: &Path, port: u16) -> Result<Vec<OsString>> {
        let mut command_line = self.installation.command();
        command_line.push(file_option(folder));
        command_line.push(format!("-P={port}").into());
        Ok(command_line)
    }

    fn settings(&self) -> BTreeMap<String, String> {
        of_interest(self.spec)
    }
}

//! How private MongoDB servers are prepared and set up.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::accounts::Account;
use crate::certificates::{CertificateFiles, KeyFormat};
use crate::error::{Error, Result};
use crate::files::hexadecimal;
use crate::locate::Installation;
use crate::server::family::{Members, Plan};
use crate::server::file_system::disk_of;
use crate::server::spec::Spec;
use ciphertax_supervise::create_private_file;

use super::accounts::accounts;
use super::set_up;
use super::settings::Settings;

/// Space that a server needs, in megabytes: its journal, and data as large as its cache is by default.
const NEEDED_MB: u64 = 350;

/// Random bytes of the secret that the members of a replica set share; MongoDB takes up to 1024 characters.
const KEY_BYTES: usize = 64;

/// Servers that are to be made.
pub(super) struct MongoDbPlan<'a> {
    spec: &'a Spec,
    installation: Installation,
    accounts: Vec<Account>,
    tls: Option<CertificateFiles>,
    /// The secret that members of a replica set with access control know each other by.
    key_file: Option<PathBuf>,
}

impl<'a> MongoDbPlan<'a> {
    pub(super) fn new(spec: &'a Spec) -> Result<Self> {
        Ok(Self {
            spec,
            installation: Installation::locate(spec.entry)?,
            accounts: accounts(spec)?,
            tls: None,
            key_file: None,
        })
    }

    fn server_settings(&self) -> Settings<'_> {
        Settings {
            spec: self.spec,
            tls: self.tls.as_ref(),
            key_file: self.key_file.as_deref(),
        }
    }
}

impl Plan for MongoDbPlan<'_> {
    fn accounts(&self) -> &[Account] {
        &self.accounts
    }

    fn members(&self) -> usize {
        self.spec.replica_set.map_or(1, |set| usize::from(set.servers()))
    }

    /// Those that clients use too.
    fn ports_between(&self, listening: &[u16]) -> Vec<u16> {
        match listening {
            [_] => Vec::new(),
            all => all.to_vec(),
        }
    }

    fn needed_mb(&self) -> u64 {
        // There are six at most.
        NEEDED_MB * self.members() as u64
    }

    fn key_format(&self) -> KeyFormat {
        KeyFormat::Bundled
    }

    fn prepare(&mut self, folder: &Path, tls: Option<&CertificateFiles>) -> Result<()> {
        self.tls = tls.cloned();
        if self.spec.access_control && self.spec.replica_set.is_some() {
            self.key_file = Some(write_key_file(folder)?);
        }
        Ok(())
    }

    fn command_line(&self, member: usize, folder: &Path, port: u16) -> Result<Vec<OsString>> {
        let data = disk_of(folder).join(format!("data-{member}"));
        fs::create_dir_all(&data).map_err(Error::write(&data))?;
        let mut command_line = self.installation.command();
        command_line.extend(self.server_settings().arguments(&data, port));
        Ok(command_line)
    }

    fn lack(&self, complaints: &str) -> Option<Error> {
        self.installation.missing_library(complaints)
    }

    fn set_up(&self, members: &Members) -> Result<()> {
        let to_be_made = if self.spec.access_control {
            &self.accounts[..]
        } else {
            &[]
        };
        set_up::set_up(self.spec.entry, members, self.spec.replica_set, to_be_made)
    }

    fn settings(&self) -> BTreeMap<String, String> {
        self.server_settings().of_interest()
    }
}

fn write_key_file(folder: &Path) -> Result<PathBuf> {
    let mut key = [0; KEY_BYTES];
    openssl::rand::rand_bytes(&mut key)?;
    let path = folder.join("members.key");
    create_private_file(&path)?
        .write_all(hexadecimal(&key).as_bytes())
        .map_err(Error::write(&path))?;
    Ok(path)
}

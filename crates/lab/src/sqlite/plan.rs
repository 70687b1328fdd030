//! How a private file is made.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use ciphertax_model::AuthenticationMethod;
use ciphertax_wire::sqlite::{Session, is_disk_full};

use super::{cipher_of, options_in};
use crate::accounts::Account;
use crate::certificates::CertificateFiles;
use crate::error::{Error, Result};
use crate::server::family::Plan;
use crate::server::spec::Spec;

/// Space that a small data set needs, in megabytes.
const NEEDED_MB: u64 = 100;

/// The file in a private folder.
pub(super) fn file_in(folder: &Path) -> PathBuf {
    folder.join("data").join("ciphertax.db")
}

/// A file that is to be made.
pub(super) struct SqlitePlan<'a> {
    spec: &'a Spec,
    /// One, without a login: the passphrase of an encrypted file is its password.
    accounts: Vec<Account>,
    settings: BTreeMap<String, String>,
}

impl<'a> SqlitePlan<'a> {
    pub(super) fn new(spec: &'a Spec) -> Result<Self> {
        let account = match spec.at_rest.sqlcipher {
            Some(_) => Account::with_password("", AuthenticationMethod::NoLogin)?,
            None => Account::without_password("", AuthenticationMethod::NoLogin),
        };
        Ok(Self {
            spec,
            accounts: vec![account],
            settings: BTreeMap::new(),
        })
    }
}

impl Plan for SqlitePlan<'_> {
    fn accounts(&self) -> &[Account] {
        &self.accounts
    }

    fn members(&self) -> usize {
        0
    }

    fn needed_mb(&self) -> u64 {
        NEEDED_MB
    }

    fn prepare(&mut self, folder: &Path, _: Option<&CertificateFiles>) -> Result<()> {
        let file = file_in(folder);
        if let Some(data) = file.parent() {
            fs::create_dir_all(data).map_err(Error::write(data))?;
        }
        let cipher = cipher_of(self.spec, &self.accounts[0].password);
        let options = options_in(folder, cipher, self.spec.cache_mb);
        let made = Session::create(&options).and_then(|mut session| {
            let status = session.status()?;
            session.close()?;
            Ok(status)
        });
        let server = self.spec.entry.name;
        let status = made.map_err(|error| match is_disk_full(&error) {
            true => Error::disk_filled(server, folder),
            false => Error::SetUp {
                server,
                problem: error.to_string(),
            },
        })?;
        let words = status.words();
        let settings = words.iter().filter_map(|word| word.split_once('='));
        self.settings = settings
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        Ok(())
    }

    /// There is no process.
    fn command_line(&self, _: usize, _: &Path, _: u16) -> Result<Vec<OsString>> {
        Ok(Vec::new())
    }

    fn settings(&self) -> BTreeMap<String, String> {
        self.settings.clone()
    }
}

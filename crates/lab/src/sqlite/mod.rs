//! SQLite: a file in a private folder, which its clients open themselves.

pub(crate) mod entry;
mod file;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use ciphertax_base::Proof;
use ciphertax_model::{AuthenticationMethod, Storage};
use ciphertax_supervise::guard::{Ending, User};
use ciphertax_wire::sqlite::{Session, is_disk_full};

use crate::accounts::Account;
use crate::certificates::{CertificateFiles, KeyFormat};
use crate::error::{Error, Result};
use crate::files::unless_gone;
use crate::proof::{Objection, ProvedAtRest};
use crate::server::PrivateServer;
use crate::server::family::{Family, Outline, Plan};
use crate::server::spec::Spec;
use file::{cipher_of, file_in, options_in, witnesses};

pub use file::{MEMORY_MB, ProvedFile, options, prove};

/// SQLite's files, in whose folder nobody works but ciphertax.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sqlite;

impl Family for Sqlite {
    fn plan<'a>(&'a self, spec: &'a Spec) -> Result<Box<dyn Plan + 'a>> {
        Ok(Box::new(SqlitePlan::new(spec)?))
    }

    /// Of a file another one is searched that lies beside it.
    fn prove_disk(&self, server: &PrivateServer) -> Result<ProvedAtRest, Objection> {
        let ProvedFile { proved, disk } = witnesses(&options(server, &Storage::default()))?;
        let proofs = proved.proofs;
        Ok(ProvedAtRest { proofs, disk })
    }

    fn prove_measured_disk(&self, server: &PrivateServer) -> Result<Vec<Proof>, Objection> {
        Ok(self.prove_disk(server)?.proofs)
    }
}

const NEEDED_MB: u64 = 100;

struct SqlitePlan<'a> {
    spec: &'a Spec,
    /// One, without a login: the passphrase of an encrypted file is its password.
    accounts: Vec<Account>,
    settings: BTreeMap<String, String>,
}

impl<'a> SqlitePlan<'a> {
    fn new(spec: &'a Spec) -> Result<Self> {
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

    fn outline(&self) -> Outline {
        Outline {
            members: 0,
            needed_mb: NEEDED_MB,
            key_format: KeyFormat::Pkcs8,
            client_name: "",
            user: User::Owner,
            ending: Ending::Terminate,
            socket: None,
        }
    }

    fn prepare(&mut self, folder: &Path, _: Option<&CertificateFiles>) -> Result<()> {
        let file = file_in(folder);
        if let Some(data) = file.parent() {
            fs::create_dir_all(data).map_err(Error::write(data))?;
        }
        let cipher = cipher_of(&self.spec.at_rest, &self.accounts[0].password);
        let options = options_in(folder, cipher, self.spec.cache_mb);
        let made = Session::create(&options).and_then(|mut session| {
            let status = session.status()?;
            session.close()?;
            Ok(status)
        });
        let server = self.spec.entry.name;
        let status = made.map_err(|error| match is_disk_full(&error) {
            true => Error::disk_filled(server, folder),
            false => Error::set_up(server, error),
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

/// Bytes of a database's file and of what its log holds besides.
///
/// # Errors
/// If they cannot be looked at.
pub fn data_size(file: &Path) -> Result<u64> {
    Ok(length(file)? + length(&log_of(file))?)
}

/// The write-ahead log of a database's file.
fn log_of(file: &Path) -> PathBuf {
    beside(file, "-wal")
}

fn journal_of(file: &Path) -> PathBuf {
    beside(file, "-journal")
}

fn beside(file: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(file);
    name.push(ending);
    name.into()
}

fn length(file: &Path) -> Result<u64> {
    let metadata = unless_gone(fs::metadata(file)).map_err(Error::read(file))?;
    Ok(metadata.map_or(0, |metadata| metadata.len()))
}

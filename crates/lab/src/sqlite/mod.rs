//! SQLite: a file in a private folder, which its clients open themselves.

mod disk;
mod plan;
mod proof;

use std::path::Path;

use ciphertax_model::{Secret, Storage};
use ciphertax_wire::sqlite::{Cipher, ConnectOptions};

use crate::error::Result;
use crate::install::step::InstallStep;
use crate::locate::Installation;
use crate::server::PrivateServer;
use crate::server::family::{Family, Plan};
use crate::server::spec::Spec;

use plan::{SqlitePlan, file_in};

pub use disk::data_size;
pub use proof::{ProvedFile, prove};

/// Memory for pages of each session where nothing is asked for, in megabytes.
pub const MEMORY_MB: u32 = 256;

/// SQLite's files.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sqlite;

impl Family for Sqlite {
    /// Nobody works in its folder but ciphertax.
    fn works_in(&self) -> fn(argument: &[u8], folder: &Path) -> bool {
        |_, _| false
    }

    fn client_name(&self) -> &'static str {
        ""
    }

    fn after_install(&self, _: &Installation, _: &mut dyn FnMut(InstallStep)) -> Result<()> {
        Ok(())
    }

    fn plan<'a>(&'a self, spec: &'a Spec) -> Result<Box<dyn Plan + 'a>> {
        Ok(Box::new(SqlitePlan::new(spec)?))
    }

    fn is_ready(&self, _: &str) -> bool {
        true
    }

    fn complaints(&self, _: &Path) -> String {
        "it has no log".into()
    }
}

/// How the file of a private database is opened.
pub fn options(server: &PrivateServer, storage: &Storage) -> ConnectOptions {
    let cipher = server.at_rest().sqlcipher.map(|settings| Cipher {
        passphrase: server.password().clone(),
        settings,
    });
    options_in(server.folder(), cipher, storage.memory_mb)
}

fn options_in(folder: &Path, cipher: Option<Cipher>, memory_mb: Option<u32>) -> ConnectOptions {
    const KIB: u32 = 1024;
    let cache_kib = memory_mb.unwrap_or(MEMORY_MB).saturating_mul(KIB);
    ConnectOptions::new(&file_in(folder), cipher, cache_kib)
}

/// How a spec's file is encrypted by this passphrase.
fn cipher_of(spec: &Spec, passphrase: &Secret) -> Option<Cipher> {
    let settings = spec.at_rest.sqlcipher?;
    Some(Cipher {
        passphrase: passphrase.clone(),
        settings,
    })
}

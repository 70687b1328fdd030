//! Opening a private file.

use std::path::{Path, PathBuf};

use ciphertax_model::{Secret, Storage};
use ciphertax_wire::sqlite::{Cipher, ConnectOptions};

use crate::server::PrivateServer;
use crate::server::spec::Spec;

/// Memory for pages of each session where nothing is asked for, in megabytes.
pub const MEMORY_MB: u32 = 256;

/// How the file of a private database is opened.
pub fn options(server: &PrivateServer, storage: &Storage) -> ConnectOptions {
    let cipher = server.at_rest().sqlcipher.map(|settings| Cipher {
        passphrase: server.password().clone(),
        settings,
    });
    options_in(server.folder(), cipher, storage.memory_mb)
}

pub(super) fn options_in(folder: &Path, cipher: Option<Cipher>, memory_mb: Option<u32>) -> ConnectOptions {
    const KIB: u32 = 1024;
    let cache_kib = memory_mb.unwrap_or(MEMORY_MB).saturating_mul(KIB);
    ConnectOptions::new(&file_in(folder), cipher, cache_kib)
}

/// How a spec's file is encrypted by this passphrase.
pub(super) fn cipher_of(spec: &Spec, passphrase: &Secret) -> Option<Cipher> {
    let settings = spec.at_rest.sqlcipher?;
    Some(Cipher {
        passphrase: passphrase.clone(),
        settings,
    })
}

/// The file in a private folder.
pub(super) fn file_in(folder: &Path) -> PathBuf {
    folder.join("data").join("ciphertax.db")
}

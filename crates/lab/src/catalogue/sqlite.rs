//! SQLite, which is no server: it is built into ciphertax, with SQLCipher, which encrypts its files.

use ciphertax_model::AuthenticationMethod::NoLogin;

use super::at_rest::{AtRestCapabilities, MEMORY_ALONE};
use super::capabilities::{Capabilities, Ciphers};
use super::entry::{Entry, Product, Source};
use super::family::ServerFamily;

/// The SQLite of SQLCipher 4.14. Without a key it is SQLite of the same release.
pub static SQLITE: Entry = Entry {
    name: "sqlite",
    product: Product::Sqlite,
    version: "3.51.3",
    tls_library: "SQLCipher 4.14 with OpenSSL 3.5",
    capabilities: Capabilities {
        server: "sqlite",
        tls_versions: &[],
        certificates: &[],
        groups: &[],
        ciphers: Ciphers::Only(&[]),
        resumption: &[],
        authentication: &[NoLogin],
        forget_passwords: None,
        several_addresses: false,
        secure_renegotiation: true,
        direct_tls: false,
        cluster: None,
        at_rest: AtRestCapabilities {
            sqlcipher: true,
            ..AtRestCapabilities::NONE
        },
        storage: MEMORY_ALONE,
    },
    source: Source::BuiltIn,
    family: ServerFamily::Sqlite,
};

//! SQLite in the catalogue.

use ciphertax_model::AuthenticationMethod::NoLogin;

use crate::catalogue::capabilities::{AtRestCapabilities, Capabilities, Ciphers};
use crate::catalogue::entry::{Entry, Product, ServerFamily, Source};

/// No server: it is built into ciphertax, with SQLCipher, which encrypts its files. The SQLite of SQLCipher 4.14.
/// Without a key it is SQLite of the same release.
pub static SQLITE: Entry = Entry {
    name: "sqlite",
    product: Product::Sqlite,
    version: "3.51.3",
    tls_library: "SQLCipher 4.14 with OpenSSL 3.5",
    capabilities: Capabilities {
        tls_versions: &[],
        certificates: &[],
        groups: &[],
        ciphers: Ciphers::Only(&[]),
        authentication: &[NoLogin],
        several_addresses: false,
        at_rest: AtRestCapabilities {
            sqlcipher: true,
            ..AtRestCapabilities::NONE
        },
        ..Capabilities::USUAL
    },
    source: Source::BuiltIn,
    family: ServerFamily::Sqlite,
};

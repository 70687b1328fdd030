//! MariaDB's `file_key_management`: a plugin that reads keys from a file.

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use ciphertax_supervise::create_private_file;

use super::{Encryption, Line};
use crate::catalogue::{MARIADB, ServerFamily};
use crate::error::{Error, Result};
use crate::files::hexadecimal;
use crate::locate::Installation;
use crate::mysql::installation::MySqlInstallation;

const PLUGIN: &str = "file_key_management";

/// Bytes of a key of AES-256.
const KEY_BYTES: usize = 32;

/// The file with the key, for its owner alone, and the plugin that reads it.
pub(super) fn prepare(mysql: &MySqlInstallation<'_>, folder: &Path) -> Result<Encryption> {
    let plugin = plugin(mysql)?;
    let mut lines = Vec::new();
    if mysql.plugins() != plugin.parent() {
        let plugins = folder.join("plugins");
        fs::create_dir(&plugins).map_err(Error::write(&plugins))?;
        let link = plugins.join(format!("{PLUGIN}.so"));
        symlink(&plugin, &link).map_err(Error::write(&link))?;
        lines.push(Line::Path("plugin_dir", plugins));
    }
    let keys = folder.join("encryption-keys");
    let mut key = [0; KEY_BYTES];
    openssl::rand::rand_bytes(&mut key)?;
    create_private_file(&keys)?
        .write_all(format!("1;{}\n", hexadecimal(&key)).as_bytes())
        .map_err(Error::write(&keys))?;
    lines.push(Line::Value("plugin_load_add", PLUGIN.into()));
    lines.push(Line::Path("file_key_management_filename", keys));
    Ok(Encryption {
        lines,
        program: None,
        from_the_first: true,
    })
}

/// The plugin of this installation; where it comes without plugins, that of the distribution.
pub(in crate::mysql) fn plugin(mysql: &MySqlInstallation<'_>) -> Result<PathBuf> {
    if let Some(own) = library(mysql) {
        return Ok(own);
    }
    let of_the_distribution = || {
        let installation = Installation::locate(&MARIADB).ok()?;
        let ServerFamily::MySql(variant) = &MARIADB.family else {
            return None;
        };
        library(&MySqlInstallation::of(&installation, variant).ok()?)
    };
    let server = mysql.installation().entry().name;
    of_the_distribution().ok_or(Error::NoKeyPlugin {
        server,
        plugin: PLUGIN,
        // Upstream's builds have no plugins at all.
        from: mysql.plugins().map_or(MARIADB.name, |_| server),
    })
}

fn library(mysql: &MySqlInstallation<'_>) -> Option<PathBuf> {
    let plugins = mysql.plugins().filter(|_| mysql.has_plugin(PLUGIN))?;
    Some(plugins.join(format!("{PLUGIN}.so")))
}

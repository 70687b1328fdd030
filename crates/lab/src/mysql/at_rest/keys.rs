//! Keys: MariaDB's `file_key_management`, a plugin that reads them from a file, and MySQL's `component_keyring_file`, which makes
//! them itself and keeps them in one.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use serde_json::json;

use super::Encryption;
use crate::catalogue::{MARIADB, ServerFamily};
use crate::error::{Error, Result};
use crate::files::{random_digits, unless_gone, write_private};
use crate::locate::Installation;
use crate::mysql::MySqlInstallation;
use crate::mysql::statements::MyCnf;

const PLUGIN: &str = "file_key_management";

/// Bytes of a key of AES-256.
const KEY_BYTES: usize = 32;

/// The file with the key, for its owner alone, and the plugin that reads it.
pub(super) fn prepare_file_keys(mysql: &MySqlInstallation<'_>, folder: &Path) -> Result<Encryption> {
    let plugin = plugin(mysql)?;
    let mut settings = MyCnf::default();
    if mysql.plugins.as_deref() != plugin.parent() {
        let plugins = folder.join("plugins");
        fs::create_dir(&plugins).map_err(Error::write(&plugins))?;
        let link = plugins.join(format!("{PLUGIN}.so"));
        symlink(&plugin, &link).map_err(Error::write(&link))?;
        settings.path("plugin_dir", &plugins);
    }
    let keys = folder.join("encryption-keys");
    write_private(&keys, format!("1;{}\n", random_digits::<KEY_BYTES>()?))?;
    settings.set("plugin_load_add", PLUGIN);
    settings.path("file_key_management_filename", &keys);
    Ok(Encryption {
        settings,
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
    let server = mysql.installation.entry.name;
    of_the_distribution().ok_or(Error::NoKeyPlugin {
        server,
        plugin: PLUGIN,
        // Upstream's builds have no plugins at all.
        from: mysql.plugins.as_deref().map_or(MARIADB.name, |_| server),
    })
}

fn library(mysql: &MySqlInstallation<'_>) -> Option<PathBuf> {
    let plugins = mysql.plugins.as_deref().filter(|_| mysql.has_plugin(PLUGIN))?;
    Some(plugins.join(format!("{PLUGIN}.so")))
}

const COMPONENT: &str = "component_keyring_file";

/// The file with the keys below the folder of a server.
const KEYS: &str = "keyring/keys";

/// A program with a list of components beside it, and a folder of plugins with the component's settings.
///
/// A server looks for the list of its components beside its program, and for a component's settings beside the component. Both are in
/// the installation, which is everybody's; so this server gets folders of links to it.
pub(super) fn prepare_keyring(mysql: &MySqlInstallation<'_>, folder: &Path) -> Result<Encryption> {
    let Some(installed) = mysql.plugins.as_deref().filter(|_| mysql.has_plugin(COMPONENT)) else {
        let server = mysql.installation.entry.name;
        return Err(Error::NoKeyPlugin {
            server,
            plugin: COMPONENT,
            from: server,
        });
    };
    let programs = make(folder.join("keyring"))?;
    let program = programs.join("mysqld");
    link(&mysql.installation.program, &program)?;
    let components = json!({ "components": format!("file://{COMPONENT}") });
    write_private(&programs.join("mysqld.my"), components.to_string())?;
    let plugins = make(folder.join("plugins"))?;
    for entry in fs::read_dir(installed).map_err(Error::read(installed))? {
        let entry = entry.map_err(Error::read(installed))?;
        link(&entry.path(), &plugins.join(entry.file_name()))?;
    }
    let own = json!({ "path": folder.join(KEYS), "read_only": false });
    write_private(&plugins.join(format!("{COMPONENT}.cnf")), own.to_string())?;
    let mut settings = MyCnf::default();
    settings.path("plugin_dir", &plugins);
    Ok(Encryption {
        settings,
        program: Some(program),
        from_the_first: false,
    })
}

/// The component lets its group read the keys.
pub(in crate::mysql) fn close_keys_to_others(folder: &Path) -> Result<()> {
    let keys = folder.join(KEYS);
    unless_gone(fs::set_permissions(&keys, Permissions::from_mode(0o600)))
        .map(drop)
        .map_err(Error::write(&keys))
}

fn make(folder: PathBuf) -> Result<PathBuf> {
    fs::create_dir(&folder).map_err(Error::write(&folder))?;
    Ok(folder)
}

fn link(to: &Path, link: &Path) -> Result<()> {
    symlink(to, link).map_err(Error::write(link))
}

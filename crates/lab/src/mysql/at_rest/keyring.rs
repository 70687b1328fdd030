//! MySQL's `component_keyring_file`: it makes its keys itself, and keeps them in a file.
//!
//! A server looks for the list of its components beside its program, and for a component's settings beside the component.
//! Both are in the installation, which is everybody's; so this server gets folders of links to it.

use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use ciphertax_supervise::create_private_file;
use serde_json::json;

use super::{Encryption, Line};
use crate::error::{Error, Result};
use crate::mysql::installation::MySqlInstallation;

const COMPONENT: &str = "component_keyring_file";

/// The file with the keys below the folder of a server.
const KEYS: &str = "keyring/keys";

/// A program with a list of components beside it, and a folder of plugins with the component's settings.
pub(super) fn prepare(mysql: &MySqlInstallation<'_>, folder: &Path) -> Result<Encryption> {
    let Some(installed) = mysql.plugins().filter(|_| mysql.has_plugin(COMPONENT)) else {
        let server = mysql.installation().entry().name;
        return Err(Error::NoKeyPlugin {
            server,
            plugin: COMPONENT,
            from: server,
        });
    };
    let programs = make(folder.join("keyring"))?;
    let program = programs.join("mysqld");
    link(mysql.installation().program(), &program)?;
    let components = json!({ "components": format!("file://{COMPONENT}") });
    write(&programs.join("mysqld.my"), &components)?;
    let plugins = make(folder.join("plugins"))?;
    for entry in fs::read_dir(installed).map_err(Error::read(installed))? {
        let entry = entry.map_err(Error::read(installed))?;
        link(&entry.path(), &plugins.join(entry.file_name()))?;
    }
    let settings = json!({ "path": folder.join(KEYS), "read_only": false });
    write(&plugins.join(format!("{COMPONENT}.cnf")), &settings)?;
    Ok(Encryption {
        lines: vec![Line::Path("plugin_dir", plugins)],
        program: Some(program),
        from_the_first: false,
    })
}

/// The component lets its group read the keys.
pub(in crate::mysql) fn close_keys_to_others(folder: &Path) -> Result<()> {
    let keys = folder.join(KEYS);
    match fs::set_permissions(&keys, Permissions::from_mode(0o600)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::write(&keys)(error)),
        _ => Ok(()),
    }
}

fn make(folder: PathBuf) -> Result<PathBuf> {
    fs::create_dir(&folder).map_err(Error::write(&folder))?;
    Ok(folder)
}

fn link(to: &Path, link: &Path) -> Result<()> {
    symlink(to, link).map_err(Error::write(link))
}

fn write(path: &Path, text: &serde_json::Value) -> Result<()> {
    create_private_file(path)?
        .write_all(text.to_string().as_bytes())
        .map_err(Error::write(path))
}

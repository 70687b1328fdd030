//! The settings file of a server.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

use super::installation::MySqlInstallation;
use crate::error::{Error, Result};
use crate::log::LOG;
use crate::template::DATA;
use ciphertax_supervise::{LONGEST_SOCKET_NAME, create_private_file};

/// The server's socket in its folder.
pub(super) const SOCKET: &str = "server.sock";

const _: () = assert!(
    SOCKET.len() <= LONGEST_SOCKET_NAME,
    "the path of the socket is checked"
);

/// The settings file in the folder of a server.
const FILE: &str = "my.cnf";

/// The option by which a server finds its settings.
pub(super) fn defaults_file_option(folder: &Path) -> OsString {
    let mut option = OsString::from("--defaults-file=");
    option.push(folder.join(FILE));
    option
}

/// The lines of a settings file.
#[derive(Debug)]
pub(super) struct MyCnf {
    lines: Vec<String>,
}

impl MyCnf {
    /// Where everything is, data and temporary files in `disk`, that nobody else can reach the server, and what this one
    /// always needs.
    pub(super) fn new(installation: &MySqlInstallation<'_>, folder: &Path, disk: &Path) -> Self {
        let mut settings = Self { lines: Vec::new() };
        settings.path("basedir", installation.installation().basedir());
        settings.path("lc_messages_dir", installation.share());
        settings.path("character_sets_dir", &installation.share().join("charsets"));
        if let Some(plugins) = installation.plugins() {
            settings.path("plugin_dir", plugins);
        }
        settings.path("datadir", &disk.join(DATA));
        settings.path("tmpdir", disk);
        settings.path("socket", &folder.join(SOCKET));
        settings.path("pid_file", &folder.join("server.pid"));
        settings.path("log_error", &folder.join(LOG));
        settings.set("bind_address", "127.0.0.1");
        if geteuid().is_root() {
            settings.set("user", "root");
        }
        for (name, value) in installation.variant().settings {
            settings.set(name, value);
        }
        settings
    }

    /// Sets `name` to `value`.
    pub(super) fn set(&mut self, name: &str, value: &str) {
        self.lines.push(format!("{name} = {value}"));
    }

    /// Sets `name` to a path.
    pub(super) fn path(&mut self, name: &str, path: &Path) {
        self.set(name, &format!("\"{}\"", path.display()));
    }

    /// Adds an option without a value.
    pub(super) fn flag(&mut self, name: &str) {
        self.lines.push(name.into());
    }

    /// Writes the file into `folder`, for its owner alone.
    pub(super) fn write(&self, folder: &Path) -> Result<PathBuf> {
        let path = folder.join(FILE);
        let text = format!("[mysqld]\n{}\n", self.lines.join("\n"));
        create_private_file(&path)?
            .write_all(text.as_bytes())
            .map_err(Error::write(&path))?;
        Ok(path)
    }
}

//! Finding the server's programs.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{env, fs};

use crate::error::{Error, Result};

/// Where packages put server programs that are often not in an ordinary user's `PATH`.
const SERVER_FOLDERS: [&str; 3] = ["/usr/sbin", "/usr/local/sbin", "/usr/libexec"];

/// An installed MariaDB server: of the system, or unpacked into the user's cache by `scripts/setup.sh`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installation {
    mariadbd: PathBuf,
    basedir: PathBuf,
    share: PathBuf,
    system_tables: PathBuf,
    libraries: Vec<PathBuf>,
}

impl Installation {
    /// The system's MariaDB; where there is none, the one in the user's cache.
    ///
    /// # Errors
    /// Names what is missing and where it was looked for.
    pub fn find() -> Result<Self> {
        let in_system: Vec<PathBuf> = env::var_os("PATH")
            .iter()
            .flat_map(env::split_paths)
            .chain(SERVER_FOLDERS.map(PathBuf::from))
            .collect();
        Self::find_in(&in_system, cache_root().as_deref())
    }

    fn find_in(in_system: &[PathBuf], private_root: Option<&Path>) -> Result<Self> {
        if let Some(program) = in_system
            .iter()
            .map(|folder| folder.join("mariadbd"))
            .find(|path| path.is_file())
        {
            return Self::around(&program, Vec::new());
        }
        if let Some(root) = private_root {
            let program = root.join("usr/sbin/mariadbd");
            if program.is_file() {
                return Self::around(&program, library_folders(root));
            }
        }
        let searched = ["PATH".to_owned()]
            .into_iter()
            .chain(SERVER_FOLDERS.map(str::to_owned))
            .chain(private_root.map(|root| root.display().to_string()))
            .collect::<Vec<_>>()
            .join(", ");
        Err(Error::NotInstalled { searched })
    }

    /// Completes an installation from its server program, which lies one folder below the base.
    fn around(program: &Path, libraries: Vec<PathBuf>) -> Result<Self> {
        let mariadbd = fs::canonicalize(program).map_err(Error::read(program))?;
        let basedir = mariadbd.ancestors().nth(2).unwrap_or(Path::new("/")).to_owned();
        let incomplete = |missing: &str| Error::Incomplete {
            program: mariadbd.clone(),
            missing: missing.into(),
        };
        // Releases from 11 on say `mariadb` where older ones say `mysql`.
        let share = ["share/mysql", "share/mariadb", "share"]
            .map(|folder| basedir.join(folder))
            .into_iter()
            .find(|folder| folder.join("english/errmsg.sys").is_file())
            .ok_or_else(|| incomplete("messages (english/errmsg.sys)"))?;
        let system_tables = ["mysql_system_tables.sql", "mariadb_system_tables.sql"]
            .map(|file| share.join(file))
            .into_iter()
            .find(|file| file.is_file())
            .ok_or_else(|| incomplete("system tables (mariadb_system_tables.sql)"))?;
        Ok(Self {
            mariadbd,
            basedir,
            share,
            system_tables,
            libraries,
        })
    }

    /// The server program.
    pub fn mariadbd(&self) -> &Path {
        &self.mariadbd
    }

    /// The folder below which everything of the installation lies.
    pub(crate) fn basedir(&self) -> &Path {
        &self.basedir
    }

    /// Error messages and character sets.
    pub(crate) fn share(&self) -> &Path {
        &self.share
    }

    /// The statements that make the system tables.
    pub(crate) fn system_tables(&self) -> &Path {
        &self.system_tables
    }

    /// The words that begin a command line of the server. A server unpacked beside the system gets the libraries
    /// unpacked with it.
    pub(crate) fn command(&self) -> Vec<OsString> {
        let program = self.mariadbd.clone().into_os_string();
        if self.libraries.is_empty() {
            return vec![program];
        }
        let mut path = OsString::from("LD_LIBRARY_PATH=");
        for (index, folder) in self.libraries.iter().enumerate() {
            if index > 0 {
                path.push(":");
            }
            path.push(folder);
        }
        vec!["/usr/bin/env".into(), path, program]
    }
}

/// Where `scripts/setup.sh` unpacks a server for a user who cannot install packages.
fn cache_root() -> Option<PathBuf> {
    let cache = match env::var_os("XDG_CACHE_HOME").filter(|folder| !folder.is_empty()) {
        Some(folder) => PathBuf::from(folder),
        None => PathBuf::from(env::var_os("HOME")?).join(".cache"),
    };
    Some(cache.join("ciphertax/servers/mariadb"))
}

/// The folders of shared libraries below `root`: on Debian and Ubuntu named for the architecture.
fn library_folders(root: &Path) -> Vec<PathBuf> {
    ["usr/lib", "lib"]
        .iter()
        .filter_map(|folder| fs::read_dir(root.join(folder)).ok())
        .flat_map(|entries| entries.flatten())
        .filter(|entry| entry.file_name().to_string_lossy().contains("-linux-gnu"))
        .map(|entry| entry.path())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_comes_before_the_cache() {
        let system = installation("share/mysql", "mysql_system_tables.sql");
        let cache = installation("share/mariadb", "mariadb_system_tables.sql");
        let found = Installation::find_in(&[system.path().join("usr/sbin")], Some(cache.path())).unwrap();
        assert_eq!(found.command(), [system.path().join("usr/sbin/mariadbd")]);
    }

    #[test]
    fn a_server_in_the_cache_gets_its_own_libraries() {
        let cache = installation("share/mariadb", "mariadb_system_tables.sql");
        let libraries = cache.path().join("usr/lib/x86_64-linux-gnu");
        fs::create_dir_all(&libraries).unwrap();
        let found = Installation::find_in(&[], Some(cache.path())).unwrap();
        assert_eq!(found.share(), cache.path().join("usr/share/mariadb"));
        let path = format!("LD_LIBRARY_PATH={}", libraries.display());
        assert_eq!(
            found.command()[..2],
            [OsString::from("/usr/bin/env"), path.into()]
        );
    }

    #[test]
    fn without_a_server_the_message_names_the_remedy() {
        let error = Installation::find_in(&[], Some(Path::new("/cache/of/nobody")))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("/cache/of/nobody") && error.contains("scripts/setup.sh demo"),
            "{error}"
        );
    }

    #[test]
    fn a_server_without_its_files_is_called_incomplete() {
        let system = installation("share/mysql", "mysql_system_tables.sql");
        fs::remove_file(system.path().join("usr/share/mysql/mysql_system_tables.sql")).unwrap();
        let error = Installation::find_in(&[system.path().join("usr/sbin")], None).unwrap_err();
        assert!(matches!(error, Error::Incomplete { .. }), "{error}");
    }

    fn installation(share: &str, system_tables: &str) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let share = root.path().join("usr").join(share);
        fs::create_dir_all(share.join("english")).unwrap();
        fs::create_dir_all(root.path().join("usr/sbin")).unwrap();
        for file in [
            root.path().join("usr/sbin/mariadbd"),
            share.join("english/errmsg.sys"),
            share.join(system_tables),
        ] {
            fs::write(file, "").unwrap();
        }
        root
    }
}

//! Finding the programs of a server.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};

use crate::catalogue::{Entry, MARIADB, Source, Suite};
use crate::error::{Error, Result};
use crate::search::{cache_root, command_line, library_folders, program_in, system_folders};

/// What an installation in the cache says of itself, beside its files.
const RECORD: &str = "ciphertax-installed.json";

/// An installed server: unpacked into the user's cache, or the system's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installation {
    entry: &'static Entry,
    program: PathBuf,
    basedir: PathBuf,
    share: PathBuf,
    plugins: Option<PathBuf>,
    libraries: Vec<PathBuf>,
}

/// What an installation in the cache says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// The folder it was made for: programs in it name their libraries by absolute paths.
    pub(crate) folder: PathBuf,
    /// What was fetched, with versions.
    pub(crate) artifacts: Vec<String>,
}

impl Installation {
    /// The distribution's MariaDB; see [`Installation::of`].
    ///
    /// # Errors
    /// Names what is missing and where it was looked for.
    pub fn find() -> Result<Self> {
        Self::of(&MARIADB)
    }

    /// The server of a catalogue entry: in the user's cache, where `ciphertax servers install` puts it; the
    /// distribution's MariaDB also in the system.
    ///
    /// # Errors
    /// Names what is missing, where it was looked for, and the remedy.
    pub fn of(entry: &'static Entry) -> Result<Self> {
        let of_the_system = match entry.source {
            Source::Apt {
                suite: Suite::OfTheMachine,
                ..
            } => system_folders(),
            _ => Vec::new(),
        };
        Self::find_in(entry, cache_folder(entry).as_deref(), &of_the_system)
    }

    fn find_in(entry: &'static Entry, cache: Option<&Path>, of_the_system: &[PathBuf]) -> Result<Self> {
        if let Some(folder) = cache.filter(|folder| folder.is_dir()) {
            return Self::in_cache(entry, folder);
        }
        // A `mysqld` of the system may be anybody's.
        if let Some(program) = program_in(&["mariadbd"], of_the_system) {
            return Self::around(entry, &program, Vec::new());
        }
        let searched = of_the_system
            .iter()
            .map(PathBuf::as_path)
            .chain(cache)
            .map(|path| path.display().to_string())
            .collect::<Vec<_>>()
            .join(", ");
        Err(Error::NotInstalled {
            server: entry.name,
            searched,
        })
    }

    /// An installation in a folder of its own.
    fn in_cache(entry: &'static Entry, folder: &Path) -> Result<Self> {
        let program_folders = ["usr/sbin", "bin", "usr/libexec"].map(|below| folder.join(below));
        let program =
            program_in(&["mariadbd", "mysqld"], &program_folders).ok_or_else(|| Error::Incomplete {
                server: entry.name,
                folder: folder.into(),
                missing: "server program".into(),
            })?;
        match Record::read(folder) {
            Some(record) if record.folder != folder => Err(Error::Incomplete {
                server: entry.name,
                folder: folder.into(),
                missing: format!("libraries: it was made in {}", record.folder.display()),
            }),
            // Its programs know their loader and libraries.
            Some(_) if matches!(entry.source, Source::Apt { .. }) => {
                Self::around(entry, &program, Vec::new())
            }
            _ => Self::around(entry, &program, library_folders(folder)),
        }
    }

    /// Completes an installation from its server program, which lies one folder below the base.
    fn around(entry: &'static Entry, program: &Path, libraries: Vec<PathBuf>) -> Result<Self> {
        let program = fs::canonicalize(program).map_err(Error::read(program))?;
        let basedir = program.ancestors().nth(2).unwrap_or(Path::new("/")).to_owned();
        // MariaDB 11 says `mariadb` where older releases say `mysql`; upstream's own layout has neither.
        let share = ["share/mysql", "share/mariadb", "share"]
            .map(|folder| basedir.join(folder))
            .into_iter()
            .find(|folder| folder.join("english/errmsg.sys").is_file())
            .ok_or_else(|| Error::Incomplete {
                server: entry.name,
                folder: basedir.clone(),
                missing: "messages (english/errmsg.sys)".into(),
            })?;
        let plugins = ["lib/mysql/plugin", "lib/mariadb/plugin", "lib/plugin"]
            .map(|folder| basedir.join(folder))
            .into_iter()
            .find(|folder| folder.is_dir());
        Ok(Self {
            entry,
            program,
            basedir,
            share,
            plugins,
            libraries,
        })
    }

    /// Which server it is.
    pub fn entry(&self) -> &'static Entry {
        self.entry
    }

    /// The server program.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Its version in its own words, for example `10.11.19-MariaDB-0+deb12u1`.
    ///
    /// # Errors
    /// If it cannot be run.
    pub fn version(&self) -> Result<String> {
        let failed = |cause| Error::Spawn {
            program: self.program.clone(),
            cause,
        };
        let words = self.command();
        let output = Command::new(&words[0])
            .args(&words[1..])
            .args(["--no-defaults", "--version"])
            .output()
            .map_err(failed)?;
        // /usr/sbin/mysqld  Ver 9.7.0-1 for Linux on x86_64 ((Debian))
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut words = text.split_whitespace().skip_while(|word| *word != "Ver");
        words.nth(1).map(str::to_owned).ok_or_else(|| Error::Incomplete {
            server: self.entry.name,
            folder: self.basedir.clone(),
            missing: format!(
                "libraries, it seems; it says: {}",
                String::from_utf8_lossy(&output.stderr).trim()
            ),
        })
    }

    /// True if it has every library that the catalogue promises of it.
    pub fn is_complete(&self) -> bool {
        self.entry
            .plugins
            .iter()
            .all(|(_, library)| self.has_plugin(library))
    }

    pub(crate) fn has_plugin(&self, library: &str) -> bool {
        let file = if library.ends_with(".so") {
            library.to_owned()
        } else {
            format!("{library}.so")
        };
        self.plugins
            .as_ref()
            .is_some_and(|folder| folder.join(file).is_file())
    }

    /// The folder below which everything of the installation lies.
    pub(crate) fn basedir(&self) -> &Path {
        &self.basedir
    }

    /// Error messages and character sets.
    pub(crate) fn share(&self) -> &Path {
        &self.share
    }

    /// Libraries that can be loaded; `None` where there are none.
    pub(crate) fn plugins(&self) -> Option<&Path> {
        self.plugins.as_deref()
    }

    /// The statements that make the system tables.
    pub(crate) fn system_tables(&self) -> Result<PathBuf> {
        ["mysql_system_tables.sql", "mariadb_system_tables.sql"]
            .map(|file| self.share.join(file))
            .into_iter()
            .find(|file| file.is_file())
            .ok_or_else(|| Error::Incomplete {
                server: self.entry.name,
                folder: self.share.clone(),
                missing: "system tables (mariadb_system_tables.sql)".into(),
            })
    }

    /// The words that begin a command line of the server.
    pub(crate) fn command(&self) -> Vec<OsString> {
        command_line(&self.program, &self.libraries)
    }
}

impl Record {
    /// `None` if there is none that can be read: the folder was not made by `ciphertax servers install`.
    pub(crate) fn read(folder: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(folder.join(RECORD)).ok()?).ok()
    }

    pub(crate) fn write(&self, folder: &Path) -> Result<()> {
        let path = folder.join(RECORD);
        serde_json::to_vec_pretty(self)
            .map_err(std::io::Error::other)
            .and_then(|text| fs::write(&path, text))
            .map_err(Error::write(&path))
    }
}

/// Where a server is unpacked for a user.
pub(crate) fn cache_folder(entry: &Entry) -> Option<PathBuf> {
    Some(cache_root()?.join("servers").join(entry.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::MARIADB_11_8;

    #[test]
    fn the_cache_comes_before_the_system() {
        let system = installation("share/mysql", "mysql_system_tables.sql");
        let cache = installation("share/mariadb", "mariadb_system_tables.sql");
        let of_the_system = [system.path().join("usr/sbin")];
        let find = |cache| Installation::find_in(&MARIADB, cache, &of_the_system).unwrap();
        assert!(find(Some(cache.path())).program().starts_with(cache.path()));
        let nowhere = cache.path().join("nowhere");
        assert!(find(Some(&nowhere)).program().starts_with(system.path()));
    }

    #[test]
    fn a_server_of_the_system_is_run_as_it_is_and_one_without_a_record_gets_its_own_libraries() {
        let root = installation("share/mariadb", "mariadb_system_tables.sql");
        let libraries = root.path().join("usr/lib/x86_64-linux-gnu");
        fs::create_dir_all(&libraries).unwrap();
        let program = root.path().join("usr/sbin/mariadbd");
        let folder = [root.path().join("usr/sbin")];
        let found = Installation::find_in(&MARIADB, None, &folder).unwrap();
        assert_eq!(found.command(), [program.clone().into_os_string()]);

        let found = Installation::find_in(&MARIADB, Some(root.path()), &[]).unwrap();
        assert_eq!(found.share(), root.path().join("usr/share/mariadb"));
        let path = format!("LD_LIBRARY_PATH={}", libraries.display());
        assert_eq!(
            found.command(),
            [OsString::from("/usr/bin/env"), path.into(), program.into()]
        );
    }

    #[test]
    fn an_installation_that_was_moved_is_not_run() {
        let root = installation("share/mariadb", "mariadb_system_tables.sql");
        let mut record = Record {
            folder: root.path().to_owned(),
            artifacts: Vec::new(),
        };
        record.write(root.path()).unwrap();
        assert!(Installation::find_in(&MARIADB_11_8, Some(root.path()), &[]).is_ok());
        record.folder = "/elsewhere".into();
        record.write(root.path()).unwrap();
        let error = Installation::find_in(&MARIADB_11_8, Some(root.path()), &[])
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("/elsewhere") && error.contains("servers install mariadb-11.8"),
            "{error}"
        );
    }

    #[test]
    fn without_a_server_the_message_names_the_remedy() {
        let error = Installation::find_in(&MARIADB, Some(Path::new("/cache/of/nobody")), &[])
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("/cache/of/nobody") && error.contains("ciphertax servers install mariadb"),
            "{error}"
        );
    }

    #[test]
    fn a_server_without_its_files_is_called_incomplete() {
        let system = installation("share/mysql", "mysql_system_tables.sql");
        fs::remove_file(system.path().join("usr/share/mysql/english/errmsg.sys")).unwrap();
        let folders = [system.path().join("usr/sbin")];
        let error = Installation::find_in(&MARIADB, None, &folders).unwrap_err();
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

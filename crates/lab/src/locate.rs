//! Places of programs: in the system, or unpacked with the libraries they need.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fmt, fs};

use etcetera::BaseStrategy;
use etcetera::base_strategy::Xdg;
use serde::{Deserialize, Serialize};

use crate::catalogue::{Entry, Source, Suite};
use crate::error::{Error, Result};

/// What an installation in the cache says of itself, beside its files.
const RECORD: &str = "ciphertax-installed.json";

/// An installed server: unpacked into the user's cache, or the system's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installation {
    /// Which server it is.
    pub entry: &'static Entry,
    /// The server program.
    pub program: PathBuf,
    /// The folder below which everything of it lies.
    pub(crate) basedir: PathBuf,
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
    /// The program of a catalogue entry: in the user's cache, where `ciphertax servers install` puts it; the
    /// distribution's own also in the system. Whether it has all its files is for its family to say.
    pub(crate) fn locate(entry: &'static Entry) -> Result<Self> {
        if entry.is_built_in() {
            return Err(Error::BuiltIn(entry.name));
        }
        let of_the_system = match entry.source {
            Source::Apt {
                suite: Suite::OfTheMachine,
                ..
            } => {
                let own = entry.family.program().folders_in(Path::new("/"));
                system_folders().into_iter().chain(own).collect()
            }
            _ => Vec::new(),
        };
        Self::find_in(entry, cache_folder(entry).as_deref(), &of_the_system)
    }

    pub(crate) fn find_in(
        entry: &'static Entry,
        cache: Option<&Path>,
        of_the_system: &[PathBuf],
    ) -> Result<Self> {
        if let Some(folder) = cache.filter(|folder| folder.is_dir()) {
            return Self::in_cache(entry, folder);
        }
        // Other names may be anybody's there.
        let name = &entry.family.program().names[..1];
        if let Some(program) = program_in(name, of_the_system) {
            return Self::around(entry, &program, Vec::new());
        }
        let mut searched: Vec<&Path> = Vec::new();
        for folder in of_the_system.iter().map(PathBuf::as_path).chain(cache) {
            if !searched.contains(&folder) {
                searched.push(folder);
            }
        }
        let searched: Vec<String> = searched.iter().map(|path| path.display().to_string()).collect();
        let searched = searched.join(", ");
        Err(Error::NotInstalled {
            server: entry.name,
            searched,
        })
    }

    /// An installation in a folder of its own.
    fn in_cache(entry: &'static Entry, folder: &Path) -> Result<Self> {
        let program = entry.family.program();
        let program =
            program_in(program.names, &program.folders_in(folder)).ok_or_else(|| Error::Incomplete {
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
        Ok(Self {
            entry,
            program,
            basedir,
            libraries,
        })
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
        let program = self.entry.family.program();
        let words = self.command();
        let output = Command::new(&words[0])
            .args(&words[1..])
            .args(program.version_options)
            .output()
            .map_err(failed)?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut words = text
            .split_whitespace()
            .skip_while(|word| *word != program.version_mark);
        if let Some(version) = words.nth(1) {
            return Ok(version.trim_start_matches('v').to_owned());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(self.missing_library(&said).unwrap_or_else(|| Error::Incomplete {
            server: self.entry.name,
            folder: self.basedir.clone(),
            missing: format!("libraries, it seems; it says: {}", said.trim()),
        }))
    }

    /// The error for a server of the system's libraries that complains, in these words, that one is not there.
    pub(crate) fn missing_library(&self, said: &str) -> Option<Error> {
        let Source::Pip { libraries, .. } = self.entry.source else {
            return None;
        };
        let (_, rest) = said.split_once("error while loading shared libraries: ")?;
        Some(Error::NoLibrary {
            server: self.entry.name,
            library: rest.split(':').next().unwrap_or(rest).to_owned(),
            packages: libraries,
        })
    }

    /// The words that begin a command line of the server.
    pub(crate) fn command(&self) -> Vec<OsString> {
        self.command_by(&self.program)
    }

    /// The words that begin a command line of the server, which is started by another path that leads to it.
    pub(crate) fn command_by(&self, program: &Path) -> Vec<OsString> {
        command_line(program, &self.libraries)
    }

    /// True unless it was fetched before the catalogue had a program beside it.
    pub(crate) fn has_programs_beside(&self) -> bool {
        let Source::Apt { beside, .. } = self.entry.source else {
            return true;
        };
        let is_there = |package: &&str| self.beside(&package.replace('-', "")).is_some();
        beside.iter().all(is_there)
    }

    /// A program that was fetched beside it; `None` if it is not there, or if this is the system's.
    pub(crate) fn beside(&self, name: &str) -> Option<PathBuf> {
        let root = cache_folder(self.entry)?;
        program_in(&[name], &self.entry.family.program().folders_in(&root))
    }

    /// The words that begin a command line of a program beside it.
    pub(crate) fn companion(&self, name: &str) -> Vec<OsString> {
        command_line(&self.program.with_file_name(name), &self.libraries)
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

/// Where packages put programs, whether or not an ordinary user's `PATH` names it.
const SYSTEM_FOLDERS: [&str; 6] = [
    "/usr/sbin",
    "/usr/local/sbin",
    "/sbin",
    "/usr/libexec",
    "/usr/bin",
    "/bin",
];

/// The folder of everything that ciphertax keeps for this user; `None` without a home.
pub(crate) fn cache_root() -> Option<PathBuf> {
    let cache = Xdg::new().ok()?.cache_dir();
    cache.is_absolute().then(|| cache.join("ciphertax"))
}

/// The folders of the system's programs: those of `PATH`, and those of server programs.
pub(crate) fn system_folders() -> Vec<PathBuf> {
    env::var_os("PATH")
        .iter()
        .flat_map(env::split_paths)
        .filter(|folder| folder.is_absolute())
        .chain(SYSTEM_FOLDERS.map(PathBuf::from))
        .collect()
}

/// The first of these programs in these folders that this user may execute; an earlier name comes before an earlier
/// folder.
pub(crate) fn program_in(names: &[&str], folders: &[PathBuf]) -> Option<PathBuf> {
    names.iter().find_map(|name| {
        let mut paths = folders.iter().map(|folder| folder.join(name));
        paths.find_map(|path| which::which(path).ok())
    })
}

/// The folders of shared libraries below `root`: on Debian and Ubuntu named for the architecture; in upstream's own
/// packages `libs`.
pub(crate) fn library_folders(root: &Path) -> Vec<PathBuf> {
    let of_the_architecture = ["usr/lib", "lib"]
        .iter()
        .filter_map(|folder| fs::read_dir(root.join(folder)).ok())
        .flat_map(|entries| entries.flatten())
        .filter(|entry| entry.file_name().to_string_lossy().contains("-linux-gnu"))
        .map(|entry| entry.path());
    let bundled = Some(root.join("libs")).filter(|folder| folder.is_dir());
    of_the_architecture.chain(bundled).collect()
}

/// The words that begin a command line of a program. One that does not know its libraries gets them by its
/// environment.
pub(crate) fn command_line(program: &Path, libraries: &[PathBuf]) -> Vec<OsString> {
    let program = program.to_owned().into_os_string();
    if libraries.is_empty() {
        return vec![program];
    }
    let folders: Vec<_> = libraries.iter().map(|folder| folder.as_os_str()).collect();
    let mut path = OsString::from("LD_LIBRARY_PATH=");
    path.push(folders.join(OsString::from(":").as_os_str()));
    vec!["/usr/bin/env".into(), path, program]
}

/// What is being done for an installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InstallStep {
    /// Another process installs the same server.
    Waiting,
    /// What there is and what it needs is looked up.
    LookingUp,
    /// Files are fetched.
    Fetching {
        /// By which program.
        client: &'static str,
        /// How many packages or files.
        count: usize,
    },
    /// Files are compared with what they must be.
    Verifying,
    /// Files are unpacked.
    Unpacking,
    /// The server is built.
    Building,
    /// The first, empty data folder is made.
    Initialising,
}

impl fmt::Display for InstallStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Waiting => f.write_str("waiting for another ciphertax that installs it"),
            Self::LookingUp => f.write_str("looking up packages"),
            Self::Fetching { client, count: 1 } => write!(f, "fetching by {client}"),
            Self::Fetching { client, count } => write!(f, "fetching {count} packages by {client}"),
            Self::Verifying => f.write_str("verifying"),
            Self::Unpacking => f.write_str("unpacking"),
            Self::Building => f.write_str("building, which takes some minutes"),
            Self::Initialising => f.write_str("making its first data folder"),
        }
    }
}

#[cfg(test)]
mod tests {
    use ciphertax_testkit::says;

    use super::*;
    use crate::catalogue::{MARIADB, MARIADB_11_8};
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_cache_comes_before_the_system() {
        let system = installation();
        let cache = installation();
        let of_the_system = [system.path().join("usr/sbin")];
        let find = |cache| Installation::find_in(&MARIADB, cache, &of_the_system).unwrap();
        assert!(find(Some(cache.path())).program.starts_with(cache.path()));
        let nowhere = cache.path().join("nowhere");
        assert!(find(Some(&nowhere)).program.starts_with(system.path()));
    }

    #[test]
    fn a_server_of_the_system_is_run_as_it_is_and_one_without_a_record_gets_its_own_libraries() {
        let root = installation();
        let libraries = root.path().join("usr/lib/x86_64-linux-gnu");
        fs::create_dir_all(&libraries).unwrap();
        let program = root.path().join("usr/sbin/mariadbd");
        let folder = [root.path().join("usr/sbin")];
        let found = Installation::find_in(&MARIADB, None, &folder).unwrap();
        assert_eq!(found.command(), [program.clone().into_os_string()]);

        let found = Installation::find_in(&MARIADB, Some(root.path()), &[]).unwrap();
        let path = format!("LD_LIBRARY_PATH={}", libraries.display());
        assert_eq!(
            found.command(),
            [OsString::from("/usr/bin/env"), path.into(), program.into()]
        );
    }

    #[test]
    fn an_installation_that_was_moved_is_not_run() {
        let root = installation();
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
        says(&error, "/elsewhere … servers install mariadb-11.8");
    }

    #[test]
    fn without_a_server_the_message_names_the_remedy() {
        let error = Installation::find_in(&MARIADB, Some(Path::new("/cache/of/nobody")), &[])
            .unwrap_err()
            .to_string();
        says(&error, "/cache/of/nobody … ciphertax servers install mariadb");
    }

    fn installation() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let program = root.path().join("usr/sbin/mariadbd");
        fs::create_dir_all(root.path().join("usr/sbin")).unwrap();
        fs::write(&program, "").unwrap();
        fs::set_permissions(program, Permissions::from_mode(0o755)).unwrap();
        root
    }

    #[test]
    fn a_file_that_nobody_may_execute_is_no_program() {
        let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let folders = [first.path().to_owned(), second.path().to_owned()];
        let add = |folder: &Path, name: &str, mode: u32| {
            fs::write(folder.join(name), "").unwrap();
            fs::set_permissions(folder.join(name), fs::Permissions::from_mode(mode)).unwrap();
        };
        add(first.path(), "one", 0o644);
        assert_eq!(program_in(&["one"], &folders), None);
        add(second.path(), "one", 0o755);
        add(first.path(), "other", 0o755);
        let found = program_in(&["one", "other"], &folders);
        assert_eq!(found, Some(second.path().join("one")));
    }
}

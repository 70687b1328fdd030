//! Where programs are: in the system, or unpacked into the user's cache with the libraries they need.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{env, fs};

use etcetera::BaseStrategy;
use etcetera::base_strategy::Xdg;

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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

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
        assert_eq!(
            program_in(&["one", "other"], &folders),
            Some(second.path().join("one"))
        );
    }
}

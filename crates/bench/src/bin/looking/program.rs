//! Other programs, none of which outlives its time or this process.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use ciphertax_bench::Result;
use ciphertax_supervise::child::die_with_this_thread;
use ciphertax_supervise::free_mb;
use tempfile::TempDir;

/// How often a program is looked at.
const GLANCE: Duration = Duration::from_millis(2);
/// A file system in memory, where there is one: what a peer writes must not keep the server's disk busy.
const MEMORY: &str = "/dev/shm";
/// What a slice of the largest recording takes, in megabytes, with room to spare.
const NEEDED_MB: u64 = 2000;

/// A folder that goes with what is kept in it.
pub(crate) fn folder() -> Result<TempDir> {
    let memory = Path::new(MEMORY);
    let has_room = free_mb(memory).is_ok_and(|free| free >= NEEDED_MB);
    let folder = has_room.then(|| TempDir::new_in(memory)).and_then(io::Result::ok);
    Ok(folder.map_or_else(TempDir::new, Ok)?)
}

/// A program that was started.
pub(crate) struct Program {
    name: &'static str,
    child: Child,
    /// What it complains of.
    errors: PathBuf,
}

impl Program {
    /// Starts `name` with these arguments. What it prints goes to a file of this name in the folder, what it complains of to another.
    pub(crate) fn start(name: &'static str, arguments: &[&str], folder: &Path, output: &str) -> Result<Self> {
        let errors = folder.join(format!("{output}.errors"));
        let mut command = Command::new(name);
        command
            .args(arguments)
            // Nobody is asked for symbols on a network, nor whether that is wanted.
            .env_remove("DEBUGINFOD_URLS")
            .stdin(Stdio::null())
            .stdout(File::create(folder.join(output))?)
            .stderr(File::create(&errors)?);
        die_with_this_thread(&mut command);
        let child = command.spawn().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => format!("{name} is not installed here"),
            _ => format!("{name} cannot be started: {error}"),
        })?;
        Ok(Self { name, child, errors })
    }

    /// Waits for its end, and calls `glance` meanwhile.
    ///
    /// # Errors
    /// If it fails, or goes on for longer than that, in which case it is killed.
    pub(crate) fn finish(mut self, limit: Duration, mut glance: impl FnMut()) -> Result<()> {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(status) = self.child.try_wait()? {
                return self.judge(status);
            }
            if Instant::now() > deadline {
                return Err(format!("{} did not end within {limit:?}", self.name).into());
            }
            glance();
            thread::sleep(GLANCE);
        }
    }

    /// # Errors
    /// If it has ended, with what it complained of.
    pub(crate) fn check_runs(&mut self) -> Result<()> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(_) => Err(self.complaint().into()),
        }
    }

    fn judge(&self, status: ExitStatus) -> Result<()> {
        match status.success() {
            true => Ok(()),
            false => Err(self.complaint().into()),
        }
    }

    fn complaint(&self) -> String {
        let errors = fs::read_to_string(&self.errors).unwrap_or_default();
        let first = errors.lines().find(|line| !line.trim().is_empty());
        format!("{} failed: {}", self.name, first.unwrap_or("it does not say why"))
    }
}

/// Ends what still runs.
impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

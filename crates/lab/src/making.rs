//! Running what makes the system tables of a private server.

use std::fs::File;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use ciphertax_reactor::stop;
use ciphertax_supervise::child;

use crate::catalogue::Entry;
use crate::error::{Error, Result};
use crate::log::{self, LOG, STARTUP};

/// Runs a command to its end, which reads `input`, and whose complaints are added to the log in `folder`. True if it
/// succeeded.
pub(crate) fn to_its_end(command: &mut Command, folder: &Path, input: &str) -> Result<bool> {
    let log = folder.join(LOG);
    let log = File::options()
        .append(true)
        .create(true)
        .open(&log)
        .map_err(Error::write(&log))?;
    command.stdin(Stdio::piped()).stderr(log).process_group(0);
    // This thread waits for the end, so it lives as long as the process does.
    child::die_with_this_thread(command);
    let program = PathBuf::from(command.get_program());
    let failed = |cause| Error::Spawn {
        program: program.clone(),
        cause,
    };
    let mut process = command.spawn().map_err(failed)?;
    // One that has ended does not read; its log says why. Closing the pipe is the end of what there is to read.
    let _ = process
        .stdin
        .take()
        .map(|mut stdin| stdin.write_all(input.as_bytes()));
    let deadline = Instant::now() + STARTUP;
    loop {
        match process.try_wait().map_err(failed)? {
            Some(status) => return Ok(status.success()),
            None if !stop::is_over(deadline) => thread::sleep(Duration::from_millis(5)),
            None => {
                let _ = process.kill();
                let _ = process.wait();
                return Err(Error::NotReady {
                    seconds: STARTUP.as_secs(),
                    log: log::tail(folder),
                });
            }
        }
    }
}

/// Why system tables could not be made in `folder`, by its log.
pub(crate) fn no_system_tables(entry: &Entry, folder: &Path) -> Error {
    if log::names_a_full_disk(&log::read_from(&folder.join(LOG), 0)) {
        return Error::disk_filled(entry.name, folder);
    }
    Error::Bootstrap {
        log: log::tail(folder),
    }
}

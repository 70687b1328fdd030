//! Data folders that are made once and copied for every private server.
//!
//! They lie in the user's cache and hold system tables and nothing else: no account, so no password, and no key.

use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use ciphertax_reactor::stop;
use ciphertax_supervise::{child, free_mb};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::catalogue::Entry;
use crate::error::{Error, Result};
use crate::files::{self, LOG, STARTUP, copy_into, lock_file, remove};
use crate::locate::{Installation, cache_root};
use crate::tunnel::program::end_within;

/// Counts up whenever templates are made in another way, so that old ones are made again.
const FORMAT: u32 = 1;

/// How often a lock that somebody else holds is tried again.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

pub(crate) const DATA: &str = "data";

const MADE_BY: &str = "made-by";

/// Makes a data folder in a folder.
type Make<'a> = dyn Fn(&Path) -> Result<()> + 'a;

/// How servers of a family come by their first data folder.
pub(crate) struct Recipe<'a> {
    /// Whose data folder it is.
    pub(crate) installation: &'a Installation,
    /// Space that is left free for servers, in megabytes: with less, no template is kept.
    pub(crate) needed_mb: u64,
    /// Makes the folder [`DATA`] in a folder, which is empty.
    pub(crate) make: Box<Make<'a>>,
}

impl Recipe<'_> {
    /// Gives `folder` a data folder with system tables and no account: a copy of the template. Where nothing can be
    /// kept, it is made on the spot.
    pub(crate) fn provide(&self, folder: &Path) -> Result<()> {
        match Template::open(self) {
            Some(template) => template.copy_to(folder),
            None => self.provide_anew(folder),
        }
    }

    /// Gives `folder` a data folder that nobody else has or gets.
    pub(crate) fn provide_anew(&self, folder: &Path) -> Result<()> {
        make_at(self, folder, &folder.join("template.partial"))
    }

    /// Makes the template if it is not there, so that the next start need not.
    pub(crate) fn prepare(&self) -> Result<()> {
        match Template::open(self) {
            Some(template) => template.locked().map(drop),
            None => Ok(()),
        }
    }
}

/// The place of a template in the cache.
struct Template<'a> {
    recipe: &'a Recipe<'a>,
    folder: PathBuf,
    partial: PathBuf,
    lock: File,
}

impl<'a> Template<'a> {
    /// `None` if this user cannot keep files.
    fn open(recipe: &'a Recipe<'a>) -> Option<Self> {
        let templates = cache_root()?.join("templates");
        fs::create_dir_all(&templates).ok()?;
        let name = recipe.installation.entry.name;
        let template = Self {
            recipe,
            folder: templates.join(name),
            partial: templates.join(format!(".{name}.partial")),
            lock: lock_file(&templates.join(format!(".{name}.lock"))).ok()?,
        };
        let room = || free_mb(&templates).is_ok_and(|free| free >= recipe.needed_mb);
        (template.is_current() || room()).then_some(template)
    }

    fn copy_to(&self, folder: &Path) -> Result<()> {
        self.locked()?;
        let data = folder.join(DATA);
        fs::create_dir(&data).map_err(Error::write(&data))?;
        copy_into(&data, &self.folder.join(DATA))
    }

    /// Locks the template against being replaced, for as long as this lives, after making it if it has to be made.
    fn locked(&self) -> Result<()> {
        let lock = |operation| {
            // Whoever holds it may be at work for seconds.
            loop {
                match flock(&self.lock, operation) {
                    Err(Errno::INTR | Errno::WOULDBLOCK) if !stop::is_requested() => {
                        thread::sleep(LOOK_AGAIN)
                    }
                    locked => {
                        return locked
                            .map_err(io::Error::from)
                            .map_err(Error::write(&self.folder));
                    }
                }
            }
        };
        lock(FlockOperation::NonBlockingLockShared)?;
        if self.is_current() {
            return Ok(());
        }
        lock(FlockOperation::NonBlockingLockExclusive)?;
        if self.is_current() {
            return Ok(());
        }
        self.make()
    }

    fn make(&self) -> Result<()> {
        let partial = &self.partial;
        for stale in [partial, &self.folder] {
            remove(stale)?;
        }
        fs::create_dir(partial).map_err(Error::write(partial))?;
        let new = partial.join("new");
        fs::create_dir(&new).map_err(Error::write(&new))?;
        let made = make_at(self.recipe, &new, &partial.join("making")).and_then(|()| {
            let made_by = new.join(MADE_BY);
            fs::write(&made_by, made_by_text(self.recipe.installation)).map_err(Error::write(&made_by))?;
            fs::rename(&new, &self.folder).map_err(Error::write(&self.folder))
        });
        let removed = remove(partial);
        made.and(removed)
    }

    fn is_current(&self) -> bool {
        fs::read_to_string(self.folder.join(MADE_BY))
            .is_ok_and(|text| text == made_by_text(self.recipe.installation))
    }
}

/// Makes a data folder in `folder` by way of the folder `workshop` on the same disk.
fn make_at(recipe: &Recipe<'_>, folder: &Path, workshop: &Path) -> Result<()> {
    fs::create_dir(workshop).map_err(Error::write(workshop))?;
    (recipe.make)(workshop)?;
    let data = folder.join(DATA);
    fs::rename(workshop.join(DATA), &data).map_err(Error::write(&data))?;
    remove(workshop)
}

/// The server program, with its size and the time of its last change: another one makes other tables.
fn made_by_text(installation: &Installation) -> String {
    let program = &installation.program;
    let state = |metadata: Metadata| {
        let (seconds, nanoseconds) = (metadata.mtime(), metadata.mtime_nsec());
        format!("{} bytes of {seconds}.{nanoseconds:09}", metadata.len())
    };
    let state = fs::metadata(program).map_or_else(|error| error.to_string(), state);
    format!("{FORMAT} {} {state}\n", program.display())
}

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
    end_within(&mut process, STARTUP)
        .map_err(failed)?
        .ok_or_else(|| Error::NotReady {
            program: files::PRIVATE_SERVER,
            seconds: STARTUP.as_secs(),
            log: files::tail(folder),
        })
}

/// Why system tables could not be made in `folder`, by its log.
pub(crate) fn no_system_tables(entry: &Entry, folder: &Path) -> Error {
    if files::names_a_full_disk(&files::read_from(&folder.join(LOG), 0)) {
        return Error::disk_filled(entry.name, folder);
    }
    Error::Bootstrap(files::tail(folder))
}

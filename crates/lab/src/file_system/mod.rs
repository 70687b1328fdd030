//! File systems under a server's data folder: those that encrypt, and those to compare them with.
//!
//! | file system | where the data lie | who encrypts |
//! |---|---|---|
//! | `bind` | in a folder of the machine's own file system | nobody |
//! | `ext4` | in an image, through a loop device | nobody |
//! | `fscrypt` | the same | the kernel: contents by AES-256-XTS, names by AES-256-CTS |
//! | `gocryptfs` | in a folder of the machine's own file system | a FUSE daemon: contents by AES-256-GCM, names by AES-256-EME |
//!
//! fscrypt is compared with `ext4`, which is made and mounted the same way. There is no gocryptfs that does not encrypt:
//! what it costs beside `bind` is FUSE *and* encryption.
//!
//! A file system is mounted over a folder of a server's private folder, and takes in what is there, so nothing else has
//! to know of it. It belongs to the server's guard: whoever removes the private folder unmounts it, the loop device
//! clears itself with the mount, and the daemon is one of the guard's programs. Keys are random: fscrypt's is in the
//! kernel's memory alone, gocryptfs's password in a file for its owner alone until it is mounted.

pub(crate) mod error;
mod gocryptfs;
mod image;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use ciphertax_model::FileSystem;
use ciphertax_supervise::guard::Guard;
use ciphertax_supervise::namespace::{mount_bind, mounts_below};
use procfs::process::{Stat, all_processes};
use rustix::fs::syncfs;
use rustix::process::geteuid;
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities};

use crate::disk_search::{Searched, search};
use crate::error::{Error, Result};
use crate::files::{copy_into, make_like, metadata, remove};
use crate::page_cache::{Dropped, drop_cached, flush};
use gocryptfs::Daemon;
use image::Image;

pub use error::FileSystemError;

/// Makes sure that this user can have a file system of this kind on this machine. Nothing is made.
///
/// # Errors
/// Says what is missing, and what can be had instead.
pub fn check(kind: FileSystem) -> Result<()> {
    match kind {
        FileSystem::Bind => Ok(()),
        FileSystem::Ext4 | FileSystem::Fscrypt => image::check(kind, may_mount()),
        FileSystem::Gocryptfs => gocryptfs::check(),
    }
}

/// Mounts a new file system over `folder`, which lies in the guard's and which nobody uses yet, and puts into it what was
/// there, with owners and rights. One in an image has `size_mb` megabytes, which must be free although the image takes
/// them only when they are needed; others have what the disk has.
///
/// # Errors
/// If this user cannot have it, the disk has no room, or the kernel or a program refuses. What was made by then goes with
/// the guard.
pub fn mount(kind: FileSystem, folder: &Path, size_mb: u64, guard: &mut Guard) -> Result<MountedFileSystem> {
    check(kind)?;
    let folder = folder.canonicalize().map_err(Error::read(folder))?;
    let beneath = match kind {
        FileSystem::Bind => Beneath::Folder(bind(&folder)?),
        FileSystem::Ext4 | FileSystem::Fscrypt => {
            let encrypted = kind == FileSystem::Fscrypt;
            let before = set_aside(&folder)?;
            let image = Image::mount(&folder, size_mb, encrypted)?;
            put_back(&before, &folder)?;
            Beneath::Image(image)
        }
        FileSystem::Gocryptfs => {
            let before = set_aside(&folder)?;
            let daemon = Daemon::start(&folder, guard)?;
            put_back(&before, &folder)?;
            Beneath::Daemon(daemon)
        }
    };
    let mounted = MountedFileSystem {
        kind,
        folder,
        beneath,
    };
    mounted.witness()?;
    Ok(mounted)
}

/// A file system over a server's data folder. It is unmounted, and its data go, with the guard that it was mounted with;
/// dropping this does nothing.
#[derive(Debug)]
pub struct MountedFileSystem {
    kind: FileSystem,
    folder: PathBuf,
    beneath: Beneath,
}

/// What is beneath it.
#[derive(Debug)]
enum Beneath {
    Folder(PathBuf),
    Image(Image),
    Daemon(Daemon),
}

impl MountedFileSystem {
    /// What it is.
    pub fn kind(&self) -> FileSystem {
        self.kind
    }

    /// Where it is mounted: the data as a server sees them.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What lies on the disk: the image that is its block device, or a folder.
    pub fn beneath(&self) -> &Path {
        match &self.beneath {
            Beneath::Folder(folder) => folder,
            Beneath::Image(image) => &image.path,
            Beneath::Daemon(daemon) => &daemon.cipher_folder,
        }
    }

    /// What it was made with, by name.
    pub fn facts(&self) -> BTreeMap<String, String> {
        let mut facts = match &self.beneath {
            Beneath::Folder(_) => BTreeMap::new(),
            Beneath::Image(image) => image.facts(),
            Beneath::Daemon(daemon) => daemon.facts(),
        };
        facts.insert("file system".into(), self.kind.name().into());
        facts
    }

    /// Who works for it besides the processes that read and write its files.
    pub fn workers(&self) -> Workers {
        match &self.beneath {
            Beneath::Folder(_) => Workers::of_the_machines_own(),
            Beneath::Image(image) => Workers::of_image(&image.device, image.key.is_some()),
            Beneath::Daemon(daemon) => Workers::of_daemon(daemon.process.pid()),
        }
    }

    /// The process number of its daemon, which reads and writes the disk in place of those who use its files; `None` for a
    /// file system of the kernel's.
    pub fn daemon(&self) -> Option<u32> {
        match &self.beneath {
            Beneath::Daemon(daemon) => Some(daemon.process.pid()),
            Beneath::Folder(_) | Beneath::Image(_) => None,
        }
    }

    /// Writes all that is in memory of it to the disk, and nothing else of the machine's.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn flush(&self) -> Result<()> {
        if let Beneath::Image(_) = &self.beneath {
            let synchronise = || Ok(syncfs(File::open(&self.folder)?)?);
            synchronise().map_err(Error::write(&self.folder))?;
        }
        flush(self.beneath())
    }

    /// Has the kernel forget what it keeps of its files, and of what lies beneath them; see [`drop_cached`]. Says what
    /// stays.
    ///
    /// # Errors
    /// If a file cannot be written to the disk or opened.
    pub fn drop_cached(&self) -> Result<Dropped> {
        let files = drop_cached(&self.folder)?;
        match &self.beneath {
            // They are the same.
            Beneath::Folder(_) => Ok(files),
            Beneath::Image(_) | Beneath::Daemon(_) => Ok(files + drop_cached(self.beneath())?),
        }
    }

    /// True if a server that asks for it (`O_DIRECT`) goes past the kernel's memory to the disk, so that nothing has to be
    /// dropped. fscrypt encrypts there, so it takes no notice, and of gocryptfs's files the kernel keeps the ciphertext.
    pub fn heeds_direct_io(&self) -> bool {
        match &self.beneath {
            Beneath::Folder(_) => true,
            Beneath::Image(image) => image.key.is_none() && image.direct_io,
            Beneath::Daemon(_) => false,
        }
    }

    /// Why nothing can be read or written any more, by its name; `None` while it works. An image has nobody who could end.
    pub fn end(&self) -> Option<String> {
        match &self.beneath {
            Beneath::Daemon(daemon) => daemon.end().map(|error| error.to_string()),
            Beneath::Folder(_) | Beneath::Image(_) => None,
        }
    }

    /// Looks for a canary on the disk, after [flushing](Self::flush) what is in memory: in the files that lie there and
    /// their names, or in the image, journal, names and deleted files included.
    ///
    /// # Errors
    /// If the disk cannot be written or read. For the canary see [`search`].
    pub fn search_disk(&self, canary: &[u8]) -> Result<Searched> {
        self.flush()?;
        search(self.beneath(), canary)
    }

    /// What the kernel says that the folder is.
    ///
    /// # Errors
    /// If that is not what was to be mounted, or it does not say.
    pub fn witness(&self) -> Result<String> {
        let policy = image::policy_of(&self.folder)?;
        let mounts = mounts_below(&self.folder).map_err(Error::read(&self.folder))?;
        let mount = mounts.iter().rfind(|mount| mount.at == self.folder);
        let kind = mount.map_or("not mounted", |mount| mount.kind.as_str());
        let is_right = match &self.beneath {
            Beneath::Folder(beneath) => *beneath == self.folder || mount.is_some(),
            Beneath::Image(_) => kind == "ext4",
            Beneath::Daemon(_) => kind == "fuse.gocryptfs",
        };
        let says = match &policy {
            Some(policy) => format!("{kind}, {policy}"),
            None => format!("{kind}, without a policy of fscrypt"),
        };
        if is_right && policy.is_some() == (self.kind == FileSystem::Fscrypt) {
            return Ok(says);
        }
        Err(FileSystemError::Disproved {
            file_system: self.kind,
            folder: self.folder.clone(),
            says,
        }
        .into())
    }

    /// Takes the key away, as it is after the machine was turned off: what is on the disk stays there, and can be read no
    /// more. Nobody may have a file open.
    ///
    /// # Errors
    /// If there is no key, files are open, or the kernel refuses. With files open, the key is gone for all others, and this
    /// can be done again.
    pub fn lock(&self, guard: &mut Guard) -> Result<()> {
        self.flush()?;
        match &self.beneath {
            Beneath::Image(image) => image.lock(&self.folder),
            Beneath::Daemon(daemon) => daemon.stop(&self.folder, guard),
            Beneath::Folder(_) => Err(FileSystemError::NoKey(self.kind).into()),
        }
    }
}

/// What lies beneath a folder that was mounted over itself.
fn bind(folder: &Path) -> Result<PathBuf> {
    if !may_mount() {
        return Ok(folder.to_owned());
    }
    let beneath = set_aside(folder)?;
    mount_bind(&beneath, folder).map_err(system(format!("mount {}", folder.display())))?;
    Ok(beneath)
}

/// What lies beside a data folder and belongs to it: `data.image` of `data`.
fn beside(folder: &Path, what: &str) -> PathBuf {
    let mut name = folder.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(what);
    folder.with_file_name(name)
}

/// False also for an ordinary user in namespaces of their own where they keep their number: those rights do not reach the mounts of the
/// machine.
fn may_mount() -> bool {
    let may = |sets: CapabilitySets| sets.effective.contains(CapabilitySet::SYS_ADMIN);
    geteuid().is_root() && capabilities(None).is_ok_and(may)
}

fn can_open(file_system: FileSystem, device: &str) -> Result<()> {
    let opened = File::options().read(true).write(true).open(device);
    opened.map(drop).map_err(|cause| {
        FileSystemError::NoDevice {
            file_system,
            device: device.into(),
            cause,
        }
        .into()
    })
}

/// For `map_err` after what is named by a verb and its object.
fn system<E: Into<io::Error>>(what: impl Into<String>) -> impl FnOnce(E) -> Error {
    move |cause| {
        FileSystemError::System {
            what: what.into(),
            cause: cause.into(),
        }
        .into()
    }
}

/// Who works for a file system besides the processes that read and write its files: its part of the CPU time is in none
/// of their clocks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Workers {
    /// Those that work for this one alone, each with a clock of its own.
    pub own: Vec<Worker>,
    /// What is done by threads of the kernel that work for everybody in turn. Whose work they did is in no clock, so this
    /// file system's part of their time cannot be told.
    pub shared: Vec<&'static str>,
}

/// A process or a thread of the kernel's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worker {
    /// What it is called.
    pub name: String,
    /// Its process number.
    pub pid: u32,
}

/// What every file system on a disk leaves to the kernel's workers.
const WRITE_BACK: &str = "pages are written back by kworkers";

impl Workers {
    /// The process numbers of those that work for this one alone, by which their clocks are read.
    pub fn pids(&self) -> Vec<u32> {
        self.own.iter().map(|worker| worker.pid).collect()
    }

    /// Of a folder of the machine's own file system. Its journal is everybody's too.
    fn of_the_machines_own() -> Self {
        Self {
            own: Vec::new(),
            shared: vec![
                WRITE_BACK,
                "the machine's own journal is written by its jbd2 or the like",
            ],
        }
    }

    /// Of a file system on a loop device.
    fn of_image(device: &str, is_encrypted: bool) -> Self {
        let journal = format!("jbd2/{device}-");
        let own = kernel_threads(|name| name == device || name.starts_with(&journal));
        let has = |beginning: &str| own.iter().any(|worker| worker.name.starts_with(beginning));
        let mut shared = vec![WRITE_BACK];
        if is_encrypted {
            shared.push("pages are encrypted by the kworkers that write them back, and decrypted by others");
        }
        // Until Linux 5.14 each device had a thread of its own.
        if !has(device) {
            shared.push("the loop device is served by kworkers");
        }
        if !has(&journal) {
            shared.push("the thread of the journal (jbd2) cannot be seen from here");
        }
        Self { own, shared }
    }

    /// Of a FUSE file system whose files lie on the machine's own.
    fn of_daemon(pid: u32) -> Self {
        let machine = Self::of_the_machines_own();
        Self {
            own: vec![Worker {
                name: "gocryptfs".into(),
                pid,
            }],
            ..machine
        }
    }
}

/// The threads of the kernel with such names; none in a container, which does not see them.
fn kernel_threads(is_meant: impl Fn(&str) -> bool) -> Vec<Worker> {
    /// Of all of them (`kthreadd`).
    const PARENT: i32 = 2;
    let processes = all_processes().into_iter().flatten().flatten();
    let stats = processes.filter_map(|process| process.stat().ok());
    let threads = stats.filter(|stat| stat.ppid == PARENT && is_meant(&stat.comm));
    let worker = |stat: Stat| Worker {
        name: stat.comm,
        pid: stat.pid.cast_unsigned(),
    };
    threads.map(worker).collect()
}

/// Moves a folder aside and leaves an empty one of the same owner and rights. Returns where it is now.
fn set_aside(folder: &Path) -> Result<PathBuf> {
    let aside = beside(folder, "beneath");
    fs::rename(folder, &aside).map_err(Error::write(&aside))?;
    fs::create_dir(folder).map_err(Error::write(folder))?;
    make_like(folder, &metadata(&aside)?)?;
    Ok(aside)
}

/// Puts what was set aside into the folder again, with owners and rights, and removes it there.
fn put_back(aside: &Path, folder: &Path) -> Result<()> {
    copy_into(folder, aside)?;
    make_like(folder, &metadata(aside)?)?;
    remove(aside)
}

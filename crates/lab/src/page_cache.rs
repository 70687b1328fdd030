//! The page cache, files that the kernel keeps in memory, and having it forget them.
//!
//! Data sets larger than a server's own memory are read through the page cache, unless the server goes past it
//! (`O_DIRECT`) and its file system lets it: fscrypt and gocryptfs do not. So that every arm begins from the same state,
//! its own files are dropped, and never the cache of the whole machine.

use std::cell::Cell;
use std::fs::{self, File};
use std::io;
use std::ops::Add;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::ptr;
use std::time::Duration;

use rustix::fs::{Advice, fadvise, fdatasync};
use rustix::time::{ClockId, clock_gettime};

use crate::error::{Error, Result};
use crate::files::unless_gone;

/// How much of a file is looked at at once, in bytes: a multiple of every size of pages.
const WINDOW: u64 = 1 << 30;

/// What is in memory of some files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cached {
    /// How many files were looked at.
    pub files: u64,
    /// Bytes of their pages that are in memory.
    pub bytes: u64,
}

impl Add for Cached {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            files: self.files + other.files,
            bytes: self.bytes + other.bytes,
        }
    }
}

/// What came of dropping what is in memory of some files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Dropped {
    /// What stays nonetheless, since somebody writes or maps it.
    pub left: Cached,
    /// CPU time that writing what was dirty took the one who dropped it, in place of the kernel's workers.
    pub writing: Duration,
}

impl Add for Dropped {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            left: self.left + other.left,
            writing: self.writing + other.writing,
        }
    }
}

/// How much of a file, or of all files in a folder, is in memory. Files that go meanwhile are passed over.
///
/// # Errors
/// If a file cannot be read.
pub fn cached(path: &Path) -> Result<Cached> {
    for_each(path, &|file| in_memory(file))
}

/// Writes a file, or all files in a folder, to the disk, and has the kernel forget what it keeps of them. The disk is not
/// told to flush its own cache, so files of which nothing is dirty take next to no time.
///
/// # Errors
/// If a file cannot be written to the disk or read.
pub fn drop_cached(path: &Path) -> Result<Dropped> {
    let writing = Cell::new(Duration::ZERO);
    let left = for_each(path, &|file| {
        if in_memory(file)? == 0 {
            return Ok(0);
        }
        // What is not on the disk yet is not forgotten.
        let before = thread_cpu();
        write_pages(file)?;
        writing.set(writing.get() + thread_cpu().saturating_sub(before));
        fadvise(file, 0, None, Advice::DontNeed)?;
        in_memory(file)
    })?;
    Ok(Dropped {
        left,
        writing: writing.get(),
    })
}

fn write_pages(file: &File) -> io::Result<()> {
    const WRITE_AND_WAIT: libc::c_uint =
        libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WRITE | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    // SAFETY: a file that is open; no memory is touched.
    match unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, WRITE_AND_WAIT) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn thread_cpu() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(now).unwrap_or_default()
}

pub(crate) fn flush(path: &Path) -> Result<()> {
    for_each(path, &|file| Ok(fdatasync(file).map(|()| 0)?)).map(drop)
}

/// Adds up what is said of each file; links are not followed.
fn for_each(path: &Path, look: &dyn Fn(&File) -> io::Result<u64>) -> Result<Cached> {
    let Some(metadata) = unless_gone(fs::symlink_metadata(path)).map_err(Error::read(path))? else {
        return Ok(Cached::default());
    };
    if metadata.is_dir() {
        let Some(entries) = unless_gone(fs::read_dir(path)).map_err(Error::read(path))? else {
            return Ok(Cached::default());
        };
        return entries.into_iter().try_fold(Cached::default(), |sum, entry| {
            let entry = entry.map_err(Error::read(path))?;
            Ok(sum + for_each(&entry.path(), look)?)
        });
    }
    if !metadata.is_file() {
        return Ok(Cached::default());
    }
    let bytes = unless_gone(File::open(path).and_then(|file| look(&file))).map_err(Error::read(path))?;
    Ok(bytes.map_or_else(Cached::default, |bytes| Cached { files: 1, bytes }))
}

/// Bytes of a file that are in memory (mincore(2)).
fn in_memory(file: &File) -> io::Result<u64> {
    let length = file.metadata()?.len();
    let mut pages = 0;
    let mut from = 0;
    while from < length {
        let window = WINDOW.min(length - from);
        pages += pages_in_memory(file, from, window as usize)?;
        from += window;
    }
    Ok(pages * page_size() as u64)
}

fn pages_in_memory(file: &File, from: u64, length: usize) -> io::Result<u64> {
    let from = libc::off_t::try_from(from).map_err(io::Error::other)?;
    // SAFETY: a new mapping of a file that is open, which nobody reads.
    let mapping = unsafe {
        libc::mmap(
            ptr::null_mut(),
            length,
            libc::PROT_READ,
            libc::MAP_SHARED,
            file.as_raw_fd(),
            from,
        )
    };
    if mapping == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    let mut pages = vec![0_u8; length.div_ceil(page_size())];
    // SAFETY: the mapping is as long as it says, and there is a byte for each of its pages.
    let outcome = match unsafe { libc::mincore(mapping, length, pages.as_mut_ptr()) } {
        0 => Ok(pages.iter().filter(|page| **page & 1 == 1).count() as u64),
        _ => Err(io::Error::last_os_error()),
    };
    // SAFETY: the mapping from above, which nobody has a pointer to any more.
    unsafe { libc::munmap(mapping, length) };
    outcome
}

fn page_size() -> usize {
    // SAFETY: a question that touches no memory.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    // Every system says it.
    usize::try_from(size).unwrap_or(4096)
}

// What else the machine does at that moment moves what the kernel keeps: once in a hundred times they fail for it.
#[cfg(test)]
mod test_all {
    use std::io::Write;
    use std::process::Command;

    use ciphertax_testkit::not_tested;

    use super::*;

    const LENGTH: u64 = 8 << 20;

    /// What another program says (util-linux), which asks the kernel by itself.
    fn said_by_fincore(file: &Path) -> Option<u64> {
        let said = Command::new("fincore")
            .args(["--bytes", "--noheadings", "--output", "RES"])
            .arg(file)
            .output()
            .ok()?;
        String::from_utf8_lossy(&said.stdout).trim().parse().ok()
    }

    #[test]
    fn files_are_forgotten_and_others_are_not() {
        // A file system in memory has nowhere else to keep them.
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let (ours, others) = (folder.path().join("ours"), folder.path().join("others"));
        for parent in [&ours, &others] {
            fs::create_dir(parent).unwrap();
            let mut file = File::create(parent.join("file")).unwrap();
            file.write_all(&vec![b'.'; LENGTH as usize]).unwrap();
        }
        let file = ours.join("file");
        let Some(said) = said_by_fincore(&file) else {
            return not_tested("fincore is not installed, which says what is in memory");
        };
        let all = Cached {
            files: 1,
            bytes: LENGTH,
        };
        assert_eq!((cached(&ours).unwrap(), said), (all, LENGTH));
        // They were never on the disk: what is dirty is written first.
        let left = drop_cached(&ours).unwrap().left;
        assert_eq!(
            (left, said_by_fincore(&file)),
            (Cached { files: 1, bytes: 0 }, Some(0))
        );
        assert_eq!(cached(&others).unwrap(), all);
        assert_eq!(fs::read(&file).unwrap().len() as u64, LENGTH);
        // The kernel may forget some of it again at any time, and says so.
        let of_both = [&ours, &others].map(|parent| said_by_fincore(&parent.join("file")).unwrap());
        assert!(of_both[0] > 0);
        assert_eq!(cached(&ours).unwrap().bytes, of_both[0]);
        assert_eq!(cached(folder.path()).unwrap().bytes, of_both.iter().sum::<u64>());
    }

    #[test]
    fn what_somebody_maps_stays_and_is_said() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = folder.path().join("file");
        fs::write(&path, vec![b'.'; LENGTH as usize]).unwrap();
        let file = File::open(&path).unwrap();
        // SAFETY: a new mapping of a file that is open, whose pages are there as soon as it is made.
        let mapping = unsafe {
            libc::mmap(
                ptr::null_mut(),
                LENGTH as usize,
                libc::PROT_READ,
                libc::MAP_SHARED | libc::MAP_POPULATE,
                file.as_raw_fd(),
                0,
            )
        };
        assert_ne!(mapping, libc::MAP_FAILED);
        assert_eq!(drop_cached(&path).unwrap().left.bytes, LENGTH);
        // SAFETY: the mapping from above.
        unsafe { libc::munmap(mapping, LENGTH as usize) };
        assert_eq!(drop_cached(&path).unwrap().left.bytes, 0);
        assert_eq!(cached(&folder.path().join("nowhere")).unwrap(), Cached::default());
    }
}

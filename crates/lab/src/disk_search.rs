//! The search for a canary on the disk, by which it is proved what whoever takes it away can read.
//!
//! Files are read in pieces, so it takes the same memory however large they are, and of sparse files only what is on
//! the disk. An image is searched like any other file: it is the block device of the file system in it, with the
//! journal, the names of files, and what was deleted.

use std::fs::{self, File, Metadata};
use std::io::{self, Read, Seek};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use memchr::memmem::Finder;
use rustix::fs::SeekFrom;
use rustix::io::Errno;

use crate::error::Error;
use crate::files::unless_gone;

/// How much of a file is looked at at once, in bytes.
const PIECE: usize = 1 << 20;

/// What a search looked at, and what it found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Searched {
    /// How many files were looked into.
    pub files: u64,
    /// How many bytes were read: without the holes of sparse files.
    pub bytes: u64,
    /// Where the canary is: its first place in each file, and every name it is in.
    pub found: Vec<Sighting>,
}

/// A place of the canary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sighting {
    /// The file or folder.
    pub path: PathBuf,
    /// Where in it.
    pub place: Place,
}

/// Where in a file the canary is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In its name.
    Name,
    /// In its contents, from this byte on.
    Contents(u64),
}

/// Searches a file, or a folder with all files and folders in it, and their names. Symbolic links are not followed, and
/// what goes meanwhile is passed over, as a server's temporary files do. The canary must have no zero bytes: those of a
/// sparse file are not on the disk.
///
/// # Errors
/// If a file cannot be read: then nobody knows what is in it. If the canary is empty or has zero bytes.
pub fn search(path: &Path, canary: &[u8]) -> Result<Searched, Error> {
    if canary.is_empty() || canary.contains(&0) {
        return Err(Error::read(path)(io::Error::new(
            io::ErrorKind::InvalidInput,
            "a canary is not empty and has no zero bytes",
        )));
    }
    let mut search = Search {
        finder: Finder::new(canary),
        buffer: vec![0; PIECE + canary.len()],
        searched: Searched::default(),
    };
    let metadata = fs::metadata(path).map_err(Error::read(path))?;
    search.search(path, &metadata)?;
    Ok(search.searched)
}

struct Search<'a> {
    finder: Finder<'a>,
    buffer: Vec<u8>,
    searched: Searched,
}

impl Search<'_> {
    fn search(&mut self, path: &Path, metadata: &Metadata) -> Result<(), Error> {
        if metadata.is_dir() {
            return self.search_folder(path);
        }
        if !metadata.is_file() {
            return Ok(());
        }
        let Some(mut file) = unless_gone(File::open(path)).map_err(Error::read(path))? else {
            return Ok(());
        };
        self.searched.files += 1;
        let found = self
            .search_file(&mut file, metadata.len())
            .map_err(Error::read(path))?;
        self.searched.found.extend(found.map(|at| Sighting {
            path: path.into(),
            place: Place::Contents(at),
        }));
        Ok(())
    }

    fn search_folder(&mut self, folder: &Path) -> Result<(), Error> {
        let Some(entries) = unless_gone(fs::read_dir(folder)).map_err(Error::read(folder))? else {
            return Ok(());
        };
        for entry in entries {
            let entry = entry.map_err(Error::read(folder))?;
            let path = entry.path();
            if self.finder.find(entry.file_name().as_bytes()).is_some() {
                self.searched.found.push(Sighting {
                    path: path.clone(),
                    place: Place::Name,
                });
            }
            if let Some(metadata) = unless_gone(entry.metadata()).map_err(Error::read(&path))? {
                self.search(&path, &metadata)?;
            }
        }
        Ok(())
    }

    /// Where the canary begins in the first `length` bytes: whoever writes without end is not followed.
    fn search_file(&mut self, file: &mut File, length: u64) -> io::Result<Option<u64>> {
        let mut from = 0;
        while let Some((data, hole)) = next_data(file, from)?.filter(|(data, _)| *data < length) {
            let found = self.search_data(file, data, hole.min(length))?;
            if found.is_some() {
                return Ok(found);
            }
            from = hole;
        }
        Ok(None)
    }

    /// Between two offsets, where there are no holes.
    fn search_data(&mut self, file: &mut File, data: u64, end: u64) -> io::Result<Option<u64>> {
        file.seek(io::SeekFrom::Start(data))?;
        let overlap = self.finder.needle().len() - 1;
        let (mut at, mut kept) = (data, 0);
        loop {
            let wanted = usize::try_from(end - at).unwrap_or(PIECE).min(PIECE);
            let read = read_some(file, &mut self.buffer[kept..kept + wanted])?;
            if read == 0 {
                return Ok(None);
            }
            let held = kept + read;
            self.searched.bytes += read as u64;
            if let Some(found) = self.finder.find(&self.buffer[..held]) {
                return Ok(Some(at - kept as u64 + found as u64));
            }
            at += read as u64;
            // What a canary may begin with whose rest comes next.
            kept = overlap.min(held);
            self.buffer.copy_within(held - kept..held, 0);
        }
    }
}

/// Where the next bytes begin that are on the disk, and where they end; `None` behind the last. A file system that knows
/// of no holes says that there are none.
fn next_data(file: &File, from: u64) -> io::Result<Option<(u64, u64)>> {
    let seek = |to: SeekFrom| match rustix::fs::seek(file, to) {
        // It ends before; one that a server writes to may have been cut off between the two questions.
        Err(Errno::NXIO) => Ok(None),
        offset => offset.map(Some),
    };
    let data = seek(SeekFrom::Data(from))?;
    let hole = data.map_or(Ok(None), |data| seek(SeekFrom::Hole(data)))?;
    Ok(data.zip(hole))
}

/// Reads at least a byte, unless the file has ended.
fn read_some(file: &mut File, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match file.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            outcome => return outcome,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{FileExt, symlink};
    use std::os::unix::net::UnixListener;

    use super::*;

    const CANARY: &[u8] = b"canary-that-is-nowhere-else";

    fn place_in(file: &Path) -> Option<Place> {
        let searched = search(file, CANARY).unwrap();
        assert_eq!(searched.files, 1);
        searched.found.first().map(|sighting| sighting.place)
    }

    #[test]
    fn a_canary_is_found_wherever_it_lies_across_two_pieces() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let piece = PIECE as u64;
        let length = CANARY.len() as u64;
        for boundary in [piece, 2 * piece] {
            for before in 0..=length {
                let mut bytes = vec![b'c'; 3 * PIECE];
                let at = boundary - before;
                bytes[at as usize..(at + length) as usize].copy_from_slice(CANARY);
                fs::write(&path, &bytes).unwrap();
                assert_eq!(place_in(&path), Some(Place::Contents(at)));
                // All but its last byte.
                bytes[(at + length - 1) as usize] = b'c';
                fs::write(&path, &bytes).unwrap();
                assert_eq!(place_in(&path), None, "{at}");
            }
        }
    }

    #[test]
    fn a_canary_at_either_end_of_a_file_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, [CANARY, &[1; 100]].concat()).unwrap();
        assert_eq!(place_in(&path), Some(Place::Contents(0)));
        fs::write(&path, [&[1; 100], CANARY].concat()).unwrap();
        assert_eq!(place_in(&path), Some(Place::Contents(100)));
        fs::write(&path, &CANARY[1..]).unwrap();
        assert_eq!(place_in(&path), None);
        fs::write(&path, "").unwrap();
        assert_eq!(place_in(&path), None);
    }

    #[test]
    fn of_a_sparse_file_only_what_is_on_the_disk_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("image");
        let file = File::create(&path).unwrap();
        file.set_len(1 << 40).unwrap();
        assert_eq!(place_in(&path), None);
        // On the disk, it begins in one block and ends in the next, and both have holes around them.
        let at = (1 << 39) + 4096 - 5;
        file.write_all_at(CANARY, at).unwrap();
        assert_eq!(place_in(&path), Some(Place::Contents(at)));
        let searched = search(&path, CANARY).unwrap();
        assert!((1..=1 << 20).contains(&searched.bytes), "{searched:?}");
    }

    #[test]
    fn folders_are_searched_with_names_and_without_what_links_lead_to() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("inner");
        fs::create_dir(&inner).unwrap();
        let name = format!("table-{}", String::from_utf8_lossy(CANARY));
        fs::write(inner.join(&name), "nothing").unwrap();
        fs::write(inner.join("log"), [b"x", CANARY, CANARY].concat()).unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        fs::write(elsewhere.path().join("file"), CANARY).unwrap();
        symlink(elsewhere.path(), folder.path().join("link")).unwrap();
        let _socket = UnixListener::bind(folder.path().join("socket")).unwrap();
        let mut searched = search(folder.path(), CANARY).unwrap();
        searched.found.sort_by(|one, other| one.path.cmp(&other.path));
        let expected = Searched {
            files: 2,
            bytes: 7 + 1 + 2 * CANARY.len() as u64,
            found: vec![
                Sighting {
                    path: inner.join("log"),
                    place: Place::Contents(1),
                },
                Sighting {
                    path: inner.join(name),
                    place: Place::Name,
                },
            ],
        };
        assert_eq!(searched, expected);
    }

    #[test]
    fn what_cannot_be_searched_is_an_error_and_not_an_absence() {
        let folder = tempfile::tempdir().unwrap();
        assert!(search(&folder.path().join("nowhere"), CANARY).is_err());
        assert!(search(folder.path(), b"").is_err());
        assert!(search(folder.path(), b"a\0b").is_err());
    }
}

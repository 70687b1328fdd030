//! The file system of a private server's data, and the proof of what it hides.

use std::fs;
use std::path::{Path, PathBuf};

use ciphertax_base::Witness;
use ciphertax_model::FileSystem;
use ciphertax_records::DiskRecord;
use rustix::fs::statvfs;

use super::family::{Canary, family};
use super::private_server::PrivateServer;
use super::spec::disk_of;
use crate::catalogue::Entry;
use crate::disk_search::{Searched, search};
use crate::error::{Error, Result};
use crate::file_system::MountedFileSystem;
use crate::file_system::error::FileSystemError;
use crate::page_cache::{Dropped, drop_cached};
use crate::proof::{Objection, ProofError, ProvedAtRest, files_on_disk, proof, random_text};

/// What readers know the two by that are looked into on the disk, beneath a file system of the server's own.
const CONTENTS: &str = "files on the disk";
const NAMES: &str = "names of files";

impl PrivateServer {
    /// Where its data and temporary files are: everything that it writes rows to.
    pub fn disk(&self) -> PathBuf {
        disk_of(self.folder())
    }

    /// The file system that was mounted [there](Self::disk); `None` where that is the disk's own.
    pub fn file_system(&self) -> Option<&MountedFileSystem> {
        self.file_system.as_ref()
    }

    /// What its file system said last, by its name, if it has ended: nothing can be read or written any more then, even
    /// while the server lives on what it has in memory.
    pub fn end_of_file_system(&self) -> Option<String> {
        self.file_system.as_ref().and_then(MountedFileSystem::end)
    }

    /// Has the kernel forget what it keeps of this server's files and of what lies beneath them, so that each page that the
    /// server itself has not in memory is read from the disk. Nothing else on the machine is touched.
    ///
    /// # Errors
    /// If a file cannot be written to the disk or read.
    pub fn drop_cached(&self) -> Result<Dropped> {
        match &self.file_system {
            Some(file_system) => file_system.drop_cached(),
            None => drop_cached(&self.disk()),
        }
    }

    /// True if what it reads comes from the kernel's memory where that has it: unless it goes past that (`O_DIRECT`), and its
    /// file system lets it.
    pub fn reads_through_page_cache(&self) -> bool {
        let method = self.settings().get("innodb_flush_method");
        let goes_past = method.is_some_and(|method| method.starts_with("O_DIRECT"));
        let is_heeded = self
            .file_system
            .as_ref()
            .is_none_or(MountedFileSystem::heeds_direct_io);
        !(goes_past && is_heeded)
    }

    /// Proves that its file system is what its arm says, by the kernel's word, and by canaries that are searched for on what
    /// lies beneath: a row of the server's, and a file with its name. They are removed again. A server on the disk's own file
    /// system is proved plain the same way, in its files themselves.
    ///
    /// # Errors
    /// Names the arm, and what contradicts it or kept it from being searched.
    pub fn prove_file_system(&self, arm: &str) -> Result<ProvedAtRest, ProofError> {
        self.file_system_proof().map_err(|objection| objection.of(arm))
    }

    pub(crate) fn file_system_proof(&self) -> Result<ProvedAtRest, Objection> {
        let kind = self.file_system.as_ref().map(MountedFileSystem::kind);
        let says = self.file_system.as_ref().map(MountedFileSystem::witness);
        let says = says.transpose()?;
        let found = self.look_beneath()?;
        let encrypts_rows = self.at_rest.parts().next().is_some();
        if let Some(problem) = contradiction(kind, encrypts_rows, &found) {
            return Err(Objection::Disproved(problem));
        }
        let word = says.map(|says| {
            proof(
                Witness::Disk,
                "the server's folder lies on the file system that the arm says",
                &format!("the kernel says that it is {says}"),
            )
        });
        let claim = match is_encrypted(kind) {
            true => "beneath its file system a canary cannot be read",
            false => "a canary can be read on the disk",
        };
        let names = match is_encrypted(kind) {
            true => "cannot",
            false => "can",
        };
        let evidence = format!(
            "{} bytes of {} were searched for a row and for a file; the names of files {names} be read there",
            found.bytes,
            match kind {
                None => "the server's files",
                Some(kind) if kind.is_in_an_image() => "its image",
                Some(_) => "the folder beneath it",
            }
        );
        Ok(ProvedAtRest {
            proofs: word
                .into_iter()
                .chain([proof(Witness::Disk, claim, &evidence)])
                .collect(),
            disk: DiskRecord {
                searched_bytes: found.bytes,
                files: vec![
                    files_on_disk(CONTENTS, is_encrypted(kind)),
                    files_on_disk(NAMES, is_encrypted(kind)),
                ],
            },
        })
    }

    /// Writes canaries, looks for them on both sides of the file system, and removes them.
    fn look_beneath(&self) -> Result<Found> {
        let (disk, family) = (self.disk(), family(self.entry));
        let [row, contents, name] =
            ["row", "contents", "name"].map(|what| random_text(&format!("canary-{what}-")));
        let (row, contents, name) = (row?, contents?, name?);
        let path = disk.join(&name);
        let look = || {
            fs::write(&path, &contents).map_err(Error::write(&path))?;
            family.canary(self, Canary::Write(&row))?;
            let beneath = |canary: &str| match &self.file_system {
                Some(file_system) => file_system.search_disk(canary.as_bytes()),
                None => search(&disk, canary.as_bytes()),
            };
            let (row_beneath, contents, name) = (beneath(&row)?, beneath(&contents)?, beneath(&name)?);
            Ok(Found {
                row: is_in(&row_beneath),
                row_above: is_in(&search(&disk, row.as_bytes())?),
                contents: is_in(&contents),
                name: is_in(&name),
                bytes: row_beneath.bytes.max(contents.bytes).max(name.bytes),
            })
        };
        let found: Result<Found> = look();
        let removed = family.canary(self, Canary::Remove);
        let _ = fs::remove_file(&path);
        let found = found?;
        removed.map(|()| found)
    }
}

/// Where canaries can be read.
#[derive(Debug, Clone, Copy)]
struct Found {
    /// A row, beneath the file system.
    row: bool,
    /// The same, as the server's files are seen above it.
    row_above: bool,
    /// What stands in a file, beneath.
    contents: bool,
    /// The name of a file, beneath.
    name: bool,
    /// How many bytes were searched beneath.
    bytes: u64,
}

fn is_encrypted(kind: Option<FileSystem>) -> bool {
    kind.is_some_and(FileSystem::is_encrypted)
}

fn is_in(searched: &Searched) -> bool {
    !searched.found.is_empty()
}

/// What is not as the file system's kind says. Where the server encrypts by itself, its row need not be readable anywhere.
fn contradiction(kind: Option<FileSystem>, server_encrypts: bool, found: &Found) -> Option<String> {
    if !server_encrypts && !found.row_above {
        return Some("a canary is in none of the server's files although it was flushed".into());
    }
    let should = [
        ("a row", found.row, server_encrypts),
        ("what stands in a file", found.contents, false),
        ("the name of a file", found.name, false),
    ];
    let wrong = should.into_iter().find(|(_, is_readable, is_hidden_already)| {
        *is_readable == is_encrypted(kind) && (*is_readable || !is_hidden_already)
    });
    let (what, is_readable, ..) = wrong?;
    let (can, should) = match is_readable {
        true => ("can", "encrypts it"),
        false => ("cannot", "does not encrypt it"),
    };
    let kind = kind.map_or("the disk's own file system", FileSystem::name);
    Some(format!("{what} {can} be read beneath {kind}, which {should}"))
}

/// True if nothing more can be written in a private folder, or where its servers keep what they write.
pub(super) fn is_full(folder: &Path) -> bool {
    has_no_room(folder) || has_no_room(&disk_of(folder))
}

pub(super) fn filled(entry: &Entry, file_system: Option<FileSystem>, folder: &Path) -> Error {
    match file_system {
        // The disk beneath has room, and the image has no more of it.
        Some(kind) if kind.is_in_an_image() && !has_no_room(folder) => FileSystemError::Full {
            server: entry.name,
            file_system: kind,
            size_mb: statvfs(disk_of(folder)).map_or(0, |disk| disk.f_blocks * disk.f_frsize / 1_000_000),
        }
        .into(),
        _ => Error::disk_filled(entry.name, folder),
    }
}

/// What is left is less than any server needs for its next step, so that it need not be nothing.
fn has_no_room(folder: &Path) -> bool {
    const NEXT_TO_NOTHING: u64 = 1 << 20;
    statvfs(folder).is_ok_and(|disk| {
        disk.f_bavail * disk.f_frsize < NEXT_TO_NOTHING || (disk.f_files > 0 && disk.f_favail == 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOWHERE: Found = Found {
        row: false,
        row_above: true,
        contents: false,
        name: false,
        bytes: 1,
    };
    const EVERYWHERE: Found = Found {
        row: true,
        row_above: true,
        contents: true,
        name: true,
        bytes: 1,
    };

    #[test]
    fn each_kind_is_held_to_what_it_says() {
        for kind in FileSystem::ALL {
            let (right, wrong) = match kind.is_encrypted() {
                true => (NOWHERE, EVERYWHERE),
                false => (EVERYWHERE, NOWHERE),
            };
            assert_eq!(contradiction(Some(kind), false, &right), None, "{kind}");
            let problem = contradiction(Some(kind), false, &wrong).unwrap();
            let holds = problem.starts_with("a row can") && problem.contains(kind.name());
            assert!(holds, "{problem}");
            let other_name = Found {
                name: !right.name,
                ..right
            };
            let problem = contradiction(Some(kind), false, &other_name).unwrap();
            assert!(problem.starts_with("the name of a file can"), "{problem}");
        }
    }

    #[test]
    fn a_row_that_the_server_encrypts_is_readable_nowhere_and_a_file_is() {
        let row_is_hidden = Found {
            row: false,
            row_above: false,
            ..EVERYWHERE
        };
        assert_eq!(contradiction(Some(FileSystem::Ext4), true, &row_is_hidden), None);
        let problem = contradiction(Some(FileSystem::Ext4), false, &row_is_hidden).unwrap();
        assert!(problem.contains("in none of the server's files"), "{problem}");
        // Another part of it may be readable, and beneath an encrypted file system nothing is.
        assert_eq!(contradiction(Some(FileSystem::Ext4), true, &EVERYWHERE), None);
        assert!(contradiction(Some(FileSystem::Fscrypt), true, &EVERYWHERE).is_some());
    }
}

//! Files in folders where others may write too: nothing is written through a link that somebody has put there; and why a
//! run folder cannot be written or read.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufWriter};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::process::geteuid;
use serde::Serialize;

/// Mode of a new file, of which the process's umask takes away.
const MODE: u32 = 0o666;

/// Writes a file beside its place and then puts it there: readers see the old one or the new one, never half of it. A link in its
/// place is replaced, not followed.
///
/// # Errors
/// When it cannot be written, or its place is that of a device; then what was there is there.
pub fn write_whole(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<&mut File>) -> io::Result<()>,
) -> Result<(), RecordError> {
    let put_there = || {
        let folder = path.parent().filter(|folder| *folder != Path::new(""));
        let folder = folder.unwrap_or(Path::new("."));
        refuse_devices(path, folder)?;
        let mut prefix = std::ffi::OsString::from(".");
        prefix.push(path.file_name().unwrap_or_default());
        let mut draft = tempfile::Builder::new()
            .prefix(&prefix)
            .suffix(".new")
            .permissions(Permissions::from_mode(MODE))
            .tempfile_in(folder)?;
        let mut file = BufWriter::new(draft.as_file_mut());
        write(&mut file)?;
        // Some file systems tell only now that they are full.
        file.into_inner()?.sync_all()?;
        draft.persist(path)?;
        Ok(())
    };
    put_there().map_err(unwritable(path))
}

/// What is no file must not be replaced by one; `/dev/stdout` is a link, which root would replace for everybody.
fn refuse_devices(path: &Path, folder: &Path) -> io::Result<()> {
    let is_device = fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir());
    let folder = folder.canonicalize()?;
    let is_among_devices =
        folder.starts_with("/proc") || folder.starts_with("/dev") && !folder.starts_with("/dev/shm");
    match is_device || is_among_devices {
        true => Err(io::Error::other("it is no regular file")),
        false => Ok(()),
    }
}

/// Opens a file to be read and appended to; one that is not there is made if `makes` says so.
///
/// # Errors
/// When it cannot be opened, is a link, has another name besides, or is no regular file.
pub(crate) fn append_to(path: &Path, makes: bool) -> io::Result<File> {
    // A pipe must not keep whoever opens it waiting.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let opened = OpenOptions::new()
        .read(true)
        .append(true)
        .create(makes)
        .custom_flags(flags.bits() as i32)
        .open(path);
    let is_link = || fs::symlink_metadata(path).is_ok_and(|there| there.is_symlink());
    let file = opened.map_err(|error| match is_link() {
        true => io::Error::other("it is a symbolic link, and nothing is written through one"),
        false => error,
    })?;
    let there = file.metadata()?;
    match (there.is_file(), there.nlink()) {
        (true, 0 | 1) => Ok(file),
        (true, _) => Err(io::Error::other(
            "it has another name too (a hard link), where it would be changed as well",
        )),
        (false, _) => Err(io::Error::other("it is no regular file")),
    }
}

/// A line of the file, with its end.
pub(crate) fn line_of(value: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    Ok(line)
}

/// Refuses root a folder of another account, who could have root write what it may not write itself.
///
/// # Errors
/// [`RecordError::OfAnotherAccount`].
pub fn refuse_foreign_folder(folder: &Path) -> Result<(), RecordError> {
    let Ok(there) = fs::metadata(folder) else {
        return Ok(());
    };
    match geteuid().is_root() && there.uid() != 0 {
        true => Err(RecordError::OfAnotherAccount {
            folder: folder.to_owned(),
            uid: there.uid(),
        }),
        false => Ok(()),
    }
}

pub(crate) fn unwritable(path: &Path) -> impl Fn(io::Error) -> RecordError {
    move |source| RecordError::Write {
        path: path.to_owned(),
        source,
    }
}

/// Why a run folder cannot be written or read; one sentence that names the thing and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The run folder exists already.
    #[error("{0} exists already; choose another folder with --out")]
    FolderExists(PathBuf),
    /// A file cannot be written.
    #[error("{path} cannot be written: {source}{}", room(.source))]
    Write {
        /// The file.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// A folder that is not a run.
    #[error("{folder} is not a run folder: {problem}; give the folder that a run has printed at its end")]
    NotARun {
        /// The folder.
        folder: PathBuf,
        /// What is missing.
        problem: String,
    },
    /// A file where the folder of a run is expected.
    #[error("{0} is a file, as an export is; give the folder of the run")]
    File(PathBuf),
    /// A run whose files say what they cannot.
    #[error("{folder}: {problem}")]
    Damaged {
        /// The folder.
        folder: PathBuf,
        /// Which file, and what is wrong with it.
        problem: String,
    },
    /// A folder that root is to write into, and that somebody else could fill with links.
    #[error(
        "{folder} belongs to another account (uid {uid}), which could make root overwrite other files; run this as that account, \
         or add --trust-folder"
    )]
    OfAnotherAccount {
        /// The folder.
        folder: PathBuf,
        /// Whose it is.
        uid: u32,
    },
    /// A run that cannot go on.
    #[error("the run in {folder} cannot be resumed: {problem}")]
    NotResumable {
        /// Its folder.
        folder: PathBuf,
        /// Why, with the remedy where there is one.
        problem: String,
    },
}

fn room(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "; make room there, or choose another folder with --out"
        }
        io::ErrorKind::PermissionDenied => "; with --out choose a folder you may write to",
        io::ErrorKind::NotFound => "; with --out choose a folder whose parent exists",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_file_that_cannot_be_written_as_a_whole_stays_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.html");
        write_whole(&path, |file| file.write_all(b"old")).unwrap();
        let fails = |file: &mut BufWriter<&mut File>| {
            file.write_all(&[b'n'; 1 << 16])?;
            Err(io::ErrorKind::StorageFull.into())
        };
        let error = write_whole(&path, fails).unwrap_err().to_string();
        assert!(
            error.contains("report.html cannot be written") && error.contains("make room"),
            "{error}"
        );
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_takes_the_place_of_a_link_and_what_it_points_to_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (precious, path) = (folder.path().join("precious"), folder.path().join("report.html"));
        fs::write(&precious, "precious").unwrap();
        // That of the draft is known to nobody, and this one was that of former drafts.
        for link in [&path, &folder.path().join(".report.html.new")] {
            symlink(&precious, link).unwrap();
        }
        write_whole(&path, |file| file.write_all(b"new")).unwrap();
        assert_eq!(fs::read(&precious).unwrap(), b"precious");
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert!(fs::symlink_metadata(&path).unwrap().is_file());
        let mode = fs::metadata(&path).unwrap().mode() & 0o777;
        File::create(folder.path().join("plain")).unwrap();
        let plain = fs::metadata(folder.path().join("plain")).unwrap().mode() & 0o777;
        assert_eq!(mode, plain, "{mode:o}");
    }

    #[test]
    fn a_device_is_never_replaced_by_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let null = folder.path().join("null");
        symlink("/dev/null", &null).unwrap();
        for path in [&null, Path::new("/dev/stdout"), Path::new("/dev/fd/1")] {
            let error = write_whole(path, |file| file.write_all(b"new")).unwrap_err();
            assert!(error.to_string().contains("no regular file"), "{error}");
        }
        assert!(fs::symlink_metadata(&null).unwrap().is_symlink());
    }

    #[test]
    fn nothing_is_appended_through_a_link_or_to_what_is_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("precious"), "precious\n").unwrap();
        symlink(at("precious"), at("symbolic")).unwrap();
        symlink(at("nowhere"), at("dangling")).unwrap();
        fs::hard_link(at("precious"), at("hard")).unwrap();
        rustix::fs::mkfifoat(
            rustix::fs::CWD,
            at("pipe"),
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        )
        .unwrap();
        for (name, words) in [
            ("symbolic", "symbolic link"),
            ("dangling", "symbolic link"),
            ("hard", "another name"),
            ("pipe", "no regular file"),
        ] {
            let error = append_to(&at(name), true).unwrap_err().to_string();
            assert!(error.contains(words), "{name}: {error}");
            crate::samples::cut_to_whole_lines(&at(name)).unwrap_err();
        }
        assert_eq!(fs::read(at("precious")).unwrap(), b"precious\n");
        assert!(!at("nowhere").exists());
        append_to(&at("new"), true).unwrap().write_all(b"a").unwrap();
        append_to(&at("new"), false).unwrap().write_all(b"b").unwrap();
        assert_eq!(fs::read(at("new")).unwrap(), b"ab");
    }
}

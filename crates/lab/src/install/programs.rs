//! Making unpacked programs run from where they are.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::client::Client;
use super::job::Job;
use crate::error::{Error, Result};
use crate::locate::{library_folders, program_in};

/// The maintained editor of loader and library paths; it is unpacked with the server and runs from there.
pub(super) const PATCHELF: Client = Client {
    program: "patchelf",
    package: "patchelf",
};

/// Lets all files of `folder` be run.
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

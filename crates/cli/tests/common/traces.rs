//! What a run leaves in the process list.

use std::path::Path;

use ciphertax_testkit::{contains, processes};
use rustix::process::Pid;

/// The servers that serve a folder below `folder`.
pub(crate) fn servers_of(folder: &Path) -> Vec<Pid> {
    programs_of(folder, &["mariadbd", "mongod", "postgres"])
}

/// The poolers whose settings are below `folder`.
pub(crate) fn poolers_of(folder: &Path) -> Vec<Pid> {
    programs_of(folder, &["pgbouncer"])
}

fn programs_of(folder: &Path, names: &[&str]) -> Vec<Pid> {
    let folder = folder.to_str().unwrap();
    processes()
        .filter(|process| {
            let program = process.program().unwrap_or_default();
            let is_one = program
                .file_name()
                .is_some_and(|name| names.iter().any(|one| name == *one));
            is_one && contains(&process.arguments, folder)
        })
        .map(|process| Pid::from_raw(process.pid.cast_signed()).unwrap())
        .collect()
}

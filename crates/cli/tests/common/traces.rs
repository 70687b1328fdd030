//! What a run leaves in the process list.

use std::path::Path;

use ciphertax_testkit::{contains, processes};
use rustix::process::Pid;

/// The servers that serve a folder below `folder`.
pub(crate) fn servers_of(folder: &Path) -> Vec<Pid> {
    let folder = folder.to_str().unwrap();
    processes()
        .filter(|process| {
            let program = process.program().unwrap_or_default();
            let is_server = program.file_name().is_some_and(|name| {
                ["mariadbd", "mongod", "postgres"]
                    .iter()
                    .any(|server| name == *server)
            });
            is_server && contains(&process.arguments, folder)
        })
        .map(|process| Pid::from_raw(process.pid.cast_signed()).unwrap())
        .collect()
}

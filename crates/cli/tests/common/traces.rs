//! What a run leaves in the process list.

use ciphertax_testkit::{contains, parent_of};

use crate::common::*;

/// The servers that serve a folder below `folder`.
pub(crate) fn servers_of(folder: &Path) -> Vec<Pid> {
    programs_of(folder, &["mariadbd", "mongod", "postgres"])
}

/// The poolers whose settings are below `folder`.
pub(crate) fn poolers_of(folder: &Path) -> Vec<Pid> {
    programs_of(folder, &["pgbouncer", "mysqlrouter"])
}

fn programs_of(folder: &Path, names: &[&str]) -> Vec<Pid> {
    let folder = folder.to_str().unwrap();
    let pids: Vec<u32> = processes()
        .filter(|process| {
            let program = process.program().unwrap_or_default();
            let is_one = program
                .file_name()
                .is_some_and(|name| names.iter().any(|one| name == *one));
            is_one && contains(&process.arguments, folder)
        })
        .map(|process| process.pid)
        .collect();
    // A session that PostgreSQL is just opening still bears its server's arguments.
    let is_session = |pid: u32| parent_of(pid).is_some_and(|parent| pids.contains(&parent));
    pids.iter()
        .filter(|pid| !is_session(**pid))
        .map(|pid| Pid::from_raw(pid.cast_signed()).unwrap())
        .collect()
}

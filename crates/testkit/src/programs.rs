//! Programs that tests start.

use std::env;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// An example of the crate whose test asks, which `cargo build --workspace --examples` builds, as `make test` does first.
pub fn example(name: &str) -> PathBuf {
    let deps = env::current_exe().unwrap();
    let path = deps.ancestors().nth(2).unwrap().join("examples").join(name);
    assert!(
        path.exists(),
        "cargo build --workspace --examples builds {}",
        path.display()
    );
    path
}

/// A program that owns what is looked for afterwards: it keeps its temporary files in `temporary`, says where its things
/// are on standard output, and ends with its standard input. In a process group of its own, as a shell would start it.
pub fn owner_command(program: &Path, temporary: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .env("TMPDIR", temporary)
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit());
    command
}

/// Copies a program, or a folder of them, to where another user may execute it.
pub fn copy_program(from: &Path, to: &Path) {
    // By another process: a copy that this one still has open for writing, or that a child forked meanwhile inherited,
    // cannot be executed.
    let copied = Command::new("cp").arg("-r").arg(from).arg(to).status();
    assert!(copied.unwrap().success(), "{} cannot be copied", from.display());
}

/// The user's cache: servers that were fetched, and what the set-up script unpacked.
pub fn cache() -> PathBuf {
    match env::var_os("XDG_CACHE_HOME").filter(|folder| !folder.is_empty()) {
        Some(folder) => PathBuf::from(folder),
        None => PathBuf::from(env::var_os("HOME").unwrap()).join(".cache"),
    }
}

/// The programs of tunnels that `scripts/setup.sh tunnels` has unpacked; `None` where the system has them all.
pub fn unpacked_tunnels() -> Option<PathBuf> {
    Some(cache().join("ciphertax/tunnels")).filter(|folder| folder.is_dir())
}

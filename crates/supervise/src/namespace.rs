//! Network namespaces of other processes. Entering one needs `CAP_SYS_ADMIN` over it.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::thread;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// Makes a command run in the network namespace that `path` leads to.
pub(crate) fn run_inside(command: &mut Command, path: &Path) -> io::Result<()> {
    let namespace = File::open(path)?;
    // SAFETY: a system call that touches no memory, so it may be called between fork and exec.
    unsafe { command.pre_exec(move || enter(&namespace)) };
    Ok(())
}

/// Does something in a thread of its own that is in the network namespace that `path` leads to. What it opens there may
/// be used elsewhere.
///
/// # Errors
/// If the namespace cannot be entered, or what `work` says.
pub fn inside<T: Send>(path: &Path, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    let namespace = File::open(path)?;
    let enter = || {
        enter(&namespace)?;
        work()
    };
    thread::scope(|scope| scope.spawn(enter).join())
        .unwrap_or_else(|_| Err(io::Error::other("the thread panicked")))
}

fn enter(namespace: &File) -> io::Result<()> {
    Ok(move_into_link_name_space(
        namespace.as_fd(),
        Some(LinkNameSpaceType::Network),
    )?)
}

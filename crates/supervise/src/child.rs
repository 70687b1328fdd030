//! What binds the processes that this one starts to it.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::{
    Resource, Rlimit, Signal, getpid, getppid, getrlimit, set_child_subreaper,
    set_parent_process_death_signal, setrlimit, setsid,
};

/// How many files a program may have open through which connections go, if the system allows it: each is two or more.
const MANY_FILES: u64 = 65_536;

/// Keeps ciphertax's own variables from a program, `CIPHERTAX_PASSWORD` among them.
pub fn without_own_variables(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"CIPHERTAX_") {
            command.env_remove(name);
        }
    }
}

/// Makes the kernel kill the command's process when the thread that starts it ends, for whatever reason.
pub fn die_with_this_thread(command: &mut Command) {
    let parent = getpid();
    // SAFETY: both are system calls and touch no memory, so they may be called between fork and exec.
    unsafe {
        command.pre_exec(move || {
            set_parent_process_death_signal(Some(Signal::KILL))?;
            // The parent may have died before the line above.
            if getppid() == Some(parent) {
                Ok(())
            } else {
                Err(io::ErrorKind::NotFound.into())
            }
        });
    }
}

/// How many files this process may have open once its limit is raised; `None` for as many as wanted.
pub fn limit_of_files() -> Option<u64> {
    let limit = getrlimit(Resource::Nofile);
    Some(limit.current?.max(raised(limit.maximum)))
}

fn raised(most: Option<u64>) -> u64 {
    most.map_or(MANY_FILES, |most| most.min(MANY_FILES))
}

/// Raises this process's limit of open files to 65,536 or to what the system allows.
///
/// # Errors
/// If the system refuses.
pub fn raise_limit_of_files() -> io::Result<()> {
    let limit = getrlimit(Resource::Nofile);
    let raised = raised(limit.maximum);
    if limit.current.is_some_and(|current| current < raised) {
        let raised = Rlimit {
            current: Some(raised),
            maximum: limit.maximum,
        };
        setrlimit(Resource::Nofile, raised)?;
    }
    Ok(())
}

/// Makes a command run with the limit that [`raise_limit_of_files`] sets.
pub(crate) fn with_many_files(command: &mut Command) {
    // SAFETY: it makes system calls and touches no memory but their arguments, so it may be called between fork and
    // exec.
    unsafe { command.pre_exec(raise_limit_of_files) };
}

/// Makes a command run in a session of its own, which no signal of the terminal reaches.
pub(crate) fn in_own_session(command: &mut Command) {
    // SAFETY: setsid is a system call and touches no memory, so it may be called between fork and exec.
    unsafe { command.pre_exec(|| Ok(setsid().map(drop)?)) };
}

/// Makes this process the parent of whatever its programs leave running.
pub(crate) fn adopt_orphans() -> io::Result<()> {
    Ok(set_child_subreaper(Some(getpid()))?)
}

//! Processes that this one starts: what binds them to it, what they write, and which they start in turn.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, PipeReader, Read};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

use procfs::process::all_processes;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{ioctl_fionbio, retry_on_intr};
use rustix::process::{
    Pid, PidfdFlags, Resource, Rlimit, Signal, getpid, getppid, getrlimit, kill_process, pidfd_open,
    pidfd_send_signal, set_child_subreaper, set_parent_process_death_signal, setrlimit, setsid,
};

use crate::error::{Error, Result};

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

pub(crate) fn adopt_orphans() -> io::Result<()> {
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// The reading end of a child's standard output or standard error.
#[derive(Debug)]
pub struct ChildPipe {
    /// `None` when nobody writes any more.
    pipe: Option<PipeReader>,
}

impl ChildPipe {
    /// From now on nothing that reads from it waits; `None` is a pipe that nobody writes to.
    ///
    /// # Errors
    /// If it cannot be told not to wait.
    pub fn of(pipe: Option<impl Into<OwnedFd>>) -> io::Result<Self> {
        let pipe = pipe.map(Into::into);
        if let Some(pipe) = &pipe {
            ioctl_fionbio(pipe, true)?;
        }
        Ok(Self {
            pipe: pipe.map(PipeReader::from),
        })
    }

    /// Hands over what is there, but little more than `most` bytes: somebody may write without end.
    pub fn read(&mut self, most: usize, mut take: impl FnMut(&[u8])) {
        let mut buffer = [0; 16 << 10];
        let mut taken = 0;
        while let Some(pipe) = &mut self.pipe
            && taken < most
        {
            match pipe.read(&mut buffer) {
                Ok(count @ 1..) => {
                    take(&buffer[..count]);
                    taken += count;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Ok(0) | Err(_) => self.pipe = None,
            }
        }
    }

    /// What to wait with until there is something to read or nobody writes any more; `None` if nobody does.
    pub fn readable(&self) -> Option<PollFd<'_>> {
        let pipe = self.pipe.as_ref()?;
        Some(PollFd::new(pipe, PollFlags::IN))
    }
}

/// A process that its guard started and does not reap before the end, so that its number stays its own.
#[derive(Debug)]
pub struct Process {
    pub(crate) pid: Pid,
    handle: OwnedFd,
}

impl Process {
    /// A handle on the process with this number.
    ///
    /// # Errors
    /// If there is none.
    pub fn open(pid: Pid) -> Result<Self> {
        match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(handle) => Ok(Self { pid, handle }),
            Err(errno) => Err(Error::Guard(format!("lost the server it started ({errno})"))),
        }
    }

    /// Its number.
    pub fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// True once it has ended.
    pub fn has_ended(&self) -> bool {
        self.ends_within(Duration::ZERO)
    }

    /// Kills it and waits until it is dead; one that has ended stays as it is.
    ///
    /// # Errors
    /// If it cannot be killed or does not die.
    pub fn kill(&self) -> Result<()> {
        const LONGEST_DEATH: Duration = Duration::from_secs(5);
        match pidfd_send_signal(&self.handle, Signal::KILL) {
            Ok(()) if self.ends_within(LONGEST_DEATH) => Ok(()),
            Ok(()) => Err(Error::Guard("has a server that does not die".into())),
            Err(_) if self.has_ended() => Ok(()),
            Err(errno) => Err(Error::Guard(format!(
                "has a server that cannot be killed ({errno})"
            ))),
        }
    }

    /// True if it ends within `time`.
    pub fn ends_within(&self, time: Duration) -> bool {
        // A time that the system cannot count is none.
        let at_most = Timespec::try_from(time).unwrap_or_default();
        matches!(
            retry_on_intr(|| poll(&mut [PollFd::new(&self.handle, PollFlags::IN)], Some(&at_most))),
            Ok(1..)
        )
    }
}

/// The children of `pid`, their children, and so on, as far as they still run. A process that ends while this looks may
/// be among them.
pub fn descendants(pid: u32) -> Vec<u32> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (child, parent) in processes_with_parents() {
        children.entry(parent).or_default().push(child);
    }
    let mut found = Vec::new();
    let mut open = vec![pid];
    while let Some(pid) = open.pop() {
        // Removed, so that no pid counts twice.
        let here = children.remove(&pid).unwrap_or_default();
        open.extend_from_slice(&here);
        found.extend(here);
    }
    found.sort_unstable();
    found
}

pub(crate) fn kill_descendants() {
    for pid in descendants(std::process::id()) {
        if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// All processes that have not ended.
fn processes_with_parents() -> Vec<(u32, u32)> {
    let Ok(processes) = all_processes() else {
        return Vec::new();
    };
    processes
        .flatten()
        .filter_map(|process| {
            // It may end meanwhile.
            let stat = process.stat().ok()?;
            let has_ended = matches!(stat.state, 'Z' | 'X');
            (!has_ended).then_some((stat.pid.cast_unsigned(), stat.ppid.cast_unsigned()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};
    use std::thread;
    use std::time::Instant;

    use super::*;

    #[test]
    fn grandchildren_are_found() {
        let mut child = Command::new("/bin/sh")
            .args(["-c", "cat; exit"])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let deadline = Instant::now() + Duration::from_secs(5);
        while descendants(child.id()).is_empty() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(5));
        }
        let grandchildren = descendants(child.id());
        assert_eq!(grandchildren.len(), 1);
        let ours = descendants(std::process::id());
        assert!(ours.contains(&child.id()) && ours.contains(&grandchildren[0]));
        drop(child.stdin.take());
        child.wait().unwrap();
        assert_eq!(descendants(child.id()), [0; 0]);
    }
}

//! On which CPUs threads may run, and whom they let go first.

use std::fs;
use std::io;

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The highest-numbered CPU that this process may use: interrupts and other programs tend to the lower ones.
///
/// # Errors
/// When the kernel does not say which CPUs may be used.
pub fn last_allowed_cpu() -> io::Result<usize> {
    let mut allowed = allowed_cpus()?;
    allowed
        .pop()
        .ok_or_else(|| io::Error::other("no CPU may be used"))
}

/// The CPUs that this process may use, in the order of their numbers.
///
/// # Errors
/// When the kernel does not say which.
pub fn allowed_cpus() -> io::Result<Vec<usize>> {
    let allowed = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)).collect())
}

/// Keeps the calling thread, and the threads it starts from now on, on one CPU.
///
/// # Errors
/// When the CPU may not be used.
pub fn confine_thread(cpu: usize) -> io::Result<()> {
    Ok(sched_setaffinity(None, &only(cpu))?)
}

/// Keeps all threads of a process, and those they start from now on, on one CPU.
///
/// # Errors
/// When the process has ended or belongs to somebody else, or the CPU may not be used.
pub fn confine_process(pid: u32, cpu: usize) -> io::Result<()> {
    let gone = || io::Error::from(io::ErrorKind::NotFound);
    for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
        let name = thread?.file_name();
        let thread = name
            .to_str()
            .and_then(|name| name.parse().ok())
            .and_then(Pid::from_raw)
            .ok_or_else(gone)?;
        match sched_setaffinity(Some(thread), &only(cpu)) {
            // A thread may end between being listed and being confined.
            Ok(()) | Err(rustix::io::Errno::SRCH) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Lets other threads finish what they do before the calling thread runs again (`SCHED_BATCH`): when it is woken it
/// preempts nobody. A load thread that is woken by every single answer takes the CPU from the server that is about to give
/// the next ones; one that gives way finds many answers at once.
///
/// # Errors
/// When the kernel refuses, which it does to nobody on Linux.
pub fn give_way() -> io::Result<()> {
    set_policy(libc::SCHED_BATCH)
}

/// Has the calling thread run as soon as any other that is woken (`SCHED_OTHER`), where it gave way before.
///
/// # Errors
/// When the kernel refuses, which it does to nobody on Linux.
pub fn be_punctual() -> io::Result<()> {
    set_policy(libc::SCHED_OTHER)
}

fn set_policy(policy: i32) -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: the pointer is to a live structure that the call only reads.
    match unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn only(cpu: usize) -> CpuSet {
    let mut set = CpuSet::new();
    set.set(cpu);
    set
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_confined_thread_runs_on_its_cpu_alone() {
        let cpu = last_allowed_cpu().unwrap();
        let allowed = std::thread::spawn(move || {
            confine_thread(cpu).unwrap();
            sched_getaffinity(None).unwrap()
        });
        let allowed = allowed.join().unwrap();
        assert_eq!((allowed.count(), allowed.is_set(cpu)), (1, true));
    }

    #[test]
    fn a_confined_process_runs_on_its_cpu_alone_and_a_missing_one_is_an_error() {
        let cpu = last_allowed_cpu().unwrap();
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        confine_process(child.id(), cpu).unwrap();
        let pid = Pid::from_child(&child);
        assert_eq!(sched_getaffinity(Some(pid)).unwrap(), only(cpu));
        drop(child.stdin.take());
        let id = child.id();
        child.wait().unwrap();
        assert!(confine_process(id, cpu).is_err());
    }
}

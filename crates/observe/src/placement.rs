//! On which CPUs threads may run, also for a while, and whom they let go first.

use std::collections::{HashMap, HashSet};
use std::io;

use rustix::io::Errno;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::thread_status::threads;

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
    Ok(cpus_in(&sched_getaffinity(None)?))
}

/// The CPUs of a set, in the order of their numbers.
pub fn cpus_in(set: &CpuSet) -> Vec<usize> {
    (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect()
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
    for thread in threads(pid)? {
        match sched_setaffinity(Some(thread_of(thread)?), &only(cpu)) {
            // A thread may end between being listed and being confined.
            Ok(()) | Err(Errno::SRCH) => {}
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

/// How often the threads of a process are looked through for new ones. A thread that one starts which is confined already is
/// confined too, so the second look finds few and the third none.
const LOOKS: usize = 20;

/// The threads of some processes, which run on fewer CPUs until [`FewerCpus::end`] or until this goes.
#[derive(Debug)]
pub struct FewerCpus {
    /// On which CPUs each thread ran before, by its number.
    before: HashMap<u32, CpuSet>,
    /// The same of the first process, which those have had that were started meanwhile.
    usual: CpuSet,
    has_ended: bool,
}

impl FewerCpus {
    /// Confines all threads of these processes, and those they start from now on, to so many of the CPUs that the first process
    /// may use: those with the highest numbers, since interrupts and other programs tend to the lower ones.
    ///
    /// # Errors
    /// If that are not fewer than they may use, or a process has ended or belongs to somebody else.
    pub fn confine(pids: &[u32], count: usize) -> io::Result<Self> {
        let first = pids
            .first()
            .ok_or_else(|| io::Error::other("there is no process"))?;
        let usual = sched_getaffinity(Some(thread_of(*first)?))?;
        let allowed = cpus_in(&usual);
        if count == 0 || count >= allowed.len() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("it may use {} CPUs, and {count} are not fewer", allowed.len()),
            ));
        }
        let mut fewer = CpuSet::new();
        for cpu in &allowed[allowed.len() - count..] {
            fewer.set(*cpu);
        }
        let mut confined = Self {
            before: HashMap::new(),
            usual,
            has_ended: false,
        };
        confined.confine_all(pids, &fewer)?;
        Ok(confined)
    }

    /// How many threads were confined.
    pub fn threads(&self) -> usize {
        self.before.len()
    }

    /// Lets every thread run where it ran before. `pids` are the processes that there are now.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn end(mut self, pids: &[u32]) -> io::Result<()> {
        self.has_ended = true;
        self.give_back(pids)
    }

    fn confine_all(&mut self, pids: &[u32], fewer: &CpuSet) -> io::Result<()> {
        for _ in 0..LOOKS {
            let mut found_new = false;
            for thread in threads_of(pids)? {
                if self.before.contains_key(&thread) {
                    continue;
                }
                found_new = true;
                let pid = thread_of(thread)?;
                let before = match sched_getaffinity(Some(pid)) {
                    Err(Errno::SRCH) => continue,
                    before => before?,
                };
                // One that was started by a thread confined already came with its CPUs.
                let before = if before == *fewer { self.usual } else { before };
                match sched_setaffinity(Some(pid), fewer) {
                    Err(Errno::SRCH) => continue,
                    set => set?,
                }
                self.before.insert(thread, before);
            }
            if !found_new {
                return Ok(());
            }
        }
        Err(io::Error::other(
            "it starts threads faster than they can be found",
        ))
    }

    fn give_back(&self, pids: &[u32]) -> io::Result<()> {
        let mut given = HashSet::new();
        for _ in 0..LOOKS {
            let mut found_new = false;
            for thread in threads_of(pids)? {
                if !given.insert(thread) {
                    continue;
                }
                found_new = true;
                let before = self.before.get(&thread).unwrap_or(&self.usual);
                match sched_setaffinity(Some(thread_of(thread)?), before) {
                    Ok(()) | Err(Errno::SRCH) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            if !found_new {
                break;
            }
        }
        Ok(())
    }
}

impl Drop for FewerCpus {
    fn drop(&mut self) {
        if self.has_ended {
            return;
        }
        for (thread, before) in &self.before {
            if let Ok(thread) = thread_of(*thread) {
                // A thread that has ended needs none.
                let _ = sched_setaffinity(Some(thread), before);
            }
        }
    }
}

/// The numbers of the threads that processes have; one that has ended meanwhile has none.
fn threads_of(pids: &[u32]) -> io::Result<Vec<u32>> {
    let mut all = Vec::new();
    for pid in pids {
        match threads(*pid) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            listed => all.extend(listed?),
        }
    }
    Ok(all)
}

fn thread_of(number: u32) -> io::Result<Pid> {
    Pid::from_raw(number.cast_signed()).ok_or_else(|| io::ErrorKind::NotFound.into())
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command, Stdio};

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

    fn child() -> Child {
        Command::new("cat").stdin(Stdio::piped()).spawn().unwrap()
    }

    fn cpus_of(child: &Child) -> CpuSet {
        sched_getaffinity(Some(Pid::from_child(child))).unwrap()
    }

    #[test]
    fn a_process_runs_on_fewer_cpus_until_the_end_or_until_nobody_holds_it() {
        let mut child = child();
        let usual = cpus_of(&child);
        let refused = FewerCpus::confine(&[child.id()], usual.count() as usize).unwrap_err();
        assert!(refused.to_string().contains("are not fewer"), "{refused}");
        if usual.count() > 1 {
            let confined = FewerCpus::confine(&[child.id()], 1).unwrap();
            assert_eq!((confined.threads(), cpus_of(&child).count()), (1, 1));
            confined.end(&[child.id()]).unwrap();
            assert_eq!(cpus_of(&child), usual);
            drop(FewerCpus::confine(&[child.id()], 1).unwrap());
            assert_eq!(cpus_of(&child), usual);
        }
        drop(child.stdin.take());
        child.wait().unwrap();
        assert!(FewerCpus::confine(&[child.id()], 1).is_err());
    }

    #[test]
    fn threads_started_meanwhile_are_confined_and_freed_too() {
        if sched_getaffinity(None).unwrap().count() < 2 {
            return ciphertax_testkit::not_tested("this machine has one CPU");
        }
        let mut shell = Command::new("sh")
            .args(["-c", "read go; sleep 30 & echo $!; read end; kill $!"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let usual = cpus_of(&shell);
        let confined = FewerCpus::confine(&[shell.id()], 1).unwrap();
        let mut input = shell.stdin.take().unwrap();
        std::io::Write::write_all(&mut input, b"go\n").unwrap();
        let mut line = String::new();
        let mut output = std::io::BufReader::new(shell.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut output, &mut line).unwrap();
        let started: u32 = line.trim().parse().unwrap();
        let of_started = || sched_getaffinity(Some(thread_of(started).unwrap())).unwrap();
        assert_eq!(of_started().count(), 1);
        confined.end(&[shell.id(), started]).unwrap();
        assert_eq!((of_started(), cpus_of(&shell)), (usual, usual));
        drop(input);
        shell.wait().unwrap();
    }
}

//! Who works for a file system besides those who use it.

use procfs::process::{Stat, all_processes};

/// Who works for a file system besides the processes that read and write its files: its part of the CPU time is in none
/// of their clocks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Workers {
    /// Those that work for this one alone, each with a clock of its own.
    pub own: Vec<Worker>,
    /// What is done by threads of the kernel that work for everybody in turn. Whose work they did is in no clock, so this
    /// file system's part of their time cannot be told.
    pub shared: Vec<&'static str>,
}

/// A process or a thread of the kernel's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worker {
    /// What it is called.
    pub name: String,
    /// Its process number.
    pub pid: u32,
}

/// What every file system on a disk leaves to the kernel's workers.
const WRITE_BACK: &str = "pages are written back by kworkers";

impl Workers {
    /// The process numbers of those that work for this one alone, by which their clocks are read.
    pub fn pids(&self) -> Vec<u32> {
        self.own.iter().map(|worker| worker.pid).collect()
    }

    /// Of a folder of the machine's own file system. Its journal is everybody's too.
    pub(super) fn of_the_machines_own() -> Self {
        Self {
            own: Vec::new(),
            shared: vec![
                WRITE_BACK,
                "the machine's own journal is written by its jbd2 or the like",
            ],
        }
    }

    /// Of a file system on a loop device.
    pub(super) fn of_image(device: &str, is_encrypted: bool) -> Self {
        let journal = format!("jbd2/{device}-");
        let own = kernel_threads(|name| name == device || name.starts_with(&journal));
        let has = |beginning: &str| own.iter().any(|worker| worker.name.starts_with(beginning));
        let mut shared = vec![WRITE_BACK];
        if is_encrypted {
            shared.push("pages are encrypted by the kworkers that write them back, and decrypted by others");
        }
        // Until Linux 5.14 each device had a thread of its own.
        if !has(device) {
            shared.push("the loop device is served by kworkers");
        }
        if !has(&journal) {
            shared.push("the thread of the journal (jbd2) cannot be seen from here");
        }
        Self { own, shared }
    }

    /// Of a FUSE file system whose files lie on the machine's own.
    pub(super) fn of_daemon(pid: u32) -> Self {
        let machine = Self::of_the_machines_own();
        Self {
            own: vec![Worker {
                name: "gocryptfs".into(),
                pid,
            }],
            ..machine
        }
    }
}

/// The threads of the kernel with such names; none in a container, which does not see them.
fn kernel_threads(is_meant: impl Fn(&str) -> bool) -> Vec<Worker> {
    /// Of all of them (`kthreadd`).
    const PARENT: i32 = 2;
    let processes = all_processes().into_iter().flatten().flatten();
    let stats = processes.filter_map(|process| process.stat().ok());
    let threads = stats.filter(|stat| stat.ppid == PARENT && is_meant(&stat.comm));
    let worker = |stat: Stat| Worker {
        name: stat.comm,
        pid: stat.pid.cast_unsigned(),
    };
    threads.map(worker).collect()
}

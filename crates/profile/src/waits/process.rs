//! The threads of a server's process, and the processes that it starts for its connections.

use std::collections::HashMap;
use std::fs;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;

use rustix::fs::{CWD, Mode, OFlags, RawDir, SeekFrom, fstat, openat, seek};

use super::sockets::OtherSockets;
use super::thread::{OpenFiles, Thread};

/// A process of a server with all its threads.
#[derive(Debug)]
pub(super) struct Process {
    /// Its number.
    pub(super) pid: u32,
    /// Its threads and, where it starts processes for its connections, those.
    pub(super) threads: HashMap<u32, Thread>,
    /// Sockets that are no clients'.
    pub(super) sockets: OtherSockets,
    with_children: bool,
    tasks: OwnedFd,
    /// Entries of the folder of its threads when it was read last.
    entries: u64,
}

impl Process {
    /// `None` if it has ended.
    pub(super) fn open(pid: u32) -> Option<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Some(Self {
            pid,
            threads: HashMap::new(),
            sockets: OtherSockets::of(pid),
            with_children: false,
            tasks: openat(CWD, format!("/proc/{pid}/task"), flags, Mode::empty()).ok()?,
            entries: 0,
        })
    }

    /// False once the process has ended.
    pub(super) fn is_alive(&self) -> bool {
        openat(
            &self.tasks,
            self.pid.to_string(),
            OFlags::PATH | OFlags::CLOEXEC,
            Mode::empty(),
        )
        .is_ok()
    }

    /// Gets ready for a slice. False if the process has ended.
    pub(super) fn begin(&mut self, with_children: bool, files: &OpenFiles) -> bool {
        self.with_children = with_children;
        self.threads.retain(|_, thread| thread.begin());
        self.list(files);
        self.threads.contains_key(&self.pid)
    }

    /// Finds threads that have begun, if there are more or fewer than before; those that have ended go when they are looked at.
    /// False if as many have begun as ended, if any.
    pub(super) fn list_changed(&mut self, files: &OpenFiles) -> bool {
        // The kernel counts the threads as links of their folder.
        let entries = fstat(&self.tasks).map_or(0, |stat| stat.st_nlink);
        let has_changed = entries == 0 || entries != self.entries;
        self.entries = entries;
        if has_changed {
            self.list_threads(files);
        }
        if self.with_children {
            self.list_children(files);
        }
        has_changed
    }

    /// Finds threads that have begun.
    pub(super) fn list(&mut self, files: &OpenFiles) {
        self.list_threads(files);
        if self.with_children {
            self.list_children(files);
        }
    }

    fn list_threads(&mut self, files: &OpenFiles) {
        let mut buffer = [MaybeUninit::uninit(); 8192];
        if seek(&self.tasks, SeekFrom::Start(0)).is_err() {
            return;
        }
        let mut folder = RawDir::new(&self.tasks, &mut buffer);
        while let Some(Ok(entry)) = folder.next() {
            let tid = entry.file_name().to_str().ok().and_then(|name| name.parse().ok());
            if let Some(tid) = tid.filter(|tid| !self.threads.contains_key(tid))
                && let Some(thread) = Thread::open(self.pid, tid, files)
            {
                self.threads.insert(tid, thread);
            }
        }
    }

    fn list_children(&mut self, files: &OpenFiles) {
        let pid = self.pid;
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        for child in children
            .split_ascii_whitespace()
            .filter_map(|child| child.parse().ok())
        {
            if !self.threads.contains_key(&child)
                && let Some(mut thread) = Thread::open(child, child, files)
            {
                thread.has_client = self.sockets.has_client(child);
                self.threads.insert(child, thread);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_process_is_known_to_live_until_it_has_ended() {
        let files = OpenFiles::at_most(10);
        let mut child = Command::new("sleep").arg("100").spawn().unwrap();
        let mut process = Process::open(child.id()).unwrap();
        assert!(process.begin(false, &files) && process.is_alive());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!process.is_alive());
        assert!(!process.begin(false, &files) && process.threads.is_empty());
        assert!(Process::open(child.id()).is_none());
    }

    #[test]
    fn threads_are_found_when_there_are_more_than_before() {
        let files = OpenFiles::at_most(0);
        let mut process = Process::open(std::process::id()).unwrap();
        assert!(process.begin(false, &files));
        let (to_end, end) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            let _ = end.recv();
        });
        let before = process.threads.len();
        // Threads of other tests come and go too.
        process.list_changed(&files);
        assert!(process.threads.len() > before);
        drop(to_end);
        thread.join().unwrap();
    }
}

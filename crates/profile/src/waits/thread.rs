//! The threads of a server's process and of those that it starts for its connections, and one look at each.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::rc::Rc;

use ciphertax_observe::children_of_thread;
use procfs::FromRead;
use procfs::process::Stat;
use rustix::fs::{CWD, Mode, OFlags, RawDir, SeekFrom, fstat, openat, seek};
use rustix::io::{Errno, pread};

use super::call::{self, Call, OtherSockets, State};
use super::copies;

/// A process of a server with all its threads.
#[derive(Debug)]
pub(super) struct Process {
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
                && let Some(thread) = Thread::open(self.pid, self.pid, tid, files)
            {
                self.threads.insert(tid, thread);
            }
        }
    }

    fn list_children(&mut self, files: &OpenFiles) {
        for child in children_of_thread(self.pid, self.pid) {
            if !self.threads.contains_key(&child)
                && let Some(mut thread) = Thread::open(self.pid, child, child, files)
            {
                thread.who.has_client = self.sockets.has_client(child);
                self.threads.insert(child, thread);
            }
        }
    }
}

/// How much of a stack is copied, from its pointer upwards. Those of servers are 11 to 17 KiB deep on average.
pub(super) const MOST_STACK: usize = 32 << 10;

/// Which thread it is, or which process of one that serves a connection.
#[derive(Debug, Clone, Default)]
pub(super) struct Who {
    /// The process whose memory it works with.
    pub(super) process: u32,
    /// The process of the server that was asked for: that one, or its parent.
    pub(super) root: u32,
    pub(super) tid: u32,
    /// When it began, in clock ticks since the machine did: numbers are given again.
    pub(super) start: u64,
    pub(super) name: Box<str>,
    /// Of a process that the server started: whether it began with a client's connection.
    pub(super) has_client: bool,
}

#[derive(Debug)]
pub(super) struct Thread {
    pub(super) who: Who,
    /// Its index among the threads that were seen in this slice, once it was.
    pub(super) seen_as: Option<usize>,
    /// The number of the round that it was looked at in.
    pub(super) round: u64,
    files: Option<Files>,
    copied: Option<(Call, u64)>,
    idle: Option<Call>,
}

/// Its files in `/proc`, open so that a look need not open them.
#[derive(Debug)]
struct Files {
    call: OwnedFd,
    turns: OwnedFd,
    _one_of_few: Rc<()>,
}

/// How many threads' files may be open at once.
#[derive(Debug)]
pub(super) struct OpenFiles {
    each: Rc<()>,
    most: usize,
}

#[derive(Debug)]
pub(super) enum Look {
    /// It runs or could run.
    Running,
    /// It waits for a client.
    Idle(Call),
    /// It waits, and has not run since its stack was copied.
    AsBefore,
    /// It waits.
    Waiting(Call, Box<[u8]>),
    /// It waited, and went on before its stack was copied.
    Inconsistent,
    /// It waits, but its stack cannot be read.
    Unreadable,
    /// It has no stack, or is about to end.
    Nothing,
    Ended,
}

impl Thread {
    /// That of a process, if it has not ended.
    pub(super) fn open(root: u32, process: u32, tid: u32, files: &OpenFiles) -> Option<Self> {
        let (name, start) = name_and_start(process, tid)?;
        Some(Self {
            who: Who {
                process,
                root,
                tid,
                start,
                name,
                has_client: false,
            },
            seen_as: None,
            round: 0,
            files: files.open(process, tid),
            copied: None,
            idle: None,
        })
    }

    /// Forgets what was seen in the slice before. False if it has ended.
    pub(super) fn begin(&mut self) -> bool {
        self.seen_as = None;
        self.copied = None;
        name_and_start(self.who.process, self.who.tid).is_some_and(|(name, start)| {
            // A thread gets its name when it takes up its work.
            self.who.name = name;
            start == self.who.start
        })
    }

    /// What it does now. `awaits_client` says whether a call waits for a client; `buffer` is of [`MOST_STACK`] bytes.
    pub(super) fn look(&mut self, buffer: &mut [u8], awaits_client: impl FnOnce(&Call) -> bool) -> Look {
        let call = match self.state() {
            Ok(State::Running) => return Look::Running,
            Ok(State::WithoutStack) => return Look::Nothing,
            Ok(State::Waiting(call)) => call,
            Err(Errno::SRCH | Errno::NOENT) => return Look::Ended,
            Err(_) => return Look::Unreadable,
        };
        // The same call from the same place with the same arguments has the same meaning.
        if self.idle == Some(call) || awaits_client(&call) {
            self.idle = Some(call);
            return Look::Idle(call);
        }
        let turns = self.turns();
        if turns.is_some_and(|turns| self.copied == Some((call, turns))) {
            return Look::AsBefore;
        }
        let copied = copies::read_memory(self.who.process, call.stack_pointer, buffer);
        if self.state() != Ok(State::Waiting(call)) {
            return Look::Inconsistent;
        }
        match copied {
            Ok(length) if length > 0 => {
                self.copied = turns.map(|turns| (call, turns));
                Look::Waiting(call, buffer[..length].into())
            }
            _ => Look::Unreadable,
        }
    }

    /// The stack of a thread that waits, unless it goes on meanwhile.
    pub(super) fn stack(&self, call: &Call, buffer: &mut [u8]) -> Option<Box<[u8]>> {
        let length = copies::read_memory(self.who.process, call.stack_pointer, buffer).ok()?;
        (self.state() == Ok(State::Waiting(*call))).then(|| buffer[..length].into())
    }

    /// Whether it runs, or in which call it waits.
    pub(super) fn state(&self) -> Result<State, Errno> {
        let mut text = [0; 256];
        let length = match &self.files {
            Some(files) => pread(&files.call, &mut text, 0)?,
            None => pread(&open(self.who.process, self.who.tid, "syscall")?, &mut text, 0)?,
        };
        call::parse(&text[..length]).ok_or(Errno::INVAL)
    }

    /// How often it was given a CPU; `None` if the kernel does not count that.
    fn turns(&self) -> Option<u64> {
        let mut text = [0; 96];
        let length = match &self.files {
            Some(files) => pread(&files.turns, &mut text, 0).ok()?,
            None => pread(
                &open(self.who.process, self.who.tid, "schedstat").ok()?,
                &mut text,
                0,
            )
            .ok()?,
        };
        let last = text[..length].trim_ascii().rsplit(|byte| *byte == b' ').next()?;
        let turns: u64 = std::str::from_utf8(last).ok()?.parse().ok()?;
        (turns > 0).then_some(turns)
    }
}

impl OpenFiles {
    /// For so many threads.
    pub(super) fn at_most(threads: usize) -> Self {
        Self {
            each: Rc::new(()),
            most: threads,
        }
    }

    fn open(&self, process: u32, tid: u32) -> Option<Files> {
        if Rc::strong_count(&self.each) > self.most {
            return None;
        }
        Some(Files {
            call: open(process, tid, "syscall").ok()?,
            turns: open(process, tid, "schedstat").ok()?,
            _one_of_few: Rc::clone(&self.each),
        })
    }
}

fn open(process: u32, tid: u32, file: &str) -> Result<OwnedFd, Errno> {
    let path = format!("/proc/{process}/task/{tid}/{file}");
    openat(CWD, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
}

/// What a thread is called and when it began; `None` if it has ended.
fn name_and_start(process: u32, tid: u32) -> Option<(Box<str>, u64)> {
    let stat = stat(format!("/proc/{process}/task/{tid}/stat"))?;
    (!matches!(stat.state, 'Z' | 'X')).then(|| (stat.comm.into(), stat.starttime))
}

/// The parent of a process; `None` if the process has ended.
pub(super) fn parent_of(pid: u32) -> Option<u32> {
    stat(format!("/proc/{pid}/stat"))?.ppid.try_into().ok()
}

fn stat(path: String) -> Option<Stat> {
    Stat::from_read(File::open(path).ok()?).ok()
}

pub(super) fn permission(pid: u32) -> io::Result<()> {
    let mut text = [0; 256];
    let length = pread(&open(pid, pid, "syscall")?, &mut text, 0)?;
    let Some(State::Waiting(call)) = call::parse(&text[..length]) else {
        return Ok(());
    };
    match copies::read_memory(pid, call.stack_pointer, &mut [0; 8]) {
        Err(cause) if matches!(cause.raw_os_error(), Some(libc::EPERM | libc::ENOSYS)) => Err(cause),
        // It went on.
        _ => Ok(()),
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

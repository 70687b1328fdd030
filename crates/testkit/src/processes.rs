//! Whose processes still run, in which roles of ours, and what a hypervisor takes.

use std::path::{Path, PathBuf};
use std::process::{self, ExitCode};
use std::{env, fs};

use ciphertax_supervise::{guard, supervisor};

use crate::contains;

/// A process as the kernel shows it.
#[derive(Debug)]
pub struct Process {
    /// Its id.
    pub pid: u32,
    /// Its arguments, each followed by a zero byte; none of a process that has ended or that belongs to the kernel.
    pub arguments: Vec<u8>,
    /// What its environment was when it began; none of another user's.
    pub environment: Vec<u8>,
}

impl Process {
    /// The file that it executes; `None` if it has ended or is another user's.
    pub fn program(&self) -> Option<PathBuf> {
        fs::read_link(format!("/proc/{}/exe", self.pid)).ok()
    }

    /// Its arguments, parted by spaces.
    pub fn command_line(&self) -> String {
        String::from_utf8_lossy(&self.arguments).replace('\0', " ")
    }
}

/// All processes.
pub fn processes() -> impl Iterator<Item = Process> {
    let pid = |entry: fs::DirEntry| entry.file_name().to_str()?.parse().ok();
    let pids = fs::read_dir("/proc").unwrap().flatten().filter_map(pid);
    pids.map(|pid: u32| {
        let read = |file| fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
        Process {
            pid,
            arguments: read("cmdline"),
            environment: read("environ"),
        }
    })
}

/// Command lines of the processes that have `folder` among their arguments or in their environment.
pub fn processes_with(folder: &Path) -> Vec<String> {
    let folder = folder.to_str().unwrap();
    processes()
        .filter(|process| contains(&process.arguments, folder) || contains(&process.environment, folder))
        .map(|process| process.command_line())
        .collect()
}

/// Command lines that contain `needle`.
pub fn command_lines_with(needle: &str) -> Vec<String> {
    processes()
        .filter(|process| contains(&process.arguments, needle))
        .map(|process| process.command_line())
        .collect()
}

/// True while a process exists and is not just waiting to be reaped.
pub fn is_running(pid: u32) -> bool {
    fields_of(pid).is_some_and(|fields| fields[0] != "Z")
}

/// Who started a process; `None` once it has ended.
pub fn parent_of(pid: u32) -> Option<u32> {
    fields_of(pid)?[1].parse().ok()
}

/// Whether there is shared memory of System V that this process made. It goes a moment after the command line of the last
/// process that used it.
pub fn has_shared_memory(pid: u32) -> bool {
    let segments = fs::read_to_string("/proc/sysvipc/shm").unwrap();
    let maker = |line: &str| line.split_whitespace().nth(4).map(str::to_owned);
    segments.lines().any(|line| maker(line) == Some(pid.to_string()))
}

/// What the kernel says of a process behind its name, which may hold anything.
fn fields_of(pid: u32) -> Option<Vec<String>> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, behind_name) = stat.rsplit_once(')')?;
    Some(behind_name.split_whitespace().map(str::to_owned).collect())
}

/// What a program's own path is when ciphertax starts it in a role. Whoever runs tests by name, as in `cargo test
/// link`, starts the program by its file's path.
const STARTED_BY_ITSELF: &str = "/proc/self/exe";

/// Lets a test program be the guard of what its tests start, and the other processes of ciphertax's own, as the
/// `ciphertax` command is: it is started again, and before it would run any test it plays the role that it was started
/// in. Stands once in every test program that starts a private server, a tunnel or a link.
#[macro_export]
macro_rules! plays_roles {
    () => {
        // The test harness has the program's `main`; what stands here is called before that.
        #[used]
        #[unsafe(link_section = ".init_array")]
        static PLAYS_ROLES: extern "C" fn() = $crate::play_role;
    };
}

/// Plays the role that this program was started in, if it was, and ends. See [`plays_roles`].
pub extern "C" fn play_role() {
    let mut arguments = env::args_os();
    if arguments.next().is_none_or(|path| path != STARTED_BY_ITSELF) {
        return;
    }
    let (role, others) = (arguments.next(), arguments.next());
    if others.is_some() {
        return;
    }
    let main = match role.as_ref().and_then(|role| role.to_str()) {
        Some("guard") => guard::main,
        Some("link") => ciphertax_lab::link::main,
        Some("column-relay") => ciphertax_lab::column_relay::main,
        Some("supervise") => supervisor::main,
        _ => return,
    };
    // As every Rust program has it from its first line.
    // SAFETY: a system call, before there are other threads.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
    process::exit(if main() == ExitCode::SUCCESS { 0 } else { 1 });
}

/// CPU time that the hypervisor gave to others while this CPU, or all of them, had work to do, since the machine started: in
/// nanoseconds, to a tick of 10 ms (`man 5 proc_stat`).
pub fn stolen_ns(cpu: Option<usize>) -> u64 {
    const STEAL: usize = 8;
    const TICK_NS: u64 = 10_000_000;
    let name = cpu.map_or("cpu".to_owned(), |cpu| format!("cpu{cpu}"));
    let text = fs::read_to_string("/proc/stat").unwrap();
    let mut lines = text
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>());
    let line = lines.find(|words| words.first() == Some(&&*name)).unwrap();
    line[STEAL].parse::<u64>().unwrap() * TICK_NS
}

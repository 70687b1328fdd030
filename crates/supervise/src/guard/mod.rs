//! Nothing is left behind, not even when ciphertax is killed.
//!
//! Every private server has a guard, and so has every tunnel: a small process of its own session that is the *parent* of
//! the server, or of the tunnel's programs, and holds one end of a socket whose other end only the owner holds. When the
//! owner closes it, or the kernel does because the owner died, the guard ends them, removes the folder and exits. The same
//! code runs after success, a panic and `kill -9`.
//!
//! There is no moment in which a program runs unseen:
//!
//! - the guard locks the folder before any program is started, so nobody takes the folder for a stale one;
//! - a program's number cannot be given to another process, since its parent does not reap it before the end;
//! - what a program started falls to the guard when the program has ended before it (`PR_SET_CHILD_SUBREAPER`);
//! - if the guard itself is killed, the kernel kills the programs (`PR_SET_PDEATHSIG`; the guard has one thread, which
//!   lives as long as it does), and [`sweep_stale`](crate::sweep_stale) removes the folder at the next start.
//!
//! The guard is in its own session, so that Ctrl-C at the terminal reaches neither it nor the programs.

mod order;

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, PipeWriter, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitOptions, getpid, getppid, getrlimit, kill_process,
    set_child_subreaper, set_parent_process_death_signal, setrlimit, setsid, wait,
};

use crate::error::{Error, Result};
use crate::folder::{self, MARKER, PREFIX, PrivateFolder};
use crate::namespace::run_inside;
use crate::privilege::run_as_nobody;
use crate::process_tree::kill_descendants;
use crate::say::say;
use crate::sweep::remove_folder;
use order::Order;
pub use order::{Helper, User};

/// How long programs may take to end by themselves before they are killed. Their data go with them, so nothing is lost.
const GRACE: Duration = Duration::from_secs(3);

/// How long the owner waits for an answer of its guard; ending takes twice [`GRACE`] and removing the folder.
const PATIENCE: Duration = Duration::from_secs(15);

/// How many files a program may have open through which connections go, if the system allows it: each is two or more.
const MANY_FILES: u64 = 65_536;

/// Longest message between owner and guard in bytes.
const LONGEST_MESSAGE: u32 = 1 << 20;

/// How to start a guard: a program that calls [`main`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuardProgram {
    program: PathBuf,
    arguments: Vec<OsString>,
}

impl GuardProgram {
    /// Any program, with the arguments that make it call [`main`].
    pub fn new(
        program: impl Into<PathBuf>,
        arguments: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> Self {
        Self {
            program: program.into(),
            arguments: arguments.into_iter().map(Into::into).collect(),
        }
    }

    /// The program that runs now, with the argument `guard`. It is found even if its file was replaced meanwhile.
    pub fn this_program() -> Self {
        Self::new("/proc/self/exe", ["guard"])
    }

    /// The test program that runs now; it must contain this, and `name` is its path in the program:
    ///
    /// ```text
    /// #[test]
    /// #[ignore = "the guard of the private servers in these tests"]
    /// fn guard() {
    ///     ciphertax_supervise::guard::main();
    /// }
    /// ```
    pub fn this_test_program(name: &str) -> Self {
        Self::new("/proc/self/exe", [name, "--exact", "--ignored", "--nocapture"])
    }

    /// The command line of the same program in another role, whose name stands where a guard has `guard`: as an
    /// argument, or in a test program as the last part of the test's path.
    pub fn in_role(&self, role: &str) -> Vec<OsString> {
        let arguments = self.arguments.iter().map(|argument| match argument.to_str() {
            Some("guard") => role.into(),
            Some(path) if path.ends_with("::guard") => {
                (path[..path.len() - "guard".len()].to_owned() + role).into()
            }
            _ => argument.clone(),
        });
        std::iter::once(self.program.clone().into())
            .chain(arguments)
            .collect()
    }
}

/// What a guard does; the whole of the hidden command `guard`. Call it before anything else opens files: it closes what
/// it inherited.
pub fn main() -> ExitCode {
    close_inherited_descriptors();
    outlive_signals();
    let Some(owner) = owner_on_standard_input() else {
        say("`guard` is started by ciphertax itself, to remove a private server when its owner is gone");
        return ExitCode::FAILURE;
    };
    match Watch::begin(owner) {
        Ok(watch) => {
            watch.until_owner_is_gone();
            ExitCode::SUCCESS
        }
        Err(_) => ExitCode::FAILURE,
    }
}

/// The owner's side of a guard. Dropping it ends everything that it had.
#[derive(Debug)]
pub struct Guard {
    folder: PrivateFolder,
    process: Child,
    socket: UnixStream,
    finished: bool,
}

impl Guard {
    /// Starts a guard over `folder` and waits until it is on duty.
    ///
    /// # Errors
    /// If it cannot be started or does not take the folder; nothing is left then.
    pub fn start(program: &GuardProgram, folder: PrivateFolder) -> Result<Self> {
        let (ours, theirs) = UnixStream::pair().map_err(problem("cannot be reached"))?;
        let process = spawn_guard(program, theirs)?;
        ours.set_read_timeout(Some(PATIENCE))
            .map_err(problem("cannot be reached"))?;
        let mut guard = Self {
            folder,
            process,
            socket: ours,
            finished: false,
        };
        let path = guard.folder.path().as_os_str().as_bytes().to_owned();
        guard.ask(&path)?;
        Ok(guard)
    }

    /// The folder it watches over.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Lets the guard start a program after ending all that it had.
    ///
    /// # Errors
    /// If the guard is gone or cannot start it.
    pub fn replace(&mut self, helper: Helper) -> Result<Pid> {
        self.start_program(&Order::Replace(helper))
    }

    /// Lets the guard start a program beside those it has.
    ///
    /// # Errors
    /// If the guard is gone or cannot start it.
    pub fn add(&mut self, helper: Helper) -> Result<Pid> {
        self.start_program(&Order::Add(helper))
    }

    /// Ends one program, and waits until it has ended.
    ///
    /// # Errors
    /// If the guard is gone.
    pub fn end(&mut self, program: Pid) -> Result<()> {
        let pid = program.as_raw_nonzero().get().unsigned_abs();
        self.ask(&Order::End(pid).encode()).map(drop)
    }

    fn start_program(&mut self, order: &Order) -> Result<Pid> {
        let answer = self.ask(&order.encode())?;
        answer
            .parse()
            .ok()
            .and_then(Pid::from_raw)
            .ok_or_else(|| Error::Guard {
                problem: format!("said {answer:?}"),
            })
    }

    /// Ends every program, removes the folder and waits until that is done.
    ///
    /// # Errors
    /// If the folder cannot be removed.
    pub fn finish(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.finished, true) {
            return Ok(());
        }
        let _ = self.socket.shutdown(Shutdown::Write);
        let last_word = read_answer(&mut self.socket);
        // Whatever it said: once it is dead, so are its programs.
        if last_word.is_err() {
            let _ = self.process.kill();
        }
        let _ = self.process.wait();
        let removed = match last_word {
            Ok(_) => return Ok(()),
            Err(_) => remove_folder(self.folder.path()),
        };
        removed.map_err(|error| Error::LeftBehind {
            folder: self.folder.path().into(),
            problem: error.to_string(),
        })
    }

    fn ask(&mut self, message: &[u8]) -> Result<String> {
        write_message(&mut self.socket, message).map_err(problem("is gone"))?;
        read_answer(&mut self.socket).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => Error::Guard {
                problem: "ended at once".into(),
            },
            _ => problem("refuses")(error),
        })
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.finish();
    }
}

fn problem(what: &'static str) -> impl FnOnce(io::Error) -> Error {
    move |error| Error::Guard {
        problem: format!("{what} ({error})"),
    }
}

fn spawn_guard(program: &GuardProgram, socket: UnixStream) -> Result<Child> {
    let mut command = Command::new(&program.program);
    command
        .args(&program.arguments)
        .current_dir("/")
        .stdin(OwnedFd::from(socket))
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    // SAFETY: setsid is a system call and touches no memory, so it may be called between fork and exec.
    unsafe { command.pre_exec(|| Ok(setsid().map(drop)?)) };
    command.spawn().map_err(|cause| Error::Spawn {
        program: program.program.clone(),
        cause,
    })
}

/// The guard's side: a locked folder, the programs that work in it, and the owner.
struct Watch {
    owner: UnixStream,
    folder: PathBuf,
    _lock: File,
    programs: Vec<Running>,
}

/// A program, and the other end of its standard input: whoever reads that waits for as long as it runs.
struct Running {
    process: Child,
    _input: PipeWriter,
}

impl Watch {
    /// Takes over the folder that the owner names first.
    fn begin(mut owner: UnixStream) -> io::Result<Self> {
        let folder = read_message(&mut owner)?.ok_or(io::ErrorKind::UnexpectedEof)?;
        let folder = PathBuf::from(OsString::from_vec(folder));
        match adopt_orphans().and_then(|()| lock_private_folder(&folder)) {
            Ok(lock) => {
                write_answer(&mut owner, Ok("on duty"))?;
                Ok(Self {
                    owner,
                    folder,
                    _lock: lock,
                    programs: Vec::new(),
                })
            }
            Err(error) => {
                write_answer(&mut owner, Err(&error))?;
                Err(error)
            }
        }
    }

    fn until_owner_is_gone(mut self) {
        while let Ok(Some(message)) = read_message(&mut self.owner) {
            let answer = Order::decode(&message).and_then(|order| self.obey(&order));
            if write_answer(&mut self.owner, answer.as_deref()).is_err() {
                break;
            }
        }
        self.end_all();
        let removed = remove_folder(&self.folder).map(|()| "removed");
        // Nobody listens if the owner was killed.
        let _ = write_answer(&mut self.owner, removed.as_deref());
    }

    /// Answers with the number of the process that was started.
    fn obey(&mut self, order: &Order) -> io::Result<String> {
        match order {
            Order::Replace(helper) => {
                self.end_all();
                self.start(program(helper, &self.folder)?)
            }
            Order::Add(helper) => {
                let mut command = program(helper, &self.folder)?;
                // SAFETY: it makes system calls and touches no memory but their arguments, so it may be called between fork and
                // exec.
                unsafe { command.pre_exec(raise_limit_of_files) };
                self.start(command)
            }
            Order::End(pid) => {
                let asked_for = |program: &mut Running| program.process.id() == *pid;
                end(self.programs.extract_if(.., asked_for).collect());
                Ok(String::new())
            }
        }
    }

    /// Starts a program that dies with this process.
    fn start(&mut self, mut command: Command) -> io::Result<String> {
        // The last step before exec, because a change of user would undo it.
        die_with_this_thread(&mut command);
        let (theirs, ours) = io::pipe()?;
        let process = command.stdin(theirs).spawn()?;
        let pid = process.id().to_string();
        self.programs.push(Running {
            process,
            _input: ours,
        });
        Ok(pid)
    }

    fn end_all(&mut self) {
        end(std::mem::take(&mut self.programs));
        end_orphans();
    }
}

/// Ends programs, all at once: politely, and after [`GRACE`] for good.
fn end(mut programs: Vec<Running>) {
    for program in &programs {
        let _ = kill_process(Pid::from_child(&program.process), Signal::TERM);
    }
    let deadline = Instant::now() + GRACE;
    loop {
        programs.retain_mut(|program| matches!(program.process.try_wait(), Ok(None)));
        if programs.is_empty() {
            return;
        }
        if Instant::now() > deadline {
            break;
        }
        thread::sleep(Duration::from_millis(5));
    }
    for mut program in programs {
        let _ = program.process.kill();
        let _ = program.process.wait();
    }
}

/// Waits for what the programs, which have all ended, left running: sessions of an sshd end by themselves when their
/// client is gone. What has not ended after half of [`GRACE`] is killed.
fn end_orphans() {
    let begin = Instant::now();
    while begin.elapsed() < GRACE {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) => {}
            // No children, no orphans.
            Err(_) => return,
            Ok(None) => {
                if begin.elapsed() > GRACE / 2 {
                    kill_descendants();
                }
                thread::sleep(Duration::from_millis(5));
            }
        }
    }
}

/// Makes this process the parent of whatever its programs leave running.
pub(crate) fn adopt_orphans() -> io::Result<()> {
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// Locks a folder that will be removed, so it must be one of ours.
fn lock_private_folder(folder: &Path) -> io::Result<File> {
    let named_as_ours = folder
        .file_name()
        .is_some_and(|name| name.as_bytes().starts_with(PREFIX.as_bytes()));
    if !named_as_ours || !folder.join(MARKER).exists() {
        return Err(io::Error::other("not a private folder of ciphertax"));
    }
    folder::lock_shared(folder)?.ok_or_else(|| io::Error::other("the folder is being removed"))
}

/// The command of a program that works in `folder` and writes its log there.
fn program(helper: &Helper, folder: &Path) -> io::Result<Command> {
    let (program, arguments) = helper
        .command_line
        .split_first()
        .ok_or(io::ErrorKind::InvalidInput)?;
    let log = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(folder.join(&helper.log))?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(folder)
        .stdout(log.try_clone()?)
        .stderr(log);
    if let Some(namespace) = &helper.namespace {
        // Before the rights for it are given up.
        run_inside(&mut command, namespace)?;
    }
    if helper.user == User::Nobody {
        run_as_nobody(&mut command);
    }
    Ok(command)
}

/// Raises this process's limit of open files to 65,536 or to what the system allows.
///
/// # Errors
/// If the system refuses.
pub fn raise_limit_of_files() -> io::Result<()> {
    let limit = getrlimit(Resource::Nofile);
    let raised = limit.maximum.map_or(MANY_FILES, |most| most.min(MANY_FILES));
    if limit.current.is_some_and(|current| current < raised) {
        let raised = Rlimit {
            current: Some(raised),
            maximum: limit.maximum,
        };
        setrlimit(Resource::Nofile, raised)?;
    }
    Ok(())
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

/// Closes everything but the standard streams: whoever waits for the end of a pipe that the owner inherited must not
/// wait for the guard.
fn close_inherited_descriptors() {
    const FIRST: libc::c_uint = 3;
    // SAFETY: a system call without pointers; the caller has opened nothing yet, so no owner of these is misled.
    unsafe { libc::syscall(libc::SYS_close_range, FIRST, libc::c_uint::MAX, 0) };
}

/// Survives the signals that end an owner. Handlers, unlike ignored signals, are not inherited by the server.
fn outlive_signals() {
    extern "C" fn nothing(_: libc::c_int) {}
    let handler = nothing as extern "C" fn(libc::c_int);
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT] {
        // SAFETY: the handler does nothing, so it may run at any point.
        unsafe { libc::signal(signal, handler as libc::sighandler_t) };
    }
}

/// Who started this process, if that was a ciphertax.
pub(crate) fn owner_on_standard_input() -> Option<UnixStream> {
    let stdin = io::stdin();
    rustix::net::sockopt::socket_type(&stdin).ok()?;
    stdin.as_fd().try_clone_to_owned().ok().map(UnixStream::from)
}

/// Messages are preceded by their length, four bytes, little-endian.
fn write_message(stream: &mut UnixStream, message: &[u8]) -> io::Result<()> {
    let length = u32::try_from(message.len())
        .ok()
        .filter(|length| *length <= LONGEST_MESSAGE)
        .ok_or(io::ErrorKind::InvalidInput)?;
    let mut frame = length.to_le_bytes().to_vec();
    frame.extend_from_slice(message);
    stream.write_all(&frame)
}

/// `None` at the end.
fn read_message(stream: &mut UnixStream) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 4];
    match stream.read_exact(&mut length) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let length = u32::from_le_bytes(length);
    if length > LONGEST_MESSAGE {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut message = vec![0; length as usize];
    stream.read_exact(&mut message)?;
    Ok(Some(message))
}

/// Answers begin with `+` if what was asked is done, else with `-`.
fn write_answer(stream: &mut UnixStream, answer: std::result::Result<&str, &io::Error>) -> io::Result<()> {
    let text = match answer {
        Ok(text) => format!("+{text}"),
        Err(error) => format!("-{error}"),
    };
    write_message(stream, text.as_bytes())
}

fn read_answer(stream: &mut UnixStream) -> io::Result<String> {
    let message = read_message(stream)?.ok_or(io::ErrorKind::UnexpectedEof)?;
    match message.split_first() {
        Some((b'+', text)) => Ok(String::from_utf8_lossy(text).into_owned()),
        Some((b'-', text)) => Err(io::Error::other(String::from_utf8_lossy(text).into_owned())),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guard_takes_no_folder_that_is_not_ours() {
        let parent = tempfile::tempdir().unwrap();
        let other_name = parent.path().join("documents");
        let unmarked = parent.path().join(format!("{PREFIX}documents"));
        for folder in [&other_name, &unmarked] {
            std::fs::create_dir(folder).unwrap();
        }
        File::create(other_name.join(MARKER)).unwrap();
        assert!(lock_private_folder(&other_name).is_err());
        assert!(lock_private_folder(&unmarked).is_err());
        File::create(unmarked.join(MARKER)).unwrap();
        assert!(lock_private_folder(&unmarked).is_ok());
    }

    #[test]
    fn without_a_working_guard_there_is_no_server_and_no_folder() {
        let folder = PrivateFolder::create(1).unwrap();
        let path = folder.path().to_owned();
        let error = Guard::start(&GuardProgram::new("/bin/true", [""; 0]), folder)
            .unwrap_err()
            .to_string();
        assert!(error.contains("no server is started"), "{error}");
        assert!(!path.exists());
    }

    #[test]
    fn a_role_stands_where_the_guards_name_stood() {
        for (guard, link) in [("guard", "link"), ("common::guard", "common::link")] {
            assert_eq!(
                GuardProgram::this_test_program(guard).in_role("link"),
                ["/proc/self/exe", link, "--exact", "--ignored", "--nocapture"]
            );
        }
        assert_eq!(
            GuardProgram::this_program().in_role("link"),
            ["/proc/self/exe", "link"]
        );
    }

    #[test]
    fn messages_arrive_whole_and_answers_keep_their_meaning() {
        let (mut one, mut other) = UnixStream::pair().unwrap();
        write_message(&mut one, b"a\0b").unwrap();
        assert_eq!(read_message(&mut other).unwrap().unwrap(), b"a\0b");
        write_answer(&mut one, Ok("12")).unwrap();
        assert_eq!(read_answer(&mut other).unwrap(), "12");
        write_answer(&mut one, Err(&io::Error::other("no"))).unwrap();
        assert_eq!(read_answer(&mut other).unwrap_err().to_string(), "no");
        one.write_all(&u32::MAX.to_le_bytes()).unwrap();
        assert!(read_message(&mut other).is_err());
        drop(one);
        assert!(read_message(&mut other).unwrap().is_none());
    }
}

//! Nothing is left behind, not even when ciphertax is killed.
//!
//! Every private server has a guard: a small process of its own session that is the server's *parent* and holds one end
//! of a socket whose other end only the owner holds. When the owner closes it, or the kernel does because the owner
//! died, the guard ends the server, removes the folder and exits. The same code runs after success, a panic and `kill -9`.
//!
//! There is no moment in which a server runs unseen:
//!
//! - the guard locks the folder before any server is started, so nobody takes the folder for a stale one;
//! - the server's number cannot be given to another process, since its parent does not reap it before the end;
//! - if the guard itself is killed, the kernel kills the server (`PR_SET_PDEATHSIG`; the guard has one thread, which
//!   lives as long as it does), and [`sweep_stale`](crate::sweep_stale) removes the folder at the next start.
//!
//! The guard is in its own session, so that Ctrl-C at the terminal reaches neither it nor the server.

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
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

use rustix::process::{Pid, Signal, getpid, getppid, kill_process, set_parent_process_death_signal, setsid};

use crate::error::{Error, Result};
use crate::folder::{self, MARKER, PREFIX, PrivateFolder};
use crate::log::LOG;
use crate::sweep::remove_folder;

/// How long a server may take to end by itself before it is killed. Its data go with it, so nothing is lost.
const GRACE: Duration = Duration::from_secs(3);

/// How long the owner waits for an answer of its guard; ending takes [`GRACE`] and removing the folder.
const PATIENCE: Duration = Duration::from_secs(15);

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
    ///     ciphertax_lab::guard::main();
    /// }
    /// ```
    pub fn this_test_program(name: &str) -> Self {
        Self::new("/proc/self/exe", [name, "--exact", "--ignored", "--nocapture"])
    }

    /// The command line of the same program in another role, whose name stands where a guard has `guard`: as an
    /// argument, or in a test program as the last part of the test's path.
    pub(crate) fn in_role(&self, role: &str) -> Vec<OsString> {
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
        eprintln!(
            "`guard` is started by ciphertax itself, to remove a private server when its owner is gone"
        );
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

/// The owner's side of a guard.
#[derive(Debug)]
pub(crate) struct Guard {
    folder: PrivateFolder,
    process: Child,
    socket: UnixStream,
    finished: bool,
}

impl Guard {
    /// Starts a guard over `folder` and waits until it is on duty.
    pub(crate) fn start(program: &GuardProgram, folder: PrivateFolder) -> Result<Self> {
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
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Lets the guard start a server, after ending the one it had.
    pub(crate) fn run(&mut self, command_line: &[OsString]) -> Result<Pid> {
        let answer = self.ask(&command_line.join(OsStr::from_bytes(b"\0")).into_vec())?;
        answer
            .parse()
            .ok()
            .and_then(Pid::from_raw)
            .ok_or_else(|| Error::Guard {
                problem: format!("said {answer:?}"),
            })
    }

    /// Ends the server, removes the folder and waits until that is done.
    pub(crate) fn finish(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.finished, true) {
            return Ok(());
        }
        let _ = self.socket.shutdown(Shutdown::Write);
        let last_word = read_answer(&mut self.socket);
        // Whatever it said: once it is dead, so is the server.
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

/// The guard's side: a locked folder, the server in it, and the owner.
struct Watch {
    owner: UnixStream,
    folder: PathBuf,
    _lock: File,
    server: Option<Child>,
}

impl Watch {
    /// Takes over the folder that the owner names first.
    fn begin(mut owner: UnixStream) -> io::Result<Self> {
        let folder = read_message(&mut owner)?.ok_or(io::ErrorKind::UnexpectedEof)?;
        let folder = PathBuf::from(OsString::from_vec(folder));
        match lock_private_folder(&folder) {
            Ok(lock) => {
                write_answer(&mut owner, Ok("on duty"))?;
                Ok(Self {
                    owner,
                    folder,
                    _lock: lock,
                    server: None,
                })
            }
            Err(error) => {
                write_answer(&mut owner, Err(&error))?;
                Err(error)
            }
        }
    }

    fn until_owner_is_gone(mut self) {
        while let Ok(Some(command_line)) = read_message(&mut self.owner) {
            self.end_server();
            let answer = match start_server(&command_line, &self.folder) {
                Ok(server) => Ok(self.server.insert(server).id().to_string()),
                Err(error) => Err(error),
            };
            if write_answer(&mut self.owner, answer.as_deref()).is_err() {
                break;
            }
        }
        self.end_server();
        let removed = remove_folder(&self.folder).map(|()| "removed");
        // Nobody listens if the owner was killed.
        let _ = write_answer(&mut self.owner, removed.as_deref());
    }

    fn end_server(&mut self) {
        let Some(mut server) = self.server.take() else {
            return;
        };
        let _ = kill_process(Pid::from_child(&server), Signal::TERM);
        let deadline = Instant::now() + GRACE;
        while Instant::now() < deadline {
            if !matches!(server.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(Duration::from_millis(5));
        }
        let _ = server.kill();
        let _ = server.wait();
    }
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

/// Starts a server that dies with this process. `command_line` is its arguments, separated by zeros.
fn start_server(command_line: &[u8], folder: &Path) -> io::Result<Child> {
    let mut words = command_line.split(|byte| *byte == 0).map(OsStr::from_bytes);
    let program = words.next().ok_or(io::ErrorKind::InvalidInput)?;
    let log = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(folder.join(LOG))?;
    let mut command = Command::new(program);
    command
        .args(words)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log);
    die_with_this_thread(&mut command);
    command.spawn()
}

/// Makes the kernel kill the command's process when the thread that starts it ends, for whatever reason.
pub(crate) fn die_with_this_thread(command: &mut Command) {
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

fn owner_on_standard_input() -> Option<UnixStream> {
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
        let folder = PrivateFolder::create().unwrap();
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

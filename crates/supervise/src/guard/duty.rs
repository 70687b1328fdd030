//! The guard's own side.

use std::fs::{File, OpenOptions};
use std::io::{self, PipeWriter};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, kill_process, wait};

use super::{Answer, Ending, Helper, Order, User};
use crate::child::{adopt_orphans, die_with_this_thread, kill_descendants, with_many_files};
use crate::conversation::{Conversation, say};
use crate::folder::{MARKER, PREFIX, lock_shared, remove_folder};
use crate::namespace::run_inside;
use crate::privilege::{run_as_nobody, run_as_reader};

/// How long programs may take to end by themselves before they are killed. Their data go with them, so nothing is lost.
const GRACE: Duration = Duration::from_secs(3);

/// What a guard does; the whole of the hidden command `guard`. Call it before anything else opens files: it closes what
/// it inherited.
pub fn main() -> ExitCode {
    close_inherited_descriptors();
    outlive_signals();
    let Some(owner) = Conversation::with_owner() else {
        say("`guard` is started by ciphertax itself, to end what was started when its owner is gone");
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

/// A locked folder, the programs that work in it, and the owner.
struct Watch {
    owner: Conversation,
    folder: PathBuf,
    _lock: File,
    programs: Vec<Running>,
}

/// A program, and the other end of its standard input: whoever reads that waits for as long as it runs.
struct Running {
    process: Child,
    ending: Ending,
    _input: PipeWriter,
}

impl Watch {
    /// Takes over the folder that the owner names first.
    fn begin(mut owner: Conversation) -> io::Result<Self> {
        let Some(Order::Watch(folder)) = owner.receive()? else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let folder = PathBuf::from(folder);
        match adopt_orphans().and_then(|()| lock_private_folder(&folder)) {
            Ok(lock) => {
                owner.send(&Answer::Done)?;
                Ok(Self {
                    owner,
                    folder,
                    _lock: lock,
                    programs: Vec::new(),
                })
            }
            Err(error) => {
                owner.send(&Answer::Refused(error.to_string()))?;
                Err(error)
            }
        }
    }

    fn until_owner_is_gone(mut self) {
        while let Ok(Some(order)) = self.owner.receive() {
            let answer = self.obey(order).unwrap_or_else(refusal);
            if self.owner.send(&answer).is_err() {
                break;
            }
        }
        self.end_all();
        let removed = remove_folder(&self.folder).map_or_else(refusal, |()| Answer::Done);
        // Nobody listens if the owner was killed.
        let _ = self.owner.send(&removed);
    }

    fn obey(&mut self, order: Order) -> io::Result<Answer> {
        match order {
            Order::Watch(_) => Err(io::Error::other("it watches over a folder already")),
            Order::Add(helper) => {
                let mut command = program(&helper, &self.folder)?;
                with_many_files(&mut command);
                self.start(command, helper.ending)
            }
            Order::End(pid) => {
                let is_asked_for =
                    |program: &mut Running| Pid::from_child(&program.process).as_raw_nonzero().get() == pid;
                end(self.programs.extract_if(.., is_asked_for).collect());
                Ok(Answer::Done)
            }
        }
    }

    /// Starts a program that dies with this process.
    fn start(&mut self, mut command: Command, ending: Ending) -> io::Result<Answer> {
        // The last step before exec, because a change of user would undo it.
        die_with_this_thread(&mut command);
        let (theirs, ours) = io::pipe()?;
        let process = command.stdin(theirs).spawn()?;
        let pid = Pid::from_child(&process).as_raw_nonzero().get();
        self.programs.push(Running {
            process,
            ending,
            _input: ours,
        });
        Ok(Answer::Started(pid))
    }

    fn end_all(&mut self) {
        let is_last = |program: &Running| program.ending == Ending::TerminateLast;
        let (last, first) = self.programs.drain(..).partition(is_last);
        end(first);
        end(last);
        end_orphans();
    }
}

fn refusal(error: io::Error) -> Answer {
    Answer::Refused(error.to_string())
}

/// Ends programs, all at once: politely, and after [`GRACE`] for good.
fn end(mut programs: Vec<Running>) {
    for program in &programs {
        let signal = match program.ending {
            Ending::Terminate | Ending::TerminateLast => Signal::TERM,
            Ending::Quit => Signal::QUIT,
        };
        let _ = kill_process(Pid::from_child(&program.process), signal);
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

/// Locks a folder that will be removed, so it must be one of ours.
fn lock_private_folder(folder: &Path) -> io::Result<File> {
    let named_as_ours = folder
        .file_name()
        .is_some_and(|name| name.as_bytes().starts_with(PREFIX.as_bytes()));
    if !named_as_ours || !folder.join(MARKER).exists() {
        return Err(io::Error::other("not a private folder of ciphertax"));
    }
    lock_shared(folder)?.ok_or_else(|| io::Error::other("the folder is being removed"))
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
    match helper.user {
        User::Owner => {}
        User::Nobody => run_as_nobody(&mut command),
        User::Own(user) => run_as_reader(&mut command, user),
    }
    Ok(command)
}

/// Closes everything but the standard streams: whoever waits for the end of a pipe that the owner inherited must not
/// wait for the guard.
fn close_inherited_descriptors() {
    const FIRST: libc::c_uint = 3;
    // SAFETY: a system call without pointers; the caller has opened nothing yet, so no owner of these is misled.
    unsafe { libc::syscall(libc::SYS_close_range, FIRST, libc::c_uint::MAX, 0) };
}

/// Survives the signals that end an owner. Handlers, unlike ignored signals, are not inherited by its programs.
fn outlive_signals() {
    extern "C" fn nothing(_: libc::c_int) {}
    let handler = nothing as extern "C" fn(libc::c_int);
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT] {
        // SAFETY: the handler does nothing, so it may run at any point.
        unsafe { libc::signal(signal, handler as libc::sighandler_t) };
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
}

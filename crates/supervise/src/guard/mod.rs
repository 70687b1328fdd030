//! Nothing is left behind, not even when ciphertax is killed.
//!
//! Every private folder with programs in it has a guard: a small process of its own session that is the *parent* of the
//! programs, and holds one end of a socket whose other end only the owner holds. When the owner closes it, or the
//! kernel does because the owner died, the guard ends them, removes the folder and exits. The same code runs after
//! success, a panic and `kill -9`.
//!
//! There is no moment in which a program runs unseen:
//!
//! - the guard locks the folder before any program is started, so nobody takes the folder for a stale one;
//! - a program's number cannot be given to another process, since its parent does not reap it before the end;
//! - what a program started falls to the guard when the program has ended before it (`PR_SET_CHILD_SUBREAPER`);
//! - if the guard itself is killed, the kernel kills the programs (`PR_SET_PDEATHSIG`; the guard has one thread, which
//!   lives as long as it does), and [`sweep_stale`](crate::sweep_stale) removes the folder at the next start;
//! - what is mounted in the folder outlives whoever mounted it, so it is unmounted before the folder is removed, by whom
//!   it may be (see [`mounts_below`](crate::namespace::mounts_below)).
//!
//! The guard is in its own session, so that Ctrl-C at the terminal reaches neither it nor the programs.

mod duty;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::Pid;
use serde::{Deserialize, Serialize};

use crate::child::{Process, in_own_session};
use crate::conversation::Conversation;
use crate::error::{Error, Result};
use crate::folder::{PrivateFolder, remove_folder};

pub use duty::main;

/// How long the owner waits for an answer of its guard; ending takes a few seconds, and so may removing the folder.
const PATIENCE: Duration = Duration::from_secs(15);

/// The owner's side of a guard. Dropping it ends everything that it had.
#[derive(Debug)]
pub struct Guard {
    folder: PrivateFolder,
    process: Child,
    conversation: Conversation,
    finished: bool,
}

impl Guard {
    /// Starts a guard over `folder` and waits until it is on duty.
    ///
    /// # Errors
    /// If it cannot be started or does not take the folder; nothing is left then.
    pub fn start(program: &GuardProgram, folder: PrivateFolder) -> Result<Self> {
        let (conversation, process) = spawn(program)?;
        let mut guard = Self {
            folder,
            process,
            conversation,
            finished: false,
        };
        let folder = guard.folder.path().to_owned().into();
        match guard.ask(&Order::Watch(folder))? {
            Answer::Done => Ok(guard),
            other => Err(nonsense(&other)),
        }
    }

    /// The folder it watches over.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Lets the guard start a program beside those it has.
    ///
    /// # Errors
    /// If the guard is gone or cannot start it.
    pub fn add(&mut self, helper: Helper) -> Result<Process> {
        match self.ask(&Order::Add(helper))? {
            Answer::Started(pid) => {
                Process::open(Pid::from_raw(pid).ok_or_else(|| problem("started no process"))?)
            }
            other => Err(nonsense(&other)),
        }
    }

    /// Ends one program, and waits until it has ended.
    ///
    /// # Errors
    /// If the guard is gone.
    pub fn end(&mut self, program: &Process) -> Result<()> {
        match self.ask(&Order::End(program.pid.as_raw_nonzero().get()))? {
            Answer::Done => Ok(()),
            other => Err(nonsense(&other)),
        }
    }

    /// Ends every program, removes the folder and waits until that is done.
    ///
    /// # Errors
    /// If the folder cannot be removed.
    pub fn finish(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.finished, true) {
            return Ok(());
        }
        self.conversation.say_no_more();
        let last_word = self.conversation.receive_within(PATIENCE);
        // Whatever it said: once it is dead, so are its programs.
        if last_word.is_err() {
            let _ = self.process.kill();
        }
        let _ = self.process.wait();
        if let Ok(Some(Answer::Done)) = last_word {
            return Ok(());
        }
        remove_folder(self.folder.path()).map_err(|error| Error::LeftBehind {
            folder: self.folder.path().into(),
            problem: error.to_string(),
        })
    }

    fn ask(&mut self, order: &Order) -> Result<Answer> {
        let gone = |error: io::Error| problem(format!("is gone ({error})"));
        self.conversation.send(order).map_err(gone)?;
        match self.conversation.receive_within(PATIENCE).map_err(gone)? {
            Some(Answer::Refused(why)) => Err(problem(format!("refuses ({why})"))),
            Some(answer) => Ok(answer),
            None => Err(problem("ended at once")),
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.finish();
    }
}

fn problem(problem: impl Into<String>) -> Error {
    Error::Guard(problem.into())
}

fn nonsense(answer: &Answer) -> Error {
    problem(format!("answered {answer:?}"))
}

fn spawn(program: &GuardProgram) -> Result<(Conversation, Child)> {
    let (ours, theirs) =
        Conversation::pair().map_err(|error| problem(format!("cannot be reached ({error})")))?;
    let mut command = Command::new(program.path());
    command
        .arg("guard")
        .current_dir("/")
        .stdin(theirs)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    in_own_session(&mut command);
    let process = command.spawn().map_err(|cause| Error::Spawn {
        program: program.path().into(),
        cause,
    })?;
    Ok((ours, process))
}

/// A program that a guard is to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Helper {
    /// The program and its arguments.
    pub command_line: Vec<OsString>,
    /// The file in the private folder that its output is added to.
    pub log: String,
    /// Whom it runs as.
    pub user: User,
    /// The network namespace it runs in; `None` for that of the guard.
    pub namespace: Option<PathBuf>,
    /// How it is asked to end.
    pub ending: Ending,
}

/// How a program is asked to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Ending {
    /// By `SIGTERM`, as most programs are.
    #[default]
    Terminate,
    /// By `SIGQUIT`, for programs that wait for their clients after `SIGTERM`.
    Quit,
    /// By `SIGTERM` when all others have ended: they work on what it is, as servers do on a file system.
    TerminateLast,
}

/// Whom a program runs as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum User {
    /// Who started the guard.
    Owner,
    /// Nobody, which only root can become (see [`crate::privilege`]).
    Nobody,
    /// A user of the program's own, which only root can make (see
    /// [`own_user`](crate::privilege::own_user)).
    Own(u32),
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Order {
    /// Watch over this folder; the first order, and given once. A path may hold any bytes.
    Watch(OsString),
    /// Start a program beside the others.
    Add(Helper),
    /// End the program with this process number.
    End(i32),
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Answer {
    Done,
    /// The program was started, and this is its process number.
    Started(i32),
    /// It is not done, for this reason.
    Refused(String),
}

/// A program that plays roles: its first argument is the role. Its `main` must call [`guard::main`](main) for
/// `guard`, and likewise what else it is used for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuardProgram {
    path: PathBuf,
}

impl GuardProgram {
    /// The program at this path.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// The program that runs now. It is found even if its file was replaced meanwhile.
    pub fn this_program() -> Self {
        Self::new("/proc/self/exe")
    }

    /// The command line of the program in a role.
    pub fn in_role(&self, role: &str) -> Vec<OsString> {
        vec![self.path.clone().into(), role.into()]
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn without_a_working_guard_nothing_is_started_and_there_is_no_folder() {
        let folder = PrivateFolder::create(1).unwrap();
        let path = folder.path().to_owned();
        let error = Guard::start(&GuardProgram::new("/bin/true"), folder)
            .unwrap_err()
            .to_string();
        assert!(error.contains("nothing is started"), "{error}");
        assert!(!path.exists());
    }

    #[test]
    fn a_command_line_arrives_whatever_bytes_are_in_it() {
        let helper = Helper {
            command_line: vec![
                "/bin/echo".into(),
                "a \"b\"\n".into(),
                OsStr::from_bytes(b"\xff\xfe").to_owned(),
                OsString::new(),
            ],
            log: "echo.log".into(),
            user: User::Nobody,
            namespace: Some("/proc/1/ns/net".into()),
            ending: Ending::Quit,
        };
        let text = serde_json::to_string(&Order::Add(helper.clone())).unwrap();
        assert!(!text.contains('\n'));
        assert_eq!(serde_json::from_str::<Order>(&text).unwrap(), Order::Add(helper));
    }
}

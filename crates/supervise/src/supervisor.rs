//! A program of the user's own, supervised: what it took is known exactly, and it leaves nothing running.
//!
//! The supervisor is a small process in a session of its own and the *parent* of the program. What the program started
//! falls to the supervisor when its own parent has ended (`PR_SET_CHILD_SUBREAPER`), so the kernel adds up the CPU time
//! of all of it, and all of it can be ended: when the program has ended by itself, when its time is up, and when the
//! owner is gone, however that ended. If the supervisor is killed, the kernel kills the program (`PR_SET_PDEATHSIG`).

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};
use std::{io, thread};

use ciphertax_base::CpuTime;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, kill_process_group, pidfd_open, wait};
use serde::{Deserialize, Serialize};

use crate::child::{
    ChildPipe, adopt_orphans, die_with_this_thread, in_own_session, kill_descendants, without_own_variables,
};
use crate::conversation::{Conversation, say};
use crate::error::{Error, Result};
use crate::guard::GuardProgram;

/// How a supervised program ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ended {
    /// The way it ended.
    pub how: End,
    /// From its start to its end.
    pub took: Duration,
    /// CPU time of the program and of all it started.
    pub cpu: CpuTime,
    /// Their context switches, voluntary and involuntary.
    pub context_switches: u64,
    /// The last line that it wrote to standard error, or to standard output if it wrote none there; at most
    /// 4096 bytes of it. Everything else it wrote is gone.
    pub last_line: String,
}

/// The way a program ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum End {
    /// With this exit code.
    Exit(i32),
    /// By this signal.
    Signal(i32),
    /// It could not be started.
    NotStarted(String),
}

/// A program that runs, or has ended. It is killed with all it started when this is dropped.
#[derive(Debug)]
pub struct Supervised {
    supervisor: Child,
    conversation: Conversation,
}

const LONGEST_LINE: usize = 4096;

/// What a pipe holds (pipe(7)).
const PIPE: usize = 1 << 16;

/// How often the end of killed processes is looked for.
const LOOK: Duration = Duration::from_millis(2);

/// How long killed processes have to end. Those of another user, which a program with that user's rights has started,
/// cannot be killed, and are left.
const DYING: Duration = Duration::from_secs(2);

impl Supervised {
    /// Starts a program with an environment that is this process's own but for `environment`, whose variables without a value
    /// are not handed on, nor are those for ciphertax itself. `prepare` gets the number of the process whose CPUs the program
    /// inherits, before it is started.
    ///
    /// # Errors
    /// If the supervisor cannot be started; that the program cannot be is said by [`Supervised::ended`].
    pub fn start(
        guard: &GuardProgram,
        command_line: &[String],
        environment: &[(String, Option<String>)],
        prepare: impl FnOnce(u32) -> io::Result<()>,
    ) -> Result<Self> {
        let (conversation, theirs) = Conversation::pair().map_err(problem)?;
        let supervisor = spawn_supervisor(&guard.in_role("supervise"), environment, theirs)?;
        let mut supervised = Self {
            supervisor,
            conversation,
        };
        prepare(supervised.supervisor.id()).map_err(problem)?;
        supervised.conversation.send(&command_line).map_err(problem)?;
        Ok(supervised)
    }

    /// Waits no longer than `patience` for its end; `None` if it still runs.
    ///
    /// # Errors
    /// If the supervisor is gone.
    pub fn ended(&mut self, patience: Duration) -> Result<Option<Ended>> {
        if !self.conversation.has_word(patience).map_err(problem)? {
            return Ok(None);
        }
        match self.conversation.receive().map_err(problem)? {
            Some(ended) => Ok(Some(ended)),
            None => Err(Error::Supervisor("ended without a word".into())),
        }
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        self.conversation.say_no_more();
        let _ = self.supervisor.wait();
    }
}

/// What a supervisor does; the whole of the hidden command `supervise`.
pub fn main() -> ExitCode {
    let Some(owner) = Conversation::with_owner() else {
        say("`supervise` is started by ciphertax itself, to run a program of the user's own");
        return ExitCode::FAILURE;
    };
    match supervise(owner) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn problem(cause: io::Error) -> Error {
    Error::Supervisor(format!("does not work ({cause})"))
}

fn spawn_supervisor(
    command_line: &[OsString],
    environment: &[(String, Option<String>)],
    owner: OwnedFd,
) -> Result<Child> {
    let mut command = Command::new(&command_line[0]);
    without_own_variables(&mut command);
    command
        .args(&command_line[1..])
        .stdin(owner)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    for (name, value) in environment {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    in_own_session(&mut command);
    command.spawn().map_err(|cause| Error::Spawn {
        program: command_line[0].clone().into(),
        cause,
    })
}

/// Runs the program that the owner names, and tells it how that ended.
fn supervise(mut owner: Conversation) -> io::Result<()> {
    adopt_orphans()?;
    let Some(command_line) = owner.receive::<Vec<String>>()? else {
        return Ok(());
    };
    let began = Instant::now();
    let ended = match start(&command_line) {
        Err(error) => Ended {
            how: End::NotStarted(error.to_string()),
            took: Duration::ZERO,
            cpu: CpuTime::default(),
            context_switches: 0,
            last_line: String::new(),
        },
        Ok(program) => {
            let ended = watch(program, began, &owner);
            end_descendants();
            let Some(ended) = ended? else { return Ok(()) };
            let usage = usage_of_children()?;
            Ended {
                cpu: usage.cpu,
                context_switches: usage.context_switches,
                ..ended
            }
        }
    };
    owner.send(&ended)
}

fn start(command_line: &[String]) -> io::Result<Child> {
    let (program, arguments) = command_line.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    die_with_this_thread(&mut command);
    command.spawn()
}

/// Waits for the program's end, reading what it writes; `None` if the owner was gone before. Its process group has
/// ended then.
fn watch(mut program: Child, began: Instant, owner: &Conversation) -> io::Result<Option<Ended>> {
    let pid = Pid::from_child(&program);
    let end_group = || {
        // Gone already, if it is.
        let _ = kill_process_group(pid, Signal::KILL);
    };
    let end = pidfd_open(pid, PidfdFlags::empty())?;
    let mut output = Output::of(program.stdout.take())?;
    let mut errors = Output::of(program.stderr.take())?;
    loop {
        let mut ready = vec![
            PollFd::new(owner, PollFlags::IN),
            PollFd::new(&end, PollFlags::IN),
        ];
        ready.extend(
            [&output.pipe, &errors.pipe]
                .into_iter()
                .filter_map(ChildPipe::readable),
        );
        match poll(&mut ready, None) {
            Err(Errno::INTR) => continue,
            other => other.map(drop)?,
        }
        let (owner_is_gone, has_ended) = (!ready[0].revents().is_empty(), !ready[1].revents().is_empty());
        drop(ready);
        let took = began.elapsed();
        if owner_is_gone {
            end_group();
            return Ok(None);
        }
        output.read();
        errors.read();
        if has_ended {
            end_group();
            let status = program.wait()?;
            output.read();
            errors.read();
            let how = match (status.code(), status.signal()) {
                (Some(code), _) => End::Exit(code),
                (None, signal) => End::Signal(signal.unwrap_or_default()),
            };
            return Ok(Some(Ended {
                how,
                took,
                cpu: CpuTime::default(),
                context_switches: 0,
                last_line: errors
                    .said
                    .last_line()
                    .or(output.said.last_line())
                    .unwrap_or_default(),
            }));
        }
    }
}

/// What a program writes, of which the last line is kept.
struct Output {
    pipe: ChildPipe,
    said: LastLine,
}

impl Output {
    fn of(pipe: Option<impl Into<OwnedFd>>) -> io::Result<Self> {
        Ok(Self {
            pipe: ChildPipe::of(pipe)?,
            said: LastLine::default(),
        })
    }

    /// Takes what is there, but no more than a pipe holds: whoever writes without end is not listened to without end.
    fn read(&mut self) {
        self.pipe.read(PIPE, |bytes| self.said.take(bytes));
    }
}

/// The last line that is not empty, and the one being written.
#[derive(Default)]
struct LastLine {
    last: Vec<u8>,
    current: Vec<u8>,
}

impl LastLine {
    fn take(&mut self, bytes: &[u8]) {
        for (index, part) in bytes.split(|byte| *byte == b'\n').enumerate() {
            if index > 0 && !self.current.trim_ascii().is_empty() {
                self.last = std::mem::take(&mut self.current);
            } else if index > 0 {
                self.current.clear();
            }
            let room = LONGEST_LINE - self.current.len();
            self.current.extend_from_slice(&part[..part.len().min(room)]);
        }
    }

    fn last_line(&self) -> Option<String> {
        let lines = [&self.current, &self.last];
        let line = lines.into_iter().find(|line| !line.trim_ascii().is_empty())?;
        Some(String::from_utf8_lossy(line.trim_ascii()).into_owned())
    }
}

/// Kills whatever the program left running, and reaps it.
fn end_descendants() {
    let deadline = Instant::now() + DYING;
    while Instant::now() < deadline {
        match wait(WaitOptions::NOHANG) {
            // No children, no descendants.
            Err(Errno::CHILD) => return,
            Err(_) | Ok(Some(_)) => {}
            Ok(None) => {
                kill_descendants();
                thread::sleep(LOOK);
            }
        }
    }
}

struct Usage {
    cpu: CpuTime,
    context_switches: u64,
}

/// Of all children that were waited for, and of those that they had waited for.
fn usage_of_children() -> io::Result<Usage> {
    // SAFETY: all zeros is a valid value of this structure of numbers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: writes to `usage`, which outlives the call.
    if unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let nanoseconds =
        |time: libc::timeval| time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_usec.unsigned_abs() * 1000;
    let system_ns = nanoseconds(usage.ru_stime);
    Ok(Usage {
        cpu: CpuTime {
            total_ns: nanoseconds(usage.ru_utime) + system_ns,
            system_ns,
        },
        context_switches: usage.ru_nvcsw.unsigned_abs() + usage.ru_nivcsw.unsigned_abs(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_that_says_anything_is_kept() {
        let kept = |parts: &[&str]| {
            let mut said = LastLine::default();
            parts.iter().for_each(|part| said.take(part.as_bytes()));
            said.last_line()
        };
        assert_eq!(kept(&[]), None);
        assert_eq!(kept(&["\n \n"]), None);
        assert_eq!(kept(&["one\ntw", "o\n\n", "  \n"]).unwrap(), "two");
        assert_eq!(kept(&["one\n", "two"]).unwrap(), "two");
        let long = "x".repeat(3 * LONGEST_LINE);
        assert_eq!(kept(&[&long, &long, "\n"]).unwrap().len(), LONGEST_LINE);
    }
}

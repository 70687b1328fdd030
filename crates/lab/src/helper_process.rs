//! A process of our own under its guard, which does what it is asked for over a socket in its folder.

use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{fmt, io, thread};

use ciphertax_reactor::stop;
use ciphertax_supervise::guard::{Ending, Guard, GuardProgram, Helper, User};
use ciphertax_supervise::{Conversation, PrivateFolder, Process};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::path::Fault;
use crate::error::{Error, Result};
use crate::files;
use crate::server::family::sweep_stale;

/// Space that it needs: a socket and a log.
const NEEDED_MB: u64 = 1;

/// How long it may take to start, and to answer.
const PATIENCE: Duration = Duration::from_secs(15);

/// Which process it is.
pub(crate) struct Role {
    /// By which our own program knows that it is one.
    pub(crate) name: &'static str,
    /// Its socket in its folder.
    pub(crate) socket: &'static str,
    /// Its log, likewise.
    pub(crate) log: &'static str,
}

/// It ends, and all its files go, when this is dropped or when this process ends in whatever way.
#[derive(Debug)]
pub(crate) struct HelperProcess {
    conversation: Mutex<Conversation>,
    process: Process,
    guard: Guard,
    log: &'static str,
}

/// What such a process answers.
pub(crate) trait Answer: DeserializeOwned + fmt::Debug {
    /// Its own words, if it could not do what it was asked for; else the answer.
    fn refusal(self) -> std::result::Result<Self, String>;
}

impl HelperProcess {
    /// Starts one, in this network namespace if any. `E` is what its faults are called.
    ///
    /// # Errors
    /// If it cannot be started, or does not listen.
    pub(crate) fn start<E: From<Fault>>(
        role: &Role,
        namespace: Option<PathBuf>,
        program: &GuardProgram,
    ) -> Result<Self>
    where
        Error: From<E>,
    {
        sweep_stale();
        let mut guard = Guard::start(program, PrivateFolder::create(NEEDED_MB)?)?;
        let process = Process::open(guard.add(Helper {
            command_line: program.in_role(role.name),
            log: role.log.into(),
            user: User::Owner,
            namespace,
            ending: Ending::Terminate,
        })?)?;
        let conversation = connect(&process, guard.folder(), role).map_err(E::from)?;
        Ok(Self {
            conversation: Mutex::new(conversation),
            process,
            guard,
            log: role.log,
        })
    }

    pub(crate) fn ask<A: Answer>(&self, request: &impl Serialize) -> std::result::Result<A, Fault> {
        let mut conversation = self.conversation.lock().unwrap_or_else(PoisonError::into_inner);
        let answer: Option<A> = conversation
            .send(request)
            .and_then(|()| conversation.receive_within(PATIENCE))
            .map_err(|error| self.gone(&error.to_string()))?;
        match answer.map(A::refusal) {
            Some(Ok(answer)) => Ok(answer),
            Some(Err(problem)) => Err(Fault::Refused { problem }),
            None => Err(self.gone("it closed the conversation")),
        }
    }

    /// An answer to something else than was asked.
    pub(crate) fn nonsense(&self, answer: &impl fmt::Debug) -> Fault {
        self.gone(&format!("it answered {answer:?}"))
    }

    pub(crate) fn pid(&self) -> u32 {
        number(&self.process)
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.process.has_ended()
    }

    /// The folder of its socket and its log.
    pub(crate) fn folder(&self) -> &Path {
        self.guard.folder()
    }

    /// The last lines of its log.
    pub(crate) fn last_words(&self) -> String {
        files::tail_of(&self.folder().join(self.log))
    }

    /// Ends it and removes everything it had.
    ///
    /// # Errors
    /// If something could not be removed.
    pub(crate) fn stop(&mut self) -> Result<()> {
        Ok(self.guard.finish()?)
    }

    fn gone(&self, problem: &str) -> Fault {
        gone(&self.process, self.last_words(), problem)
    }
}

fn gone(process: &Process, log: String, problem: &str) -> Fault {
    Fault::Gone {
        pid: number(process),
        problem: problem.into(),
        log,
    }
}

fn number(process: &Process) -> u32 {
    process.pid().as_raw_nonzero().get().unsigned_abs()
}

/// Waits until it listens.
fn connect(process: &Process, folder: &Path, role: &Role) -> std::result::Result<Conversation, Fault> {
    let socket = folder.join(role.socket);
    let deadline = Instant::now() + PATIENCE;
    loop {
        match UnixStream::connect(&socket) {
            Ok(stream) => {
                return Conversation::over(stream).map_err(|cause| Fault::Unreachable { socket, cause });
            }
            Err(_) if process.has_ended() => {
                return Err(gone(
                    process,
                    files::tail_of(&folder.join(role.log)),
                    "it ended at once",
                ));
            }
            // The socket is bound a moment before anyone listens.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused
                ) && !stop::is_over(deadline) =>
            {
                thread::sleep(Duration::from_millis(1));
            }
            Err(cause) => return Err(Fault::Unreachable { socket, cause }),
        }
    }
}

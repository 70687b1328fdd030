//! A process of our own under its guard, which does what it is asked for over a socket in its folder.

use std::fmt::Debug;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{io, thread};

use ciphertax_reactor::stop;
use ciphertax_supervise::guard::{Ending, Guard, GuardProgram, Helper, User};
use ciphertax_supervise::{Conversation, LONGEST_SOCKET_NAME, MARKER, PrivateFolder, Process, say};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::path::HelperError;
use crate::error::{Error, Result};
use crate::files;
use crate::server::family::sweep_stale;

/// Space that it needs: a socket and a log.
const NEEDED_MB: u64 = 1;

/// How long it may take to start, and to answer.
const PATIENCE: Duration = Duration::from_secs(15);

const SOCKET: &str = "helper.sock";

const _: () = assert!(
    SOCKET.len() <= LONGEST_SOCKET_NAME,
    "the path of the socket is checked"
);

#[derive(Debug)]
pub(crate) struct Role {
    /// By which our own program knows that it is one.
    pub(crate) name: &'static str,
    /// What it is called in messages.
    pub(crate) title: &'static str,
    /// What it is for, as the end of a sentence.
    pub(crate) purpose: &'static str,
}

/// What a process answers: or, as the end of a sentence about it, why it cannot do what it is asked for.
pub(crate) type Answered<A> = Result<A, String>;

impl Role {
    /// What such a process does; the whole of its hidden command. Its guard starts it in a private folder. `serve` talks with its
    /// owner until that is gone.
    pub(crate) fn play(&self, serve: impl FnOnce(Conversation) -> io::Result<()>) -> ExitCode {
        let Self { name, title, purpose } = self;
        if !Path::new(MARKER).exists() {
            say(format_args!("`{name}` is started by ciphertax itself, {purpose}"));
            return ExitCode::FAILURE;
        }
        let owner = UnixListener::bind(SOCKET).and_then(|listener| Conversation::over(listener.accept()?.0));
        match owner.and_then(serve) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                say(format_args!("{title} ends: {error}"));
                ExitCode::FAILURE
            }
        }
    }
}

/// A process that helps. It ends, and all its files go, when this is dropped or when this process ends in whatever way.
#[derive(Debug)]
pub struct HelperProcess {
    /// The number of its only process.
    pub pid: u32,
    process: Process,
    conversation: Mutex<Conversation>,
    guard: Guard,
    role: &'static Role,
}

impl HelperProcess {
    /// Starts one, in this network namespace if any.
    pub(crate) fn start(
        role: &'static Role,
        namespace: Option<PathBuf>,
        program: &GuardProgram,
    ) -> Result<Self> {
        sweep_stale();
        let mut guard = Guard::start(program, PrivateFolder::create(NEEDED_MB)?)?;
        let process = guard.add(Helper {
            command_line: program.in_role(role.name),
            log: log_of(role),
            user: User::Owner,
            namespace,
            ending: Ending::Terminate,
        })?;
        let conversation = connect(&process, guard.folder(), role)?;
        Ok(Self {
            pid: process.pid(),
            process,
            conversation: Mutex::new(conversation),
            guard,
            role,
        })
    }

    pub(crate) fn ask<A: DeserializeOwned>(&self, request: &impl Serialize) -> Result<A> {
        let mut conversation = self.conversation.lock().unwrap_or_else(PoisonError::into_inner);
        let answer: Option<Answered<A>> = conversation
            .send(request)
            .and_then(|()| conversation.receive_within(PATIENCE))
            .map_err(|error| gone(self.role, self.pid, self.folder(), &error.to_string()))?;
        let who = self.role.title;
        match answer {
            Some(answer) => answer.map_err(|problem| HelperError::Refused { who, problem }.into()),
            None => Err(gone(
                self.role,
                self.pid,
                self.folder(),
                "it closed the conversation",
            )),
        }
    }

    /// An answer to something else than was asked.
    pub(crate) fn nonsense(&self, answer: &impl Debug) -> Error {
        gone(
            self.role,
            self.pid,
            self.folder(),
            &format!("it answered {answer:?}"),
        )
    }

    /// The folder of its socket and its log.
    pub fn folder(&self) -> &Path {
        self.guard.folder()
    }

    /// False once it has ended.
    pub fn is_alive(&self) -> bool {
        !self.process.has_ended()
    }

    /// That it has ended, with its last words; `None` while it lives.
    pub fn death(&self) -> Option<String> {
        (!self.is_alive()).then(|| {
            format!(
                "{} (process {}) ended; the last lines of its log: {}",
                self.role.title,
                self.pid,
                files::tail_of(&self.folder().join(log_of(self.role)))
            )
        })
    }

    /// Ends it and removes everything it had. Dropping does the same without a word.
    ///
    /// # Errors
    /// If something could not be removed.
    pub fn stop(mut self) -> Result<()> {
        Ok(self.guard.finish()?)
    }
}

fn log_of(role: &Role) -> String {
    format!("{}.log", role.name)
}

fn gone(role: &Role, pid: u32, folder: &Path, problem: &str) -> Error {
    HelperError::Gone {
        who: role.title,
        pid,
        problem: problem.into(),
        log: files::tail_of(&folder.join(log_of(role))),
    }
    .into()
}

/// Waits until it listens.
fn connect(process: &Process, folder: &Path, role: &Role) -> Result<Conversation> {
    let socket = folder.join(SOCKET);
    let deadline = Instant::now() + PATIENCE;
    let cause = loop {
        match UnixStream::connect(&socket) {
            Ok(stream) => match Conversation::over(stream) {
                Ok(conversation) => return Ok(conversation),
                Err(cause) => break cause,
            },
            Err(_) if process.has_ended() => {
                return Err(gone(role, process.pid(), folder, "it ended at once"));
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
            Err(cause) => break cause,
        }
    };
    let who = role.title;
    Err(HelperError::Unreachable { who, socket, cause }.into())
}

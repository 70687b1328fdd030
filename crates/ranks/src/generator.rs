//! The load generator that runs beside this program: an ordinary `ciphertax`.

use std::env;
use std::ffi::OsString;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ciphertax_supervise::{Conversation, Envelope, child};

/// Says the number of a load generator and how many there are.
const VARIABLE: &str = "CIPHERTAX_RANK";
/// How long it may take to end once nobody calls it any more.
const ENDING: Duration = Duration::from_secs(1);

/// So much of what it complains about is kept.
const SAID_BYTES: usize = 2_000;

/// A load generator, whose standard input is the way to the others.
pub(crate) struct Generator {
    child: Child,
    /// `None` once it is to end, or has.
    conversation: Option<Conversation>,
    /// What one that follows complains about: whoever conducts says it, if that is not what it complains about itself.
    said: Option<JoinHandle<String>>,
}

/// What it wants.
pub(crate) enum Wish {
    /// Something is to be carried.
    Carry(Envelope),
    /// Nothing for now.
    Nothing,
    /// It says no more.
    Over,
}

impl Generator {
    /// Starts the program that lies beside this one, in a process group of its own: what a terminal or mpirun sends to this program is not
    /// sent to that. Not in a session of its own: Linux gives sessions equal shares of the CPU (`sched(7)`, autogrouping), so that load
    /// generators of one machine would wait for each other, and take more from a server beside them than the threads of one process do.
    pub(crate) fn start(rank: u32, of: u32, arguments: &[OsString]) -> Result<Self, String> {
        let own = env::current_exe().map_err(|error| format!("it does not know where it lies: {error}"))?;
        let program = own.with_file_name("ciphertax");
        let unusable = |error: io::Error| {
            format!(
                "{} cannot be started: {error}; it lies beside ciphertax-mpi",
                program.display()
            )
        };
        let (conversation, theirs) = Conversation::pair().map_err(unusable)?;
        let mut command = Command::new(&program);
        command
            .args(arguments)
            .env(VARIABLE, format!("{rank}/{of}"))
            .stdin(Stdio::from(theirs));
        command.process_group(0);
        if rank > 0 {
            command.stderr(Stdio::piped());
            // A load that nobody calls any more ends at once.
            child::die_with_this_thread(&mut command);
        }
        let mut child = command.spawn().map_err(unusable)?;
        Ok(Self {
            said: child.stderr.take().map(|stderr| thread::spawn(|| kept(stderr))),
            child,
            conversation: Some(conversation),
        })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits so long for what it says, unless there is something to read from `other`.
    pub(crate) fn wish(&mut self, patience: Duration, other: impl AsFd) -> Wish {
        let Some(conversation) = &mut self.conversation else {
            thread::sleep(patience);
            return Wish::Nothing;
        };
        match conversation.has_word_unless(other, patience) {
            Ok(false) => return Wish::Nothing,
            Ok(true) => {}
            Err(_) => return self.over(),
        }
        match conversation.receive() {
            Ok(Some(envelope)) => Wish::Carry(envelope),
            Ok(None) | Err(_) => self.over(),
        }
    }

    fn over(&mut self) -> Wish {
        self.conversation = None;
        Wish::Over
    }

    /// Tells it what another said; nothing, once it is gone.
    pub(crate) fn tell(&mut self, envelope: &Envelope) {
        let Some(conversation) = &mut self.conversation else {
            return;
        };
        if conversation.send(envelope).is_err() {
            // A part of it may have been sent, after which nothing could be understood. It hears that it is alone, and ends.
            conversation.say_no_more();
        }
    }

    /// Waits until it has ended, however long it works.
    pub(crate) fn wait(&mut self) -> io::Result<ExitStatus> {
        self.conversation = None;
        self.child.wait()
    }

    /// Waits until it has ended, and tells how it did and what it complained about.
    pub(crate) fn last_words(&mut self) -> String {
        let how = match self.wait() {
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        };
        let said = self
            .said
            .take()
            .and_then(|said| said.join().ok())
            .unwrap_or_default();
        match said.trim() {
            "" => how,
            said => format!("{how}: {said}"),
        }
    }

    /// Ends it: nobody calls it any more.
    pub(crate) fn end(&mut self) {
        self.conversation = None;
        let deadline = Instant::now() + ENDING;
        while matches!(self.child.try_wait(), Ok(None)) {
            if Instant::now() > deadline {
                let _ = self.child.kill();
                let _ = self.child.wait();
                return;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// The beginning of what it says; all of it is read, so that it never waits.
fn kept(mut stderr: ChildStderr) -> String {
    let (mut said, mut part) = (Vec::new(), [0; 512]);
    while let Ok(count @ 1..) = stderr.read(&mut part) {
        let room = SAID_BYTES.saturating_sub(said.len());
        said.extend_from_slice(&part[..count.min(room)]);
    }
    String::from_utf8_lossy(&said).into_owned()
}

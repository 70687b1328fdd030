//! The way to an agent: by the system's `ssh`, which starts it on another machine, or by load generators.

use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD as STANDARD, BASE64_STANDARD_NO_PAD as STANDARD_NO_PAD};
use ciphertax_base::harmless;
use ciphertax_model::{AgentAddress, SshAddress};
use ciphertax_reactor::stop;
use ciphertax_supervise::{Conversation, child};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::protocol::{Answer, Hello, LONGEST_NAME, PROTOCOL, Request, VERSION, kept};
use crate::ranks::Ranks;

/// How long `ssh` may take to log in and to start an agent.
const LOGIN: Duration = Duration::from_secs(30);
const ENDING: Duration = Duration::from_millis(500);
/// So much of what `ssh` says is kept.
const SAID_BYTES: usize = 2_000;

/// What `ssh` says at last of a key that it does not take.
const REFUSED_KEY: &str = "Host key verification failed";
/// By this the refusal knows what was found out about the key.
const OTHER_KEY: &str = "not the one that";

/// What `ssh` must not do, or not as its user's settings say: ask, keep the connection for others, or share one whose others
/// would delay a reading.
const SETTINGS: [&str; 11] = [
    "BatchMode=yes",
    "ClearAllForwardings=yes",
    "ConnectTimeout=10",
    "ControlMaster=no",
    "ControlPath=none",
    "ForwardAgent=no",
    "ForwardX11=no",
    "LogLevel=ERROR",
    "PermitLocalCommand=no",
    "ServerAliveCountMax=2",
    "ServerAliveInterval=5",
];

/// Where an agent is, and who leads there.
#[derive(Debug, Clone)]
pub enum Reach {
    /// It is started there by this program.
    Ssh {
        /// `ssh`, or its path.
        program: OsString,
        /// Where it is.
        address: SshAddress,
    },
    /// It is the load generator that makes no load, on this host.
    Rank {
        /// All load generators.
        ranks: Ranks,
        /// As the host calls itself.
        host: String,
    },
}

impl fmt::Display for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ssh { address, .. } => address.fmt(f),
            Self::Rank { host, .. } => AgentAddress::Rank(host.clone()).fmt(f),
        }
    }
}

#[derive(Debug)]
pub(super) enum Way {
    Ssh(Link),
    Rank(Ranks),
}

impl Way {
    pub(super) fn start(reach: &Reach) -> Result<Self, String> {
        match reach {
            Reach::Ssh { program, address } => Link::start(program, address).map(Self::Ssh),
            Reach::Rank { ranks, .. } => Ok(Self::Rank(ranks.clone())),
        }
    }

    /// Asks, and waits so long for the answer.
    pub(super) fn ask(&mut self, request: &Request, patience: Duration) -> io::Result<Answer> {
        match self {
            Self::Ssh(link) => link.ask(request, patience),
            Self::Rank(ranks) => ranks.ask_agent(request, patience),
        }
    }

    /// Ends it, and tells what it complained about.
    pub(super) fn end(self) -> String {
        match self {
            Self::Ssh(link) => link.end(),
            Self::Rank(_) => String::new(),
        }
    }
}

/// A running agent, which ends with this.
#[derive(Debug)]
pub(super) struct Link {
    child: Child,
    /// `None` once it is to end.
    conversation: Option<Conversation>,
    /// What `ssh` and the agent complain about.
    said: Arc<Mutex<Vec<u8>>>,
    listens: Option<JoinHandle<()>>,
}

impl Link {
    /// Starts an agent by `ssh`, a program or its path.
    pub(super) fn start(ssh: &OsString, address: &SshAddress) -> Result<Self, String> {
        let (conversation, theirs) = Conversation::pair().map_err(|error| error.to_string())?;
        let output = theirs.try_clone().map_err(|error| error.to_string())?;
        let mut command = Command::new(ssh);
        command
            .args(words(address))
            .env_remove("PGPASSWORD")
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::from(output))
            .stderr(Stdio::piped())
            // Ctrl-C in the terminal is for the run, which ends it afterwards.
            .process_group(0);
        child::without_own_variables(&mut command);
        child::die_with_this_thread(&mut command);
        let mut child = command.spawn().map_err(|error| match error.kind() {
            ErrorKind::NotFound => {
                "the program ssh is not installed here; its package is openssh-client".to_owned()
            }
            _ => format!("ssh cannot be started: {error}"),
        })?;
        // It holds the other end of the conversation as long as it lives, and so nobody would see that `ssh` ended.
        drop(command);
        let said = Arc::default();
        let listens = child.stderr.take().map(|stderr| listen(stderr, &said));
        let mut link = Self {
            child,
            conversation: Some(conversation),
            said,
            listens,
        };
        match link.receive(LOGIN) {
            Ok(hello) => welcome(&hello, address).map(|()| link),
            Err(error) => {
                let why = match error.kind() {
                    ErrorKind::InvalidData => {
                        "what answers is no agent, or the login shell there prints something first".to_owned()
                    }
                    _ => error.to_string(),
                };
                Err(refusal(&why, &link.end(), address))
            }
        }
    }

    /// Asks, and waits so long for the answer.
    pub(super) fn ask<T: DeserializeOwned>(
        &mut self,
        request: &impl Serialize,
        patience: Duration,
    ) -> io::Result<T> {
        let conversation = self.conversation.as_mut().ok_or(ErrorKind::NotConnected)?;
        conversation.send(request)?;
        self.receive(patience)
    }

    /// Ends it, and tells what `ssh` complained about.
    pub(super) fn end(mut self) -> String {
        self.close();
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&said);
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let lines: Vec<String> = lines.map(harmless).collect();
        changed_host_key(&lines).unwrap_or_else(|| lines.join("; "))
    }

    fn receive<T: DeserializeOwned>(&mut self, patience: Duration) -> io::Result<T> {
        let conversation = self.conversation.as_mut().ok_or(ErrorKind::NotConnected)?;
        let deadline = Instant::now() + patience;
        while !conversation.has_word(stop::LOOK)? {
            if stop::is_over(deadline) {
                return Err(io::Error::new(ErrorKind::TimedOut, "it does not answer"));
            }
        }
        match conversation.receive_within(patience)? {
            Some(message) => Ok(message),
            None => Err(io::Error::new(
                ErrorKind::UnexpectedEof,
                "the connection has ended",
            )),
        }
    }

    fn close(&mut self) {
        // The agent ends when nobody can ask it any more, and `ssh` with it.
        self.conversation = None;
        let deadline = Instant::now() + ENDING;
        while matches!(self.child.try_wait(), Ok(None)) {
            if Instant::now() > deadline {
                let _ = self.child.kill();
                let _ = self.child.wait();
            }
            thread::sleep(Duration::from_millis(2));
        }
        if let Some(listens) = self.listens.take() {
            // A child of its own that outlives it has its standard error too, and is not waited for.
            let deadline = Instant::now() + ENDING;
            while !listens.is_finished() && Instant::now() < deadline {
                thread::sleep(Duration::from_millis(2));
            }
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.close();
    }
}

/// The words after `ssh`. None of them can be taken for an option but those that are, and the last is for the shell there.
pub(super) fn words(address: &SshAddress) -> Vec<String> {
    let mut words = vec!["-T".to_owned()];
    words.extend(
        SETTINGS
            .iter()
            .flat_map(|setting| ["-o".to_owned(), (*setting).to_owned()]),
    );
    if let Some(port) = address.port() {
        words.extend(["-p".to_owned(), port.to_string()]);
    }
    if let Some(user) = address.user() {
        words.extend(["-l".to_owned(), user.to_owned()]);
    }
    words.extend(["--".to_owned(), address.host().to_owned()]);
    words.push(format!("{} agent", address.program()));
    words
}

/// Refuses an agent of another release: what it reads could mean something else.
fn welcome(hello: &Hello, address: &SshAddress) -> Result<(), String> {
    if (hello.ciphertax_agent, hello.version.as_str()) == (PROTOCOL, VERSION) {
        return Ok(());
    }
    let there = kept(&hello.version, LONGEST_NAME);
    let what = match there == VERSION {
        true => format!("the agent {address} is another build of ciphertax {VERSION}"),
        false => format!("the agent {address} is ciphertax {there}, and this is {VERSION}"),
    };
    Err(format!("{what}; install the same on both machines"))
}

fn refusal(why: &str, said: &str, address: &SshAddress) -> String {
    let by_hand = address.by_hand();
    let is = |words: &[&str]| words.iter().any(|word| said.contains(word));
    let remedy = if is(&["Permission denied"]) {
        format!("it must be possible without a password: try `{by_hand} -o BatchMode=yes true`")
    } else if is(&[OTHER_KEY]) {
        "somebody may stand between and answer in its place: ask its administrator which of the two is right, and only if it is the \
         new one remove that line"
            .to_owned()
    } else if is(&[REFUSED_KEY]) {
        format!("log in once by hand to confirm the host's key: `{by_hand}`")
    } else if is(&["not found", "No such file"]) {
        "install ciphertax there, or name its path: ssh://user@host/path/of/ciphertax".to_owned()
    } else {
        format!("try `{by_hand} {} --version`", address.program())
    };
    let why = match said {
        "" => why,
        said => said,
    };
    format!("no agent at {address}: {why}; {remedy}")
}

/// What is said of a host that shows another key than the one it is known by: both fingerprints, and the file and line of the
/// one that is known.
fn changed_host_key(lines: &[String]) -> Option<String> {
    lines.iter().find(|line| line.contains(REFUSED_KEY))?;
    let shown = lines
        .iter()
        .find_map(|line| line.strip_suffix('.').filter(|line| line.starts_with("SHA256:")))?;
    let place = lines
        .iter()
        .find_map(|line| line.strip_prefix("Offending ")?.split_once(" key in "))?
        .1;
    // Whatever answers may have said it.
    let known = place.rsplit_once(':').and_then(|(file, number)| {
        let place: usize = number.parse().ok()?;
        let file = fs::File::open(file).ok()?;
        file.metadata().ok().filter(fs::Metadata::is_file)?;
        let lines = BufReader::new(file.take(1 << 20)).lines();
        fingerprint(&lines.map_while(Result::ok).nth(place.checked_sub(1)?)?)
    });
    let known = known.map(|known| format!(" ({known})")).unwrap_or_default();
    Some(format!(
        "the host's key is {shown}, {OTHER_KEY} {place} has{known}"
    ))
}

/// The fingerprint of the key in a line of `known_hosts`, as `ssh` writes it.
fn fingerprint(line: &str) -> Option<String> {
    let is_kind = |word: &&str| {
        ["ssh-", "ecdsa-", "sk-"]
            .iter()
            .any(|kind| word.starts_with(kind))
    };
    let key = line.split_whitespace().skip_while(|word| !is_kind(word)).nth(1)?;
    let digest = openssl::sha::sha256(&STANDARD.decode(key).ok()?);
    Some(format!("SHA256:{}", STANDARD_NO_PAD.encode(digest)))
}

/// Keeps what `ssh` complains about, as far as there is room.
fn listen(mut stderr: ChildStderr, said: &Arc<Mutex<Vec<u8>>>) -> JoinHandle<()> {
    let said = Arc::clone(said);
    thread::spawn(move || {
        let mut part = [0; 512];
        while let Ok(count @ 1..) = stderr.read(&mut part) {
            let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
            let room = SAID_BYTES.saturating_sub(said.len());
            said.extend_from_slice(&part[..count.min(room)]);
        }
    })
}

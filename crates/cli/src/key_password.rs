//! The password by which a client's key is encrypted, asked for on the terminal.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::Ordering;

use ciphertax_base::Secret;
use ciphertax_wire::Target;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::exit::{Exit, Stop};

/// Asks for it once if neither URL nor environment has it and somebody sits at a terminal; else whoever needs it says where it may
/// be given. Returns how the process ends if it was stopped meanwhile.
pub(crate) fn unlock(target: Option<&mut Target>, stop: &Stop) -> Result<Option<Exit>, String> {
    let client = target.and_then(Target::client_certificate_mut);
    let Some(client) = client.filter(|client| client.lacks_password()) else {
        return Ok(None);
    };
    if io::stdin().is_terminal() && io::stderr().is_terminal() {
        let question = format!("Password of the key {}: ", client.key.display());
        let answer = ask(&question, stop).map_err(|error| format!("no password can be read: {error}"))?;
        client.password = answer;
    }
    Ok(stop.caught())
}

/// What is typed in answer, unseen; `None` if nothing is, or the process was stopped.
fn ask(question: &str, stop: &Stop) -> io::Result<Option<Secret>> {
    let echo = Echo::off()?;
    let mut terminal = io::stderr();
    write!(terminal, "{question}").and_then(|()| terminal.flush())?;
    let mut line = [0; 1024];
    let mut read = 0;
    let look = Timespec {
        tv_sec: 0,
        tv_nsec: 100_000_000,
    };
    while !stop.flag.load(Ordering::Relaxed) {
        let stdin = io::stdin();
        match poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&look)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(_) => {
                // A terminal gives one line, or what there is before Ctrl-D.
                read = rustix::io::read(&stdin, &mut line)?;
                break;
            }
            Err(error) => return Err(error.into()),
        }
    }
    drop(echo);
    writeln!(terminal)?;
    let text = String::from_utf8_lossy(&line[..read]);
    let text = text.trim_end_matches(['\r', '\n']);
    Ok((!text.is_empty()).then(|| Secret::new(text)))
}

/// A terminal that does not show what is typed until this is dropped.
struct Echo(Termios);

impl Echo {
    fn off() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut without = before.clone();
        without.local_modes.remove(LocalModes::ECHO);
        tcsetattr(io::stdin(), OptionalActions::Flush, &without)?;
        Ok(Self(before))
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        // A terminal that is gone shows nothing.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
    }
}

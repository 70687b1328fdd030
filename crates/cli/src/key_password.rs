//! The password by which a client's key is encrypted, asked for on the terminal.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

use ciphertax_base::Secret;
use ciphertax_wire::Target;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};

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
    let mut terminal = io::stderr();
    let echo = Echo::off()?;
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

/// How the terminal was before what is typed was hidden; `None` while it is shown.
static SHOWN: Mutex<Option<Termios>> = Mutex::new(None);

/// Has the terminal show what is typed again, if it does not.
pub(crate) fn show() {
    let before = SHOWN.lock().unwrap_or_else(PoisonError::into_inner).take();
    // A terminal that is gone shows nothing.
    before.map(|before| tcsetattr(io::stdin(), OptionalActions::Now, &before));
}

/// A terminal that does not show what is typed until this is dropped, nor takes the keys that stop or quit a program unheard.
struct Echo;

impl Echo {
    fn off() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut without = before.clone();
        without.local_modes.remove(LocalModes::ECHO);
        for key in [SpecialCodeIndex::VQUIT, SpecialCodeIndex::VSUSP] {
            without.special_codes[key] = 0;
        }
        *SHOWN.lock().unwrap_or_else(PoisonError::into_inner) = Some(before);
        tcsetattr(io::stdin(), OptionalActions::Flush, &without)?;
        Ok(Self)
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        show();
    }
}

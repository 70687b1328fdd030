//! The process of a relay that encrypts cells.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::ExitCode;
use std::rc::Rc;

use ciphertax_columns::{CellCipher, MasterKey};
use ciphertax_supervise::child::raise_limit_of_files;
use ciphertax_supervise::{Conversation, MARKER, say};

use super::event_loop::{Encryption, EventLoop};
use super::policy::Policy;
use super::protocol::{Answer, EncryptedCells, Request, SOCKET, Start};
use crate::port;

/// How often a port is chosen anew after somebody else took it.
const PORT_ATTEMPTS: u32 = 5;

/// What the process of a relay that encrypts cells does; the whole of the hidden command `column-relay`. Its guard starts it in a
/// private folder.
pub fn main() -> ExitCode {
    if !Path::new(MARKER).exists() {
        say("`column-relay` is started by ciphertax itself, to encrypt columns of results");
        return ExitCode::FAILURE;
    }
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(format_args!("the relay that encrypts columns ends: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn serve() -> io::Result<()> {
    let (stream, _) = UnixListener::bind(SOCKET)?.accept()?;
    let mut owner = Conversation::over(stream)?;
    let start = match owner.receive()? {
        None => return Ok(()),
        Some(Request::Start(start)) => start,
        Some(Request::Count) => return owner.send(&Answer::Refused("was not started".into())),
    };
    let listener = raise_limit_of_files().and_then(|()| listen(start.host));
    let listener = match listener {
        Ok(listener) => listener,
        Err(error) => {
            return owner.send(&Answer::Refused(format!(
                "cannot listen on {}: {error}",
                start.host
            )));
        }
    };
    run(listener, owner, start)
}

/// Serves connections; what cannot be encrypted is told before the first.
fn run(listener: TcpListener, mut owner: Conversation, start: Start) -> io::Result<()> {
    let Start { server, cells, .. } = start;
    let encryption = match cells.map(encryption).transpose() {
        Ok(encryption) => encryption,
        Err(problem) => return owner.send(&Answer::Refused(problem)),
    };
    owner.send(&Answer::Started(listener.local_addr()?))?;
    EventLoop::new(listener, owner, server, encryption)?.run()
}

/// What makes the ciphers of connections, each with a data key of its own.
fn encryption(
    cells: EncryptedCells,
) -> Result<Encryption<impl Fn() -> Result<CellCipher, ciphertax_columns::KeyError>>, String> {
    let EncryptedCells {
        encryption,
        columns,
        key,
    } = cells;
    let key = MasterKey::from_hex(&key).map_err(|error| error.to_string())?;
    let open = move || CellCipher::open(&encryption, &key);
    open().map_err(|error| error.to_string())?;
    Ok(Encryption {
        policy: Rc::new(Policy::new(&columns)),
        cells: open,
    })
}

/// Listens on a port outside the range from which the kernel gives clients theirs.
fn listen(host: Ipv4Addr) -> io::Result<TcpListener> {
    let ports = port::private_range();
    let mut outcome = Err(io::Error::other("every port tried is taken"));
    for _ in 0..PORT_ATTEMPTS {
        let Some(port) = port::free_in(&ports) else { break };
        outcome = TcpListener::bind((host, port));
        if outcome.is_ok() {
            break;
        }
    }
    outcome
}

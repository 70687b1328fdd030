//! The process of a link.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicI32, Ordering};

use ciphertax_model as model;
use ciphertax_supervise::{Conversation, MARKER, say};

use super::devices::Devices;
use super::forward::forward;
use super::protocol::{Answer, Endpoints, Request, SOCKET};
use super::settings::WaySettings;
use super::timing::{run_first, sleep_precisely};

/// What the process of a link does; the whole of the hidden command `link`. Its guard starts it in a private folder.
pub fn main() -> ExitCode {
    if !Path::new(MARKER).exists() {
        say("`link` is started by ciphertax itself, to put a distance between client and server");
        return ExitCode::FAILURE;
    }
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(format_args!("the link ends: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn serve() -> io::Result<()> {
    let (stream, _) = UnixListener::bind(SOCKET)?.accept()?;
    let mut owner = Conversation::over(stream)?;
    sleep_precisely();
    match owner.receive()? {
        None => Ok(()),
        Some(Request::Start(distances)) => match start(&distances) {
            Err(error) => owner.send(&Answer::Refused(error.to_string())),
            Ok((settings, devices)) => {
                end_on_sigterm(&owner);
                owner.send(&Answer::Started(Endpoints {
                    delayed: devices.delayed_address(),
                    direct: devices.direct_address(),
                    nodes: devices.nodes_address(),
                    namespace: devices.namespace(),
                }))?;
                run_first();
                forward(&devices, settings, owner)
            }
        },
        Some(_) => owner.send(&Answer::Refused("was not started".into())),
    }
}

fn start(distances: &model::Distances) -> io::Result<(WaySettings, Devices)> {
    let settings = WaySettings::try_from(distances).map_err(io::Error::other)?;
    Ok((settings, Devices::make(distances)?))
}

/// Makes SIGTERM end the conversation, which ends the process with all that it has to remove.
fn end_on_sigterm(owner: &Conversation) {
    static OWNER: AtomicI32 = AtomicI32::new(-1);
    extern "C" fn end(_: libc::c_int) {
        // SAFETY: a system call that a signal handler may make, on a number.
        unsafe { libc::shutdown(OWNER.load(Ordering::Relaxed), libc::SHUT_RDWR) };
    }
    OWNER.store(owner.as_fd().as_raw_fd(), Ordering::Relaxed);
    // SAFETY: the handler makes one system call, so it may run at any point.
    unsafe {
        libc::signal(
            libc::SIGTERM,
            end as extern "C" fn(libc::c_int) as libc::sighandler_t,
        )
    };
}

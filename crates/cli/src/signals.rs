//! Ctrl-C and its kin: the first ends the run in order, the second at once.

use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

/// 128 and the number of SIGINT, as shells have it.
const STOPPED: u8 = 130;

/// A flag that the first signal sets. After the second nothing is waited for; the guard removes a private server.
pub(crate) fn stop_flag() -> io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        flag::register_conditional_shutdown(signal, STOPPED.into(), Arc::clone(&stop))?;
        flag::register(signal, Arc::clone(&stop))?;
    }
    Ok(stop)
}

pub(crate) fn caught(stop: &AtomicBool) -> bool {
    stop.load(Ordering::Relaxed)
}

pub(crate) fn exit_code() -> ExitCode {
    ExitCode::from(STOPPED)
}

//! Test programs in the roles that ciphertax plays for itself.

use std::env;
use std::process::{self, ExitCode};

use ciphertax_supervise::{guard, supervisor};

/// What a program's own path is when ciphertax starts it in a role. Whoever runs tests by name, as in `cargo test
/// link`, starts the program by its file's path.
const STARTED_BY_ITSELF: &str = "/proc/self/exe";

/// Lets a test program be the guard of what its tests start, and the other processes of ciphertax's own, as the
/// `ciphertax` command is: it is started again, and before it would run any test it plays the role that it was started
/// in. Stands once in every test program that starts a private server, a tunnel or a link.
#[macro_export]
macro_rules! plays_roles {
    () => {
        // The test harness has the program's `main`; what stands here is called before that.
        #[used]
        #[unsafe(link_section = ".init_array")]
        static PLAYS_ROLES: extern "C" fn() = $crate::play_role;
    };
}

/// Plays the role that this program was started in, if it was, and ends. See [`plays_roles`].
pub extern "C" fn play_role() {
    let mut arguments = env::args_os();
    if arguments.next().is_none_or(|path| path != STARTED_BY_ITSELF) {
        return;
    }
    let (role, others) = (arguments.next(), arguments.next());
    if others.is_some() {
        return;
    }
    let main = match role.as_ref().and_then(|role| role.to_str()) {
        Some("guard") => guard::main,
        Some("link") => ciphertax_lab::link::main,
        Some("column-relay") => ciphertax_lab::column_relay::main,
        Some("supervise") => supervisor::main,
        _ => return,
    };
    // As every Rust program has it from its first line.
    // SAFETY: a system call, before there are other threads.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
    process::exit(if main() == ExitCode::SUCCESS { 0 } else { 1 });
}

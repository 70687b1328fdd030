//! What can go wrong with a tunnel, each with its remedy.

/// Why a tunnel does not work. Every message is one sentence that names the thing and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum TunnelError {
    /// A program of a tunnel or a pooler is not on this machine.
    #[error(
        "{program} is not installed: it is neither in PATH nor in {searched}; run `scripts/setup.sh tunnels`, or install \
         the package {package}"
    )]
    NotInstalled {
        /// The program.
        program: String,
        /// Debian's package of it.
        package: String,
        /// Where it was looked for besides `PATH`.
        searched: String,
    },
    /// A program of a tunnel or a pooler ended while it started.
    #[error("{program} ended while it started; it says: {log}")]
    Ended {
        /// The program.
        program: String,
        /// Last lines of its log.
        log: String,
    },
    /// A program of a tunnel or a pooler did not become ready.
    #[error("{program} was not ready after {seconds} s; it says: {log}")]
    NotReady {
        /// The program.
        program: String,
        /// How long it was waited for.
        seconds: u64,
        /// Last lines of its log.
        log: String,
    },
    /// A command that prepares something failed.
    #[error("`{command}` failed; it says: {problem}")]
    Command {
        /// The program and its first arguments, without secrets.
        command: String,
        /// What it wrote.
        problem: String,
    },
    /// A tunnel that is not what it was asked to be.
    #[error("the tunnel {tunnel} is not what it says: {problem}; nothing was measured through it")]
    Disproved {
        /// The tunnel.
        tunnel: String,
        /// What was expected and what was found.
        problem: String,
    },
}

//! Errors on the way between client and server, and of the processes that stand there, each with its remedy.

use std::io;
use std::path::PathBuf;

/// Why a process that helps does not work.
#[derive(Debug, thiserror::Error)]
pub enum HelperError {
    /// It could not do what it was asked for.
    #[error("{who} {problem}")]
    Refused {
        /// What it is called.
        who: &'static str,
        /// Its own words.
        problem: String,
    },
    /// It has ended or does not answer.
    #[error("the process {pid} of {who} is gone ({problem}); it says: {log}")]
    Gone {
        /// What it is called.
        who: &'static str,
        /// Its number.
        pid: u32,
        /// How that showed.
        problem: String,
        /// Last lines of its log.
        log: String,
    },
    /// The guard's folder is not where it listens.
    #[error("cannot speak with {who} at {socket}: {cause}")]
    Unreachable {
        /// What it is called.
        who: &'static str,
        /// Where it should listen.
        socket: PathBuf,
        /// The system's word.
        cause: io::Error,
    },
}

/// Why a link cannot be made or has failed.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// A link as it is asked for cannot be: the setting, and what it may be.
    #[error("there is no such link: {0}")]
    Settings(String),
    /// Not enough rights for network devices.
    #[error(
        "a link needs CAP_NET_ADMIN and CAP_SYS_ADMIN, for TUN devices and a network namespace; run ciphertax with sudo, or \
         without root in namespaces of your own: {WITHOUT_ROOT} (there is no other network in them, so install servers before; \
         Ubuntu permits them after `sysctl kernel.apparmor_restrict_unprivileged_userns=0`, Docker with `--security-opt \
         seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined --device /dev/net/tun`)"
    )]
    NotPermitted,
    /// The TUN devices of the kernel cannot be used, with the system's word.
    #[error(
        "a link needs /dev/net/tun ({0}); load the kernel's module with `modprobe tun`, let the container use it \
         (`--device /dev/net/tun`), and let this user open it (`chmod 666 /dev/net/tun`, as it is on most systems)"
    )]
    NoTun(std::io::Error),
    /// The program is missing that makes devices and gives them addresses.
    #[error("the program ip is missing; install the package iproute2, or run `scripts/setup.sh demo`")]
    NoIp,
}

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

/// How an ordinary user gets the rights that a link needs. The namespaces have a network of their own, which leads nowhere, so
/// what is to be downloaded must be there before.
pub const WITHOUT_ROOT: &str =
    "unshare --user --map-current-user --keep-caps --net sh -c 'ip link set lo up && ciphertax run …'";

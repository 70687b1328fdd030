//! Why there is no link.

use std::path::PathBuf;

use super::running::WITHOUT_ROOT;
use crate::asked_process::Fault;

/// Why a link cannot be made or has failed.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// A link as it is asked for cannot be.
    #[error("there is no such link: {problem}")]
    Settings {
        /// The setting and what it may be.
        problem: String,
    },
    /// Not enough rights for network devices.
    #[error(
        "a link needs CAP_NET_ADMIN and CAP_SYS_ADMIN, for TUN devices and a network namespace; run ciphertax with sudo, or \
         without root in namespaces of your own: {WITHOUT_ROOT} (there is no other network in them, so install servers before; \
         Ubuntu permits them after `sysctl kernel.apparmor_restrict_unprivileged_userns=0`, Docker with `--security-opt \
         seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined --device /dev/net/tun`)"
    )]
    NotPermitted,
    /// The TUN devices of the kernel cannot be used.
    #[error(
        "a link needs /dev/net/tun ({cause}); load the kernel's module with `modprobe tun`, let the container use it \
         (`--device /dev/net/tun`), and let this user open it (`chmod 666 /dev/net/tun`, as it is on most systems)"
    )]
    NoTun {
        /// The system's word.
        cause: std::io::Error,
    },
    /// A program is missing.
    #[error(
        "the program {program} is missing; install the package {package}, or run `scripts/setup.sh demo`"
    )]
    NoTool {
        /// The program.
        program: &'static str,
        /// The Debian package it is in.
        package: &'static str,
    },
    /// The link process could not do what it was asked for.
    #[error("the link between client and server {problem}")]
    Refused {
        /// Its own words.
        problem: String,
    },
    /// The link process has ended or does not answer.
    #[error("the process {pid} of the link between client and server is gone ({problem}); it says: {log}")]
    Gone {
        /// Its number.
        pid: u32,
        /// How that showed.
        problem: String,
        /// Last lines of its log.
        log: String,
    },
    /// The guard's folder is not where the link process listens.
    #[error("cannot speak with the link process at {socket}: {cause}")]
    Unreachable {
        /// Where it should listen.
        socket: PathBuf,
        /// The system's word.
        cause: std::io::Error,
    },
}

impl From<Fault> for LinkError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Refused { problem } => Self::Refused { problem },
            Fault::Gone { pid, problem, log } => Self::Gone { pid, problem, log },
            Fault::Unreachable { socket, cause } => Self::Unreachable { socket, cause },
        }
    }
}

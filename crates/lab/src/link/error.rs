//! Why there is no link.

use std::path::PathBuf;

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
        "a link with TCP's real behaviour needs root (CAP_NET_ADMIN and CAP_SYS_ADMIN, for two TUN devices and a \
         network namespace); run ciphertax with sudo, or take a plain TCP relay (link_by = \"relay\"), which {relay}",
        relay = ciphertax_model::LinkKind::Relay.caveat().unwrap_or_default()
    )]
    NotPermitted,
    /// The kernel has no TUN devices.
    #[error(
        "there is no /dev/net/tun; load the kernel's module with `modprobe tun`, let the container use it, or take a \
         plain TCP relay (link_by = \"relay\")"
    )]
    NoTun,
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

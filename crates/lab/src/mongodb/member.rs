//! One server of a deployment.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};

use ciphertax_supervise::guard::{Guard, Helper, User};
use ciphertax_supervise::{PrivateFolder, Process};
use rustix::process::Pid;

use super::log::{Failure, Log};
use super::settings::Settings;
use crate::error::{Error, Result};
use crate::locate::Installation;
use crate::log::Readiness;
use crate::port;

/// Space that a server needs: its journal, and data as large as its cache is by default.
pub(super) const NEEDED_MB: u64 = 350;

/// How often a port is chosen anew after somebody else took it.
const PORT_ATTEMPTS: u32 = 5;

/// One server of a deployment.
#[derive(Debug)]
pub(super) struct Member {
    process: Process,
    address: SocketAddr,
    log: Log,
}

/// Starts servers, all at once, and waits until each is ready.
pub(super) fn start(
    count: usize,
    installation: &Installation,
    settings: &Settings,
    guard: &mut Guard,
) -> Result<Vec<Member>> {
    let mut members = Vec::with_capacity(count);
    for number in 0..count {
        members.push(Member::launch(number, installation, settings, guard)?);
    }
    for (number, member) in members.iter_mut().enumerate() {
        let mut attempt = 1;
        while let Readiness::PortTaken = member.wait_until_ready(installation, guard, count)? {
            if attempt == PORT_ATTEMPTS {
                return Err(no_port());
            }
            attempt += 1;
            *member = Member::launch(number, installation, settings, guard)?;
        }
    }
    Ok(members)
}

impl Member {
    fn launch(
        number: usize,
        installation: &Installation,
        settings: &Settings,
        guard: &mut Guard,
    ) -> Result<Self> {
        let data = guard.folder().join(format!("data-{number}"));
        fs::create_dir_all(&data).map_err(Error::write(&data))?;
        let port = port::free_in(&port::private_range()).ok_or_else(no_port)?;
        let mut command_line = installation.command();
        command_line.extend(settings.arguments(&data, port));
        let log = format!("server-{number}.log");
        let from_here = Log::from_its_end(guard.folder().join(&log));
        let process = Process::open(guard.add(Helper {
            command_line,
            log,
            user: User::Owner,
            namespace: None,
        })?)?;
        Ok(Self {
            process,
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
            log: from_here,
        })
    }

    fn wait_until_ready(
        &self,
        installation: &Installation,
        guard: &Guard,
        servers: usize,
    ) -> Result<Readiness> {
        self.log
            .wait_until_ready(&self.process)
            .map_err(|failure| match failure {
                Failure::DiskFull => PrivateFolder::disk_full(guard.folder(), needed_mb(servers)).into(),
                Failure::Other(error) => installation.missing_library(&self.log.tail()).unwrap_or(error),
            })
    }

    /// Where it is reached.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn pid(&self) -> Pid {
        self.process.pid()
    }

    pub(super) fn is_alive(&self) -> bool {
        !self.process.has_ended()
    }

    /// Kills it and waits until it is dead.
    pub(super) fn kill(&self) -> Result<()> {
        Ok(self.process.kill()?)
    }

    /// The end of its log, in one line.
    pub(super) fn log_tail(&self) -> String {
        self.log.tail()
    }
}

/// Space that so many servers need, in megabytes.
pub(super) fn needed_mb(servers: usize) -> u64 {
    // There are six at most.
    NEEDED_MB * servers as u64
}

fn no_port() -> Error {
    let ports = port::private_range();
    Error::NoPort {
        low: *ports.start(),
        high: *ports.end(),
    }
}

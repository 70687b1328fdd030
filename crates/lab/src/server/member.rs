//! One process of a private server.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fs, thread};

use ciphertax_reactor::stop;
use ciphertax_supervise::Process;

use crate::error::{Error, Result};
use crate::files::{PRIVATE_SERVER, Readiness, STARTUP, log_of, names_a_full_disk, read_from};
use crate::port;
use ciphertax_supervise::guard::{Guard, Helper};

use super::family::{Outline, Plan, family};
use super::file_system::{filled, is_full};
use super::spec::Spec;

const PORT_ATTEMPTS: u32 = 5;

/// How often a starting member is looked after.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// One process of a private server.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) process: Process,
    pub(super) address: SocketAddr,
    pub(super) log: PathBuf,
    /// Where its own words begin in the log.
    log_start: u64,
}

pub(super) fn start(spec: &Spec, plan: &dyn Plan, guard: &mut Guard) -> Result<Vec<Member>> {
    let numbers = 0..plan.outline().members;
    let members = numbers.map(|number| Member::launch(number, spec, plan, guard));
    let mut members = members.collect::<Result<Vec<_>>>()?;
    for (number, member) in members.iter_mut().enumerate() {
        let mut attempt = 1;
        while let Readiness::PortTaken = member.wait_until_ready(spec, plan, guard.folder())? {
            if attempt == PORT_ATTEMPTS {
                return Err(port::none_free());
            }
            attempt += 1;
            *member = Member::launch(number, spec, plan, guard)?;
        }
    }
    Ok(members)
}

impl Member {
    fn launch(number: usize, spec: &Spec, plan: &dyn Plan, guard: &mut Guard) -> Result<Self> {
        let port = port::free()?;
        let mut command_line = plan.command_line(number, guard.folder(), port)?;
        command_line.extend(spec.options.iter().map(Into::into));
        let log = log_of(number);
        let path = guard.folder().join(&log);
        let Outline { user, ending, .. } = plan.outline();
        let log_start = fs::metadata(&path).map_or(0, |metadata| metadata.len());
        let process = guard.add(Helper {
            command_line,
            log,
            user,
            namespace: spec.inside.as_ref().map(|inside| inside.namespace.clone()),
            ending,
        })?;
        Ok(Self {
            process,
            address: SocketAddr::from((spec.reached_at(), port)),
            log: path,
            log_start,
        })
    }

    /// Waits for the server's word, and does meanwhile what it waits for.
    fn wait_until_ready(&self, spec: &Spec, plan: &dyn Plan, folder: &Path) -> Result<Readiness> {
        let ready = spec.entry.family.program().ready_mark;
        let deadline = Instant::now() + STARTUP;
        let mut attended = false;
        loop {
            attended = attended || plan.attend()?;
            let ended = self.process.has_ended();
            let text = read_from(&self.log, self.log_start);
            if !ended && text.contains(ready) {
                return Ok(Readiness::Ready);
            }
            if ended && text.contains("Address already in use") {
                return Ok(Readiness::PortTaken);
            }
            if ended {
                return Err(self.end(spec, plan, folder));
            }
            if stop::is_over(deadline) {
                return Err(Error::NotReady {
                    program: PRIVATE_SERVER,
                    seconds: STARTUP.as_secs(),
                    log: family(spec.entry).complaints(&self.log),
                });
            }
            thread::sleep(LOOK_AGAIN);
        }
    }

    /// Why it ended while it was made.
    pub(super) fn end(&self, spec: &Spec, plan: &dyn Plan, folder: &Path) -> Error {
        if self.found_the_disk_full(folder) {
            return filled(spec.entry, spec.at_rest.file_system, folder);
        }
        let log = family(spec.entry).complaints(&self.log);
        plan.lack(&log).unwrap_or(Error::Ended {
            program: PRIVATE_SERVER,
            log,
        })
    }

    /// True if its log complains of a full disk, or could not even do that: it is on the same disk.
    pub(super) fn found_the_disk_full(&self, folder: &Path) -> bool {
        names_a_full_disk(&read_from(&self.log, self.log_start)) || is_full(folder)
    }

    pub(super) fn is_alive(&self) -> bool {
        !self.process.has_ended()
    }
}

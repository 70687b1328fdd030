//! A program is tried once on every arm, before anything is measured.

use std::thread;
use std::time::Duration;

use ciphertax_model::Arm;
use ciphertax_records::VoidReason;

use super::load::{CommandLoad, Environment};
use super::watcher::Watcher;
use crate::counters::change;
use crate::database::{Database, Reached};
use crate::error::Result;
use crate::load::{Load, Seen};
use crate::server::{GroupServer, Server};

/// How long a server of the user's own must answer nobody else before a program is tried on it.
const ELSEWHERE: Duration = Duration::from_millis(300);

/// One run that is not measured, and what is wrong with the program; `None` if nothing is. A relay watches, which tells what the
/// server's counters may not: the version and the cipher suite. `own` is how ciphertax itself reaches the arm.
pub(crate) fn try_out<D: Database>(
    command: &CommandLoad,
    arm: &Arm,
    own: Option<&D::Options>,
    server: &mut GroupServer<D>,
    go_on: &dyn Fn() -> Result<()>,
) -> Result<Option<String>> {
    let Some(index) = command.arms.iter().position(|prepared| prepared.name == arm.name) else {
        return Ok(None);
    };
    let mut reached = server.arm(arm)?;
    let watcher = match Watcher::before::<D>(arm, &reached, own, &server.control)? {
        Ok(watcher) => watcher,
        Err(problem) => return Ok(Some(problem)),
    };
    let through_watcher = match &watcher {
        None => None,
        Some(watcher) => {
            reached.endpoint = watcher.endpoint();
            let folder = command.files.folder().join(format!("trial-{index}"));
            let reached = Reached::new(arm, &reached, folder);
            Some(Environment::of(&command.command, &reached, &command.files)?)
        }
    };
    let environment = through_watcher
        .as_ref()
        .unwrap_or(&command.arms[index].environment);
    let before = server.counters()?;
    let mut slice = command.run(index, environment, &|| go_on().is_err())?;
    go_on()?;
    let after = server.counters()?;
    let seen = Seen {
        counters: &after,
        change: &change(&before, &after),
        tunnel_cpu: None,
    };
    command.judge(index, &mut slice, &seen);
    if let (None, Some(Err(detail))) = (&slice.void, watcher.map(|watcher| watcher.judge())) {
        slice.void = Some(VoidReason::FactsDiffer { detail });
    }
    Ok(slice.void.map(|reason| reason.to_string()))
}

/// True if the server answers somebody else while ciphertax asks nothing.
pub(crate) fn is_used_by_others<D: Database>(server: &mut GroupServer<D>) -> Result<bool> {
    let before = server.counters()?;
    thread::sleep(ELSEWHERE);
    let after = server.counters()?;
    let counted = D::counted(&after, &change(&before, &after));
    Ok(counted.queries > 0 || counted.connections.is_some_and(|connections| connections > 0))
}

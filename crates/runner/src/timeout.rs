//! Waiting for a server's answer, but not for ever.

use std::future::Future;
use std::time::{Duration, Instant};

use ciphertax_reactor::{Reactor, stop};

use crate::error::{Result, RunError};

pub(crate) const TIMEOUT: Duration = Duration::from_secs(20);

/// Runs a task that asks a server, and gives what it came to.
///
/// # Errors
/// Names the server if there is no answer in time, or nobody can wait for one; and when somebody wants to stop.
pub(crate) fn wait_for<T>(
    reactor: &Reactor,
    server: &str,
    patience: Duration,
    task: impl Future<Output = T>,
) -> Result<T> {
    match reactor.run_one(task, Instant::now() + patience) {
        Ok(Some(outcome)) => Ok(outcome),
        Ok(None) if stop::is_requested() => Err(RunError::Stopped),
        Ok(None) => Err(unusable(
            server,
            format!("no answer within {} s", patience.as_secs()),
        )),
        Err(error) => Err(unusable(server, error.to_string())),
    }
}

/// A server that cannot be used, and why.
pub(crate) fn unusable(server: &str, problem: impl Into<String>) -> RunError {
    RunError::Server {
        server: server.to_owned(),
        problem: problem.into(),
    }
}

//! Tasks of clients, each on an event loop of its own.

use std::rc::Rc;
use std::time::{Duration, Instant};

use ciphertax_reactor::Reactor;

use crate::PATIENCE;

/// Runs a task to its end.
pub fn run<T>(task: impl AsyncFnOnce(&Rc<Reactor>) -> T) -> T {
    run_within(PATIENCE, task).expect("it hangs")
}

/// Runs a task; `None` if it has not ended after `limit`.
pub fn run_within<T>(limit: Duration, task: impl AsyncFnOnce(&Rc<Reactor>) -> T) -> Option<T> {
    let reactor = Reactor::new().unwrap();
    reactor.run_one(task(&reactor), Instant::now() + limit).unwrap()
}

//! Private servers of every family: one builder, one supervision.

mod builder;
pub(crate) mod family;
pub(crate) mod file_system;
mod member;
mod private_server;
pub(crate) mod spec;

use std::rc::Rc;
use std::time::{Duration, Instant};

use ciphertax_reactor::Reactor;

pub use builder::PrivateServerBuilder;
pub use private_server::PrivateServer;

/// What to say of a server that was asked.
pub(crate) const NO_ANSWER: &str = "the server did not answer";

/// Asks a server on an event loop of its own, for no longer than `patience`; `else_said` is what to say then.
pub(crate) fn ask_within<T>(
    patience: Duration,
    else_said: &str,
    questions: impl AsyncFnOnce(&Rc<Reactor>) -> T,
) -> Result<T, String> {
    let reactor = Reactor::new().map_err(|error| error.to_string())?;
    let answered = reactor.run_one(questions(&reactor), Instant::now() + patience);
    answered
        .map_err(|error| error.to_string())?
        .ok_or_else(|| format!("{else_said} within {} s", patience.as_secs()))
}

//! What is measured on: private servers, and their word on who was there.

mod mariadb;
mod mongodb;
mod postgresql;

use std::time::{Duration, Instant};

use ciphertax_reactor::Reactor;

use crate::Result;

pub use mariadb::{Ground, Login, ROWS, TABLES};
pub use mongodb::MongodbGround;
pub use postgresql::PostgresqlGround;

const PATIENCE: Duration = Duration::from_secs(20);

fn finish<T>(reactor: &Reactor, patience: Duration, task: impl Future<Output = T>) -> Result<T> {
    let outcome = reactor.run_one(task, Instant::now() + patience)?;
    outcome.ok_or_else(|| "the server does not answer".into())
}

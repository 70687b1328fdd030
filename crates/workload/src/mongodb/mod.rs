//! What MongoDB is asked besides YCSB's mixes: connections of its own kind.

mod access;
mod connect;

pub use access::MongodbAccess;
pub use connect::{MongodbConnect, MongodbErrand};

/// The only database that is ever touched.
pub const DATABASE: &str = crate::dataset::SCHEMA;

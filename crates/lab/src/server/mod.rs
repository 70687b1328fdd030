//! Private servers of every family: one builder, one supervision.

mod builder;
pub(crate) mod family;
pub(crate) mod file_system;
mod member;
mod private_server;
pub(crate) mod spec;

pub use builder::PrivateServerBuilder;
pub use private_server::PrivateServer;

//! Private servers of every family: one builder, one supervision.

mod builder;
pub(crate) mod disk;
pub(crate) mod families;
pub(crate) mod family;
mod file_system;
mod installed;
mod member;
mod private_server;
pub(crate) mod spec;
mod trust;

pub use builder::PrivateServerBuilder;
pub use private_server::PrivateServer;

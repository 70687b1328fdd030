//! What is PostgreSQL's alone, and that of the servers compatible with it.

mod dialect;

pub(crate) use dialect::DIALECT;

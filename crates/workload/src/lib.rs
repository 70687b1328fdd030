//! What is asked of a database: the data set, and the operations on it.
//!
//! Workloads are written once for all databases, over what a client speaks: [`sql`] for sysbench's scenarios and
//! pgbench's scripts, [`ycsb`] for records by their keys, [`connect`] for new connections. [`mysql`], [`postgresql`],
//! [`mongodb`] and [`sqlite`] hold what is one database's alone. What a workload needs and does stands in its
//! [descriptor](ciphertax_model::workload::Descriptor).

pub mod connect;
pub mod dataset;
mod digits;
mod driver;
pub mod mongodb;
pub mod mysql;
pub mod postgresql;
pub mod sql;
pub mod sqlite;
pub mod ycsb;

#[cfg(test)]
ciphertax_testkit::plays_roles!();

pub use driver::{Access, ArmColumns, Job};

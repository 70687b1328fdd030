//! What is asked of a database: the data set, and the operations on it.
//!
//! Workloads are written once for all databases, over what a client speaks: [`sql`] for sysbench's scenarios and
//! pgbench's scripts, [`ycsb`] for records by their keys, [`connect`] for new connections. [`mysql`], [`postgresql`],
//! [`mongodb`] and [`sqlite`] hold what is one database's alone. What a workload needs and does stands in its
//! [descriptor](ciphertax_model::workload::Descriptor).

mod arm_columns;
mod client;
pub mod connect;
pub mod dataset;
mod driver;
mod job;
pub mod mongodb;
pub mod mysql;
pub mod postgresql;
pub mod sql;
pub mod sqlite;
mod task;
pub mod ycsb;

#[cfg(test)]
ciphertax_testkit::plays_roles!();

pub use arm_columns::ArmColumns;
pub use client::Client;
pub use driver::Driver;
pub use job::Job;

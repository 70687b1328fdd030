//! What is asked of a database: the data set, and the operations on it.

mod access;
mod bulk_insert;
mod bulk_read;
mod connect;
pub mod dataset;
mod digits;
mod distribution;
mod insert;
pub mod mongodb;
mod oltp;
mod point_select;
mod prepared;
mod restart;
mod select_random;
mod tables;
pub mod ycsb;

pub use access::Access;
pub use bulk_insert::BulkInsert;
pub use bulk_read::BulkRead;
pub use connect::{Connect, Errand};
pub use distribution::Picker;
pub use insert::Insert;
pub use oltp::{Oltp, Scenario};
pub use point_select::PointSelect;
pub use select_random::{Random, SelectRandom};
pub use tables::Tables;

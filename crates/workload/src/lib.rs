//! What is asked of a database: the data set, and the operations on it.

mod access;
mod bulk_read;
mod connect;
pub mod dataset;
mod point_select;
mod prepared;
mod sbtest;

pub use access::Access;
pub use bulk_read::BulkRead;
pub use connect::Connect;
pub use point_select::PointSelect;

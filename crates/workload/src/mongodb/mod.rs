//! What is MongoDB's alone: replica sets, YCSB's table in documents, and the data set that is this table.

mod access;
pub mod dataset;
mod documents;
mod records;

pub use access::MongodbAccess;
pub use records::{DATABASE, FindRecord, MongodbReader, MongodbRecords, MongodbTable};

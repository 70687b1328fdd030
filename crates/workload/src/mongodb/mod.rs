//! What is MongoDB's alone: replica sets, YCSB's table in documents, and the data set that is this table.

mod access;
pub mod dataset;
mod documents;
mod records;

pub use access::MongodbAccess;
pub use ciphertax_base::SCHEMA as DATABASE;
pub use records::{FindRecord, MongodbReader, MongodbRecords, MongodbTable};

//! What is MongoDB's alone: replica sets, YCSB's table in documents, and the data set that is this table.

mod access;
pub mod dataset;
mod lookup;
mod records;

pub use access::MongodbAccess;
pub use lookup::FindRecord;
pub use records::{DATABASE, MongodbConnection, MongodbLoader, MongodbReader, MongodbTable};

//! How an arm reaches its database, by the protocol that it speaks.

use ciphertax_workload::mongodb::MongodbAccess;
use ciphertax_workload::mysql::MysqlAccess;

/// How an arm reaches its database.
#[derive(Clone)]
pub(crate) enum Access {
    /// Over MySQL's protocol.
    MySql(MysqlAccess),
    /// Over MongoDB's.
    MongoDb(MongodbAccess),
}

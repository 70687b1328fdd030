//! How an arm reaches its database, by the protocol that it speaks.

use ciphertax_workload::Access as MySqlAccess;
use ciphertax_workload::mongodb::MongodbAccess;

/// How an arm reaches its database.
#[derive(Clone)]
pub(crate) enum Access {
    /// Over MySQL's protocol.
    MySql(MySqlAccess),
    /// Over MongoDB's.
    MongoDb(MongodbAccess),
}

//! Which code makes and asks a server of the catalogue: the only place that knows every family.

use crate::catalogue::{Entry, ServerFamily};
use crate::mongodb::MongoDb;
use crate::sqlite::Sqlite;

use super::family::Family;

/// What servers of this entry's kind have in common.
pub(crate) fn family(entry: &'static Entry) -> &'static dyn Family {
    match &entry.family {
        ServerFamily::MySql(variant) => variant,
        ServerFamily::MongoDb => &MongoDb,
        ServerFamily::PostgreSql(variant) => variant,
        ServerFamily::Sqlite => &Sqlite,
    }
}

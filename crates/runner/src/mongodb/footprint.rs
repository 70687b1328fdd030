//! How large the collections on a server are.

use ciphertax_wire::mongodb::bson::{RawDocumentBuf, rawdoc};
use ciphertax_workload::mongodb::DATABASE;

use super::clients::MongoDb;
use super::control::{number, server_status};
use crate::database::Control;
use crate::error::RunError;
use crate::footprint::{Footprint, TableSize};

/// The only collection that workloads ask.
const COLLECTION: &str = "usertable";

impl Control<MongoDb> {
    /// How large the collection in ciphertax's database is, and its index: in memory as it is, on the disk as the server has
    /// compressed it.
    pub(super) fn footprint(&mut self) -> Result<Footprint, RunError> {
        // What is not on the disk yet has no size there.
        let flush = rawdoc! { "fsync": 1_i32, "$db": "admin" };
        let sizes = rawdoc! {
            "collStats": COLLECTION,
            "$db": DATABASE,
            "$readPreference": { "mode": "secondaryPreferred" },
        };
        let (sizes, status) = self.ask(async |session| {
            session.command(&flush).await?;
            let sizes = match session.command(&sizes).await {
                // There is no collection, since no cell asks it.
                Err(error) if error.is_refusal() => RawDocumentBuf::new(),
                sizes => sizes?,
            };
            Ok((sizes, session.command(&server_status()).await?))
        })?;
        let bytes = |name| {
            number(&sizes, &[name])
                .and_then(|bytes| u64::try_from(bytes).ok())
                .unwrap_or(0)
        };
        let size = TableSize {
            data_bytes: bytes("size") + bytes("totalIndexSize"),
            disk_bytes: bytes("storageSize") + bytes("totalIndexSize"),
        };
        let memory = number(&status, &["wiredTiger", "cache", "maximum bytes configured"]);
        Ok(Footprint {
            tables: [(COLLECTION.to_owned(), size)].into(),
            memory_bytes: memory.and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(0),
        })
    }
}

//! How large the tables on a server are.

use ciphertax_workload::dataset::SCHEMA;

use super::clients::PostgreSql;
use crate::database::Control;
use crate::error::RunError;
use crate::footprint::{Footprint, TableSize};

impl Control<PostgreSql> {
    /// How large the tables in ciphertax's schema are: by their files, which hold pages as they are in memory.
    pub(super) fn footprint(&mut self) -> Result<Footprint, RunError> {
        let sizes = format!(
            "SELECT relname, pg_catalog.pg_total_relation_size(oid) FROM pg_catalog.pg_class \
             WHERE relkind = 'r' AND relnamespace = (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = '{SCHEMA}')"
        );
        let memory = "SELECT pg_catalog.pg_size_bytes(pg_catalog.current_setting('shared_buffers'))";
        let tables = self.rows(&sizes)?;
        let size = |bytes: u64| TableSize {
            data_bytes: bytes,
            disk_bytes: bytes,
        };
        let table =
            |row: &ciphertax_wire::postgresql::TextRow| Some((row.text(0), size(row.text(1).parse().ok()?)));
        let memory = self.rows(memory)?;
        Ok(Footprint {
            tables: tables.iter().filter_map(table).collect(),
            memory_bytes: memory
                .first()
                .and_then(|row| row.text(0).parse().ok())
                .unwrap_or(0),
        })
    }
}

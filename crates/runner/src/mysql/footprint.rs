//! How large the tables on a server are.

use super::clients::MySql;
use crate::database::Control;
use crate::error::RunError;
use crate::footprint::{Footprint, TableSize};
use ciphertax_workload::dataset::SCHEMA;

/// Asks which view, by its name on this server, knows the files of tables: none before MariaDB 10.1 and MySQL 5.7.
const VIEW: &str = "SELECT table_name, '' FROM information_schema.columns WHERE table_schema = 'information_schema' \
     AND table_name IN ('INNODB_TABLESPACES', 'INNODB_SYS_TABLESPACES') AND column_name = 'ALLOCATED_SIZE'";

impl Control<MySql> {
    /// How large the tables in ciphertax's schema are: by their files, which hold pages as they are in memory; where the server
    /// does not tell these, by its own statistics.
    pub(super) fn footprint(&mut self) -> Result<Footprint, RunError> {
        let view = self.pairs(VIEW)?.into_keys().next();
        let sizes = match view {
            Some(view) => format!(
                "SELECT SUBSTRING(name, {}), CONCAT(file_size, ' ', allocated_size) FROM information_schema.{view} \
                 WHERE name LIKE '{SCHEMA}/%'",
                SCHEMA.len() + 2
            ),
            None => format!(
                "SELECT table_name, CONCAT(data_length + index_length, ' ', data_length + index_length) \
                 FROM information_schema.tables WHERE table_schema = '{SCHEMA}' AND data_length IS NOT NULL"
            ),
        };
        let size = |(table, sizes): (String, String)| {
            let (file, allocated) = sizes.split_once(' ')?;
            let size = TableSize {
                data_bytes: file.parse().ok()?,
                disk_bytes: allocated.parse().ok()?,
            };
            Some((table, size))
        };
        let memory = self.variables(&["innodb_buffer_pool_size"])?;
        Ok(Footprint {
            tables: self.pairs(&sizes)?.into_iter().filter_map(size).collect(),
            memory_bytes: memory
                .into_values()
                .find_map(|bytes| bytes.parse().ok())
                .unwrap_or(0),
        })
    }
}

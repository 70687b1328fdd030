//! How large data are, in a server's memory and on its disk.

use std::collections::BTreeMap;

use ciphertax_model::workload::Tables;
use ciphertax_model::{Cell, tpcc};
use ciphertax_records::DataSize;

/// How large the tables on a server are, and how much memory it has for them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Footprint {
    /// By the names of the tables.
    pub(crate) tables: BTreeMap<String, TableSize>,
    /// For data and indexes.
    pub(crate) memory_bytes: u64,
}

/// How large a table is with its indexes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct TableSize {
    /// As the server has it in memory.
    pub(crate) data_bytes: u64,
    /// What it takes on the disk.
    pub(crate) disk_bytes: u64,
}

impl Footprint {
    /// Of the tables that a cell asks; `None` for a cell that asks none.
    pub(crate) fn of(&self, cell: &Cell, arm: &str) -> Option<DataSize> {
        let asked = cell.workload.descriptor().tables?;
        let tables = self.tables.iter().filter(|(name, _)| is_among(name, asked));
        let tables: Vec<TableSize> = tables.map(|(_, size)| *size).collect();
        let data_bytes = tables.iter().map(|table| table.data_bytes).sum();
        (data_bytes > 0).then(|| DataSize {
            cell: cell.name.clone(),
            arm: arm.to_owned(),
            data_bytes,
            disk_bytes: tables.iter().map(|table| table.disk_bytes).sum(),
            memory_bytes: self.memory_bytes,
        })
    }
}

fn is_among(table: &str, asked: Tables) -> bool {
    let is_numbered = |prefix: &str| {
        let number = table.strip_prefix(prefix);
        number.is_some_and(|number| number.parse::<u32>().is_ok())
    };
    match asked {
        Tables::Sbtest => is_numbered("sbtest"),
        Tables::Bulk => table == "bulk",
        Tables::Usertable => table == "usertable",
        Tables::Pgbench => table.starts_with("pgbench_"),
        Tables::Tpcc => tpcc::TABLES.iter().any(|name| table.starts_with(name)),
        Tables::OfLookup => table == "sbtest1" || table == "usertable",
        Tables::All => true,
    }
}

#[cfg(test)]
pub(crate) mod real_servers;
#[cfg(test)]
mod tests {
    use ciphertax_model::Study;

    use super::*;

    #[test]
    fn a_cell_has_the_tables_that_it_asks() {
        let names = [
            "sbtest1",
            "sbtest2",
            "bulk",
            "usertable",
            "pgbench_accounts",
            "made_by_ciphertax",
        ];
        let size = |index: usize| TableSize {
            data_bytes: 1 << index,
            disk_bytes: 1 << (index + 10),
        };
        let sizes = names.iter().enumerate();
        let footprint = Footprint {
            tables: sizes
                .map(|(index, name)| ((*name).to_owned(), size(index)))
                .collect(),
            memory_bytes: 64,
        };
        for (workload, data_bytes) in [
            ("oltp_read_write", Some(0b11)),
            ("bulk_read", Some(0b100)),
            ("ycsb_a", Some(0b1000)),
            ("pgbench_tpcb_like", Some(0b1_0000)),
            ("connect", Some(0b1001)),
            ("connect_only", None),
        ] {
            let text = format!(
                "name = \"s\"\nquestion = \"?\"\ntime_s = 1\n[[arm]]\nname = \"plain\"\ntransport = \"plain\"\n\
                 [[arm]]\nname = \"tls\"\ntransport = \"tls\"\n[[cell]]\nname = \"only\"\n\
                 workload = \"{workload}\"\nload = {{ connections = 1 }}\n"
            );
            let study = Study::from_toml(&text).unwrap();
            let record = footprint.of(&study.cells[0], "plain");
            let found = record.as_ref().map(|record| record.data_bytes);
            assert_eq!(found, data_bytes, "{workload}");
            if let Some(record) = record {
                assert_eq!(record.disk_bytes, record.data_bytes << 10, "{workload}");
            }
        }
    }
}

//! Room for TPC-C's tables on private servers: in memory, in the redo log and on the disk.

use ciphertax_lab::PrivateServerBuilder;
use ciphertax_lab::catalogue::{Entry, Protocol};
use ciphertax_model::workload::Tables;
use ciphertax_model::{ColumnSelection, ServerSpec, Study};
use ciphertax_observe::host;
use ciphertax_workload::dataset::tpcc::{TpccContents, TpccSet};

use crate::groups::holds;

/// Megabytes of a warehouse with its indexes: of plain columns, of cells in those that the server only keeps, and of Base64 cells
/// in all of them, whose random keys leave pages half full.
const PLAIN_MB: u64 = 95;
const PAYLOAD_MB: u64 = 400;
const CELLS_MB: u64 = 800;

/// What orders add to it until the tables are restored, and what a server needs besides.
const GROWTH_PERCENT: u64 = 50;
const BESIDE_MB: u64 = 128;

/// What a private server has for data if nothing else is asked for, in megabytes.
const LEAST_MB: u64 = 256;

/// So that no checkpoint is forced while a slice is measured.
const REDO_LOG_MB: u32 = 1024;
const WRITE_AHEAD_LOG: &str = "--max-wal-size=4GB";
/// The client sends the rows of a table as they lie in a file.
const LOAD_FROM_CLIENT: &str = "--local-infile=ON";

/// A private server with room for the tables, where its cells ask them.
pub(crate) fn with_room(
    builder: PrivateServerBuilder,
    entry: &Entry,
    study: &Study,
    spec: &ServerSpec,
) -> PrivateServerBuilder {
    let data_mb = data_mb(study, spec);
    if data_mb == 0 {
        return builder;
    }
    let builder = match entry.protocol() {
        Some(Protocol::MySql) => builder.redo_log_mb(REDO_LOG_MB).option(LOAD_FROM_CLIENT),
        Some(Protocol::PostgreSql) => builder.option(WRITE_AHEAD_LOG),
        Some(Protocol::MongoDb) | None => builder,
    };
    match spec.storage.memory_mb {
        Some(_) => builder,
        None => builder.cache_mb(memory_mb(data_mb, host().memory_bytes >> 20)),
    }
}

/// What the tables may become until they are restored, in megabytes.
pub(crate) fn grown_mb(study: &Study, spec: &ServerSpec) -> u64 {
    grown(data_mb(study, spec))
}

fn grown(data_mb: u64) -> u64 {
    data_mb + data_mb * GROWTH_PERCENT / 100
}

/// What the tables are that the cells with this spec ask, in megabytes, before anything was asked of them; 0 for none.
pub(crate) fn data_mb(study: &Study, spec: &ServerSpec) -> u64 {
    let asks = |cell: &&ciphertax_model::Cell| cell.workload.descriptor().tables == Some(Tables::Tpcc);
    let mut cells = study.cells.iter().filter(|cell| holds(Some(spec), study, cell));
    if !cells.any(|cell| asks(&cell)) {
        return 0;
    }
    let of_set = |set: &TpccSet| match set.stored.as_ref().map(|stored| &stored.columns) {
        None | Some(ColumnSelection::None) => PLAIN_MB,
        Some(ColumnSelection::Payload) => PAYLOAD_MB,
        Some(_) => CELLS_MB,
    };
    let sets: u64 = TpccContents::of(study).sets.iter().map(of_set).sum();
    sets * u64::from(study.tpcc.warehouses)
}

/// Memory for data of this size, in megabytes: all of it as it may become, but no more than half of the machine's. `machine_mb` is 0
/// where nobody knows.
fn memory_mb(data_mb: u64, machine_mb: u64) -> u32 {
    let wanted = grown(data_mb) + BESIDE_MB;
    let most = match machine_mb {
        0 => u64::MAX,
        machine_mb => machine_mb / 2,
    };
    let megabytes = wanted.min(most).max(LEAST_MB);
    u32::try_from(megabytes).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn study(arms: &str, cells: &str) -> Study {
        let text = format!(
            "name = \"s\"\nquestion = \"?\"\ntime_s = 1\ntpcc = {{ warehouses = 2 }}\narm = [{arms}]\ncell = [{cells}]\n"
        );
        Study::from_toml(&text).unwrap()
    }

    const CELL: &str = r#"{ name = "mix", workload = "tpcc", load = { connections = 1, batch = 100 } }"#;

    fn data_mb_of(study: &Study) -> u64 {
        data_mb(study, &study.server_spec(&study.cells[0]))
    }

    #[test]
    fn a_server_has_room_for_every_set_of_tables() {
        let plain = r#"{ name = "plain", transport = "plain" }"#;
        let tls = r#"{ name = "tls", transport = "tls" }"#;
        assert_eq!(data_mb_of(&study(&format!("{plain}, {tls}"), CELL)), 190);
        let stored = r#"{ name = "cells", transport = "plain", columns = { feature = "stored", columns = "payload" } }"#;
        let found = data_mb_of(&study(&format!("{plain}, {stored}"), CELL));
        assert_eq!(found, 190 + 190 + 800);
        let select = r#"{ name = "select", workload = "oltp_point_select", load = { connections = 1 } }"#;
        assert_eq!(data_mb_of(&study(&format!("{plain}, {tls}"), select)), 0);
    }

    #[test]
    fn memory_holds_what_the_data_may_become_up_to_half_of_the_machine() {
        assert_eq!(memory_mb(190, 16_384), 413);
        assert_eq!(memory_mb(50, 16_384), 256);
        assert_eq!(memory_mb(95_000, 16_384), 8192);
        assert_eq!(memory_mb(190, 0), 413);
    }
}

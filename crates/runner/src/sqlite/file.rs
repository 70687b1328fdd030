//! The file of a group of arms.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use ciphertax_lab::catalogue::Entry;
use ciphertax_lab::sqlite::{ProvedFile, data_size, options, prove};
use ciphertax_lab::{PrivateServer, Proved};
use ciphertax_model::{Arm, ServerSpec, Study};
use ciphertax_observe::{Meter, Unmetered};
use ciphertax_reactor::Reactor;
use ciphertax_records::{ServerPlacement, ServerRecord, SessionRecord};
use ciphertax_wire::WireError;
use ciphertax_wire::sqlite::{self, ConnectOptions, Session, is_disk_full};
use ciphertax_workload::Access;
use ciphertax_workload::dataset::{self, Contents, DatasetError};
use ciphertax_workload::sqlite::SqliteAccess;

use crate::error::{Result, RunError};
use crate::footprint::{Footprint, TableSize};
use crate::groups::Group;
use crate::server::{Identity, Server};
use crate::timeout::{unusable, wait_for};

/// Tables with their indexes, and the pages of both in bytes: whole ones, with what SQLCipher keeps of them for itself.
const TABLES: &str =
    "SELECT tbl_name, SUM(pgsize) FROM dbstat JOIN sqlite_schema USING (name) GROUP BY tbl_name";

/// Bytes taken from files, from the system's page cache or the disk: pages that were not in a session's own cache.
const READ: &str = "bytes_read";
/// Bytes given to files.
const WRITTEN: &str = "bytes_written";
/// Bytes of the file and its log.
const DATA: &str = "data_bytes";

pub(super) struct SqliteFile {
    pub(super) record: ServerRecord,
    options: ConnectOptions,
    /// As long as it is open, no other session that is closed writes the log into the file. It goes before the folder.
    control: Session,
    private: PrivateServer,
    meter: Unmetered,
}

/// An arm that is what it says.
pub(super) struct ProvedArm {
    pub(super) access: SqliteAccess,
    pub(super) session: SessionRecord,
}

impl SqliteFile {
    /// Makes it, in a folder of its own.
    pub(super) fn make(
        entry: &'static Entry,
        spec: &ServerSpec,
        group: &Group<'_>,
        identity: Identity,
    ) -> Result<Self> {
        let builder = PrivateServer::builder(entry).without_tls();
        let private = builder
            .storage(spec.storage)
            .at_rest(group.needs.at_rest)
            .start()?;
        let options = options(&private, &spec.storage);
        let name = name_of(spec, group);
        let (control, _) = Session::open(&options).map_err(|error| unusable(&name, error.to_string()))?;
        let meter = Unmetered {
            reason:
                "there is no server: SQLite runs in the load threads, and what it costs is the client's CPU"
                    .into(),
        };
        let record = ServerRecord {
            product: entry.product.to_string(),
            version: sqlite::version().to_owned(),
            placement: ServerPlacement::Embedded,
            settings: private.settings().clone(),
            ..ServerRecord::unseen(identity.id, &name, identity.cells)
        };
        Ok(Self {
            record,
            options,
            control,
            private,
            meter,
        })
    }

    /// Proves an arm, and tells how it is opened. `beside` is the file of the baseline, where that is another.
    pub(super) fn prove(&self, arm: &Arm, beside: Option<&ServerRecord>) -> Result<ProvedArm> {
        let ProvedFile { proved, disk } = prove(&arm.name, &self.options)?;
        let Proved {
            proofs,
            unproved,
            facts,
            expectation,
        } = proved;
        Ok(ProvedArm {
            access: SqliteAccess {
                options: self.options.clone(),
                expectation,
            },
            session: SessionRecord {
                server_id: self.record.id.clone(),
                beside_id: beside.map(|beside| beside.id.clone()),
                server: self.record.name.clone(),
                beside: beside.map(|beside| beside.name.clone()),
                proofs,
                unproved,
                facts,
                disk: Some(disk),
            },
        })
    }

    /// Makes the data set, and writes the log into the file, so that all arms begin alike.
    pub(super) fn load(&mut self, study: &Study, progress: &mut dyn FnMut(u64, u64)) -> Result<()> {
        let contents = Contents::of(study, SqliteAccess::VOCABULARIES);
        let of = contents.rows();
        progress(0, of);
        let reactor = Reactor::new().map_err(|error| unusable(&self.record.name, error.to_string()))?;
        let (mut opened, mut heard) = (Vec::new(), |rows| progress(rows, of));
        let make =
            dataset::make_contents::<Session>(&reactor, &self.options, &contents, &mut opened, &mut heard);
        let made = wait_for(&reactor, &self.record.name, contents.patience(), make)?;
        made.map_err(|error| match error {
            DatasetError::Stopped => error.into(),
            DatasetError::Wire(error) => self.refused(&error),
            error => unusable(&self.record.name, error.to_string()),
        })?;
        let checkpoint = self.control.command("PRAGMA wal_checkpoint(TRUNCATE)");
        checkpoint.map(drop).map_err(|error| self.refused(&error))
    }

    /// How many bytes of the file are of which table, and how much memory each connection has for them.
    pub(super) fn footprint(&mut self) -> Result<Footprint> {
        let rows = self.control.query(TABLES);
        let rows = rows.map_err(|error| unusable(&self.record.name, error.to_string()))?;
        let tables = rows.iter().map(|row| {
            let bytes = row.text(1).parse().unwrap_or_default();
            let size = TableSize {
                data_bytes: bytes,
                disk_bytes: bytes,
            };
            (row.text(0), size)
        });
        Ok(Footprint {
            tables: tables.collect(),
            memory_bytes: u64::from(self.options.cache_kib()) << 10,
        })
    }

    /// Removes it and everything beside it.
    pub(super) fn close(self) -> Result<()> {
        drop(self.control);
        Ok(self.private.stop()?)
    }

    fn refused(&self, error: &WireError) -> RunError {
        let remedy = match is_disk_full(error) {
            true => {
                "; make room on the disk of its folder, which TMPDIR names, or take a smaller data set \
                 (--set dataset.table_size=…)"
            }
            false => "",
        };
        unusable(&self.record.name, format!("{error}{remedy}"))
    }
}

/// `sqlite`, then what differs from the first: it has no certificate that could be named.
fn name_of(spec: &ServerSpec, group: &Group<'_>) -> String {
    let certificate = format!(", {}", group.needs.certificate.kind);
    group
        .name
        .replacen(&certificate, "", 1)
        .replacen(&spec.server, "SQLite", 1)
}

impl Server for SqliteFile {
    fn counters(&mut self) -> Result<BTreeMap<String, i64>> {
        counters(self.options.path())
    }

    fn meter(&self) -> &dyn Meter {
        &self.meter
    }

    fn death(&self) -> Option<String> {
        None
    }

    fn is_embedded(&self) -> bool {
        true
    }
}

/// Of this process, which in a slice does little else than SQLite's work; the clocks at a slice's edges are some KiB.
fn counters(file: &Path) -> Result<BTreeMap<String, i64>> {
    // Where the kernel does not say, nothing is said.
    let io = fs::read_to_string("/proc/self/io").unwrap_or_default();
    let bytes = i64::try_from(data_size(file)?).unwrap_or(i64::MAX);
    let mut counters = BTreeMap::from([(DATA.to_owned(), bytes)]);
    for (field, name) in [("rchar", READ), ("wchar", WRITTEN)] {
        if let Some(value) = value_of(&io, field) {
            counters.insert(name.to_owned(), value);
        }
    }
    Ok(counters)
}

fn value_of(io: &str, field: &str) -> Option<i64> {
    let mut lines = io.lines().filter_map(|line| line.split_once(": "));
    let (_, value) = lines.find(|(name, _)| *name == field)?;
    value.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use ciphertax_base::Secret;
    use ciphertax_model::SqlCipher;
    use ciphertax_wire::sqlite::Cipher;

    use super::*;

    #[test]
    fn tables_with_their_indexes_and_the_page_of_the_schema_are_all_of_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let cipher = Cipher {
            passphrase: Secret::new("correct horse battery staple"),
            settings: SqlCipher {
                kdf_iter: 1000,
                ..SqlCipher::default()
            },
        };
        for (name, cipher) in [("plain", None), ("encrypted", Some(cipher))] {
            let options = ConnectOptions::new(&folder.path().join(name), cipher, 8 * 1024);
            let mut session = Session::create(&options).unwrap();
            for sql in [
                "CREATE TABLE small (x INTEGER)",
                "CREATE TABLE large (id INTEGER PRIMARY KEY, x BLOB)",
                "CREATE INDEX x_of_large ON large (x)",
                "INSERT INTO large WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 100) \
                 SELECT n, randomblob(10000) FROM n",
                "PRAGMA wal_checkpoint(TRUNCATE)",
            ] {
                session.command(sql).unwrap();
            }
            let sizes: Vec<(String, u64)> = session
                .query(TABLES)
                .unwrap()
                .iter()
                .map(|row| (row.text(0), row.text(1).parse().unwrap()))
                .collect();
            const PAGE: u64 = 4096;
            let [(large, of_large), (small, of_small)] = sizes.as_slice() else {
                panic!("{sizes:?}");
            };
            assert_eq!([large, small], ["large", "small"]);
            assert_eq!(*of_small, PAGE);
            assert!(*of_large > 2 * 100 * 10_000, "rows and index: {of_large}");
            let file = fs::metadata(options.path()).unwrap().len();
            assert_eq!(of_large + of_small + PAGE, file, "{name}");
        }
    }

    #[test]
    fn what_goes_through_files_is_counted_and_the_log_is_a_part_of_the_data() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(folder.path().join("file-wal"), [0; 100]).unwrap();
        let before = counters(&path).unwrap();
        let mut file = fs::File::create(&path).unwrap();
        file.write_all(&[1; 1_000_000]).unwrap();
        assert_eq!(fs::read(&path).unwrap().len(), 1_000_000);
        let after = counters(&path).unwrap();
        assert_eq!((before[DATA], after[DATA]), (100, 1_000_100));
        // Other tests of this process may do so too.
        for name in [READ, WRITTEN] {
            assert!(after[name] - before[name] >= 1_000_000, "{name}");
        }
    }
}

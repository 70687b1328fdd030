//! What SQLite reads and writes, as the system counts it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use ciphertax_lab::sqlite::data_size;

use crate::error::RunError;

/// Bytes taken from files, from the system's page cache or the disk: pages that were not in a session's own cache.
const READ: &str = "bytes_read";
/// Bytes given to files.
const WRITTEN: &str = "bytes_written";
/// Bytes of the file and its log.
const DATA: &str = "data_bytes";

/// Of this process, which in a slice does little else than SQLite's work; the clocks at a slice's edges are some KiB.
pub(super) fn read(file: &Path) -> Result<BTreeMap<String, i64>, RunError> {
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

    use super::*;

    #[test]
    fn what_goes_through_files_is_counted_and_the_log_is_a_part_of_the_data() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(folder.path().join("file-wal"), [0; 100]).unwrap();
        let before = read(&path).unwrap();
        let mut file = fs::File::create(&path).unwrap();
        file.write_all(&[1; 1_000_000]).unwrap();
        assert_eq!(fs::read(&path).unwrap().len(), 1_000_000);
        let after = read(&path).unwrap();
        assert_eq!((before[DATA], after[DATA]), (100, 1_000_100));
        // Other tests of this process may do so too.
        for name in [READ, WRITTEN] {
            assert!(after[name] - before[name] >= 1_000_000, "{name}");
        }
    }
}

//! What memory and writing of a server cannot be.

use super::found::{Found, Path};
use crate::storage::Storage;

/// `path` is that of the settings.
pub(super) fn check_storage(storage: &Storage, path: &Path, found: &mut Found) {
    if let Some(mb) = storage.memory_mb
        && !Storage::MEMORY_MB.contains(&mb)
    {
        let (least, most) = Storage::MEMORY_MB.into_inner();
        let message = format!("storage.memory_mb is {mb}; it must lie between {least} and {most}");
        found.add(path.key("memory_mb"), message);
    }
    if let Some(when) = storage.flush_log_at_trx_commit
        && !Storage::FLUSH_LOG_AT_TRX_COMMIT.contains(&when)
    {
        let message = format!("storage.flush_log_at_trx_commit is {when}; it must be 0, 1 or 2");
        found.add(path.key("flush_log_at_trx_commit"), message);
    }
    let Some(commits) = storage.sync_binlog else {
        return;
    };
    if !storage.binary_log {
        let message = "storage.sync_binlog says nothing without a binary log; add binary_log = true";
        found.add(path.key("sync_binlog"), message);
    } else if !Storage::SYNC_BINLOG.contains(&commits) {
        let (least, most) = Storage::SYNC_BINLOG.into_inner();
        let message = format!("storage.sync_binlog is {commits}; it must lie between {least} and {most}");
        found.add(path.key("sync_binlog"), message);
    }
}

//! MongoDB with WiredTiger.

use super::rule::{Lock, Rule};
use super::state::State::{
    DeviceReads, DeviceWrites, Latches, LogFlush, NetSend, Network, Replication, Sleep, TableLocks, Tickets,
};

pub(super) const TABLE: &[Rule] = &[
    Network.has("AsioSession::sourceMessage* sourceMessage* CommonAsioSession::sourceMessage*"),
    NetSend.has("sinkMessage* AsioSession::sinkMessage*"),
    LogFlush
        .has(
            "waitUntilDurable WiredTigerSessionCache::waitUntilDurable JournalFlusher::* waitForJournalFlush __wt_log_flush*
             __wt_log_force_sync __log_* __wt_log_write*",
        )
        .what("journal"),
    Replication
        .has("awaitReplication waitForWriteConcern ReplicationCoordinatorImpl::await*")
        .what("write concern"),
    Tickets.has("TicketHolder::* SemaphoreTicketHolder::* PriorityTicketHolder::* TicketPool* waitForTicket*"),
    TableLocks.has("LockerImpl::* Locker::* LockManager::* CondVarLockGrantNotification::*"),
    LogFlush
        .has("WiredTigerRecoveryUnit::* __wt_txn_commit")
        .called("fsync fdatasync")
        .what("journal"),
    DeviceWrites
        .has("__wt_cache_eviction_worker __evict_* __wt_evict* __wti_evict*")
        .what("cache eviction"),
    DeviceReads
        .has("__wt_block_read* __wt_blkcache_read __posix_file_read __wt_page_in_func")
        .called("pread64")
        .what("pages"),
    DeviceWrites
        .has("__posix_file_write __wt_block_write*")
        .what("pages"),
    Latches.has("__wt_spin_* __wt_readlock __wt_writelock __wt_page_in_func"),
    LogFlush.in_call("fsync fdatasync").what("journal"),
    Sleep.has("__wt_sleep sleepmillis sleepFor"),
];

/// Latches by the function that takes them.
pub(super) const LOCKS: &[Lock] = &[
    ("journal", "__wt_log_* __log_*"),
    ("page latch", "__wt_row_* __wt_page_* __curfile_* __wt_btcur_*"),
    ("transaction list", "__wt_txn_*"),
    ("cache", "__evict_* __wt_evict* __wt_cache_*"),
];

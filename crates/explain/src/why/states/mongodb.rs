//! MongoDB with WiredTiger.

use super::rule::{Rule, call, has};
use super::state::State::{
    DeviceReads, DeviceWrites, Latches, LogFlush, NetSend, Network, Replication, Sleep,
};
use super::state::State::{TableLocks, Tickets};

const CACHE: &[&str] = &[
    "__wt_cache_eviction_worker",
    "__evict_*",
    "__wt_evict*",
    "__wti_evict*",
];

pub(super) const TABLE: &[Rule] = &[
    has(
        &[
            "AsioSession::sourceMessage*",
            "sourceMessage*",
            "CommonAsioSession::sourceMessage*",
        ],
        Network,
        "",
    ),
    has(&["sinkMessage*", "AsioSession::sinkMessage*"], NetSend, ""),
    has(
        &[
            "waitUntilDurable",
            "WiredTigerSessionCache::waitUntilDurable",
            "JournalFlusher::*",
        ],
        LogFlush,
        "journal",
    ),
    has(
        &[
            "waitForJournalFlush",
            "__wt_log_flush*",
            "__wt_log_force_sync",
            "__log_*",
            "__wt_log_write*",
        ],
        LogFlush,
        "journal",
    ),
    has(
        &[
            "awaitReplication",
            "waitForWriteConcern",
            "ReplicationCoordinatorImpl::await*",
        ],
        Replication,
        "write concern",
    ),
    has(
        &[
            "TicketHolder::*",
            "SemaphoreTicketHolder::*",
            "PriorityTicketHolder::*",
            "TicketPool*",
            "waitForTicket*",
        ],
        Tickets,
        "",
    ),
    has(
        &[
            "LockerImpl::*",
            "Locker::*",
            "LockManager::*",
            "CondVarLockGrantNotification::*",
        ],
        TableLocks,
        "",
    ),
    has(
        &["WiredTigerRecoveryUnit::*", "__wt_txn_commit"],
        LogFlush,
        "journal",
    )
    .by(&["fsync", "fdatasync"]),
    has(CACHE, DeviceWrites, "cache eviction"),
    has(
        &[
            "__wt_block_read*",
            "__wt_blkcache_read",
            "__posix_file_read",
            "__wt_page_in_func",
        ],
        DeviceReads,
        "pages",
    )
    .by(&["pread64"]),
    has(
        &["__posix_file_write", "__wt_block_write*"],
        DeviceWrites,
        "pages",
    ),
    has(
        &[
            "__wt_spin_*",
            "__wt_readlock",
            "__wt_writelock",
            "__wt_page_in_func",
        ],
        Latches,
        "",
    ),
    call(&["fsync", "fdatasync"], LogFlush, "journal"),
    has(&["__wt_sleep", "sleepmillis", "sleepFor"], Sleep, ""),
];

/// Latches by the function that takes them.
pub(super) const LOCKS: &[(&str, &[&str])] = &[
    ("journal", &["__wt_log_*", "__log_*"]),
    (
        "page latch",
        &["__wt_row_*", "__wt_page_*", "__curfile_*", "__wt_btcur_*"],
    ),
    ("transaction list", &["__wt_txn_*"]),
    ("cache", &["__evict_*", "__wt_evict*", "__wt_cache_*"]),
];

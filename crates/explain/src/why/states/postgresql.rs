//! PostgreSQL, a process a session.

use super::rule::{Rule, call, has};
use super::state::State::{
    DeviceReads, DeviceWrites, Latches, LogFlush, NetSend, Network, Replication, RowLocks,
};
use super::state::State::{Sleep, TableLocks};

pub(super) const TABLE: &[Rule] = &[
    has(
        &["secure_read", "pq_recvbuf", "ReadCommand", "SocketBackend"],
        Network,
        "",
    ),
    has(
        &["internal_flush*", "secure_write", "socket_flush", "pq_flush*"],
        NetSend,
        "",
    ),
    has(&["SyncRepWaitForLSN"], Replication, "synchronous"),
    has(
        &[
            "XLogFlush",
            "issue_xlog_fsync",
            "XLogWrite",
            "XLogBackgroundFlush",
        ],
        LogFlush,
        "WAL",
    ),
    has(
        &["WALInsertLockAcquire*", "AdvanceXLInsertBuffer"],
        Latches,
        "WAL insert lock",
    ),
    has(
        &[
            "heap_lock_tuple",
            "XactLockTableWait",
            "heap_update",
            "heap_delete",
            "EvalPlanQual*",
        ],
        RowLocks,
        "",
    )
    .under(&["ProcSleep", "WaitOnLock"]),
    has(&["ProcSleep", "WaitOnLock"], TableLocks, ""),
    has(
        &["WaitIO", "mdread*", "smgrread*", "FileRead*", "mdprefetch"],
        DeviceReads,
        "pages",
    ),
    has(
        &[
            "mdwrite*",
            "mdextend*",
            "smgrextend*",
            "smgrwrite*",
            "FileWrite*",
            "FileSync",
            "mdimmedsync",
        ],
        DeviceWrites,
        "pages",
    ),
    has(
        &[
            "LWLockAcquire",
            "LWLockAcquireOrWait",
            "LWLockWaitForVar",
            "LockBuffer*",
            "s_lock",
        ],
        Latches,
        "",
    ),
    has(&["pg_usleep", "pg_sleep"], Sleep, ""),
    call(&["fsync", "fdatasync"], DeviceWrites, "pages"),
];

/// Lightweight locks by the function that takes them.
pub(super) const LOCKS: &[(&str, &[&str])] = &[
    (
        "WAL insert lock",
        &["XLogInsertRecord", "WALInsertLock*", "ReserveXLogInsertLocation"],
    ),
    ("WAL write lock", &["XLogFlush", "XLogWrite"]),
    (
        "transaction status",
        &[
            "TransactionIdSetPageStatus",
            "SimpleLru*",
            "TransactionIdGetStatus",
        ],
    ),
    (
        "transaction list",
        &["GetSnapshotData", "ProcArray*", "GetNewTransactionId"],
    ),
    ("lock table", &["LockAcquire*", "LockRelease*", "FastPath*"]),
    (
        "buffer mapping",
        &["BufferAlloc", "BufTable*", "ReadBuffer*", "StrategyGetBuffer"],
    ),
    (
        "page latch",
        &["LockBuffer*", "heap_*", "_bt_*", "RelationGetBufferForTuple"],
    ),
];

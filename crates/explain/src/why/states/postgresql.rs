//! PostgreSQL, a process a session.

use super::rule::{Lock, Rule};
use super::state::State::{
    DeviceReads, DeviceWrites, Latches, LogFlush, NetSend, Network, Replication, RowLocks, Sleep, TableLocks,
};

pub(super) const TABLE: &[Rule] = &[
    Network.has("secure_read pq_recvbuf ReadCommand SocketBackend"),
    NetSend.has("internal_flush* secure_write socket_flush pq_flush*"),
    Replication.has("SyncRepWaitForLSN").what("synchronous"),
    LogFlush
        .has("XLogFlush issue_xlog_fsync XLogWrite XLogBackgroundFlush")
        .what("WAL"),
    Latches
        .has("WALInsertLockAcquire* AdvanceXLInsertBuffer")
        .what("WAL insert lock"),
    RowLocks
        .has("heap_lock_tuple XactLockTableWait heap_update heap_delete EvalPlanQual*")
        .under("ProcSleep WaitOnLock"),
    TableLocks.has("ProcSleep WaitOnLock"),
    DeviceReads
        .has("WaitIO mdread* smgrread* FileRead* mdprefetch")
        .what("pages"),
    DeviceWrites
        .has("mdwrite* mdextend* smgrextend* smgrwrite* FileWrite* FileSync mdimmedsync")
        .what("pages"),
    Latches.has("LWLockAcquire LWLockAcquireOrWait LWLockWaitForVar LockBuffer* s_lock"),
    Sleep.has("pg_usleep pg_sleep"),
    DeviceWrites.in_call("fsync fdatasync").what("pages"),
];

/// Lightweight locks by the function that takes them.
pub(super) const LOCKS: &[Lock] = &[
    (
        "WAL insert lock",
        "XLogInsertRecord WALInsertLock* ReserveXLogInsertLocation",
    ),
    ("WAL write lock", "XLogFlush XLogWrite"),
    (
        "transaction status",
        "TransactionIdSetPageStatus SimpleLru* TransactionIdGetStatus",
    ),
    (
        "transaction list",
        "GetSnapshotData ProcArray* GetNewTransactionId",
    ),
    ("lock table", "LockAcquire* LockRelease* FastPath*"),
    (
        "buffer mapping",
        "BufferAlloc BufTable* ReadBuffer* StrategyGetBuffer",
    ),
    ("page latch", "LockBuffer* heap_* _bt_* RelationGetBufferForTuple"),
];

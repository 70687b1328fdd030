//! Stacks as real servers have them.

use super::blocked::Family;
use super::state::State;

/// What a server's stack waits for, in a futex or another call; functions of libraries are given as `function@module`.
fn state(product: &str, call: &str, functions: &[&str]) -> (State, Option<String>) {
    let stack: Vec<(&str, &str)> = functions
        .iter()
        .map(|function| function.split_once('@').unwrap_or((function, "server")))
        .collect();
    Family::of(product).state(call, None, &stack)
}

fn is(found: (State, Option<String>), state: State, detail: &str) {
    assert_eq!((found.0, found.1.as_deref().unwrap_or("")), (state, detail));
}

#[test]
fn commits_wait_for_the_group_and_for_the_redo_log() {
    let wait = "pthread_cond_wait@libc.so.6";
    is(
        state(
            "MariaDB",
            "futex",
            &[
                wait,
                "THD::wait_for_wakeup_ready",
                "MYSQL_BIN_LOG::write_transaction_to_binlog_events",
            ],
        ),
        State::LogFlush,
        "group commit",
    );
    is(
        state(
            "MySQL 9.7.0",
            "futex",
            &[
                wait,
                "Commit_stage_manager::enroll_for",
                "MYSQL_BIN_LOG::ordered_commit",
            ],
        ),
        State::LogFlush,
        "group commit",
    );
    is(
        state(
            "MariaDB",
            "fdatasync",
            &["fdatasync@libc.so.6", "log_t::flush", "log_write_up_to"],
        ),
        State::LogFlush,
        "redo log",
    );
    is(
        state(
            "MariaDB",
            "futex",
            &[
                "syscall@libc.so.6",
                "mariadbd+0x88",
                "mariadbd+0x99",
                "ha_commit_trans",
                "trans_commit_stmt",
            ],
        ),
        State::LogFlush,
        "redo log",
    );
    is(
        state(
            "MySQL 5.6",
            "futex",
            &[
                wait,
                "os_event_wait_low",
                "log_write_up_to",
                "trx_commit_complete_for_mysql",
            ],
        ),
        State::LogFlush,
        "redo log",
    );
    is(
        state(
            "MySQL",
            "fsync",
            &["fsync@libc.so.6", "MYSQL_BIN_LOG::sync_binlog_file"],
        ),
        State::LogFlush,
        "binary log",
    );
}

#[test]
fn commits_wait_for_the_other_nodes_of_a_cluster_before_they_wait_for_a_log() {
    let wait = "pthread_cond_wait@libc.so.6";
    let commit = ["ha_commit_trans", "trans_commit_stmt", "mysql_execute_command"];
    let galera = [
        wait,
        "libgalera_smm.so+0xb09b0@libgalera_smm.so",
        "wsrep_certify_v1@libgalera_smm.so",
        "wsrep::wsrep_provider_v26::certify",
        "wsrep::transaction::certify_commit",
        "wsrep::transaction::before_prepare",
    ];
    is(
        state("MariaDB", "futex", &[&galera[..], &commit].concat()),
        State::Replication,
        "certification by Galera",
    );
    let group = [
        wait,
        "Wait_ticket<unsigned int>::waitTicket@group_replication.so",
        "group_replication_trans_before_commit@group_replication.so",
        "Trans_delegate::before_commit",
        "MYSQL_BIN_LOG::commit",
    ];
    is(
        state("MySQL", "futex", &[&group[..], &commit].concat()),
        State::Replication,
        "certification by the group",
    );
}

#[test]
fn latches_are_named_by_who_takes_them() {
    is(
        state(
            "MySQL 5.6",
            "futex",
            &[
                "sync_array_wait_event",
                "rw_lock_x_lock_func",
                "btr_search_update_hash_on_insert",
                "btr_cur_search_to_nth_level",
            ],
        ),
        State::Latches,
        "AHI latch",
    );
    is(
        state(
            "MySQL 5.6",
            "futex",
            &[
                "sync_array_wait_event",
                "rw_lock_s_lock_spin",
                "btr_cur_search_to_nth_level",
                "row_ins_clust_index_entry_low",
            ],
        ),
        State::Latches,
        "index latch",
    );
    is(
        state(
            "MariaDB 10.2",
            "futex",
            &[
                "TTASEventMutex<GenericPolicy>::enter",
                "mtr_t::Command::prepare_write",
                "mtr_t::commit",
            ],
        ),
        State::Latches,
        "redo log buffer",
    );
    is(
        state(
            "MariaDB",
            "futex",
            &[
                "syscall@libc.so.6",
                "mariadbd+0x1",
                "mariadbd+0x2",
                "handler::ha_write_row",
                "write_record",
            ],
        ),
        State::Latches,
        "handler::ha_write_row",
    );
    let object = Family::of("MariaDB").state(
        "futex",
        Some("LOCK_status+8"),
        &[("pthread_mutex_lock", "libc.so.6")],
    );
    is(object, State::Latches, "LOCK_status");
}

#[test]
fn locks_of_rows_tables_and_metadata_are_told_apart() {
    let wait = "pthread_cond_timedwait@libc.so.6";
    is(
        state(
            "MySQL",
            "futex",
            &[
                wait,
                "os_event::wait_low",
                "lock_wait_suspend_thread",
                "row_mysql_handle_errors",
            ],
        ),
        State::RowLocks,
        "",
    );
    assert_eq!(
        state(
            "MariaDB",
            "futex",
            &[wait, "mariadbd+0x1", "handler::ha_index_read_map"]
        )
        .0,
        State::RowLocks
    );
    assert_eq!(
        state(
            "MariaDB",
            "futex",
            &[wait, "MDL_wait::timed_wait", "MDL_context::acquire_lock"]
        )
        .0,
        State::MetadataLocks
    );
    assert_eq!(
        state("MariaDB", "futex", &[wait, "thr_multi_lock", "mysql_lock_tables"]).0,
        State::TableLocks
    );
}

#[test]
fn reads_writes_and_sends_are_told_by_the_call_and_who_asks() {
    is(
        state(
            "MariaDB",
            "pread64",
            &["pread64@libc.so.6", "mariadbd+0x1", "handler::ha_index_read_map"],
        ),
        State::DeviceReads,
        "pages",
    );
    is(
        state(
            "MariaDB",
            "pwrite64",
            &[
                "pwrite64@libc.so.6",
                "buf_flush_single_page_from_LRU",
                "buf_LRU_get_free_block",
            ],
        ),
        State::DeviceWrites,
        "pages",
    );
    is(
        state(
            "MariaDB",
            "sendto",
            &["send@libc.so.6", "vio_write", "net_real_write"],
        ),
        State::NetSend,
        "",
    );
    is(
        state(
            "MySQL",
            "clock_nanosleep",
            &["nanosleep@libc.so.6", "Item_func_sleep::val_int"],
        ),
        State::Sleep,
        "",
    );
}

#[test]
fn a_library_that_sleeps_in_the_midst_of_a_flush_flushes() {
    let stack = &[
        "nanosleep@libc.so.6",
        "fdatasync@slow.so",
        "log_t::flush",
        "log_write_up_to",
    ];
    is(
        state("MariaDB", "clock_nanosleep", stack),
        State::LogFlush,
        "redo log",
    );
}

#[test]
fn a_library_that_sleeps_in_the_midst_of_a_read_reads() {
    let stack = &[
        "nanosleep@libc.so.6",
        "pread64@slow.so",
        "mariadbd+0x1",
        "handler::ha_index_read_map",
    ];
    is(
        state("MariaDB", "clock_nanosleep", stack),
        State::DeviceReads,
        "pages",
    );
}

#[test]
fn what_nobody_knows_is_named_by_the_nearest_function() {
    is(
        state(
            "MariaDB",
            "futex",
            &[
                "pthread_cond_wait@libc.so.6",
                "mariadbd+0x7",
                "Delayed_insert::wait",
            ],
        ),
        State::Other,
        "Delayed_insert::wait",
    );
    is(state("MariaDB", "futex", &[]), State::Other, "");
}

#[test]
fn postgresql_waits_for_its_log_locks_and_pages() {
    let of = |call, functions: &[&str]| state("PostgreSQL 15.3", call, functions);
    is(
        of("fdatasync", &["issue_xlog_fsync", "XLogWrite", "XLogFlush"]),
        State::LogFlush,
        "WAL",
    );
    is(
        of("futex", &["PGSemaphoreLock", "LWLockAcquireOrWait", "XLogFlush"]),
        State::LogFlush,
        "WAL",
    );
    is(
        of("futex", &["PGSemaphoreLock", "LWLockAcquire", "XLogInsertRecord"]),
        State::Latches,
        "WAL insert lock",
    );
    is(
        of("futex", &["PGSemaphoreLock", "LWLockAcquire", "BufferAlloc"]),
        State::Latches,
        "buffer mapping",
    );
    assert_eq!(
        of(
            "epoll_wait",
            &[
                "WaitLatch",
                "ProcSleep",
                "WaitOnLock",
                "LockAcquireExtended",
                "XactLockTableWait",
                "heap_update"
            ]
        )
        .0,
        State::RowLocks
    );
    assert_eq!(
        of(
            "epoll_wait",
            &["WaitLatch", "ProcSleep", "WaitOnLock", "LockRelationOid"]
        )
        .0,
        State::TableLocks
    );
    is(
        of("pread64", &["FileRead", "mdread", "smgrread"]),
        State::DeviceReads,
        "pages",
    );
    is(
        of("epoll_wait", &["WaitEventSetWait", "secure_read"]),
        State::Network,
        "",
    );
}

#[test]
fn mongodb_waits_for_its_journal_tickets_and_locks() {
    let of = |call, functions: &[&str]| state("MongoDB 6.0.5", call, functions);
    is(
        of("futex", &["mongo::WiredTigerSessionCache::waitUntilDurable"]),
        State::LogFlush,
        "journal",
    );
    assert_eq!(
        of("futex", &["mongo::SemaphoreTicketHolder::waitForTicket"]).0,
        State::Tickets
    );
    assert_eq!(
        of(
            "futex",
            &[
                "mongo::CondVarLockGrantNotification::wait",
                "mongo::LockerImpl::_lockComplete"
            ]
        )
        .0,
        State::TableLocks
    );
    is(
        of("pread64", &["__posix_file_read", "__wt_block_read_off"]),
        State::DeviceReads,
        "pages",
    );
    is(
        of("fdatasync", &["__posix_sync", "__wt_log_force_sync"]),
        State::LogFlush,
        "journal",
    );
}

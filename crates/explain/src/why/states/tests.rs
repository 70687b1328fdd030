//! Stacks as real servers have them.

use super::blocked::Family;
use super::state::State;

/// Holds each line to what is right of its arrow, a state with its detail or `*` where that may be any: left of it are
/// product, call and stack of a server, the innermost function first, those of libraries as `function@module`.
#[track_caller]
fn wait_for(lines: &str) {
    for line in lines.trim().lines().map(str::trim) {
        let (found, expected) = line.split_once(" → ").unwrap();
        let [product, call, functions] = found.splitn(3, " | ").collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let functions = functions.split(" < ").filter(|function| !function.is_empty());
        let stack: Vec<(&str, &str)> = functions
            .map(|function| function.split_once('@').unwrap_or((function, "server")))
            .collect();
        let (state, detail) = Family::of(product).state(call, None, &stack);
        let found = format!("{state:?} {}", detail.as_deref().unwrap_or(""));
        match expected.strip_suffix('*') {
            Some(expected) => assert!(found.starts_with(expected), "{line}: {found}"),
            None => assert_eq!(found.trim(), expected, "{line}"),
        }
    }
}

#[test]
fn commits_wait_for_the_group_and_for_the_redo_log() {
    wait_for(
        "
            MariaDB | futex | pthread_cond_wait@libc.so.6 < THD::wait_for_wakeup_ready < \
            MYSQL_BIN_LOG::write_transaction_to_binlog_events → LogFlush group commit
            MySQL 9.7.0 | futex | pthread_cond_wait@libc.so.6 < Commit_stage_manager::enroll_for < \
            MYSQL_BIN_LOG::ordered_commit → LogFlush group commit
            MariaDB | fdatasync | fdatasync@libc.so.6 < log_t::flush < log_write_up_to → LogFlush redo log
            MariaDB | futex | syscall@libc.so.6 < mariadbd+0x88 < mariadbd+0x99 < ha_commit_trans < trans_commit_stmt → LogFlush redo log
            MySQL 5.6 | futex | pthread_cond_wait@libc.so.6 < os_event_wait_low < log_write_up_to < \
            trx_commit_complete_for_mysql → LogFlush redo log
            MySQL | fsync | fsync@libc.so.6 < MYSQL_BIN_LOG::sync_binlog_file → LogFlush binary log
        ",
    );
}

#[test]
fn commits_wait_for_the_other_nodes_of_a_cluster_before_they_wait_for_a_log() {
    wait_for(
        "
            MariaDB | futex | pthread_cond_wait@libc.so.6 < libgalera_smm.so+0xb09b0@libgalera_smm.so < \
            wsrep_certify_v1@libgalera_smm.so < wsrep::wsrep_provider_v26::certify < wsrep::transaction::certify_commit < \
            wsrep::transaction::before_prepare < ha_commit_trans < trans_commit_stmt < \
            mysql_execute_command → Replication certification by Galera
            MySQL | futex | pthread_cond_wait@libc.so.6 < Wait_ticket<unsigned int>::waitTicket@group_replication.so < \
            group_replication_trans_before_commit@group_replication.so < Trans_delegate::before_commit < MYSQL_BIN_LOG::commit < \
            ha_commit_trans < trans_commit_stmt < mysql_execute_command → Replication certification by the group
        ",
    );
}

#[test]
fn latches_are_named_by_who_takes_them() {
    wait_for(
        "
            MySQL 5.6 | futex | sync_array_wait_event < rw_lock_x_lock_func < btr_search_update_hash_on_insert < \
            btr_cur_search_to_nth_level → Latches AHI latch
            MySQL 5.6 | futex | sync_array_wait_event < rw_lock_s_lock_spin < btr_cur_search_to_nth_level < \
            row_ins_clust_index_entry_low → Latches index latch
            MariaDB 10.2 | futex | TTASEventMutex<GenericPolicy>::enter < mtr_t::Command::prepare_write < \
            mtr_t::commit → Latches redo log buffer
            MariaDB | futex | syscall@libc.so.6 < mariadbd+0x1 < mariadbd+0x2 < handler::ha_write_row < \
            write_record → Latches handler::ha_write_row
        ",
    );
    let of_library = [("pthread_mutex_lock", "libc.so.6")];
    let object = Family::of("MariaDB").state("futex", Some("LOCK_status+8"), &of_library);
    assert_eq!(object, (State::Latches, Some("LOCK_status".to_owned())));
}

#[test]
fn locks_of_rows_tables_and_metadata_are_told_apart() {
    wait_for(
        "
            MySQL | futex | pthread_cond_timedwait@libc.so.6 < os_event::wait_low < lock_wait_suspend_thread < \
            row_mysql_handle_errors → RowLocks
            MariaDB | futex | pthread_cond_timedwait@libc.so.6 < mariadbd+0x1 < handler::ha_index_read_map → RowLocks *
            MariaDB | futex | pthread_cond_timedwait@libc.so.6 < MDL_wait::timed_wait < MDL_context::acquire_lock → MetadataLocks *
            MariaDB | futex | pthread_cond_timedwait@libc.so.6 < thr_multi_lock < mysql_lock_tables → TableLocks *
        ",
    );
}

#[test]
fn reads_writes_and_sends_are_told_by_the_call_and_who_asks() {
    wait_for(
        "
            MariaDB | pread64 | pread64@libc.so.6 < mariadbd+0x1 < handler::ha_index_read_map → DeviceReads pages
            MariaDB | pwrite64 | pwrite64@libc.so.6 < buf_flush_single_page_from_LRU < buf_LRU_get_free_block → DeviceWrites pages
            MariaDB | sendto | send@libc.so.6 < vio_write < net_real_write → NetSend
            MySQL | clock_nanosleep | nanosleep@libc.so.6 < Item_func_sleep::val_int → Sleep
        ",
    );
}

#[test]
fn a_library_that_sleeps_in_the_midst_of_a_flush_or_a_read_flushes_or_reads() {
    wait_for(
        "
            MariaDB | clock_nanosleep | nanosleep@libc.so.6 < fdatasync@slow.so < log_t::flush < log_write_up_to → LogFlush redo log
            MariaDB | clock_nanosleep | nanosleep@libc.so.6 < pread64@slow.so < mariadbd+0x1 < \
            handler::ha_index_read_map → DeviceReads pages
        ",
    );
}

#[test]
fn what_nobody_knows_is_named_by_the_nearest_function() {
    wait_for(
        "
            MariaDB | futex | pthread_cond_wait@libc.so.6 < mariadbd+0x7 < Delayed_insert::wait → Other Delayed_insert::wait
            MariaDB | futex |  → Other
        ",
    );
}

#[test]
fn postgresql_waits_for_its_log_locks_and_pages() {
    wait_for(
        "
            PostgreSQL 15.3 | fdatasync | issue_xlog_fsync < XLogWrite < XLogFlush → LogFlush WAL
            PostgreSQL 15.3 | futex | PGSemaphoreLock < LWLockAcquireOrWait < XLogFlush → LogFlush WAL
            PostgreSQL 15.3 | futex | PGSemaphoreLock < LWLockAcquire < XLogInsertRecord → Latches WAL insert lock
            PostgreSQL 15.3 | futex | PGSemaphoreLock < LWLockAcquire < BufferAlloc → Latches buffer mapping
            PostgreSQL 15.3 | epoll_wait | WaitLatch < ProcSleep < WaitOnLock < LockAcquireExtended < XactLockTableWait < \
            heap_update → RowLocks *
            PostgreSQL 15.3 | epoll_wait | WaitLatch < ProcSleep < WaitOnLock < LockRelationOid → TableLocks *
            PostgreSQL 15.3 | pread64 | FileRead < mdread < smgrread → DeviceReads pages
            PostgreSQL 15.3 | epoll_wait | WaitEventSetWait < secure_read → Network
        ",
    );
}

#[test]
fn mongodb_waits_for_its_journal_tickets_and_locks() {
    wait_for(
        "
            MongoDB 6.0.5 | futex | mongo::WiredTigerSessionCache::waitUntilDurable → LogFlush journal
            MongoDB 6.0.5 | futex | mongo::SemaphoreTicketHolder::waitForTicket → Tickets *
            MongoDB 6.0.5 | futex | mongo::CondVarLockGrantNotification::wait < mongo::LockerImpl::_lockComplete → TableLocks *
            MongoDB 6.0.5 | pread64 | __posix_file_read < __wt_block_read_off → DeviceReads pages
            MongoDB 6.0.5 | fdatasync | __posix_sync < __wt_log_force_sync → LogFlush journal
        ",
    );
}

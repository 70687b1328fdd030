//! MySQL and MariaDB with InnoDB. MariaDB's own InnoDB functions have no names in stripped programs: there the kind of wait and the
//! nearest function with a name tell.

use super::rule::{Lock, Rule};
use super::state::State::{
    DeviceReads, DeviceWrites, Latches, LogFlush, MetadataLocks, NetSend, Replication, RowLocks, Sleep,
    TableLocks,
};

const COMMIT: &str = "ha_commit_trans ha_commit_one_phase commit_one_phase_2 trans_commit trans_commit_stmt
    trans_commit_implicit MYSQL_BIN_LOG::* TC_LOG* innobase_commit* trx_commit* ha_prepare*";
const BINARY_LOG: &str = "MYSQL_BIN_LOG::* binlog_* Binlog_* IO_CACHE*";
const REDO: &str =
    "log_write_up_to log_wait_for_* log_flush* log_write_* log_buffer_flush* trx_flush_log* log_t::write*
    log_t::flush* log_group_write* fil_flush_log*";
const PAGE_WRITES: &str =
    "buf_flush_* buf_dblwr_* dblwr::* buf_LRU_get_free_block buf_LRU_get_free_only log_free_check*
    log_checkpoint* log_check_margins fil_flush_file_spaces";
const WRITES: &str = "write pwrite64 pwritev pwritev2 writev";
const SYNCS: &str = "fsync fdatasync sync_file_range";
const HANDLER: &str = "handler::* ha_innobase::* ha_innopart::*";
const LATCH: &str =
    "rw_lock_* pfs_rw_lock_* ssux_lock* sux_lock* srw_lock* srw_mutex* srw_spin* mutex_spin_wait
    mutex_enter_func pfs_mutex_enter_func PolicyMutex* TTASEventMutex* TTASMutex* sync_array_* ut_delay";

pub(super) const TABLE: &[Rule] = &[
    NetSend.has("net_write_packet vio_write vio_ssl_write net_real_write SSL_write"),
    MetadataLocks.has("MDL_wait::timed_wait MDL_context::* MDL_map* MDL_lock::* rw_pr_*"),
    TableLocks.has("thr_lock thr_multi_lock wait_for_lock mysql_lock_tables"),
    Replication
        .has("repl_semi_sync* ReplSemiSync* Repl_semi_sync*")
        .what("semi-synchronous"),
    // Before anything is written, the other nodes have to have the transaction, in its place among all.
    Replication
        .has("certify_commit wsrep_certify* wsrep_replicate* wsrep_pre_commit*")
        .what("certification by Galera"),
    Replication
        .has("wsrep_commit_order_*")
        .what("commit order of Galera"),
    Replication
        .has("group_replication_trans_before_commit waitTicket")
        .what("certification by the group"),
    RowLocks.has("lock_wait_suspend_thread lock_wait lock_wait_rpl_report"),
    // Sessions that share a flush of the binary log, and what their leader does.
    LogFlush
        .has(
            "wait_for_wakeup_ready THD::wait_for_wakeup_ready enroll_for Commit_stage_manager::* Stage_manager::* change_stage
             queue_for_group_commit wait_for_prior_commit*",
        )
        .what("group commit"),
    LogFlush.in_call(SYNCS).under(REDO).what("redo log"),
    DeviceWrites.in_call(SYNCS).under(PAGE_WRITES).what("pages"),
    LogFlush.in_call(SYNCS).under(BINARY_LOG).what("binary log"),
    LogFlush.in_call(SYNCS).under(COMMIT).what("redo log"),
    LogFlush.has(REDO).what("redo log"),
    DeviceWrites.in_call(WRITES).under(PAGE_WRITES).what("pages"),
    LogFlush.in_call(WRITES).under(BINARY_LOG).what("binary log"),
    LogFlush.in_call(WRITES).under(COMMIT).what("redo log"),
    DeviceReads
        .has("buf_read_page* buf_read_ahead* buf_wait_for_read os_file_read*")
        .what("pages"),
    DeviceReads.in_call("pread64 preadv").what("pages"),
    // Mutexes of the server that commits take one after the other while they write the binary log.
    LogFlush
        .has("pthread_mutex_lock")
        .under(BINARY_LOG)
        .what("binary log"),
    Latches.has(LATCH),
    Sleep.has("srv_conc_*").what("innodb_thread_concurrency"),
    DeviceWrites.has(PAGE_WRITES).called("futex").what("pages"),
    // What has no name: a group of commits waits for the redo log, a row lock by a condition, a latch by a bare system call.
    LogFlush.in_call("futex").under(COMMIT).what("redo log"),
    RowLocks
        .has("pthread_cond_wait pthread_cond_timedwait pthread_cond_clockwait")
        .called("futex")
        .under(HANDLER),
    Latches.has("syscall").called("futex").under(HANDLER),
];

/// Latches and mutexes by the function that takes them, whatever it is that they are.
pub(super) const LOCKS: &[Lock] = &[
    ("AHI latch", "btr_search_* btr_sea::*"),
    (
        "redo log buffer",
        "mtr_commit mtr_t::* Command::prepare_write log_reserve_* log_buffer_* log_close log_t::* log_sys*",
    ),
    ("rollback segment", "trx_undo_* trx_rseg_* trx_purge_*"),
    (
        "transaction list",
        "trx_sys_* trx_start* trx_assign_read_view MVCC::* read_view_* ReadView::*",
    ),
    (
        "lock system",
        "lock_rec_* lock_clust_* lock_sec_* lock_table* lock_trx_* lock_sys*",
    ),
    ("change buffer", "ibuf_*"),
    (
        "buffer pool",
        "buf_LRU_* buf_pool_* buf_flush_* buf_block_* buf_page_init*",
    ),
    (
        "index latch",
        "btr_* row_ins_* row_upd_* row_search_* buf_page_get* page_* buf_page_optimistic_get",
    ),
    ("dictionary", "dict_*"),
    ("tablespaces", "fil_* fsp_* fseg_*"),
];

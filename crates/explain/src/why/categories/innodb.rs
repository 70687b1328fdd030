//! InnoDB, the handler interface above it, and commits.
//!
//! Debian's MariaDB names none of InnoDB's functions, so what is InnoDB's belongs to the handler's there.

use super::names::*;
use super::rule::Table;
use super::rule::Work::Of;

pub(super) const TABLE: Table = &[
    (
        Of(SPINNING),
        "TTASEventMutex* PolicyMutex* mutex_enter_inline* *srw_lock*wait* *ssux_lock*wait* rw_lock_x_lock_low sync_array_*",
    ),
    (
        Of(LOCKS),
        "os_event* rw_lock_* *srw_lock* *ssux_lock* lock_rec_* lock_table* lock_wait* lock_trx_* lock_clust_* lock_sec_*",
    ),
    (
        Of(ALLOCATION),
        "mem_heap_* ut_malloc* ut_free* ut_allocator*",
    ),
    (
        Of(COMMIT),
        "trans_commit* trans_rollback* ha_commit_* ha_rollback_* commit_one_phase* TC_LOG* trx_coordinator::* MYSQL_BIN_LOG::*
         binlog_* Log_event* *_log_event::* innobase_commit* innobase_rollback* innodb_*commit* trx_commit* trx_rollback*
         trx_prepare* trx_flush_log* log_write* log_flush* log_buffer_* log_group_* log_checkpoint* Log_* gtid_* Gtid_*
         trx_assign_read_view trx_start* innobase_register_trx MVCC::* read_view_* ReadView::*",
    ),
    (
        Of(ENGINE),
        "handler::* ha_innobase::* innobase_* row_* btr_* buf_* Buf_* page_* mtr_* rec_* cmp_* trx_* lock_* dict_* dtuple_*
         fil_* fseg_* fsp_* ibuf_* ha_* os_* que_* srv_* purge_* dblwr::* Double_write::* log_* check_trx_exists
         convert_search_mode_to_innobase ut_* Aria* maria_* _ma_* ma_* heap_* hp_* ib_*",
    ),
];

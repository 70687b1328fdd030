//! MySQL and MariaDB above the storage engine, from their exported and debug symbols (MySQL 5.6 and 9.7, MariaDB 10.2 to 11.8).
//!
//! Mid-level functions stand here, which keep their names over releases; what they call without a rule of its own belongs to them.

use super::names::*;
use super::phase::Cryptography::{Around, Cipher, Hashes};
use super::rule::Table;
use super::rule::Work::{For, Of};

pub(super) const TABLE: Table = &[
    (For(Cipher), "my_aes_crypt*"),
    (
        For(Hashes),
        "my_sha* mysql_sha1* compute_md5_hash* compute_sha1_hash* my_crypt_genhash",
    ),
    (
        For(Around),
        "vio_ssl_* sslaccept sslconnect ssl_do encryption_*crypt* my_aes_* MyCTX* Encryption::*",
    ),
    (
        Of(SPINNING),
        "my_pthread_fastmutex_* mutex_spin_wait ut_delay rw_lock_*_spin* rw_lock_*_func",
    ),
    (
        Of(LOCKS),
        "MDL_* rw_pr_* my_rw_* lf_* safe_mutex_* inline_mysql_mutex_* inline_mysql_rwlock_* thr_lock* thr_multi_*
         THD::wait_for_wakeup_ready",
    ),
    (
        Of(ALLOCATION),
        "alloc_root free_root reset_root* multi_alloc_root MEM_ROOT::* my_multi_malloc* init_alloc_root",
    ),
    (
        Of(INSTRUMENTATION),
        "pfs_* PFS_* *_v1 aggregate_* find_or_create_* create_thread destroy_thread create_metadata_lock THD::enter_stage
         THD::set_query_id thd_increment_* general_log_* log_slow_* Query_logger::* LOGGER::* mysql_audit_*
         mysql_event_tracking_* PROFILING::* add_to_status Event_reference_caching_* component_reference_cache*!* net_*_psi
         insert_events_* ha_perfschema::* fill_status show_status_array",
    ),
    (
        Of(PARSE),
        "MYSQLparse my_sql_parser_parse parse_sql MYSQLlex Lex_input_stream::* lex_start LEX::* PT_* PTI_* alloc_query
         *Parser_state* Prepared_statement::prepare",
    ),
    (
        Of(OPTIMISE),
        "JOIN::optimize* JOIN::prepare* JOIN::make_* JOIN::extract_* JOIN::get_best_combination JOIN::save_explain_*
         JOIN::build_explain JOIN::init_* JOIN::JOIN join_read_const_table setup_conds setup_fields* setup_tables* setup_wild
         setup_group Query_block::prepare Query_block::optimize Query_expression::optimize Query_expression::create_*
         Sql_cmd_dml::prepare *::fix_fields optimize_cond build_equal_items* make_join_* mysql_prepare_*
         SQL_SELECT::test_quick_select test_quick_select get_quick_record_count create_ref_for_key prune_partitions
         update_ref_and_keys choose_plan CreateIteratorFromAccessPath optimize_secondary_engine",
    ),
    (
        Of(TABLES),
        "open_tables* open_table open_and_lock_tables* open_normal_and_derived_tables open_temporary_table*
         find_temporary_table* THD::open_temporary_* lock_tables lock_table_names mysql_lock_tables mysql_unlock_tables
         get_lock_data close_thread_table* close_open_tables* tdc_* tc_acquire_table tc_release_table Table_cache::*
         intern_close_table Table_ref::* check_access check_grant* check_table_access check_single_table_access
         check_one_table_access *::check_privileges *::check_all_table_privileges mysql_change_db mysql_opt_change_db
         get_default_db_collation load_db_opt* dd::*",
    ),
    (
        Of(LOGIN_REST),
        "acl_authenticate login_connection check_connection check_scramble* do_auth_once *password_authenticate*
         caching_sha2_password_* sha2_password::* server_mpvio_* acl_check_host find_mpvio_user Acl_* acl_* Security_context::*",
    ),
    (
        Of(PROTOCOL),
        "my_net_* net_* Protocol* vio_* select_send::* Query_result_send::* THD::send_* my_eof",
    ),
    (
        Of(CONNECTION),
        "thd_prepare_connection CONNECT::* THD::THD THD::init* THD::~THD THD::cleanup THD::release_resources THD::change_user
         THD::free_connection THD::reset_for_reuse THD::store_globals close_connection end_connection unlink_thd
         create_thread_to_handle_connection one_thread_per_connection_end thd_init_client_charset plugin_thdvar_*
         Session_*tracker* Per_thread_connection_handler::* Connection_handler_manager::* Mysqld_socket_listener::*
         handle_connections_* handle_one_connection do_handle_one_connection handle_connection*",
    ),
    (Of(COMMIT), "THD::binlog_* THD::decide_logging_format"),
    (
        Of(EXECUTE),
        "mysql_execute_command Prepared_statement::* handle_select handle_query mysql_select execute_sqlcom_* JOIN::*
         sub_select* evaluate_join_record Sql_cmd_* Query_expression::* Query_block::* *Iterator::* mysql_insert mysql_update
         mysql_delete write_record fill_record* filesort mysql_stmt_* mysqld_stmt_* mysql_parse dispatch_sql_command
         Query_arena::* cleanup_items get_schema_tables_result",
    ),
    (Of(COMMANDS), "dispatch_command do_command"),
    (Of(BACKGROUND), "tpool::* mysqld_main"),
];

//! The code of the servers.

use super::names::*;
use super::rule::Cryptography::{Around, Cipher, Hashes};
use super::rule::Table;
use super::rule::Work::{For, Of};

/// InnoDB, the handler interface above it, and commits. Debian's MariaDB names none of InnoDB's functions, so what is
/// InnoDB's belongs to the handler's there.
pub(super) const INNODB: Table = &[
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

/// MySQL and MariaDB above the storage engine, from their exported and debug symbols (MySQL 5.6 and 9.7, MariaDB 10.2
/// to 11.8). Mid-level functions stand here, which keep their names over releases; what they call without a rule of
/// its own belongs to them.
pub(super) const MYSQL: Table = &[
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

/// MongoDB 6.0 and WiredTiger, from their symbols. Its functions are found by their classes, since many of them are
/// templates.
pub(super) const MONGODB: Table = &[
    (For(Hashes), "mongo::SHA*"),
    (
        For(Around),
        "asio::ssl::* mongo::SSL* mongo::*SSLManager*",
    ),
    (
        Of(LOGIN_REST),
        "mongo::*Sasl* mongo::*SCRAM* mongo::*Authenticat*",
    ),
    (
        Of(ACCESS_CONTROL),
        "mongo::Authorization* mongo::*Privilege* mongo::*ResourcePattern* mongo::auth::* mongo::User::*
         mongo::UserAcquisition* mongo::*checkAuthorization mongo::*doCheckAuthorization mongo::Authz* mongo::ActionSet*
         mongo::UserName* mongo::RoleName*",
    ),
    (
        Of(LOCKS),
        "mongo::latch_detail::* mongo::Lock::* mongo::Lock* mongo::*Locker* mongo::FlowControl* mongo::*TicketHolder*
         __wt_spin_* __wt_readlock __wt_readunlock __wt_writelock __wt_writeunlock __wt_cond_*",
    ),
    (
        Of(ALLOCATION),
        "mongo::*SharedBuffer* __wt_calloc __wt_malloc __wt_realloc* __wt_free* __wt_strdup* __wt_strndup",
    ),
    (
        Of(INSTRUMENTATION),
        "mongo::CurOp* mongo::OpDebug* mongo::Top::* mongo::AutoStatsTracker::* mongo::*LatencyTracker* mongo::logv2::*
         boost::log::* mongo::*StatusSection* mongo::*Metrics* mongo::*ServerStatus* mongo::Timer::*
         mongo::ResourceConsumption* mongo::endQueryOp mongo::DiagnosticInfo* mongo::recordCurOp* mongo::ProcessInfo* fmt::*
         __wt_stat*",
    ),
    (
        Of(COMMIT),
        "__wt_txn_* __txn_* __session_begin_transaction __session_commit_transaction __session_rollback_transaction __wt_log_*
         __log_* mongo::WiredTigerRecoveryUnit::* mongo::RecoveryUnit::* mongo::WiredTigerBeginTxnBlock*
         mongo::WriteUnitOfWork::* mongo::*OpObserver* mongo::repl::* mongo::JournalFlusher* mongo::waitForWriteConcern*
         mongo::*WriteConcern*",
    ),
    (
        Of(ENGINE),
        "__wt_* __curfile_* __curtable_* __cursor_* __session_* __config_* config_* __rec_* __evict_* __conn_* __split_*
         __sweep_* __ckpt_* __checkpoint_* __search_* __row_* __posix_* mongo::WiredTiger* mongo::*WiredTiger*
         mongo::KeyString::* mongo::SortedDataIndex* mongo::*RecordStore* mongo::StorageEngine* mongo::IndexCatalog*
         mongo::CollectionImpl::*",
    ),
    (
        Of(PLAN),
        "mongo::CanonicalQuery* mongo::getExecutor* mongo::*getClassicExecutor* mongo::*PrepareExecution*
         mongo::MatchExpression* mongo::QueryPlanner* mongo::fillOut* mongo::plan_cache* mongo::PlanCache*
         mongo::query_request_helper::* mongo::Parsed* mongo::*FindCommandRequest* mongo::*ExpressionContext*
         mongo::plan_executor_factory::* mongo::Projection*",
    ),
    (
        Of(QUERY),
        "mongo::PlanExecutor* mongo::*Stage::* mongo::*FindCmd* mongo::WorkingSet* mongo::*Update* mongo::*Insert*
         mongo::*insert* mongo::write_ops* mongo::*Delete* mongo::AutoGet* mongo::CollectionCatalog* mongo::DatabaseHolder*
         mongo::Collection*",
    ),
    (
        Of(DOCUMENTS),
        "mongo::BSON* mongo::*BSONObj* mongo::BasicBufBuilder* mongo::OpMsg* mongo::IDL* mongo::*::parseProtected
         mongo::Value::* mongo::Document* mongo::mutablebson::* mongo::BtreeKeyGenerator* mongo::rpc::* mongo::*validateBSON*
         mongo::StringData*",
    ),
    (
        Of(PROTOCOL),
        "asio::* mongo::transport::*ASIO* mongo::transport::*Session*::* mongo::*sourceMessage* mongo::*sinkMessage*
         mongo::Message* mongo::DbResponse*",
    ),
    (
        Of(CONNECTION),
        "mongo::*launchServiceWorkerThread mongo::ServiceContext::makeClient* mongo::Client::Client mongo::Client::~Client
         mongo::ServiceEntryPointImpl::* mongo::Client::initThread* mongo::transport::ServiceStateMachine::*cleanup*
         mongo::ThreadSafetyContext*",
    ),
    (
        Of(COMMANDS),
        "mongo::*ServiceEntryPoint* mongo::*ExecCommandDatabase* mongo::*RunCommand* mongo::*executeCommand*
         mongo::*receivedCommands* mongo::CommandHelpers::* mongo::Command* mongo::OperationContext* mongo::ServiceContext::*
         mongo::Client::* mongo::Decoration* mongo::APIParameters* mongo::OperationSessionInfo* mongo::initialize*
         mongo::transport::ServiceStateMachine::* mongo::transport::* mongo::*ServiceStateMachine*",
    ),
    (
        Of(BACKGROUND),
        "mongo::BackgroundJob::* mongo::ThreadPool::* mongo::BackgroundThreadClockSource* mongo::*PeriodicRunner*
         mongo::*Thread*::run",
    ),
];

/// PostgreSQL, from its exported symbols (15 and 18). Its static functions have none, so mid-level functions stand
/// here.
pub(super) const POSTGRESQL: Table = &[
    (For(Around), "be_tls_* secure_open_server"),
    (
        Of(LOGIN_REST),
        "ClientAuthentication CheckSASLAuth hba_* load_hba load_ident InitializeSessionUserId",
    ),
    (
        Of(ALLOCATION),
        "palloc* pfree repalloc* MemoryContext* AllocSet* GenerationContext* Generation* SlabContext* Slab* Bump* pstrdup",
    ),
    (
        Of(LOCKS),
        "LWLock* LockAcquire* LockRelease* LockRelation* UnlockRelation* ProcSleep ProcLock* ProcReleaseLocks PGSemaphore*
         ConditionVariable*",
    ),
    (
        Of(INSTRUMENTATION),
        "pgstat_* InstrStart* InstrStop* pg_stat_* set_ps_display* update_process_title*",
    ),
    (
        Of(PARSE),
        "raw_parser base_yyparse core_yylex pg_parse_query",
    ),
    (
        Of(OPTIMISE),
        "parse_analyze_* pg_analyze_and_rewrite_* pg_rewrite_query QueryRewrite transform* pg_plan_quer* standard_planner
         subquery_planner query_planner GetCachedPlan CompleteCachedPlan CreateCachedPlan ReleaseCachedPlan DropCachedPlan",
    ),
    (
        Of(COMMIT),
        "CommitTransactionCommand StartTransactionCommand AbortCurrentTransaction PreCommit_* AtEOXact_* AtStart_* XLog*
         RecordTransaction* GetTransactionSnapshot GetSnapshotData ResourceOwner* finish_xact_command XactLockTable* ProcArray*
         TransactionId* SetCurrentStatementStartTimestamp",
    ),
    (
        Of(TABLES),
        "relation_open* relation_close table_open* table_close index_open index_close RelationIdGetRelation RelationClose
         RelationGetIndex* RangeVarGetRelid* SearchSysCache* SearchCatCache* ReleaseSysCache ReleaseCatCache GetSysCacheOid
         ExecCheckRT* ExecCheckPerm* ExecCheckOneRelPerms pg_class_acl* systable_* ReceiveSharedInvalidMessages
         AcceptInvalidationMessages SIGetDataEntries Relation*",
    ),
    (
        Of(ENGINE),
        "index_* heap_* heapam_* _bt_* bt* ReadBuffer* ReleaseBuffer* StartReadBuffer* ReleaseAndReadBuffer MarkBufferDirty*
         BufTable* Buf* LockBuffer* UnpinBuffer* UnlockReleaseBuffer FlushBuffer* smgr* md* toast_* Page* visibilitymap_* Heap*",
    ),
    (
        Of(PROTOCOL),
        "pq_* secure_* ReadyForQuery EndCommand* SendRowDescription* printtup* SendFunctionCall OutputFunctionCall*
         ReceiveFunctionCall OidReceiveFunctionCall WaitEventSet* ProcessClient*",
    ),
    (
        Of(CONNECTION),
        "InitPostgres InitProcess* InitPostmasterChild InitCatalogCache* proc_exit* shmem_exit __run_exit_handlers _dl_*
         ld-linux*!* BackendStartup BackendInitialize BackendMain ServerLoop StartChildProcess postmaster_child_launch
         fork_process __libc_fork fork BaseInit ApplySetting process_settings SetConfigOption set_config_option* libxml2*!*
         libsasl2*!* libkeyutils*!* libldap*!* libkrb5*!* __cxa_finalize",
    ),
    (
        Of(EXECUTE),
        "Exec* standard_Executor* Portal* CreatePortal PreparePortal FetchPreparedStatement StorePreparedStatement
         CreateQueryDesc FreeQueryDesc FreeExecutorState CreateExecutorState MakeTupleTableSlot slot_* ProcessQuery
         ProcessUtility* standard_ProcessUtility FunctionCall* BuildParam* tuplesort_*",
    ),
    (Of(COMMANDS), "PostgresMain"),
    (
        Of(BACKGROUND),
        "BackgroundWriterMain CheckpointerMain WalWriterMain AutoVac* *AutoVacLauncherMain StartAutoVac* IoWorkerMain
         BackgroundWorkerMain ParallelWorkerMain PostmasterMain",
    ),
];

//! PostgreSQL, from its exported symbols (15 and 18). Its static functions have none, so mid-level functions stand here.

use super::names::*;
use super::phase::Cryptography::Around;
use super::rule::Table;
use super::rule::Work::{For, Of};

pub(super) const TABLE: Table = &[
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

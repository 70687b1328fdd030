//! MongoDB 6.0 and WiredTiger, from their symbols. Its functions are found by their classes, since many of them are templates.

use super::names::*;
use super::phase::Cryptography::{Around, Hashes};
use super::rule::Table;
use super::rule::Work::{For, Of};

pub(super) const TABLE: Table = &[
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

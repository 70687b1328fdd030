//! What a study is, as validated types.
//!
//! Nothing here opens a socket or reads a clock: a [`Study`] comes from TOML.

mod agent_address;
pub mod arm;
mod at_rest;
mod authentication;
mod budget;
mod certificate;
mod cipher;
mod columns;
pub mod command;
mod contradictions;
mod counter_command;
mod dataset;
mod file;
mod link;
mod load;
pub mod metric;
mod nearest;
mod pgbench;
mod pooler;
mod probe;
mod problem;
mod profiling;
mod published;
mod removed;
mod replica_set;
mod secret;
mod server_cpu;
mod server_spec;
mod sqlcipher;
mod storage;
pub mod study;
mod tls;
pub mod tpcc;
mod transport;
mod tunnel;
mod variants;
pub mod workload;
mod ycsb;
mod ycsb_fields;

pub use agent_address::{AgentAddress, AgentAddressError, SshAddress};
pub use arm::Arm;
pub use at_rest::{AtRest, AtRestAlgorithm, AtRestPart, ColumnFunctions, FileSystem};
pub use authentication::{Authentication, AuthenticationMethod, PasswordCache};
pub use budget::Budget;
pub use certificate::{Certificate, CertificateKind};
pub use columns::{
    CellAlgorithm, CellEncoding, CellFormat, CellMode, ColumnEncryption, ColumnFeature, ColumnSelection,
    Decrypt,
};
pub use command::{Command, Counts};
pub use counter_command::CounterCommand;
pub use dataset::{Dataset, Distribution};
pub use file::StudyText;
pub use link::{Distances, Link};
pub use load::{Load, Pace};
pub use metric::{Direction, Metric};
pub use nearest::{nearest, unknown};
pub use pgbench::Pgbench;
pub use pooler::{PoolMode, Pooler};
pub use probe::{Perturbation, Probe, ProbeValue};
pub use problem::{Position, StudyError, StudyProblem};
pub use profiling::Profiling;
pub use published::{Published, PublishedFigure};
pub use removed::removed;
pub use replica_set::{ReadPreference, ReplicaSet};
pub use secret::Secret;
pub use server_cpu::CpuCounter;
pub use server_spec::ServerSpec;
pub use sqlcipher::SqlCipher;
pub use storage::{FlushMethod, Storage};
pub use study::{Cell, Placement, Precision, Study};
pub use tls::{Group, Resumption, TlsLibrary, TlsNegotiation, TlsSettings, VerificationMode};
pub use tpcc::{Isolation, StatementKind, Tpcc, TpccWeights};
pub use transport::{TlsVersion, Transport};
pub use tunnel::{SshCipher, Tunnel};
pub use workload::Workload;
pub use ycsb::{RequestDistribution, YcsbMix, YcsbTable};

//! What a study is, as validated types.
//!
//! Nothing here opens a socket or reads a clock: a [`Study`] comes from TOML.

pub mod arm;
mod at_rest;
mod authentication;
mod certificate;
mod cipher;
pub mod command;
mod contradictions;
mod dataset;
mod file;
mod link;
mod load;
pub mod metric;
mod nearest;
mod pgbench;
mod pooler;
mod problem;
mod published;
mod replica_set;
mod secret;
mod server_spec;
mod storage;
pub mod study;
mod tls;
mod transport;
mod tunnel;
mod variants;
pub mod workload;
mod ycsb;

pub use arm::Arm;
pub use at_rest::{AtRest, AtRestAlgorithm, AtRestPart, ColumnFunctions, FileSystem};
pub use authentication::{Authentication, AuthenticationMethod, PasswordCache};
pub use certificate::{Certificate, CertificateKind};
pub use command::{Command, Counts};
pub use dataset::{Dataset, Distribution};
pub use file::StudyText;
pub use link::{Link, LinkKind};
pub use load::{Load, Pace};
pub use metric::{Direction, Metric};
pub use nearest::nearest;
pub use pgbench::Pgbench;
pub use pooler::{PoolMode, Pooler};
pub use problem::{Position, StudyError, StudyProblem};
pub use published::{Published, PublishedFigure};
pub use replica_set::{ReadPreference, ReplicaSet};
pub use secret::Secret;
pub use server_spec::ServerSpec;
pub use storage::{FlushMethod, Storage};
pub use study::{Cell, Placement, Precision, Study};
pub use tls::{Group, Resumption, TlsLibrary, TlsNegotiation, TlsSettings, VerificationMode};
pub use transport::{TlsVersion, Transport};
pub use tunnel::{SshCipher, Tunnel};
pub use workload::Workload;
pub use ycsb::{RequestDistribution, YcsbMix, YcsbTable};

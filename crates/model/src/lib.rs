//! What a study is, as validated types.
//!
//! Nothing here opens a socket or reads a clock: a [`Study`] comes from TOML.

pub mod arm;
mod at_rest;
mod authentication;
mod budget;
mod columns;
mod dataset;
mod file;
pub mod load;
pub mod metric;
mod network;
mod probe;
mod problem;
mod profiling;
mod refusal;
mod rules;
mod server;
mod server_cpu;
mod storage;
pub mod study;
mod tls;
pub mod tpcc;
pub mod workload;

use strum::VariantArray;

pub use arm::Arm;
pub use at_rest::{AtRest, AtRestAlgorithm, AtRestPart, ColumnFunctions, FileSystem};
pub use authentication::{Authentication, AuthenticationMethod, Certificate, CertificateKind, PasswordCache};
pub use budget::{Budget, Published, PublishedFigure};
pub use columns::{
    CellAlgorithm, CellEncoding, CellFormat, CellMode, ColumnEncryption, ColumnFeature, ColumnSelection,
    Decrypt,
};
pub use dataset::{Dataset, Distribution, Pgbench, RequestDistribution, YcsbMix, YcsbTable};
pub use file::StudyText;
pub use load::{Command, Counts, Load, Pace};
pub use metric::Metric;
pub use network::{Distances, Link, PoolMode, Pooler, PoolerProgram, SshCipher, Tunnel};
pub use probe::{Perturbation, Probe, ProbeValue};
pub use problem::{Position, StudyError, StudyProblem, nearest, removed, unknown};
pub use profiling::Profiling;
pub use refusal::{Refusal, by_reason, refuse_if};
pub use server::{ReadPreference, ReplicaSet, ServerSpec};
pub use server_cpu::{AgentAddress, AgentAddressError, CounterCommand, CpuCounter, SshAddress};
pub use storage::{FlushMethod, SqlCipher, Storage};
pub use study::{Answer, Cell, Placement, Precision, Study};
pub use tls::{
    Group, Resumption, TlsLibrary, TlsNegotiation, TlsSettings, TlsVersion, Transport, VerificationMode,
};
pub use tpcc::{Isolation, StatementKind, Tpcc, TpccWeights};
pub use workload::Workload;

/// True for what nobody has to write into a study.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Every variant, in the order in which they are written; `N` is how many there are.
pub(crate) const fn all<T: VariantArray + Copy, const N: usize>() -> [T; N] {
    match T::VARIANTS.first_chunk() {
        Some(all) if T::VARIANTS.len() == N => *all,
        _ => panic!("another number of variants"),
    }
}

//! The metrics a comparison is made of.

use ciphertax_base::Direction;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::load::Pace;
use crate::workload::Workload;

/// What is compared between an arm and the baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[derive(strum::Display, strum::IntoStaticStr)]
pub enum Metric {
    /// User and system time of the client's load threads, or of the program that is the load, per operation.
    #[strum(serialize = "client CPU per operation")]
    ClientCpuPerOp,
    /// User and system time of the server, of all its processes where it has several, per operation.
    #[strum(serialize = "server CPU per operation")]
    ServerCpuPerOp,
    /// The same over the whole round, what the server does between its slices included, divided by the operations of its
    /// slices. Only where every arm has a server of its own because arms differ at rest.
    #[strum(serialize = "server CPU per operation, whole round")]
    ServerCpuRoundPerOp,
    /// User and system time, over the whole round, of those that work for the file system under the server's folder alone: a
    /// daemon, the journal's thread. None where it has none of its own.
    #[strum(serialize = "file system CPU per operation, whole round")]
    FileSystemCpuPerOp,
    /// Both together: all CPU time that is known to be the server's. Where no arm's file system has anybody of its own it is
    /// left out, since the server's alone says the same.
    #[strum(serialize = "server and file system CPU per operation, whole round")]
    ServerAndFileSystemCpuPerOp,
    /// User and system time of all the kernel's workers, whomever they work for, in the arm's turn: its slice, and the quiet
    /// phase after it. No clock says whose work they do, so it is never added to the server's.
    #[strum(serialize = "kernel workers' CPU per operation, in the arm's turn")]
    KernelWorkersCpuPerOp,
    /// Bytes that the server gave to storage over the whole round, per operation.
    #[strum(serialize = "bytes written to storage per operation, whole round")]
    StorageWrittenPerOp,
    /// Bytes that the server fetched from storage over the whole round, per operation.
    #[strum(serialize = "bytes read from storage per operation, whole round")]
    StorageReadPerOp,
    /// User and system time of the processes of the arm's tunnel, per operation. The baseline may have none, so it is
    /// measured and not compared.
    #[strum(serialize = "tunnel CPU per operation")]
    TunnelCpuPerOp,
    /// User and system time of the arm's pooler, per operation; measured and not compared either.
    #[strum(serialize = "pooler CPU per operation")]
    PoolerCpuPerOp,
    /// User and system time of the relay that encrypts cells in the server's place, per operation: a part of the server's.
    #[strum(serialize = "column relay CPU per operation, part of the server's")]
    ColumnRelayCpuPerOp,
    /// Cells that the client encrypted and decrypted, per operation; measured and not compared.
    #[strum(serialize = "encrypted cells per operation")]
    CellsPerOp,
    /// Instructions that the client's load threads completed, in programs and in the kernel, per operation. As of all counters of
    /// the CPU, only where it shows them.
    #[strum(serialize = "client instructions per operation")]
    ClientInstructionsPerOp,
    /// The same of the server, of all its processes where it has several.
    #[strum(serialize = "server instructions per operation")]
    ServerInstructionsPerOp,
    /// Cycles of the CPU that the client's load threads took, per operation: unlike CPU time they do not follow its frequency.
    #[strum(serialize = "client cycles per operation")]
    ClientCyclesPerOp,
    /// The same of the server.
    #[strum(serialize = "server cycles per operation")]
    ServerCyclesPerOp,
    /// Operations per second of a slice's measured time.
    #[strum(serialize = "throughput")]
    Throughput,
    /// Arithmetic mean of the latencies.
    #[strum(serialize = "mean latency")]
    LatencyMean,
    /// Median latency.
    #[strum(serialize = "median latency")]
    LatencyP50,
    /// 95th percentile of the latency.
    #[strum(serialize = "p95 latency")]
    LatencyP95,
    /// 99th percentile of the latency.
    #[strum(serialize = "p99 latency")]
    LatencyP99,
    /// Arithmetic mean of the response times in open loop: from when an operation should have begun to its end.
    #[strum(serialize = "mean response time")]
    ResponseMean,
    /// Median response time in open loop.
    #[strum(serialize = "median response time")]
    ResponseP50,
    /// 95th percentile of the response time in open loop.
    #[strum(serialize = "p95 response time")]
    ResponseP95,
    /// 99th percentile of the response time in open loop.
    #[strum(serialize = "p99 response time")]
    ResponseP99,
    /// Bytes on the wire in both directions, per operation, above TCP.
    #[strum(serialize = "bytes per operation")]
    BytesPerOp,
    /// Arithmetic mean of the time that a new connection takes until it is logged in: all phases before the first query.
    #[strum(serialize = "mean time to connect")]
    ConnectMean,
    /// Arithmetic mean of the time of a new connection's first query.
    #[strum(serialize = "mean time of the first query")]
    FirstQueryMean,
    /// Arithmetic mean of both together, which is what a user waits for.
    #[strum(serialize = "mean time to the first query's answer")]
    TimeToFirstQueryMean,
}

impl Metric {
    /// Every metric that arms are compared by in a closed loop, in the order reports print them.
    pub const COMPARED: [Self; 8] = [
        Self::ClientCpuPerOp,
        Self::ServerCpuPerOp,
        Self::Throughput,
        Self::LatencyMean,
        Self::LatencyP50,
        Self::LatencyP95,
        Self::LatencyP99,
        Self::BytesPerOp,
    ];

    /// The same in open loop, where the throughput is given and latency counts from when an operation should have begun.
    pub const COMPARED_IN_OPEN_LOOP: [Self; 7] = [
        Self::ClientCpuPerOp,
        Self::ServerCpuPerOp,
        Self::ResponseMean,
        Self::ResponseP50,
        Self::ResponseP95,
        Self::ResponseP99,
        Self::BytesPerOp,
    ];

    /// What arms are compared by besides, where operations make connections.
    pub const COMPARED_OF_CONNECTS: [Self; 3] = [
        Self::ConnectMean,
        Self::FirstQueryMean,
        Self::TimeToFirstQueryMean,
    ];

    /// What arms are compared by besides, where the CPU shows its counters.
    pub const COMPARED_OF_HARDWARE: [Self; 4] = [
        Self::ClientInstructionsPerOp,
        Self::ServerInstructionsPerOp,
        Self::ClientCyclesPerOp,
        Self::ServerCyclesPerOp,
    ];

    /// What the server's side pays in CPU time; the first of them that a cell has says most.
    pub const SERVER_CPU: [Self; 3] = [
        Self::ServerAndFileSystemCpuPerOp,
        Self::ServerCpuRoundPerOp,
        Self::ServerCpuPerOp,
    ];

    /// What arms are compared by besides, where each has a server of its own because they differ at rest: in the order reports
    /// print them.
    pub const COMPARED_OF_ROUNDS: [Self; 6] = [
        Self::ServerCpuRoundPerOp,
        Self::FileSystemCpuPerOp,
        Self::ServerAndFileSystemCpuPerOp,
        Self::KernelWorkersCpuPerOp,
        Self::StorageWrittenPerOp,
        Self::StorageReadPerOp,
    ];

    /// CPU time of what stands between an arm's clients and the server: measured, and compared with nobody's.
    pub const OF_WHAT_IS_BETWEEN: [Self; 2] = [Self::TunnelCpuPerOp, Self::PoolerCpuPerOp];

    /// What an arm measures by itself, and is compared with nobody's: what stands between, what is a part of the server's CPU time, and
    /// what is no time at all.
    pub const MEASURED_ALONE: [Self; 4] = [
        Self::TunnelCpuPerOp,
        Self::PoolerCpuPerOp,
        Self::ColumnRelayCpuPerOp,
        Self::CellsPerOp,
    ];

    /// What arms are compared by for each kind of operation, where a workload has several.
    pub const COMPARED_BY_KIND: [Self; 2] = [Self::LatencyMean, Self::LatencyP95];

    /// The same where the kinds are whole transactions, each with a response time of its own to hold.
    pub const COMPARED_BY_TRANSACTION: [Self; 4] = [
        Self::LatencyMean,
        Self::LatencyP50,
        Self::LatencyP95,
        Self::LatencyP99,
    ];

    /// What arms are compared by for each kind of operation of a workload.
    pub const fn compared_by_kind(workload: Workload) -> &'static [Self] {
        match workload {
            Workload::Tpcc => &Self::COMPARED_BY_TRANSACTION,
            _ => &Self::COMPARED_BY_KIND,
        }
    }

    /// Every metric that arms are compared by at this pace, in the order reports print them.
    pub fn compared(pace: Pace) -> &'static [Self] {
        match pace {
            Pace::Closed | Pace::Batch { .. } => &Self::COMPARED,
            Pace::Open { .. } => &Self::COMPARED_IN_OPEN_LOOP,
        }
    }

    /// The fraction of a percentile; `None` for other metrics.
    pub fn quantile(self) -> Option<f64> {
        match self {
            Self::LatencyP50 | Self::ResponseP50 => Some(0.50),
            Self::LatencyP95 | Self::ResponseP95 => Some(0.95),
            Self::LatencyP99 | Self::ResponseP99 => Some(0.99),
            _ => None,
        }
    }

    /// The metric of speed that `precision.throughput` of a study is about.
    pub fn speed(pace: Pace) -> Self {
        match pace {
            Pace::Closed | Pace::Batch { .. } => Self::Throughput,
            Pace::Open { .. } => Self::ResponseMean,
        }
    }

    /// The unit of the values of this metric in records and reports.
    pub fn unit(self) -> &'static str {
        match self {
            cpu if cpu.is_cpu() => "us/op",
            Self::Throughput => "op/s",
            Self::CellsPerOp => "cells/op",
            Self::ClientInstructionsPerOp | Self::ServerInstructionsPerOp => "instructions/op",
            Self::ClientCyclesPerOp | Self::ServerCyclesPerOp => "cycles/op",
            Self::LatencyMean | Self::LatencyP50 | Self::LatencyP95 | Self::LatencyP99 => "us",
            Self::ResponseMean | Self::ResponseP50 | Self::ResponseP95 | Self::ResponseP99 => "us",
            Self::ConnectMean | Self::FirstQueryMean | Self::TimeToFirstQueryMean => "us",
            _ => "bytes/op",
        }
    }

    /// The name a reader sees.
    pub fn label(self) -> &'static str {
        self.into()
    }

    /// Which way this metric moves when a feature costs something.
    pub fn direction(self) -> Direction {
        match self {
            Self::Throughput => Direction::LowerCosts,
            _ => Direction::HigherCosts,
        }
    }

    /// True for what is paid in work of a CPU: its time, instructions and cycles.
    pub fn is_work(self) -> bool {
        self.is_cpu() || self.is_of_hardware()
    }

    /// True for what the CPU itself counts.
    pub fn is_of_hardware(self) -> bool {
        Self::COMPARED_OF_HARDWARE.contains(&self)
    }

    /// True for metrics of CPU time, which stay meaningful when client and server share their CPUs.
    pub fn is_cpu(self) -> bool {
        matches!(
            self,
            Self::ClientCpuPerOp
                | Self::ServerCpuPerOp
                | Self::ServerCpuRoundPerOp
                | Self::FileSystemCpuPerOp
                | Self::ServerAndFileSystemCpuPerOp
                | Self::KernelWorkersCpuPerOp
                | Self::TunnelCpuPerOp
                | Self::PoolerCpuPerOp
                | Self::ColumnRelayCpuPerOp
        )
    }
}

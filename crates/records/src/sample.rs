//! One line of `samples.jsonl`: what a slice yielded and what it took.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::AddAssign;

use ciphertax_base::CpuTime;
use ciphertax_stats::HistogramText;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::why::Look;
use ciphertax_base::{AuthenticationFacts, DeviceUse, HardwareCounts, PageFaults, Phase, Pressure};

/// What one slice of one arm in one cell yielded. Void slices are recorded too, with their reason. On disk the fields of all
/// parts stand side by side.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Sample {
    /// Which slice.
    #[serde(flatten)]
    pub slice: SliceId,
    /// Start, in nanoseconds since the run began.
    pub start_ns: u64,
    /// What the load yielded, and what it took the load generator.
    #[serde(flatten)]
    pub load: Yield,
    /// What the server's side and the machine took meanwhile.
    #[serde(flatten)]
    pub server: ServerSide,
    /// The quiet phase before it, until the other arms' servers stood still; absent where arms do not differ at rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet: Option<QuietPhase>,
    /// True if the server of another arm wrote or worked while it ran; seen where arms differ at rest.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub others_worked: bool,
    /// Bytes of the server's files that stayed in the kernel's memory when that was to forget them before the slice, since
    /// somebody wrote or mapped them; absent where nothing was to be forgotten.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_cached: Option<u64>,
    /// How it was looked into, which costs the server CPU time: such slices say why, others what it costs. Absent for one that
    /// was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub look: Option<Look>,
    /// Why the slice does not count; absent for a valid slice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub void: Option<VoidReason>,
}

impl Sample {
    /// True if the slice counts.
    pub fn is_valid(&self) -> bool {
        self.void.is_none()
    }

    /// True if it began or ran while another arm's server wrote or worked, which may have slowed it down. What its own server
    /// used is not touched by that, so it counts and is marked.
    pub fn is_disturbed(&self) -> bool {
        self.others_worked || self.quiet.is_some_and(|quiet| !quiet.is_still)
    }

    /// When it ended, in nanoseconds since the run began.
    pub fn end_ns(&self) -> u64 {
        self.start_ns.saturating_add(self.load.duration_ns)
    }
}

/// A time in which nobody was asked anything, until the servers had stood still for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct QuietPhase {
    /// How long it was, in nanoseconds.
    pub waited_ns: u64,
    /// True if they stood still at its end; false if the longest time was spent in vain.
    pub is_still: bool,
}

/// Which slice of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SliceId {
    /// Name of the cell.
    pub cell: String,
    /// Number of the block in its cell, from 0.
    pub block: u32,
    /// Position of the slice in its block, from 0.
    pub position: u32,
    /// Name of the arm.
    pub arm: String,
}

/// What a load yielded in a slice, and what the load generator took for it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Yield {
    /// From the first request sent to the last answer received, in nanoseconds.
    pub duration_ns: u64,
    /// Operations by kind.
    pub operations: Vec<OperationSample>,
    /// CPU time of the client's load threads, or of the program that is the load.
    pub client_cpu: CpuTime,
    /// Bytes written to sockets, above TCP.
    pub bytes_sent: u64,
    /// Bytes read from sockets, above TCP.
    pub bytes_received: u64,
    /// Context switches of the load threads, voluntary and involuntary.
    pub client_context_switches: u64,
    /// How long the load threads could have run but waited for a CPU, all together, in nanoseconds; absent where the kernel
    /// does not say, and for a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_run_queue_wait_ns: Option<u64>,
    /// Page faults of the load threads; absent for a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_page_faults: Option<PageFaults>,
    /// Instructions and cycles of the load threads; absent where the CPU shows no counters, and for a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_hardware: Option<HardwareCounts>,
    /// The most memory that ciphertax itself has had so far, at the end of the slice, in bytes; absent for a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_peak_memory_bytes: Option<u64>,
    /// Load threads that ran, which is the number of CPUs the client may use.
    pub workers: u32,
    /// Logins by method and path, written `method/path`.
    #[serde(
        default,
        with = "crate::connection::by_login",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub logins: BTreeMap<AuthenticationFacts, u64>,
    /// TLS handshakes of the connects made; absent where there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handshakes: Option<Handshakes>,
    /// Statements answered, all operations together.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub queries: u64,
    /// Times an operation was begun anew because the server gave up on it, as in a deadlock.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub restarts: u64,
    /// What the workload counts besides, by the names of its [descriptor](ciphertax_model::workload::Descriptor::counts); without
    /// those of which there are none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counts: BTreeMap<String, u64>,
    /// Phases of the connects made in the slice; empty where connections are reused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<PhaseSample>,
    /// How the schedule was kept; absent in a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_loop: Option<OpenLoopSample>,
    /// True if the load threads used more than 85 % of the CPUs they may use: throughput and latency are then the
    /// client's figures, not the server's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub client_bound: bool,
    /// What each load generator did, where several made the load.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranks: Vec<RankShare>,
}

/// What one of several load generators did in a slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankShare {
    /// Its number, from 0.
    pub rank: u32,
    /// Operations that succeeded.
    pub operations: u64,
    /// CPU time of its load threads.
    pub client_cpu: CpuTime,
    /// True if it was the bottleneck, as in [`Yield::client_bound`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub client_bound: bool,
    /// When it began, in nanoseconds after the first of them, by the conductor's clock.
    pub began_after_ns: u64,
    /// When it ended, likewise.
    pub ended_after_ns: u64,
    /// The most memory that it has had since it began, in bytes; absent where the system does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_peak_memory_bytes: Option<u64>,
}

impl Yield {
    /// Operations that succeeded, all kinds together.
    pub fn operation_count(&self) -> u64 {
        self.operations.iter().map(|kind| kind.count).sum()
    }

    /// Operations that failed, all kinds together.
    pub fn error_count(&self) -> u64 {
        self.operations.iter().map(|kind| kind.errors).sum()
    }

    /// The workload's own counts of these names; 0 of one that it does not have.
    pub fn counts_of<const N: usize>(&self, names: [&str; N]) -> [u64; N] {
        names.map(|name| self.counts.get(name).copied().unwrap_or(0))
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// What the server, its tunnel or pooler and the machine took in a slice.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ServerSide {
    /// CPU time of the server: of its process, or of all in its process tree, and of the relay that encrypts cells in its place
    /// (`column_relay_cpu`); absent where it cannot be seen.
    pub server_cpu: Option<CpuTime>,
    /// CPU time of each server that holds the same data, in nanoseconds, in the order in which they were started: of a cluster the first is
    /// the one that is asked. Together they are `server_cpu`. Null for one that was lost meanwhile; absent for a single server.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub server_cpu_of_each_ns: Vec<Option<u64>>,
    /// CPU time of the tunnel's processes, on both its sides; absent for an arm without a tunnel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tunnel_cpu: Option<CpuTime>,
    /// CPU time of the pooler; absent for an arm without a pooler.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pooler_cpu: Option<CpuTime>,
    /// CPU time of the relay that encrypts cells of results, or passes everything on for arms without, which is a part of
    /// `server_cpu`; absent without a relay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column_relay_cpu: Option<CpuTime>,
    /// Cells of results that the relay encrypted; absent without a relay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column_relay_cells: Option<u64>,
    /// Context switches of the server's threads; absent where they cannot be seen.
    pub server_context_switches: Option<u64>,
    /// How long the server's threads could have run but waited for a CPU, all together, in nanoseconds; absent where the
    /// kernel does not say, and where threads that did more than a tenth of the work ended within the slice, as they do
    /// where a server starts one for each connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_run_queue_wait_ns: Option<u64>,
    /// Page faults of the server; absent where they cannot be seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_page_faults: Option<PageFaults>,
    /// Instructions and cycles of the server; absent where its CPU shows no counters, or the kernel does not let this user have
    /// them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_hardware: Option<HardwareCounts>,
    /// The most memory that the server has had since it began, as of the end of the slice, in bytes; for a server of several
    /// processes the sum of theirs, in which what they share with others and with files counts once, as much as one of them
    /// has of it. Absent where it cannot be seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_peak_memory_bytes: Option<u64>,
    /// Bytes that the server fetched from storage, as the kernel has it in its account: not those that were in the kernel's
    /// page cache. Absent where they cannot be seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_bytes_read: Option<u64>,
    /// Bytes that the server gave to storage, or to the kernel's page cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_bytes_written: Option<u64>,
    /// Differences of the server's own counters over the slice.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub server_counters: BTreeMap<String, i64>,
    /// What the block device under the server's folder did, for whomever; absent for a server of the user's own, and where
    /// there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<DeviceUse>,
    /// How long somebody on this machine could not go on for want of something; absent where the kernel does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pressure: Option<Pressure>,
    /// CPU time that the hypervisor took from this machine, in nanoseconds, all CPUs together.
    pub steal_ns: u64,
    /// CPU time that nobody on this machine used, in nanoseconds, all CPUs together; absent where the kernel does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_idle_ns: Option<u64>,
}

/// TLS handshakes, and how many of them took up an earlier session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Handshakes {
    /// All of them.
    pub count: u64,
    /// Those in which the client offered to take up an earlier session.
    pub offered: u64,
    /// Those in which the server agreed.
    pub resumed: u64,
}

impl AddAssign for Handshakes {
    fn add_assign(&mut self, more: Self) {
        self.count += more.count;
        self.offered += more.offered;
        self.resumed += more.resumed;
    }
}

/// Operations of one kind in one slice.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct OperationSample {
    /// Kind of operation, for example `point_select`.
    pub kind: String,
    /// Operations that succeeded.
    pub count: u64,
    /// Operations that failed.
    pub errors: u64,
    /// Sum of the latencies in nanoseconds: with `count`, the exact mean.
    pub latency_sum_ns: u64,
    /// Latencies in nanoseconds, 3 significant digits, from 100 ns.
    pub latency: HistogramText,
}

/// How the schedule of an open loop was kept in one slice, all kinds of operations together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenLoopSample {
    /// Operations that should have begun, at even distances over the time of a slice.
    pub planned: u64,
    /// Those of them that had not begun ten seconds after the end of that time.
    pub not_begun: u64,
    /// Operations that began more than 10 ms late although a connection was free for them: the load generator's fault.
    pub late: u64,
    /// Sum over operations for which a connection was free: by how much they began too late, in nanoseconds.
    pub delay_sum_ns: u64,
    /// Sum of the response times in nanoseconds.
    pub response_sum_ns: u64,
    /// Response times in nanoseconds: from when an operation should have begun to its end.
    pub response: HistogramText,
}

/// One phase of the connects of a slice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PhaseSample {
    /// Which phase.
    pub phase: Phase,
    /// Connects that went through it.
    pub count: u64,
    /// Sum of the wall times in nanoseconds.
    pub wall_sum_ns: u64,
    /// Sum of the CPU times of the client's cryptography in nanoseconds; absent where the phase has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_cpu_sum_ns: Option<u64>,
    /// Sum of bytes sent.
    pub bytes_sent: u64,
    /// Sum of bytes received.
    pub bytes_received: u64,
    /// Sum of the flights: times the client had to wait for the server before it could go on.
    pub flights: u64,
    /// Wall times in nanoseconds.
    pub wall: HistogramText,
}

/// Why a slice does not count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum VoidReason {
    /// Operations failed.
    Errors {
        /// How many.
        count: u64,
        /// The first message.
        first: String,
    },
    /// A session negotiated something else than its arm says.
    FactsDiffer {
        /// What was expected and what was found.
        detail: String,
    },
    /// Not every cell of the columns that are named as encrypted was encrypted or decrypted.
    CellsDiffer {
        /// How many were, and how many there were.
        detail: String,
    },
    /// The server process ended or was replaced.
    ServerDied {
        /// What was seen.
        detail: String,
    },
    /// The arm's pooler ended.
    PoolerDied {
        /// Which, and what was seen.
        detail: String,
    },
    /// The relay that encrypts the arm's cells ended.
    ColumnRelayDied {
        /// What was seen.
        detail: String,
    },
    /// What reads the server's CPU on another machine could not be asked.
    AgentLost {
        /// What was seen.
        detail: String,
    },
    /// A load generator is gone.
    RankLost {
        /// Which, and what was seen.
        detail: String,
    },
    /// The load generators did not work at the same time.
    RanksApart {
        /// By how much.
        detail: String,
    },
    /// The hypervisor took more CPU time than the bound allows.
    Steal {
        /// Stolen share of all CPU time in the slice, as a fraction.
        fraction: f64,
    },
    /// No operation completed.
    Empty,
    /// Operations did not finish in time after the end of the slice.
    Stalled {
        /// What was waited for.
        detail: String,
    },
    /// The load was not the one that the study asks for.
    ScheduleMissed {
        /// By how much, and whose fault it is.
        detail: String,
    },
    /// The user stopped the run during the slice.
    Interrupted,
}

impl fmt::Display for VoidReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Errors { count: 1, first } => write!(f, "an operation failed: {first}"),
            Self::Errors { count, first } => write!(f, "{count} operations failed, the first with: {first}"),
            Self::FactsDiffer { detail } => write!(f, "a session is not what its arm says: {detail}"),
            Self::CellsDiffer { detail } => write!(f, "cells are not as their columns say: {detail}"),
            Self::ServerDied { detail } => write!(f, "the server died: {detail}"),
            Self::PoolerDied { detail } => write!(f, "the pooler died: {detail}"),
            Self::ColumnRelayDied { detail } => write!(f, "the relay that encrypts columns died: {detail}"),
            Self::AgentLost { detail } => write!(f, "the server's CPU could not be read: {detail}"),
            Self::RankLost { detail } => write!(f, "a load generator is lost: {detail}"),
            Self::RanksApart { detail } => {
                write!(f, "the load generators did not work at the same time: {detail}")
            }
            Self::Steal { fraction } => {
                write!(f, "the hypervisor took {:.0} % of the CPU time", fraction * 100.0)
            }
            Self::Empty => f.write_str("no operation completed"),
            Self::Stalled { detail } => write!(f, "operations did not finish: {detail}"),
            Self::ScheduleMissed { detail } => write!(f, "the schedule was missed: {detail}"),
            Self::Interrupted => f.write_str("interrupted by the user"),
        }
    }
}

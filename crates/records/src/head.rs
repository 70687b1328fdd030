//! What was asked, of which servers, and what they said of themselves.

use std::collections::BTreeMap;
use std::fmt;

use ciphertax_base::Host;
use ciphertax_model::{Arm, Link, Study, TlsVersion};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::storage::{DataSize, DiskRecord, LiesOn};
use ciphertax_base::{Proof, SessionFacts};

/// What was asked, where, and of whom: all that is known of a run besides its samples. Figures follow from both, and can be
/// made again at any time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Head {
    /// Who measured.
    pub tool: Tool,
    /// Where it was measured.
    pub host: Host,
    /// When it began, RFC 3339 in UTC.
    pub started: String,
    /// Whether it came to its end.
    pub status: RunStatus,
    /// The command that repeats it; passwords are left out.
    pub command: String,
    /// The user's own server as a URL without its password; absent for private ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Seed of the order of the slices.
    pub seed: u64,
    /// What was asked.
    pub study: Study,
    /// Which servers answered, in the order of the cells measured on them.
    pub servers: Vec<ServerRecord>,
    /// How every arm was run and proved; the first is the baseline, the second its repetition.
    pub arms: Vec<ArmRecord>,
    /// The data of every arm in every cell, once they were loaded; of private servers alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub data_sizes: Vec<DataSize>,
    /// Arms that the study asks about and that were not measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// The driver by which the kernel computes AES-XTS, as `/proc/crypto` names it; absent where no arm's files are encrypted by
    /// the kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_cipher: Option<String>,
    /// The load generators that made the load together; empty for a run that was alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranks: Vec<RankRecord>,
    /// Why none of its figures means anything: what its tables hold is not what was asked of them. Absent where they are what they
    /// must be, and where nobody can tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inconsistent: Option<String>,
    /// Why the run was not looked into as far as its study asks, and what would change that; absent where it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_explained: Option<String>,
}

impl Head {
    /// A run of which nothing is known yet but what is asked.
    pub fn begin(tool: Tool, host: Host, study: Study, command: String, seed: u64) -> Self {
        Self {
            tool,
            host,
            started: String::new(),
            status: RunStatus::Running,
            command,
            target: None,
            seed,
            study,
            servers: Vec::new(),
            arms: Vec::new(),
            data_sizes: Vec::new(),
            left_out: Vec::new(),
            kernel_cipher: None,
            ranks: Vec::new(),
            inconsistent: None,
            not_explained: None,
        }
    }

    /// What the study asks of an arm: of the repeated baseline what it asks of the baseline.
    pub fn asked(&self, arm: &ArmRecord) -> Option<&Arm> {
        match arm.role {
            ArmRole::Baseline | ArmRole::BaselineAgain => self.study.arms.first(),
            ArmRole::Variant => self.study.arm(&arm.name),
        }
    }

    /// True where there is no server: the database ran in its client, which paid for all of it.
    pub fn is_embedded(&self) -> bool {
        let is_embedded = |server: &ServerRecord| server.placement == ServerPlacement::Embedded;
        !self.servers.is_empty() && self.servers.iter().all(is_embedded)
    }

    /// The arm all others are compared with; `None` before it was run.
    pub fn baseline(&self) -> Option<&ArmRecord> {
        self.arms.iter().find(|arm| arm.role == ArmRole::Baseline)
    }

    /// How an arm was run and proved, by its name.
    pub fn arm(&self, name: &str) -> Option<&ArmRecord> {
        self.arms.iter().find(|arm| arm.name == name)
    }

    /// The arms without the repeated baseline, of which there is nothing else to say than of the baseline.
    pub fn arms_once(&self) -> impl Iterator<Item = &ArmRecord> {
        self.arms.iter().filter(|arm| arm.role != ArmRole::BaselineAgain)
    }

    /// The arms that are compared with the baseline.
    pub fn variants(&self) -> impl Iterator<Item = &ArmRecord> {
        self.arms.iter().filter(|arm| arm.role == ArmRole::Variant)
    }
}

/// Who measured.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Tool {
    /// Always `ciphertax`.
    pub name: String,
    /// Release.
    pub version: String,
    /// Commit it was built from; `unknown` outside a checkout.
    pub commit: String,
}

/// One of several load generators.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RankRecord {
    /// Its number: 0 for the one that conducted.
    pub rank: u32,
    /// Its host.
    pub host: String,
    /// The CPUs it was bound to, as the kernel writes lists: `0-3,8`.
    pub cpus: String,
    /// How far its clock was ahead of the conductor's, in nanoseconds; 0 for those under the same kernel, who share it.
    pub clock_offset_ns: i64,
    /// By how much that may be wrong, in nanoseconds.
    pub clock_error_ns: u64,
}

/// Whether a run came to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum RunStatus {
    /// Still measuring, or ended without a word (killed).
    Running,
    /// Every cell reached its precision or the time was spent.
    Complete,
    /// Ended early; what was measured until then is reported.
    Partial {
        /// Why.
        reason: String,
    },
    /// Measured to the end, but something that was made for it is left.
    NotCleanedUp {
        /// What, why, and how to remove it.
        problem: String,
    },
}

impl RunStatus {
    /// True if it came to its end, whatever is left of what was made for it.
    pub fn is_at_end(&self) -> bool {
        matches!(self, Self::Complete | Self::NotCleanedUp { .. })
    }
}

/// Which server answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerRecord {
    /// What cells and sessions refer to it by.
    pub id: ServerId,
    /// What it is called in reports, unique in its run.
    pub name: String,
    /// The names of the cells that are measured on it. Of several servers of a cell, that of the baseline comes first in the
    /// run.
    pub cells: Vec<String>,
    /// `MariaDB`, `MySQL`, …
    pub product: String,
    /// The server's own version string.
    pub version: String,
    /// The server's TLS library, by its own word; empty where it does not say.
    pub tls_library: String,
    /// Started by ciphertax, or the user's own.
    pub placement: ServerPlacement,
    /// Where it listened, without credentials.
    pub address: String,
    /// True if it ran on the machine that made the load, so that both shared the CPUs.
    pub same_host: bool,
    /// What listens in its place and passes connections on; absent where it listens itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub through: Option<String>,
    /// Settings that matter, by the server's names.
    pub settings: BTreeMap<String, String>,
    /// Settings that sessions of ciphertax do not take over, since their statements would mean something else.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub overridden: BTreeMap<String, String>,
    /// Why its CPU time could not be read, and what would make it readable; absent where it was read,
    /// and where there is no server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_unread: Option<String>,
    /// What read its CPU time from another machine; absent where ciphertax saw its processes itself, or nobody did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_from: Option<CpuSource>,
    /// How it was kept at a distance; absent without one, and until the run has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkRecord>,
    /// Of several servers of the user's own that form one database, each with what it is, that which the load went to first.
    /// Absent for a single one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<MemberRecord>,
    /// What the folder of a private server lies on: whose use is in the samples, if it is a device. Absent for a server of the
    /// user's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lies_on: Option<LiesOn>,
}

impl ServerRecord {
    /// What is known of a server before it was asked.
    pub fn unseen(id: ServerId, name: &str, cells: Vec<String>) -> Self {
        Self {
            id,
            name: name.to_owned(),
            cells,
            product: String::new(),
            version: String::new(),
            tls_library: String::new(),
            placement: ServerPlacement::External,
            address: String::new(),
            same_host: false,
            through: None,
            settings: BTreeMap::new(),
            overridden: BTreeMap::new(),
            cpu_unread: None,
            cpu_from: None,
            link: None,
            members: Vec::new(),
            lies_on: None,
        }
    }
}

/// One of several servers that form one database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemberRecord {
    /// Where it listens.
    pub address: String,
    /// What it is among them, in its product's own word, or that it did not answer.
    pub role: String,
}

/// True if a server whose [`product`](ServerRecord::product) this is has MySQL's or MariaDB's code, and so their variables and
/// functions; not of others that speak their protocol.
pub fn is_of_mysqls_family(product: &str) -> bool {
    let product = product.to_lowercase();
    ["mysql", "mariadb", "percona"]
        .iter()
        .any(|name| product.contains(name))
}

/// What read a server's CPU time from another machine, and how exactly.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CpuSource {
    /// A ciphertax on the server's machine, which read the clocks of its processes.
    Agent(AgentRecord),
    /// A counter that somebody else keeps.
    Counter(CounterRecord),
}

/// A ciphertax on a server's machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentRecord {
    /// Where: `ssh://user@host`.
    pub address: String,
    /// Its release.
    pub version: String,
    /// The server's machine.
    pub host: Host,
    /// The name of the program that was found there and read.
    pub program: String,
    /// Readings so far.
    pub readings: u64,
    /// Median over the readings of the way there and back, in microseconds, without the agent's own time. A reading is placed in
    /// its middle, so half of it is by how much its time may be wrong.
    pub round_trip_us: f64,
    /// The longest of all.
    pub round_trip_max_us: f64,
    /// Share of one CPU that the server used while nobody asked it anything. What it does between a reading and the edge of the
    /// slice is billed to the slice: as long as a round trip, for each slice.
    pub quiet_cpu_share: f64,
    /// What share of the CPU time of the slices that is, as a fraction; absent until the run has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_share: Option<f64>,
    /// Why it does not look into the server, or sees less than the study asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_looked_into: Option<String>,
}

impl AgentRecord {
    /// CPU time billed to each slice that is not its own, in microseconds.
    pub fn error_us(&self) -> f64 {
        self.quiet_cpu_share * self.round_trip_us
    }
}

/// A counter of CPU time that somebody else keeps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CounterRecord {
    /// What prints it, without credentials.
    pub source: String,
    /// What it counts.
    pub counts: String,
    /// How far it lags behind, in seconds: readings wait for so long, and no slice is shorter than twice that.
    pub resolution_s: f64,
}

/// What kept a server, or its nodes, at a distance, and how exactly.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkRecord {
    /// The distances it had, each once, in the order of the cells.
    pub distances: Vec<Link>,
    /// The distances that its nodes had between them, each once, in the order of the cells.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub node_distances: Vec<Link>,
    /// Packets delivered, both directions together.
    pub packets: u64,
    /// Median over the packets of how much later than due they were handed to the receiving side, in microseconds.
    pub lateness_median_us: f64,
    /// 99th percentile of the same.
    pub lateness_p99_us: f64,
    /// The latest of all.
    pub lateness_max_us: f64,
    /// Packets dropped because the queue before a limited bandwidth was full, as a router drops them.
    pub dropped: u64,
}

/// Whose server it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ServerPlacement {
    /// Made, started and removed by ciphertax.
    Private,
    /// Given by URL.
    External,
    /// None: the database ran in its client, ciphertax itself.
    Embedded,
}

/// How an arm of the study was run and proved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArmRecord {
    /// Its name in the study; that of the repeated baseline is not in it.
    pub name: String,
    /// Its part in the comparison.
    pub role: ArmRole,
    /// What it was on each server it was measured on.
    pub sessions: Vec<SessionRecord>,
}

/// An arm that was not measured because the server cannot do what it asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    /// Its name in the study.
    pub arm: String,
    /// Why.
    pub reason: LeftOutReason,
}

/// Why an arm was not measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum LeftOutReason {
    /// The server does not offer the version of TLS that the arm is pinned to.
    TlsVersion {
        /// That version.
        lacks_tls: TlsVersion,
        /// The version it shakes hands by where none is asked for; absent where it has no TLS at all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        has: Option<String>,
    },
    /// There is no session by what the arm asks for besides, or with its TLS library, though there is by that version.
    TlsRefused {
        /// Why, and what can be done.
        tls_refused: String,
    },
    /// The server wants the password itself over plaintext, and nobody verified who would get it.
    PasswordWithheld {
        /// Why, and what can be done.
        password_withheld: String,
    },
}

impl fmt::Display for LeftOutReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TlsVersion { lacks_tls, has } => {
                write!(f, "the server does not offer {lacks_tls}")?;
                has.iter().try_for_each(|has| write!(f, ", it has {has}"))
            }
            Self::TlsRefused { tls_refused: why }
            | Self::PasswordWithheld {
                password_withheld: why,
            } => f.write_str(why),
        }
    }
}

/// What the sessions of an arm with one server were, and how that was proved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionRecord {
    /// The server.
    pub server_id: ServerId,
    /// Its name.
    pub server: String,
    /// The baseline's server, where the arm needed one of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside_id: Option<ServerId>,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<String>,
    /// The evidence that the arm is what it says.
    pub proofs: Vec<Proof>,
    /// Why the server does not prove what TLS the sessions have; absent if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unproved: Option<String>,
    /// What stays readable on the disk; absent where no arm of the study is about that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<DiskRecord>,
    /// What was negotiated.
    pub facts: SessionFacts,
}

/// The part of an arm in a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ArmRole {
    /// What all others are compared with.
    Baseline,
    /// The baseline once more: the noise floor.
    BaselineAgain,
    /// What the study asks about.
    Variant,
}

/// Which server of a run: a number, from 1 on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ServerId(String);

impl ServerId {
    /// That of the server of this number, from 1 on.
    pub fn numbered(number: usize) -> Self {
        Self(number.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn why_an_arm_was_left_out_is_said_and_read_back() {
        for (has, said) in [
            (
                Some("TLSv1.3".to_owned()),
                "the server does not offer TLSv1.1, it has TLSv1.3",
            ),
            (None, "the server does not offer TLSv1.1"),
        ] {
            let reason = LeftOutReason::TlsVersion {
                lacks_tls: TlsVersion::V1_1,
                has,
            };
            assert_eq!(reason.to_string(), said);
            let json = serde_json::to_string(&reason).unwrap();
            let found = serde_json::from_str::<LeftOutReason>(&json).unwrap();
            assert_eq!(found, reason, "{json}");
        }
    }
}

//! A study: which arms, which workloads, which load, how precise.

mod part;

use std::collections::HashSet;
use std::ops::RangeInclusive;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::arm::Arm;
use crate::at_rest::{AtRestPart, FileSystem};
use crate::authentication::{AuthenticationMethod, Certificate, CertificateKind};
use crate::budget::{Budget, Published};
use crate::columns::ColumnFeature;
use crate::dataset::{Dataset, Pgbench, YcsbMix, YcsbTable};
use crate::load::{Command, Load, Pace};
use crate::metric::Metric;
use crate::network::{Distances, Link};
use crate::profiling::Profiling;
use crate::server::{ReadPreference, ReplicaSet, ServerSpec};
use crate::server_cpu::{AgentAddress, CpuCounter};
use crate::storage::Storage;
use crate::tpcc::Tpcc;
use crate::workload::Workload;

/// The name of the arm that repeats the baseline in every block and so measures the noise floor.
pub const BASELINE_AGAIN: &str = "baseline again";

/// A study as its TOML file says it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// The name under which `ciphertax run` knows it.
    pub name: String,
    /// The question it answers, in one sentence.
    pub question: String,
    /// The shape of the answer: which sentence its headline is.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub answer: Answer,
    /// The private server that cells without one of their own are measured on, by its name in the catalogue.
    #[serde(default = "default_server")]
    pub server: String,
    /// The key of the private servers' certificates, where a cell or an arm has no other.
    #[serde(default)]
    pub certificate: CertificateKind,
    /// Certificates that a private server sends: 1 for its own alone, more for intermediate authorities above it.
    #[serde(default = "default_chain_length")]
    pub chain_length: u8,
    /// The distance to the server, where a cell has no other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<Link>,
    /// How precise the answer must be.
    #[serde(default)]
    pub precision: Precision,
    /// The time that may be spent measuring, in seconds.
    pub time_s: f64,
    /// Length of a slice in seconds; a batch takes as long as it takes. `None` for one that is as short as the load bears, at most
    /// [`Study::SHORT_SLICE_S`]; [`Study::LONG_SLICE_S`] where arms differ at rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slice_s: Option<f64>,
    /// Where the threads of a private server and of its load run. A server of the user's own is left where it is.
    /// Links, tunnels and poolers have processes of their own, which need a CPU of their own: they want `free`.
    #[serde(default)]
    pub placement: Placement,
    /// How far some blocks are looked into, to say why.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub profile: Profiling,
    /// A ciphertax on the machine of a server of the user's own, which reads the clocks of its processes there:
    /// `ssh://user@host`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// What tells the CPU time of a server of the user's own on whose machine nobody can log in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_cpu: Option<CpuCounter>,
    /// The tables of the `oltp` workloads.
    #[serde(default)]
    pub dataset: Dataset,
    /// The table of the `ycsb` workloads.
    #[serde(default)]
    pub ycsb: YcsbTable,
    /// The tables of the `pgbench` workloads.
    #[serde(default)]
    pub pgbench: Pgbench,
    /// The tables of the workload `tpcc`, and its mix.
    #[serde(default)]
    pub tpcc: Tpcc,
    /// The replica set that private MongoDB servers form, where a cell has no other; `None` for single servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replica_set: Option<ReplicaSet>,
    /// How many nodes private MariaDB servers (Galera) and MySQL servers (group replication) have, where a cell does not say: 1 for
    /// single servers, or 3 or 5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<u8>,
    /// The distance between the servers of a cluster or a replica set, where a cell has no other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_link: Option<Link>,
    /// Which member of a replica set is read from, where a cell does not say.
    #[serde(default)]
    pub read_preference: ReadPreference,
    /// Memory and writing of private servers, where a cell has no others.
    #[serde(default, skip_serializing_if = "Storage::is_default")]
    pub storage: Storage,
    /// The arms; the first is the baseline.
    #[serde(rename = "arm")]
    pub arms: Vec<Arm>,
    /// The cells; in each, all arms are measured or those it names.
    #[serde(rename = "cell")]
    pub cells: Vec<Cell>,
    /// Figures published elsewhere, shown beside the measured ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<Published>,
    /// What arms may cost, for `ciphertax gate`.
    #[serde(rename = "budget", default, skip_serializing_if = "Vec::is_empty")]
    pub budgets: Vec<Budget>,
}

/// The shape of a headline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// What the first arm costs; of several servers that are asked the same, which pays most.
    #[default]
    Cost,
    /// Which arm costs most, and which least.
    Ranking,
    /// What the first arm saves per connection and costs per query, and below how many queries per connection it saves in total.
    Saving,
    /// Whether the costs of two arms add up to the cost of both together.
    Sum,
    /// What one more encrypted cell costs, and which arm costs most.
    Dose,
}

/// Where the threads of a private server and of its load run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// Where the kernel puts them.
    #[default]
    Free,
    /// All on one CPU. No thread is woken on another CPU, whose cost depends on where the kernel happens to put the
    /// threads and varies more than a security feature costs; METHODOLOGY shows by how much.
    Together,
}

/// Target half-widths of the 95 % intervals, as fractions; measuring a cell stops when all are reached.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Precision {
    /// For client and server CPU per operation.
    pub cpu: f64,
    /// For throughput; in open loop for the mean response time.
    pub throughput: f64,
}

impl Precision {
    /// What a half-width may be, as a fraction of the value.
    pub const HALF_WIDTH: RangeInclusive<f64> = 0.0005..=0.5;
}

impl Default for Precision {
    fn default() -> Self {
        Self {
            cpu: 0.01,
            throughput: 0.03,
        }
    }
}

/// One workload at one load level on one server over one link. All arms of a cell are measured on that server, whose state,
/// memory and CPU they share, but for those that need one of their own: with another certificate, or without access control.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// The name used in records and reports, unique in its study.
    pub name: String,
    /// What is asked of the database.
    pub workload: Workload,
    /// How hard it is asked; nothing for a command, which is a load of its own.
    #[serde(default, skip_serializing_if = "Load::is_none")]
    pub load: Load,
    /// The program of the workload `command`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Command>,
    /// The names of the arms it measures, the baseline among them; `None` for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arms: Option<Vec<String>>,
    /// The private server, by its name in the catalogue; `None` for the study's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The key of the private server's certificate; `None` for the study's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<CertificateKind>,
    /// The distance to the server; `None` for the study's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<Link>,
    /// The shares of the workload `ycsb`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mix: Option<YcsbMix>,
    /// The replica set; `None` for the study's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replica_set: Option<ReplicaSet>,
    /// The nodes of the private server's cluster; `None` for the study's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<u8>,
    /// The distance between the servers of a cluster or a replica set; `None` for the study's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_link: Option<Link>,
    /// Memory and writing of the private server; `None` for the study's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<Storage>,
    /// Which member of a replica set is read from; `None` for the study's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_preference: Option<ReadPreference>,
    /// Whether every single operation is kept, as a line of `operations.csv` in the run folder.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keep_operations: bool,
}

impl Cell {
    /// The shares of a `ycsb` workload; `None` for all others.
    pub fn ycsb_mix(&self) -> Option<YcsbMix> {
        self.mix.or(self.workload.ycsb_mix())
    }

    /// What arms are compared by here where all of it can be seen, but for what whole rounds tell, in the order reports print it. A
    /// run of a program is no request: how it answered single ones only the program knows.
    pub fn compared(&self) -> impl Iterator<Item = Metric> {
        let of_connects = match self.workload.makes_connections() {
            true => &Metric::COMPARED_OF_CONNECTS[..],
            false => &[],
        };
        let is_program = self.workload.is_program();
        let paced = Metric::compared(self.load.pace()).iter();
        let all = paced.chain(of_connects).chain(&Metric::COMPARED_OF_HARDWARE);
        all.copied()
            .filter(move |metric| !is_program || metric.quantile().is_none())
    }
}

fn default_server() -> String {
    "mariadb".into()
}

fn default_chain_length() -> u8 {
    1
}

impl Study {
    /// The time that may be spent measuring, in seconds: at most a day.
    pub const TIME_S: RangeInclusive<f64> = 1.0..=86_400.0;
    /// How many nodes a cluster may have; 1 for none.
    pub const NODES: [u8; 3] = [1, 3, 5];
    /// How long a slice may be, in seconds.
    pub const SLICE_S: RangeInclusive<f64> = 0.05..=10.0;
    /// How long a slice is where a study does not say, in seconds; in a closed loop at most.
    pub const SHORT_SLICE_S: f64 = 0.5;
    /// The same where arms differ at rest: there the first moments of a slice are no fair part of it.
    pub const LONG_SLICE_S: f64 = 2.0;
    /// How many certificates a private server may send.
    pub const CHAIN_LENGTH: RangeInclusive<u8> = 1..=4;

    /// The arm all others are compared with.
    pub fn baseline(&self) -> &Arm {
        &self.arms[0]
    }

    /// The arms that are compared with the baseline.
    pub fn variants(&self) -> impl Iterator<Item = &Arm> {
        self.arms.iter().skip(1)
    }

    /// The arm of this name.
    pub fn arm(&self, name: &str) -> Option<&Arm> {
        self.arms.iter().find(|arm| arm.name == name)
    }

    /// What is really measured: the study's arms and the baseline once more, which gives the noise floor.
    pub fn measured_arms(&self) -> Vec<Arm> {
        let again = Arm {
            name: BASELINE_AGAIN.into(),
            ..self.baseline().clone()
        };
        std::iter::once(self.baseline().clone())
            .chain(std::iter::once(again))
            .chain(self.arms[1..].iter().cloned())
            .collect()
    }

    /// The arms that a cell measures, in the study's order; the first is the baseline.
    pub fn arms_of(&self, cell: &Cell) -> impl Iterator<Item = &Arm> {
        let is_measured = |arm: &&Arm| cell.arms.as_ref().is_none_or(|names| names.contains(&arm.name));
        self.arms.iter().filter(is_measured)
    }

    /// True if an arm protects what the baseline does not, and everything that it does: what travels, who may ask, what lies on the
    /// disk, or which cells of a table can be read without a key. By itself it can then only cost. Where both protect the same, either
    /// may be the cheaper; and so where a pooler stands before one of them alone, or a probe changes the server for it.
    pub fn adds_protection(&self, arm: &str) -> bool {
        let protected = |arm: &Arm| {
            let is_hidden = arm.transport.is_encrypted() || arm.tunnel.is_some();
            let method = arm.authentication.method;
            let has_login = method.is_none_or(AuthenticationMethod::proves_identity);
            let on_the_disk = AtRestPart::ALL.map(|part| arm.at_rest.encrypts(part));
            let on_all_of_it = arm.at_rest.file_system.is_some_and(FileSystem::is_encrypted);
            let in_columns = arm.at_rest.columns.is_some();
            let in_file = arm.at_rest.sqlcipher.is_some();
            let cells = arm.columns.as_ref().filter(|columns| columns.protects());
            let in_cells = cells.is_some();
            let stored = cells.is_some_and(|columns| columns.feature == ColumnFeature::Stored);
            let others = [
                is_hidden,
                arm.cluster_tls,
                has_login,
                on_all_of_it,
                in_columns,
                in_file,
                in_cells,
                stored,
            ];
            others.into_iter().chain(on_the_disk).collect::<Vec<bool>>()
        };
        let baseline = protected(self.baseline());
        let mode = |arm: &Arm| arm.pooler.map(|pooler| (pooler.program, pooler.pool_mode));
        let adds = |arm: &Arm| {
            mode(arm) == mode(self.baseline())
                && arm.probe.is_none()
                && protected(arm) != baseline
                && protected(arm)
                    .iter()
                    .zip(&baseline)
                    .all(|(now, before)| now >= before)
        };
        self.arm(arm).is_some_and(adds)
    }

    /// What is really measured in a cell: its arms, and the baseline once more, which gives the noise floor.
    pub fn measured_arms_of(&self, cell: &Cell) -> Vec<Arm> {
        let names: HashSet<&str> = self.arms_of(cell).map(|arm| arm.name.as_str()).collect();
        let mut arms = self.measured_arms();
        arms.retain(|arm| arm.name == BASELINE_AGAIN || names.contains(arm.name.as_str()));
        arms
    }

    /// True if a cell that is meant measures the arm that is meant; `None` means any of them.
    pub(crate) fn measures(&self, cell: Option<&str>, arm: Option<&str>) -> bool {
        let is_meant = |name: &str| cell.is_none_or(|cell| cell == name);
        let measures = |cell| arm.is_none_or(|arm| self.arms_of(cell).any(|other| other.name == arm));
        self.cells
            .iter()
            .any(|cell| is_meant(&cell.name) && measures(cell))
    }

    /// The private server that a cell is measured on, unless that is a target. Where arms differ in the certificate, it is
    /// that of the first that uses one; those with others have servers of their own beside it.
    pub fn server_spec(&self, cell: &Cell) -> ServerSpec {
        let differ = self.arms.iter().any(|arm| arm.certificate.is_some());
        let mut encrypted = self.arms.iter().filter(|arm| arm.transport.is_encrypted());
        let of_arms = encrypted
            .next()
            .filter(|_| differ)
            .and_then(|arm| arm.certificate);
        ServerSpec {
            server: cell.server.as_ref().unwrap_or(&self.server).clone(),
            certificate: Certificate {
                kind: of_arms.or(cell.certificate).unwrap_or(self.certificate),
                chain_length: self.chain_length,
            },
            distant: self.link(cell).is_some(),
            replica_set: cell.replica_set.or(self.replica_set),
            nodes: cell.nodes.or(self.nodes).unwrap_or(1),
            nodes_distant: self.node_link(cell).is_some(),
            storage: self.storage(cell),
        }
    }

    /// The certificate that an arm finds at a private server for cells of this one.
    pub fn certificate_of(&self, arm: &Arm, server: &ServerSpec) -> Certificate {
        let differ = self.arms.iter().any(|arm| arm.certificate.is_some());
        let kind = match arm.transport.is_encrypted() && differ {
            true => arm.certificate.unwrap_or(self.certificate),
            // Without TLS it is never shown, and no server is needed for it.
            false => server.certificate.kind,
        };
        Certificate {
            kind,
            ..server.certificate
        }
    }

    /// Memory and writing of the private server that a cell is measured on.
    pub fn storage(&self, cell: &Cell) -> Storage {
        cell.storage.unwrap_or(self.storage)
    }

    /// Which member of a replica set a cell reads from.
    pub fn read_preference(&self, cell: &Cell) -> ReadPreference {
        cell.read_preference.unwrap_or(self.read_preference)
    }

    /// The distance of a cell to its server; `None` for none.
    pub fn link(&self, cell: &Cell) -> Option<Link> {
        cell.link.or(self.link)
    }

    /// The distance between the servers of a cell; `None` for none.
    pub fn node_link(&self, cell: &Cell) -> Option<Link> {
        cell.node_link.or(self.node_link)
    }

    /// All distances of a cell.
    pub fn distances(&self, cell: &Cell) -> Distances {
        Distances {
            to_servers: self.link(cell),
            between_nodes: self.node_link(cell),
        }
    }

    /// The private servers that the cells are measured on, each once, in the order of the cells.
    pub fn server_specs(&self) -> Vec<ServerSpec> {
        let mut servers = Vec::new();
        for server in self.cells.iter().map(|cell| self.server_spec(cell)) {
            if !servers.contains(&server) {
                servers.push(server);
            }
        }
        servers
    }

    /// Length of a slice in seconds, at most where it depends on the load. A counter that lags behind tells nothing of less than twice
    /// that.
    pub fn slice_seconds(&self) -> f64 {
        let asked = self.slice_s.unwrap_or(match self.differs_at_rest() {
            true => Self::LONG_SLICE_S,
            false => Self::SHORT_SLICE_S,
        });
        let resolution_s = self.server_cpu.as_ref().and_then(|counter| counter.resolution_s);
        resolution_s.map_or(asked, |resolution_s| asked.max(2.0 * resolution_s))
    }

    /// True if nothing but its load says how long the slices of a cell are: neither the study, nor a schedule, a batch or a program, nor
    /// a counter that lags behind, and its arms do not differ at rest.
    pub fn has_free_slices(&self, cell: &Cell) -> bool {
        self.slice_s.is_none()
            && self.server_cpu.is_none()
            && !self.differs_at_rest()
            && cell.command.is_none()
            && matches!(cell.load.pace(), Pace::Closed)
    }

    /// The agent that reads the clocks of a server's processes; `None` where there is none.
    pub fn agent(&self) -> Option<AgentAddress> {
        self.agent.as_ref()?.parse().ok()
    }

    /// Length of a slice, at most where it depends on the load.
    pub fn slice(&self) -> Duration {
        Duration::from_secs_f64(self.slice_seconds())
    }

    /// True if arms differ in what lies on the disk, or on which file system. Then part of what an operation costs is paid
    /// later, so that every arm has a server of its own whose clocks are read at all times.
    pub fn differs_at_rest(&self) -> bool {
        self.arms
            .windows(2)
            .any(|pair| pair[0].at_rest != pair[1].at_rest)
    }

    /// True when any arm needs a server that has a certificate, for its clients or for the other servers of its kind.
    pub fn needs_tls(&self) -> bool {
        let is_tls = |arm: &Arm| arm.transport.is_encrypted() || arm.cluster_tls;
        self.arms.iter().any(is_tls)
    }
}

//! A study: which arms, which workloads, which load, how precise.

use std::collections::HashSet;
use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::arm::Arm;
use crate::certificate::{Certificate, CertificateKind};
use crate::link::Link;

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
    /// The private server that cells without one of their own are measured on, by its name in the catalogue.
    #[serde(default = "default_server")]
    pub server: String,
    /// The key of the private servers' certificates, where a cell has no other.
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
    /// Length of a slice in seconds.
    #[serde(default = "default_slice_s")]
    pub slice_s: f64,
    /// Where the threads of a private server and of its load run. A server of the user's own is left where it is.
    #[serde(default)]
    pub placement: Placement,
    /// The arms; the first is the baseline.
    #[serde(rename = "arm")]
    pub arms: Vec<Arm>,
    /// The cells; all arms are measured in each.
    #[serde(rename = "cell")]
    pub cells: Vec<Cell>,
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
    /// For throughput.
    pub throughput: f64,
}

impl Default for Precision {
    fn default() -> Self {
        Self {
            cpu: 0.01,
            throughput: 0.03,
        }
    }
}

/// One workload at one load level on one server over one link. Server and certificate are the cell's, not an arm's: so
/// all arms of a cell are measured on one process, whose state, memory and CPU they share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// The name used in records and reports, unique in its study.
    pub name: String,
    /// What is asked of the database.
    pub workload: Workload,
    /// How hard it is asked.
    pub load: Load,
    /// The private server, by its name in the catalogue; `None` for the study's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The key of the private server's certificate; `None` for the study's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<CertificateKind>,
    /// The distance to the server; `None` for the study's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<Link>,
}

/// Which private server a cell is measured on; cells that agree in this share one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Site {
    /// Name in the catalogue.
    pub server: String,
    /// Its certificate.
    pub certificate: Certificate,
    /// True if it is reached over a link with a distance of its own.
    pub distant: bool,
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.server, self.certificate.kind)?;
        if self.certificate.chain_length > 1 {
            write!(f, " in a chain of {}", self.certificate.chain_length)?;
        }
        if self.distant {
            f.write_str(", at a distance")?;
        }
        Ok(())
    }
}

/// What is asked of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Workload {
    /// sysbench's scenario of the same name: one row by primary key, prepared statement.
    OltpPointSelect,
    /// New connection, one query, close.
    Connect,
    /// Results of one mebibyte: the record layer.
    BulkRead,
}

impl Workload {
    /// The name used in study files and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::OltpPointSelect => "oltp_point_select",
            Self::Connect => "connect",
            Self::BulkRead => "bulk_read",
        }
    }
}

/// A closed loop: every connection sends its next request when the last was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// Connections of each arm; for the connect workload, connections being opened at a time.
    pub connections: u32,
    /// Load threads; `None` lets the engine choose by connections and CPUs. Together with its server the load has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers: Option<u32>,
    /// How long a load thread waits for more sockets to become ready before it answers them all, in microseconds.
    /// The same for all arms. 0 answers each as soon as it is ready.
    #[serde(default)]
    pub gather_us: u32,
}

fn default_slice_s() -> f64 {
    0.5
}

fn default_server() -> String {
    "mariadb".into()
}

fn default_chain_length() -> u8 {
    1
}

/// Why a study cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// The file is not TOML of the right shape; the message holds line and column.
    #[error("study cannot be read: {0}")]
    Toml(#[from] toml::de::Error),
    /// The file is well-formed but contradicts itself.
    #[error("study {study}: {problem}")]
    Invalid {
        /// The study's name.
        study: String,
        /// What is wrong and what is expected.
        problem: String,
    },
}

impl Study {
    /// Parses and validates a study file.
    ///
    /// # Errors
    /// Says where the text is not of the right shape, or which settings contradict each other.
    pub fn from_toml(text: &str) -> Result<Self, StudyError> {
        let study: Self = toml::from_str(text)?;
        study.validated()
    }

    /// Checks what the types alone cannot.
    ///
    /// # Errors
    /// Names the first contradiction found.
    pub fn validated(self) -> Result<Self, StudyError> {
        match self.problem() {
            None => Ok(self),
            Some(problem) => Err(StudyError::Invalid {
                study: self.name.clone(),
                problem,
            }),
        }
    }

    fn problem(&self) -> Option<String> {
        if self.arms.len() < 2 {
            return Some("a comparison needs at least two arms: a baseline and a variant".into());
        }
        if self.cells.is_empty() {
            return Some("there is no cell: nothing would be measured".into());
        }
        if let Some(name) = first_repeated(self.arms.iter().map(|arm| arm.name.as_str())) {
            return Some(format!("two arms are named {name:?}; arm names must be unique"));
        }
        if let Some(name) = first_repeated(self.cells.iter().map(|cell| cell.name.as_str())) {
            return Some(format!("two cells are named {name:?}; cell names must be unique"));
        }
        if self.arms.iter().any(|arm| arm.name == BASELINE_AGAIN) {
            return Some(format!(
                "the arm name {BASELINE_AGAIN:?} is taken by the noise-floor arm"
            ));
        }
        if !(0.05..=10.0).contains(&self.slice_s) {
            return Some(format!(
                "slice_s is {}; it must lie between 0.05 and 10 seconds",
                self.slice_s
            ));
        }
        if !(self.time_s >= 1.0 && self.time_s <= 86_400.0) {
            return Some(format!(
                "time_s is {}; it must lie between 1 second and one day",
                self.time_s
            ));
        }
        for (name, value) in [
            ("cpu", self.precision.cpu),
            ("throughput", self.precision.throughput),
        ] {
            if !(0.0005..=0.5).contains(&value) {
                return Some(format!(
                    "precision.{name} is {value}; it must lie between 0.0005 and 0.5"
                ));
            }
        }
        for cell in &self.cells {
            let load = &cell.load;
            if load.connections == 0 || load.connections > 100_000 {
                return Some(format!(
                    "cell {}: connections must lie between 1 and 100000",
                    cell.name
                ));
            }
            if load.workers == Some(0) || load.workers.is_some_and(|workers| workers > load.connections) {
                return Some(format!(
                    "cell {}: workers must lie between 1 and connections",
                    cell.name
                ));
            }
            if load.gather_us > 10_000 {
                return Some(format!("cell {}: gather_us must be at most 10000", cell.name));
            }
        }
        None
    }

    /// The arm all others are compared with.
    pub fn baseline(&self) -> &Arm {
        &self.arms[0]
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

    /// Where a cell is measured, if on a private server.
    pub fn site(&self, cell: &Cell) -> Site {
        Site {
            server: cell.server.as_ref().unwrap_or(&self.server).clone(),
            certificate: Certificate {
                kind: cell.certificate.unwrap_or(self.certificate),
                chain_length: self.chain_length,
            },
            distant: self.link(cell).is_some(),
        }
    }

    /// The distance of a cell to its server; `None` for none.
    pub fn link(&self, cell: &Cell) -> Option<Link> {
        cell.link.or(self.link)
    }

    /// What is really measured in a cell: its arms, and the baseline once more.
    pub fn measured_arms_of(&self, _cell: &Cell) -> Vec<Arm> {
        self.measured_arms()
    }

    /// Where the cells are measured, each place once, in the order of the cells.
    pub fn sites(&self) -> Vec<Site> {
        let mut sites = Vec::new();
        for site in self.cells.iter().map(|cell| self.site(cell)) {
            if !sites.contains(&site) {
                sites.push(site);
            }
        }
        sites
    }

    /// Length of a slice.
    pub fn slice(&self) -> Duration {
        Duration::from_secs_f64(self.slice_s)
    }

    /// True when any arm needs a server that offers TLS.
    pub fn needs_tls(&self) -> bool {
        self.arms.iter().any(|arm| arm.transport.is_encrypted())
    }
}

fn first_repeated<'a>(names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let mut seen = HashSet::new();
    names.into_iter().find(|name| !seen.insert(*name))
}

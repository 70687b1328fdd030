//! What lies between client and server: links, tunnels, poolers.

use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::all;
use crate::tls::Transport;

/// Longest round-trip time in milliseconds.
const LONGEST_RTT_MS: f64 = 10_000.0;

/// Bandwidths that can be kept, in megabits per second: a modem's, and more than packets can be moved at.
const BANDWIDTHS_MBIT: RangeInclusive<f64> = 0.01..=100_000.0;

/// A distance in a network, the same for all arms of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Round-trip time in milliseconds, half of it each way.
    pub rtt_ms: f64,
    /// Standard deviation of the round-trip time in milliseconds. Packets stay in order.
    #[serde(default)]
    pub jitter_ms: f64,
    /// Bandwidth each way in megabits (10⁶ bits) per second; `None` for no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth_mbit: Option<f64>,
}

impl Link {
    /// No distance at all.
    pub const NONE: Self = Self {
        rtt_ms: 0.0,
        jitter_ms: 0.0,
        bandwidth_mbit: None,
    };

    /// Round-trip time.
    pub fn round_trip(&self) -> Duration {
        Duration::from_secs_f64(self.rtt_ms / 1e3)
    }

    /// What no link can be: keys, and for each a sentence with what to do instead.
    pub fn problems(&self) -> Vec<(&'static str, String)> {
        let (rtt_ms, jitter_ms, most) = (self.rtt_ms, self.jitter_ms, self.rtt_ms / 4.0);
        let mut problems = Vec::new();
        if !(0.0..=LONGEST_RTT_MS).contains(&rtt_ms) {
            let why = format!("rtt_ms is {rtt_ms}; it must lie between 0 and {LONGEST_RTT_MS} milliseconds");
            problems.push(("rtt_ms", why));
        } else if !(0.0..=most).contains(&jitter_ms) {
            let instead = "a quarter of rtt_ms, so that hardly any delay would be negative";
            let why = format!("jitter_ms is {jitter_ms}; it must lie between 0 and {most}, {instead}");
            problems.push(("jitter_ms", why));
        }
        let bandwidth = self.bandwidth_mbit;
        if let Some(bandwidth) = bandwidth.filter(|bandwidth| !BANDWIDTHS_MBIT.contains(bandwidth)) {
            let (least, most) = BANDWIDTHS_MBIT.into_inner();
            let why = format!("bandwidth_mbit is {bandwidth}; it must lie between {least} and {most} Mbit/s");
            problems.push(("bandwidth_mbit", why));
        }
        problems
    }
}

/// The distances of a cell; `None` where there is none.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Distances {
    /// From the load to its servers.
    pub to_servers: Option<Link>,
    /// From each server of a cluster or a replica set to the others.
    pub between_nodes: Option<Link>,
}

/// That of the servers alone.
impl From<Link> for Distances {
    fn from(link: Link) -> Self {
        Self {
            to_servers: Some(link),
            between_nodes: None,
        }
    }
}

/// A tunnel between client and server, started, proved, accounted for and stopped with its arm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Tunnel {
    /// A forwarded port of OpenSSH (`ssh -L`) through a private sshd.
    Ssh(SshCipher),
    /// stunnel on both sides.
    Stunnel,
    /// HAProxy on both sides, in TCP mode.
    Haproxy,
}

impl fmt::Display for Tunnel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ssh(cipher) => write!(f, "SSH {}", cipher.name()),
            Self::Stunnel => f.write_str("stunnel"),
            Self::Haproxy => f.write_str("HAProxy"),
        }
    }
}

/// A cipher of SSH, by OpenSSH's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[derive(strum::IntoStaticStr, strum::VariantArray, strum::EnumString)]
#[strum(serialize_all = "kebab-case")]
pub enum SshCipher {
    /// AES-256 in CBC mode with a MAC of its own.
    Aes256Cbc,
    /// AES-256 in counter mode with a MAC of its own.
    Aes256Ctr,
    /// AES-256 in Galois/counter mode.
    #[serde(rename = "aes256-gcm@openssh.com")]
    #[strum(serialize = "aes256-gcm@openssh.com")]
    Aes256Gcm,
    /// ChaCha20 and Poly1305.
    #[serde(rename = "chacha20-poly1305@openssh.com")]
    #[strum(serialize = "chacha20-poly1305@openssh.com")]
    ChaCha20Poly1305,
}

impl SshCipher {
    /// Every cipher, in the order help texts list them.
    pub const ALL: [Self; 4] = all();

    /// The name used in study files and by OpenSSH.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A pooler in front of a private PostgreSQL server, started, proved, accounted for and stopped with its arm. The arm's
/// transport and login are those of the client's connection to the pooler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pooler {
    /// Which one.
    pub program: PoolerProgram,
    /// For how long a client keeps a connection to the server.
    pub pool_mode: PoolMode,
    /// How bytes travel between the pooler and the server.
    #[serde(default = "plain", skip_serializing_if = "is_plain")]
    pub server_transport: Transport,
}

fn plain() -> Transport {
    Transport::Plain
}

fn is_plain(transport: &Transport) -> bool {
    *transport == Transport::Plain
}

/// `pgbouncer, transaction pooling, TLSv1.3 behind it`
impl fmt::Display for Pooler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {} pooling", self.program.name(), self.pool_mode.name())?;
        match self.server_transport {
            Transport::Plain => Ok(()),
            transport => write!(f, ", {transport} behind it"),
        }
    }
}

/// The programs that pool connections to PostgreSQL, and one that does to MySQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum PoolerProgram {
    /// One process with one thread.
    Pgbouncer,
    /// One process with several threads.
    Odyssey,
    /// Pgpool-II: a process for each client.
    Pgpool,
    /// MySQL Router: one process with several threads, before MySQL.
    Mysqlrouter,
}

impl PoolerProgram {
    /// The name used in study files, which is the program's.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// True for those before PostgreSQL.
    pub fn is_of_postgresql(self) -> bool {
        self != Self::Mysqlrouter
    }

    /// True if a client may give its connection to the server back when its transaction ends.
    pub fn pools_transactions(self) -> bool {
        match self {
            Self::Pgbouncer | Self::Odyssey | Self::Mysqlrouter => true,
            Self::Pgpool => false,
        }
    }

    /// True if every login by SCRAM has another salt, so that no client remembers its keys.
    pub fn changes_salts(self) -> bool {
        match self {
            Self::Pgbouncer | Self::Odyssey | Self::Mysqlrouter => false,
            Self::Pgpool => true,
        }
    }

    /// True if SCRAM's keys have the iterations that the server's have when clients log in to it.
    pub fn keeps_iterations(self) -> bool {
        match self {
            Self::Pgbouncer => true,
            Self::Odyssey | Self::Pgpool | Self::Mysqlrouter => false,
        }
    }

    /// True if bytes may travel so between it and the server where its clients' travel so.
    pub fn reaches_server_by(self, server: Transport, clients: Transport) -> bool {
        // Only the newest version is what two sides that may choose agree on.
        let is_left_to_it = matches!(server, Transport::Plain | Transport::Tls | Transport::Tls13);
        match self {
            Self::Pgbouncer => true,
            Self::Odyssey => is_left_to_it,
            // It has one setting for both sides, by which clients may use TLS and the server's offer is taken.
            Self::Pgpool => is_left_to_it && (server.is_encrypted() || !clients.is_encrypted()),
            // A client without TLS asks it for the server's RSA key, which it asks for where it has no TLS itself.
            Self::Mysqlrouter => is_left_to_it && (clients.is_encrypted() || !server.is_encrypted()),
        }
    }
}

/// For how long a client keeps a connection to the server, by pgbouncer's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum PoolMode {
    /// Until it disconnects.
    Session,
    /// Until its transaction ends.
    Transaction,
}

impl PoolMode {
    /// The name used in study files and by pgbouncer.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

//! What a load generator is, and what it says of itself.

use std::{env, fs};

use ciphertax_supervise::Conversation;
use ciphertax_supervise::child::limit_of_files;
use serde::{Deserialize, Serialize};

use super::protocol::Channel;
use crate::agent::boot;

/// Of the messages between load generators. All are of the same build, and this tells apart what is between two releases.
const PROTOCOL: u32 = 1;

/// Who takes part, and where it runs.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Hello {
    /// The protocol.
    pub(super) ciphertax_rank: u32,
    /// The release, and what it was built from.
    pub(super) version: String,
    /// OpenSSL's own name for its release.
    pub(super) openssl: String,
    pub(super) host: String,
    pub(super) boot: String,
    /// The CPUs it may run on, as the kernel writes lists: `0-3,8`.
    pub(super) cpus: String,
    /// How many files it may have open; `None` for as many as wanted.
    pub(super) files: Option<u64>,
}

impl Hello {
    /// What this process says. `build` tells builds of one release apart.
    pub(super) fn of_this_process(build: &str) -> Self {
        Self {
            ciphertax_rank: PROTOCOL,
            version: format!("{} ({build})", env!("CARGO_PKG_VERSION")),
            openssl: openssl::version::version().to_owned(),
            host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
            boot: boot(),
            cpus: cpus(),
            files: limit_of_files(),
        }
    }

    /// By what messages call it.
    pub(super) fn name(&self, rank: u32) -> String {
        format!("rank {rank} on {}", self.host)
    }

    /// True if it is on the host of this name, with its domain or without.
    pub(super) fn is_on(&self, host: &str) -> bool {
        let label = |name: &str| name.split('.').next().map(str::to_ascii_lowercase);
        match host.contains('.') && self.host.contains('.') {
            true => self.host.eq_ignore_ascii_case(host),
            false => label(&self.host) == label(host),
        }
    }

    /// True if both are under one kernel, and so share its clock and its files.
    pub(super) fn is_beside(&self, other: &Self) -> bool {
        !self.boot.is_empty() && self.boot == other.boot
    }

    /// Why it cannot measure beside that of another process, which conducts; `None` if it can.
    pub(super) fn differs_from(&self, rank: u32, conductor: &Self) -> Option<String> {
        let both = |own: &str, theirs: &str| {
            format!(
                "{} has {own}, and {} has {theirs}; install the same ciphertax on both",
                self.name(rank),
                conductor.name(0)
            )
        };
        if (self.ciphertax_rank, &self.version) != (conductor.ciphertax_rank, &conductor.version) {
            let [own, theirs] =
                [&self.version, &conductor.version].map(|version| format!("ciphertax {version}"));
            return Some(both(&own, &theirs));
        }
        (self.openssl != conductor.openssl).then(|| both(&self.openssl, &conductor.openssl))
    }

    /// Why it cannot have so many files open, with the remedy; `None` if it can.
    pub(super) fn lacks_files(&self, rank: u32, wanted: u64) -> Option<String> {
        let allowed = self.files.filter(|files| *files < wanted)?;
        Some(format!(
            "{} would have {wanted} files open, and may have {allowed}; raise that there with ulimit -n {}, start more load generators, \
             or take fewer connections",
            self.name(rank),
            wanted.next_power_of_two()
        ))
    }
}

fn cpus() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let list = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    list.unwrap_or_default().trim().to_owned()
}

/// Says the number of a load generator and how many there are, as in `2/8`.
const VARIABLE: &str = "CIPHERTAX_RANK";

/// What a process is among the load generators of a run.
pub enum Role {
    /// It has the servers, and calls the slices.
    Conductor(Channel),
    /// It works the slices that are called.
    Follower(Channel),
}

/// What this process is among the load generators of a run; `None` for a run that is alone.
///
/// # Errors
/// When it was not `ciphertax-mpi` that started it, though the environment says so.
pub fn role() -> Result<Option<Role>, String> {
    let Some(said) = env::var_os(VARIABLE) else {
        return Ok(None);
    };
    let said = said.to_string_lossy();
    let numbers = said.split_once('/').and_then(|(rank, of)| {
        let (rank, of): (u32, u32) = (rank.parse().ok()?, of.parse().ok()?);
        (rank < of).then_some((rank, of))
    });
    let both = Conversation::with_owner().zip(Conversation::with_owner());
    let (Some((rank, of)), Some((reader, writer))) = (numbers, both) else {
        return Err(format!(
            "{VARIABLE} is {said:?}, which ciphertax-mpi sets for the programs that it starts; unset it"
        ));
    };
    let channel = Channel::new(reader, writer, of);
    Ok(Some(match rank {
        0 => Role::Conductor(channel),
        _ => Role::Follower(channel),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_release_another_openssl_and_too_low_a_limit_are_refused_by_the_hosts_name() {
        let own = Hello::of_this_process("abc");
        assert!(!own.cpus.is_empty() && !own.host.is_empty() && !own.boot.is_empty());
        assert_eq!(own.differs_from(3, &own), None);
        let there = |change: fn(&mut Hello)| {
            let mut hello = Hello {
                host: "db7".into(),
                ..own.clone()
            };
            change(&mut hello);
            hello
        };
        let other = there(|hello| hello.version = "0.0.9 (abc)".into());
        let refusal = other.differs_from(3, &own).unwrap();
        let is_told = refusal.starts_with("rank 3 on db7 has ciphertax 0.0.9 (abc), and rank 0 on ");
        assert!(is_told, "{refusal}");
        let other = there(|hello| hello.openssl = "OpenSSL 1.1.1".into());
        assert!(
            other
                .differs_from(3, &own)
                .unwrap()
                .contains("rank 3 on db7 has OpenSSL 1.1.1")
        );
        let other = there(|hello| hello.files = Some(1024));
        assert_eq!(other.lacks_files(3, 1024), None);
        assert!(other.lacks_files(3, 1025).unwrap().contains("ulimit -n 2048"));
        assert_eq!(there(|hello| hello.files = None).lacks_files(3, 1 << 40), None);
    }
}

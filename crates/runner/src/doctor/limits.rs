//! Limits of this user: files, ports, memory and disk.

use std::env;

use ciphertax_records::Check;
use ciphertax_stats::format::{bytes, count};

use super::line;
use crate::own_limits::{OWN_FILES, OwnLimits};

/// Connections that studies have at most as they are built in, of all arms together.
const FILES: u64 = 4_096;
const PORTS: u32 = 10_000;
/// What a study with one private server needs.
pub(super) const MEMORY: u64 = 1 << 30;
const DISK: u64 = 2 << 30;

pub(super) fn look() -> Vec<Check> {
    let mut checks = vec![files(OwnLimits::found().files.unwrap_or(u64::MAX))];
    checks.extend(line("/proc/sys/net/ipv4/ip_local_port_range").and_then(|range| ports(&range)));
    checks.extend(
        std::fs::read_to_string("/proc/meminfo")
            .ok()
            .and_then(|text| memory(&text)),
    );
    let folder = env::temp_dir();
    if let Ok(found) = rustix::fs::statvfs(&folder) {
        checks.push(disk(
            &folder.display().to_string(),
            found.f_bavail.saturating_mul(found.f_frsize),
        ));
    }
    checks
}

fn files(most: u64) -> Check {
    let connections = most.saturating_sub(OWN_FILES);
    let found = match most {
        u64::MAX => "as many as wanted".to_owned(),
        most => format!("{} at a time", count(most as f64)),
    };
    let check = Check::good(
        "open-files",
        "open files",
        found,
        match most {
            u64::MAX => "no limit to connections".to_owned(),
            _ => format!(
                "all arms of all cells together may have about {} connections",
                count(connections as f64)
            ),
        },
    )
    .with("open_files", most as f64);
    check.limited_if(most < FILES, "ulimit -n 65536")
}

fn ports(range: &str) -> Option<Check> {
    let (first, last) = crate::own_limits::ports(range)?;
    let ports = last - first + 1;
    let check = Check::good(
        "ports",
        "ports",
        format!("{} for outgoing connections ({first} to {last})", count(ports.into())),
        "a client that closes first keeps its port for a minute, so new connections to one server may be limited to this number a \
         minute; where the server closes first, as ciphertax has it, they are not",
    )
    .with("ports", ports.into());
    Some(check.limited_if(
        ports < PORTS,
        "sysctl net.ipv4.ip_local_port_range=\"32768 60999\"",
    ))
}

fn memory(text: &str) -> Option<Check> {
    let field = |name: &str| -> Option<u64> {
        let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
        let kilobytes: u64 = rest.split_whitespace().next()?.parse().ok()?;
        kilobytes.checked_mul(1024)
    };
    let (available, swap) = (field("MemAvailable:")?, field("SwapTotal:").unwrap_or(0));
    let swap_in_words = match swap {
        0 => "no swap".to_owned(),
        swap => format!("{} of swap", bytes(swap as f64)),
    };
    let check = Check::good(
        "memory",
        "memory",
        format!("{} available, {swap_in_words}", bytes(available as f64)),
        "private servers take some hundred megabytes each; one that is swapped out is measured as slow",
    )
    .with("available_bytes", available as f64);
    Some(check.limited_if(
        available < MEMORY,
        "stop what uses memory, or measure studies with one private server at a time",
    ))
}

fn disk(folder: &str, free: u64) -> Check {
    let check = Check::good(
        "disk",
        "disk",
        format!("{} free in {folder}", bytes(free as f64)),
        "private servers and their data lie there",
    )
    .with("free_bytes", free as f64);
    check.limited_if(
        free < DISK,
        "make room there, or name another folder: TMPDIR=… ciphertax …",
    )
}

#[cfg(test)]
mod tests {
    use ciphertax_records::CheckStatus;

    use super::*;

    #[test]
    fn limits_are_told_with_what_raises_them() {
        assert_eq!(files(1_024).remedy.as_deref(), Some("ulimit -n 65536"));
        assert_eq!(files(65_536).status, CheckStatus::Good);
        let unlimited = files(u64::MAX);
        assert_eq!(
            (unlimited.status, unlimited.found.as_str()),
            (CheckStatus::Good, "as many as wanted")
        );
        assert_eq!(ports("32768\t60999").unwrap().figures["ports"], 28_232.0);
        assert_eq!(ports("40000 40999").unwrap().status, CheckStatus::Limited);
        assert_eq!(ports("nothing"), None);
        assert_eq!(ports("1 1").map(|check| check.status), Some(CheckStatus::Limited));
        let text = "MemTotal: 9 kB\nMemAvailable:    4096000 kB\nSwapTotal: 0 kB\n";
        assert_eq!(memory(text).unwrap().found, "4.19 GB available, no swap");
        assert_eq!(
            memory("MemAvailable: 512000 kB\n").unwrap().status,
            CheckStatus::Limited
        );
        assert_eq!(memory(""), None);
        assert_eq!(disk("/tmp", 1 << 30).status, CheckStatus::Limited);
        assert_eq!(disk("/tmp", 100 << 30).status, CheckStatus::Good);
    }
}

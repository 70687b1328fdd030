//! Limits of this user: files, ports, memory, links, and what the kernel lets be sampled.

use std::time::Duration;
use std::{env, io};

use ciphertax_base::format::{bytes, count};
use ciphertax_lab::link::{LinkError, WITHOUT_ROOT};
use ciphertax_observe::has_hardware_counters;
use ciphertax_profile::{CpuProfiler, ProfileError};
use ciphertax_records::why::Complete;
use ciphertax_records::{Check, CheckStatus};

use super::line;
use crate::check::{OWN_FILES, OwnLimits};
use crate::look::CPU_HZ;

/// Connections that studies have at most as they are built in, of all arms together.
const FILES: u64 = 4_096;
const PORTS: u32 = 10_000;
/// What a study with one private server needs.
pub(super) const MEMORY: u64 = 1 << 30;
const DISK: u64 = 2 << 30;

pub(super) fn look_at_limits() -> Vec<Check> {
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
    let (first, last) = crate::check::ports(range)?;
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
        "private servers take some hundred megabytes each, and a swapped-out server looks slow",
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

/// Whether links can be made, which put a distance between client and server.
pub(super) fn links(rights: &Result<(), LinkError>) -> Check {
    let check = |found: &str| {
        Check::good(
            "links",
            "links",
            found,
            "studies at a distance (45 ms, 170 ms) need TUN devices and a network namespace",
        )
    };
    match rights {
        Ok(()) => check("TUN devices and namespaces can be made"),
        Err(LinkError::NotPermitted) => check("this user may make no TUN devices and namespaces").but(
            CheckStatus::Limited,
            format!("run such studies as root, or in namespaces of your own: {WITHOUT_ROOT}"),
        ),
        Err(LinkError::NoTun(cause)) => check(&format!("/dev/net/tun cannot be opened ({cause})")).but(
            CheckStatus::Limited,
            "modprobe tun, let the container use it (`--device /dev/net/tun`), or `chmod 666 /dev/net/tun`",
        ),
        Err(other) => check("they cannot be made").but(CheckStatus::Limited, other.to_string()),
    }
}

const SLICE: Duration = Duration::from_millis(100);

const SYSLOG: &str = "sudo setcap cap_perfmon,cap_syslog+ep \"$(command -v ciphertax)\"";

const PARANOID: &str = "sudo setcap cap_perfmon,cap_syslog+ep \"$(command -v ciphertax)\", or for all users, of processes of their \
                        own, sudo sysctl kernel.perf_event_paranoid=1";

pub(super) fn look_at_profiler() -> Vec<Check> {
    vec![
        profiler(CpuProfiler::open(CPU_HZ, SLICE).map(|profiler| profiler.comprises())),
        hardware_counters(has_hardware_counters()),
    ]
}

/// They are a further measure of what CPU time tells already, so their want is nothing to mend.
fn hardware_counters(found: io::Result<bool>) -> Check {
    let check = |found: &str| {
        let means = "instructions and cycles per operation are compared where the CPU counts them; CPU time needs no counters";
        Check::good("hardware-counters", "counters", found, means)
    };
    match found {
        Ok(true) => check("there: instructions and cycles are counted, as by perf stat"),
        Ok(false) => check("none: this CPU shows programs no counters, as is usual in virtual machines"),
        Err(error) => check(&format!("refused: {error}")).but(CheckStatus::Limited, PARANOID),
    }
}

fn profiler(opened: Result<Complete, ProfileError>) -> Check {
    let check = |found: &str| {
        Check::good(
            "profiler",
            "profiler",
            found,
            "profiles explain a cost; the cost itself is measured without them",
        )
    };
    match opened {
        Ok(Complete::Whole) => check("samples of all code, with the kernel's functions by name"),
        Ok(Complete::KernelUnnamed) => check("samples of all code; the kernel's functions have no names")
            .but(CheckStatus::Limited, SYSLOG),
        Ok(Complete::UserOnly) => {
            check("samples of programs, without the kernel's part").but(CheckStatus::Limited, SYSLOG)
        }
        Err(error) => check(&format!("none: {error}")).but(CheckStatus::Limited, SYSLOG),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ciphertax_records::CheckStatus;
    use std::io::ErrorKind;

    #[test]
    fn limits_are_told_with_what_raises_them() {
        assert_eq!(files(1_024).remedy.as_deref(), Some("ulimit -n 65536"));
        assert_eq!(files(65_536).status, CheckStatus::Good);
        let unlimited = files(u64::MAX);
        let seen = (unlimited.status, unlimited.found.as_str());
        assert_eq!(seen, (CheckStatus::Good, "as many as wanted"));
        assert_eq!(ports("32768\t60999").unwrap().figures["ports"], 28_232.0);
        assert_eq!(ports("40000 40999").unwrap().status, CheckStatus::Limited);
        assert_eq!(ports("nothing"), None);
        assert_eq!(ports("1 1").map(|check| check.status), Some(CheckStatus::Limited));
        let text = "MemTotal: 9 kB\nMemAvailable:    4096000 kB\nSwapTotal: 0 kB\n";
        assert_eq!(memory(text).unwrap().found, "4.19 GB available, no swap");
        let seen = memory("MemAvailable: 512000 kB\n").unwrap().status;
        assert_eq!(seen, CheckStatus::Limited);
        assert_eq!(memory(""), None);
        assert_eq!(disk("/tmp", 1 << 30).status, CheckStatus::Limited);
        assert_eq!(disk("/tmp", 100 << 30).status, CheckStatus::Good);
    }

    #[test]
    fn what_is_missing_for_a_link_is_named() {
        assert_eq!(links(&Ok(())).status, CheckStatus::Good);
        assert!(
            links(&Err(LinkError::NotPermitted))
                .remedy
                .unwrap()
                .contains("root")
        );
        assert!(
            links(&Err(LinkError::NoTun(ErrorKind::NotFound.into())))
                .remedy
                .unwrap()
                .contains("modprobe tun")
        );
    }

    #[test]
    fn whoever_sees_less_is_told_how_to_see_all() {
        assert_eq!(profiler(Ok(Complete::Whole)).status, CheckStatus::Good);
        for less in [Complete::KernelUnnamed, Complete::UserOnly] {
            let check = profiler(Ok(less));
            let seen = (check.status, check.remedy.as_deref());
            assert_eq!(seen, (CheckStatus::Limited, Some(SYSLOG)));
        }
        let found = |check: Check| check.found;
        assert!(found(hardware_counters(Ok(true))).starts_with("there"));
        assert!(found(hardware_counters(Ok(false))).starts_with("none"));
        let refused = hardware_counters(Err(io::ErrorKind::PermissionDenied.into()));
        assert_eq!(refused.remedy.as_deref(), Some(PARANOID));
        assert!(found(refused).starts_with("refused"));
        let ended = profiler(Err(ProfileError::ProcessEnded(1)));
        assert!(ended.found.starts_with("none: "), "{}", ended.found);
    }
}

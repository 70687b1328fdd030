//! The control group of this process, which may have less than the machine.

use std::path::{Path, PathBuf};

use ciphertax_base::format::{bytes, plain};
use ciphertax_records::{Check, CheckStatus};

use super::limits::MEMORY;
use super::line;

const ROOT: &str = "/sys/fs/cgroup";
/// From here on a limit of version 1 is none: it says the largest number of pages that there is.
const UNLIMITED_BYTES: f64 = (1_u64 << 60) as f64;

pub(super) fn look() -> Vec<Check> {
    let own = line("/proc/self/cgroup").unwrap_or_default();
    vec![group(&limits(&own, Path::new(ROOT)))]
}

/// What a control group, and those above it, let its processes have.
#[derive(Debug, Default, PartialEq)]
struct Limits {
    /// Which group: of several hierarchies, that which was found first.
    path: String,
    cpus: Option<f64>,
    memory: Option<f64>,
    /// True if any hierarchy could be read here that limits such things.
    were_readable: bool,
}

/// By the lines of `/proc/self/cgroup`: `0::/path` of version 2, `4:cpu,cpuacct:/path` of version 1. Machines may have both.
fn limits(own: &str, root: &Path) -> Limits {
    let mut found = Limits::default();
    for line in own.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else {
            continue;
        };
        let has = |name: &str| controllers.split(',').any(|controller| controller == name);
        if controllers.is_empty() {
            for mount in [root.to_owned(), root.join("unified")] {
                found.second_version(&mount, path);
            }
        } else if has("cpu") || has("memory") {
            let mounts = [controllers].into_iter().chain(controllers.split(','));
            for mount in mounts.map(|name| root.join(name)) {
                found.first_version(&mount, path);
            }
        } else {
            continue;
        }
        if found.path.is_empty() {
            found.path = path.to_owned();
        }
    }
    found
}

impl Limits {
    fn second_version(&mut self, mount: &Path, path: &str) {
        for group in up_to(mount, path) {
            let read = |file: &str| read(&group, file);
            let (cpus, memory) = (read("cpu.max"), read("memory.max"));
            // The highest group has no files of limits, but lists what can be limited, unless version 1 does that here.
            let controllers = read("cgroup.controllers").unwrap_or_default();
            let lists = |name: &str| controllers.split(' ').any(|controller| controller == name);
            self.were_readable |= cpus.is_some() || memory.is_some() || lists("cpu") || lists("memory");
            self.limit(
                cpus.and_then(|text| quota(&text)),
                memory.and_then(|text| text.parse().ok()),
            );
        }
    }

    fn first_version(&mut self, mount: &Path, path: &str) {
        for group in up_to(mount, path) {
            let read = |file: &str| read(&group, file);
            let (cpus, memory) = (read("cpu.cfs_quota_us"), read("memory.limit_in_bytes"));
            self.were_readable |= cpus.is_some() || memory.is_some();
            let period = read("cpu.cfs_period_us").unwrap_or_default();
            self.limit(
                cpus.and_then(|quota_us| quota(&format!("{quota_us} {period}"))),
                memory
                    .and_then(|text| text.parse().ok())
                    .filter(|bytes| *bytes < UNLIMITED_BYTES),
            );
        }
    }

    fn limit(&mut self, cpus: Option<f64>, memory: Option<f64>) {
        self.cpus = least(self.cpus, cpus);
        self.memory = least(self.memory, memory);
    }
}

/// A group and those above it, which limit it too. In a container the path may be that of the host, of which nothing is there
/// but the mount itself, which then is the container's own group.
fn up_to(mount: &Path, path: &str) -> Vec<PathBuf> {
    let group = mount.join(path.trim_start_matches('/'));
    let groups = group.ancestors().take_while(|group| group.starts_with(mount));
    groups.map(Path::to_owned).collect()
}

fn read(group: &Path, file: &str) -> Option<String> {
    line(&group.join(file).to_string_lossy())
}

fn least(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// CPUs, of `cpu.max`: `200000 100000` are two, `max 100000` is no limit, as is a negative number in version 1.
fn quota(text: &str) -> Option<f64> {
    let mut words = text.split_whitespace();
    let (quota, period): (f64, f64) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

fn group(limits: &Limits) -> Check {
    let Limits {
        path, cpus, memory, ..
    } = limits;
    let in_words: Vec<String> = cpus
        .map(|cpus| format!("{} CPUs", plain(cpus)))
        .into_iter()
        .chain(memory.map(|limit| format!("{} of memory", bytes(limit))))
        .collect();
    let found = match &in_words[..] {
        [] if !limits.were_readable => "not readable here".to_owned(),
        [] => format!("{path}: no limit"),
        limits => format!("{path}: limited to {}", limits.join(" and ")),
    };
    let mut check = Check::good(
        "cgroup",
        "control group",
        found,
        "a quota of CPU time stops all threads in the middle of what they do once it is used up, which looks like latency; more \
         memory than the limit is swapped out, or ends a server",
    );
    for (name, limit) in [("cpus", cpus), ("memory_bytes", memory)] {
        if let Some(limit) = limit {
            check = check.with(name, *limit);
        }
    }
    let whole_cpus = "give the container whole CPUs (`--cpuset-cpus=0-3`, a static CPU policy) instead of a quota (`--cpus`, \
                      limits.cpu)";
    let more_memory = "give the container more memory (`--memory`, limits.memory): a private server and its data need a gigabyte";
    match (cpus, memory.is_some_and(|bytes| bytes < MEMORY as f64)) {
        (Some(_), true) => check.but(CheckStatus::Limited, format!("{whole_cpus}; {more_memory}")),
        (Some(_), false) => check.but(CheckStatus::Limited, whole_cpus),
        (None, true) => check.but(CheckStatus::Limited, more_memory),
        (None, false) if !limits.were_readable => check.but(
            CheckStatus::Limited,
            "look outside whether there is a quota of CPU time or a limit of memory (`docker inspect`, `kubectl describe pod`), or \
             mount /sys/fs/cgroup",
        ),
        (None, false) => check,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// What is said of these files.
    fn of(own: &str, files: &[(&str, &str)]) -> Limits {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{text}\n")).unwrap();
        }
        limits(own, root.path())
    }

    #[test]
    fn a_quota_is_a_number_of_cpus() {
        assert_eq!(quota("150000 100000"), Some(1.5));
        for none in ["max 100000", "-1 100000", "1 0", ""] {
            assert_eq!(quota(none), None);
        }
        assert_eq!(least(Some(2.0), None), Some(2.0));
        assert_eq!(least(Some(2.0), Some(1.0)), Some(1.0));
    }

    #[test]
    fn both_versions_limit_by_the_least_of_all_groups_above() {
        let second = of(
            "0::/a/b",
            &[
                ("cgroup.controllers", "cpu memory"),
                ("a/cpu.max", "150000 100000"),
                ("a/b/cpu.max", "max 100000"),
                ("a/b/memory.max", "1000000000"),
            ],
        );
        assert_eq!((second.cpus, second.memory), (Some(1.5), Some(1e9)));
        let first = of(
            "9:memory:/x\n4:cpu,cpuacct:/x\n1:name=systemd:/x\n0::/x",
            &[
                ("cpu,cpuacct/x/cpu.cfs_quota_us", "200000"),
                ("cpu,cpuacct/x/cpu.cfs_period_us", "100000"),
                ("memory/memory.limit_in_bytes", "9223372036854771712"),
                ("memory/x/memory.limit_in_bytes", "500000000"),
            ],
        );
        assert_eq!((first.cpus, first.memory), (Some(2.0), Some(5e8)));
        // The path is the host's, the mount the container's own group.
        let inside = of(
            "4:cpu:/docker/1",
            &[
                ("cpu/cpu.cfs_quota_us", "50000"),
                ("cpu/cpu.cfs_period_us", "100000"),
            ],
        );
        assert_eq!(inside.cpus, Some(0.5));
    }

    #[test]
    fn what_limits_and_what_cannot_be_read_is_not_good() {
        let status = |limits: &Limits| group(limits).status;
        let limited = of(
            "0::/a",
            &[("a/cpu.max", "150000 100000"), ("a/memory.max", "2000000000")],
        );
        assert_eq!(status(&limited), CheckStatus::Limited);
        let seen = group(&limited).found;
        assert_eq!(seen, "/a: limited to 1.5 CPUs and 2.00 GB of memory");
        let short = of("0::/a", &[("a/memory.max", "500000000")]);
        assert!(group(&short).remedy.unwrap().contains("more memory"));
        let unlimited = of(
            "4:cpu:/\n3:memory:/",
            &[
                ("cpu/cpu.cfs_quota_us", "-1"),
                ("cpu/cpu.cfs_period_us", "100000"),
                ("memory/memory.limit_in_bytes", "9223372036854771712"),
            ],
        );
        assert_eq!(status(&unlimited), CheckStatus::Good);
        assert_eq!(group(&unlimited).found, "/: no limit");
        let seen = status(&of("0::/", &[("cgroup.controllers", "cpu io")]));
        assert_eq!(seen, CheckStatus::Good);
        for own in ["0::/a", "4:cpu:/a\n0::/", ""] {
            let hidden = of(own, &[("unified/cgroup.controllers", "")]);
            assert_eq!(
                (status(&hidden), group(&hidden).found.as_str()),
                (CheckStatus::Limited, "not readable here")
            );
        }
    }
}

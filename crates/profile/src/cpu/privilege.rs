//! What the kernel lets this user sample, and what to do about the rest.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};

use rustix::io::Errno;

use crate::error::ProfileError;

const WHAT: &str = "sampling of CPU time";

/// The capabilities that allow to sample everything, by their bits: `CAP_SYS_ADMIN` and `CAP_PERFMON`.
const ALLOWING: u64 = 1 << 21 | 1 << 38;

/// Up to this level of `perf_event_paranoid` everybody may sample processes of their own in user mode.
const USER_MODE_FOR_ALL: i32 = 2;

const GRANT: &str = "allow it by `setcap cap_perfmon,cap_syslog+ep` on this program, or in part, for every user, \
                     by `sysctl kernel.perf_event_paranoid=2`";
const CONTAINER: &str = "a container's seccomp profile or a security module forbids `perf_event_open`: allow it there, as by \
                         `--cap-add=PERFMON --cap-add=SYSLOG`";
const NOT_BUILT: &str =
    "this kernel has no such events: it was built without them (`CONFIG_PERF_EVENTS`), or is too old";
const OTHERS_PROCESS: &str = "the server's process is another user's, or hides itself since it has changed its user: run as root, \
                              or use `setcap cap_perfmon,cap_syslog+ep` on this program";
const FILES: &str = "raise the limit of open files (`ulimit -n`), or use `setcap cap_perfmon,cap_syslog+ep` on this program, \
                     which then needs one for each CPU alone";
const MEMORY: &str = "raise the limit of locked memory (`ulimit -l`) or `sysctl kernel.perf_event_mlock_kb`";

/// True if an error says that this user may not.
pub(super) fn is_refusal(error: &io::Error) -> bool {
    matches!(errno(error), Some(Errno::ACCESS | Errno::PERM))
}

/// True if an error says that there is no such thread or CPU any more.
pub(super) fn is_gone(error: &io::Error) -> bool {
    matches!(errno(error), Some(Errno::SRCH | Errno::NODEV | Errno::NXIO))
}

/// The error where no event at all can be opened.
pub(super) fn refused(cause: io::Error) -> ProfileError {
    let remedy = match errno(&cause) {
        Some(Errno::MFILE | Errno::NFILE) => FILES,
        Some(Errno::ACCESS | Errno::PERM) => remedy(&Conditions::read()),
        _ => NOT_BUILT,
    };
    ProfileError::Refused {
        what: WHAT,
        cause,
        remedy,
    }
}

/// The error where the user may sample, but not these processes, or not so many.
pub(super) fn refused_process(cause: io::Error) -> ProfileError {
    let remedy = match errno(&cause) {
        Some(Errno::ACCESS | Errno::PERM) => OTHERS_PROCESS,
        _ => FILES,
    };
    ProfileError::Refused {
        what: WHAT,
        cause,
        remedy,
    }
}

/// The error where the smallest ring is too much.
pub(super) fn refused_memory(cause: io::Error) -> ProfileError {
    ProfileError::Refused {
        what: WHAT,
        cause,
        remedy: MEMORY,
    }
}

/// True if this user may see where the kernel's functions are: else all of them are said to be at 0.
pub(super) fn sees_kernel_names() -> bool {
    let Ok(file) = File::open("/proc/kallsyms") else {
        return false;
    };
    // The first ones may be per CPU, and so at 0 for everybody.
    let lines = BufReader::new(file).lines().map_while(Result::ok).take(1000);
    let mut addresses =
        lines.filter_map(|line| u64::from_str_radix(line.split_whitespace().next()?, 16).ok());
    addresses.any(|address| address > u64::MAX / 2)
}

/// What decides over who may sample.
#[derive(Debug)]
struct Conditions {
    /// `perf_event_paranoid`; absent where the kernel has no perf events.
    paranoid: Option<i32>,
    is_privileged: bool,
    is_filtered: bool,
}

impl Conditions {
    fn read() -> Self {
        let paranoid = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").ok();
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let field = |name| {
            let mut fields = status.lines().filter_map(|line| line.split_once(':'));
            fields.find_map(|(key, value)| (key == name).then_some(value.trim()))
        };
        let capabilities = field("CapEff").and_then(|value| u64::from_str_radix(value, 16).ok());
        Self {
            paranoid: paranoid.and_then(|level| level.trim().parse().ok()),
            is_privileged: capabilities.is_some_and(|all| all & ALLOWING != 0),
            is_filtered: field("Seccomp").is_some_and(|mode| mode != "0"),
        }
    }
}

fn remedy(conditions: &Conditions) -> &'static str {
    match conditions.paranoid {
        None => NOT_BUILT,
        Some(_) if conditions.is_privileged => CONTAINER,
        Some(level) if level <= USER_MODE_FOR_ALL && conditions.is_filtered => CONTAINER,
        Some(_) => GRANT,
    }
}

fn errno(error: &io::Error) -> Option<Errno> {
    Errno::from_io_error(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remedy_is_for_what_stands_in_the_way() {
        for (paranoid, is_privileged, is_filtered, expected) in [
            (Some(4), false, false, GRANT),
            (Some(3), false, true, GRANT),
            (Some(2), false, true, CONTAINER),
            (Some(4), true, false, CONTAINER),
            (None, true, true, NOT_BUILT),
        ] {
            let conditions = Conditions {
                paranoid,
                is_privileged,
                is_filtered,
            };
            assert_eq!(remedy(&conditions), expected, "{conditions:?}");
        }
    }

    #[test]
    fn each_error_has_a_remedy_of_its_own() {
        let text = |error: Errno| refused(error.into()).to_string();
        assert!(text(Errno::MFILE).contains("ulimit -n"));
        assert!(text(Errno::NOSYS).contains("CONFIG_PERF_EVENTS"));
        let words = "another user's";
        assert!(refused_process(Errno::ACCESS.into()).to_string().contains(words));
        assert!(is_gone(&Errno::SRCH.into()) && !is_gone(&Errno::PERM.into()));
    }
}

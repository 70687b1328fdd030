//! Sampling that the kernel allows this user, the way to more of it, and its cost before anybody is sampled.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::time::{Duration, Instant};

use ciphertax_observe::perf_event::{Event, Whom};
use procfs::process::Process;
use rustix::io::Errno;

use super::event::cpu_clock;
use crate::{ProfileError, cpu_time};

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
const MORE_FILES: &str = "raise the limit of open files (`ulimit -n`), or use `setcap cap_perfmon,cap_syslog+ep` on this program, \
                     which then needs one for each CPU alone";
const MORE_MEMORY: &str =
    "raise the limit of locked memory (`ulimit -l`) or `sysctl kernel.perf_event_mlock_kb`";

/// True if an error says that this user may not.
pub(super) fn is_refusal(error: &io::Error) -> bool {
    matches!(errno(error), Some(Errno::ACCESS | Errno::PERM))
}

/// True if an error says that there is no such thread or CPU any more.
pub(super) fn is_gone(error: &io::Error) -> bool {
    matches!(errno(error), Some(Errno::SRCH | Errno::NODEV | Errno::NXIO))
}

pub(super) fn refused(cause: io::Error) -> ProfileError {
    let remedy = match errno(&cause) {
        Some(Errno::MFILE | Errno::NFILE) => MORE_FILES,
        Some(Errno::ACCESS | Errno::PERM) => remedy(&Conditions::read()),
        _ => NOT_BUILT,
    };
    sampling(cause, remedy)
}

/// The error where the user may sample, but not these processes, or not so many.
pub(super) fn refused_process(cause: io::Error) -> ProfileError {
    let remedy = match errno(&cause) {
        Some(Errno::ACCESS | Errno::PERM) => OTHERS_PROCESS,
        _ => MORE_FILES,
    };
    sampling(cause, remedy)
}

pub(super) fn refused_memory(cause: io::Error) -> ProfileError {
    sampling(cause, MORE_MEMORY)
}

fn sampling(cause: io::Error, remedy: &'static str) -> ProfileError {
    ProfileError::Refused {
        what: "sampling of CPU time",
        cause,
        remedy,
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
        let status = Process::myself().and_then(|own| own.status()).ok();
        let capabilities = status.as_ref().map_or(0, |status| status.capeff);
        Self {
            paranoid: paranoid.and_then(|level| level.trim().parse().ok()),
            is_privileged: capabilities & ALLOWING != 0,
            is_filtered: status
                .and_then(|status| status.seccomp)
                .is_some_and(|mode| mode != 0),
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

/// Samples a second of the thread that finds out, and the CPU time that it takes for that.
const PROBE_HZ: u32 = 4999;
const PROBE: Duration = Duration::from_millis(20);
/// Shorter interruptions are not told from the reading of the clock.
const SHORTEST_INTERRUPTION: Duration = Duration::from_nanos(500);
/// What a sample costs a database server, in interruptions: the copy of its stack, and what it finds no more in the caches. On a
/// virtual machine an interruption took 13 µs, a sample 53 µs, of which 15 µs were for the stack.
const INTERRUPTIONS_A_SAMPLE: f64 = 4.0;

/// The highest of these numbers of samples a second that is expected to cost what is sampled no more than this share of its CPU
/// time, and the lowest if none is. A virtual machine is left and entered for each sample, which can take ten times as long as
/// the sample itself; where the kernel does not let that be measured, the highest will do.
pub fn affordable_hz(hz: &[u32], share: f64) -> u32 {
    affordable(hz, share, interruption())
}

fn affordable(hz: &[u32], share: f64, interruption: Option<Duration>) -> u32 {
    let sample = interruption.unwrap_or_default().as_secs_f64() * INTERRUPTIONS_A_SAMPLE;
    let allowed = hz.iter().filter(|hz| f64::from(**hz) * sample <= share);
    allowed.max().or(hz.iter().min()).copied().unwrap_or(1)
}

/// For how long a sample keeps this thread from its work, its stack not copied; `None` if the kernel refuses.
fn interruption() -> Option<Duration> {
    let open = |with_kernel| {
        Event::open(
            cpu_clock(PROBE_HZ, with_kernel),
            Whom::this_thread(),
            Event::ANY_CPU,
        )
    };
    // Without a ring its samples go nowhere.
    let event = open(true).or_else(|_| open(false)).ok()?;
    event.enable().ok()?;
    let (gaps, time) = gaps();
    typical(gaps, (time.as_secs_f64() * f64::from(PROBE_HZ)) as usize)
}

/// How long this thread, which does nothing but read the clock, was kept from that each time, and its CPU time.
fn gaps() -> (Vec<Duration>, Duration) {
    let begun = cpu_time();
    let mut gaps = Vec::new();
    loop {
        // To ask for the CPU time takes so long itself that it must not count.
        let time = cpu_time().saturating_sub(begun);
        if time >= PROBE {
            return (gaps, time);
        }
        let mut last = Instant::now();
        for _ in 0..2000 {
            let now = Instant::now();
            if now - last > SHORTEST_INTERRUPTION {
                gaps.push(now - last);
            }
            last = now;
        }
    }
}

/// The median of so many interruptions, which are the longest of all but for the few in which another thread ran. If there are
/// not so many, most are shorter than what can be told.
fn typical(mut gaps: Vec<Duration>, interruptions: usize) -> Option<Duration> {
    gaps.sort_unstable_by_key(|gap| std::cmp::Reverse(*gap));
    (interruptions > 0).then(|| {
        gaps.get(interruptions / 2)
            .copied()
            .unwrap_or(SHORTEST_INTERRUPTION)
    })
}

#[cfg(test)]
mod tests {
    use ciphertax_testkit::not_tested;

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

    const RATES: [u32; 3] = [997, 499, 251];

    fn affordable_at(microseconds: u64) -> u32 {
        affordable(&RATES, 0.02, Some(Duration::from_micros(microseconds)))
    }

    #[test]
    fn the_longer_an_interruption_takes_the_fewer_samples_are_affordable() {
        let found = [1, 5, 6, 10, 11, 1000].map(affordable_at);
        assert_eq!(found, [997, 997, 499, 499, 251, 251]);
        assert_eq!(affordable(&RATES, 0.02, None), 997);
    }

    #[test]
    fn an_interruption_is_told_from_other_threads_and_from_the_reading_of_the_clock() {
        let us = Duration::from_micros;
        let gaps = [vec![us(4000); 5], vec![us(1); 300], vec![us(13); 95]].concat();
        assert_eq!(typical(gaps, 100), Some(us(13)));
        assert_eq!(typical(vec![us(4000); 5], 100), Some(SHORTEST_INTERRUPTION));
        assert_eq!(typical(Vec::new(), 0), None);
    }

    #[test]
    fn a_real_interruption_takes_less_than_the_time_between_samples() {
        if interruption().is_none() {
            return not_tested("the kernel lets no thread sample itself");
        }
        let between = Duration::from_secs(1) / PROBE_HZ;
        assert!((0..10).any(|_| interruption().unwrap() < between));
    }
}

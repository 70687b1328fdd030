//! How long somebody on this machine could not go on for want of a CPU, a disk or memory.
//!
//! The kernel keeps it to the microsecond, where it was built with pressure stall information and not started without it
//! (<https://docs.kernel.org/accounting/psi.html>).

use std::fs;

use ciphertax_records::Pressure;

const MICROSECOND_NS: u64 = 1_000;

/// The totals since the machine started; `None` where the kernel keeps none. Only the difference of two readings means
/// something.
pub fn pressure() -> Option<Pressure> {
    let of = |what: &str| fs::read_to_string(format!("/proc/pressure/{what}")).unwrap_or_default();
    let (cpu, io, memory) = (of("cpu"), of("io"), of("memory"));
    let found = Pressure {
        cpu_some_ns: total_ns(&cpu, "some"),
        io_some_ns: total_ns(&io, "some"),
        io_full_ns: total_ns(&io, "full"),
        memory_some_ns: total_ns(&memory, "some"),
        memory_full_ns: total_ns(&memory, "full"),
    };
    (found != Pressure::default()).then_some(found)
}

/// The total of a line such as `some avg10=0.12 avg60=0.05 avg300=0.01 total=1234`, where it is in microseconds.
fn total_ns(text: &str, line: &str) -> Option<u64> {
    let mut lines = text.lines().map(str::split_whitespace);
    let mut words = lines.find_map(|mut words| (words.next() == Some(line)).then_some(words))?;
    let total = words.find_map(|word| word.strip_prefix("total="))?;
    total.parse::<u64>().ok()?.checked_mul(MICROSECOND_NS)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::{Duration, Instant};
    use std::{hint, thread};

    use super::*;
    use crate::placement;

    #[test]
    fn totals_are_found_by_their_lines() {
        let text = "some avg10=0.00 avg60=1.00 avg300=0.00 total=17\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=4\n";
        let found = (total_ns(text, "some"), total_ns(text, "full"));
        assert_eq!(found, (Some(17_000), Some(4_000)));
        for broken in [
            "",
            "some",
            "some total=",
            "some total=-1",
            "some total=18446744073709551615",
            "full total=1",
        ] {
            assert_eq!(total_ns(broken, "some"), None, "{broken}");
        }
    }

    #[test]
    fn pressure_is_known_where_the_kernel_keeps_it_and_nowhere_else() {
        let is_kept = fs::read_to_string("/proc/pressure/cpu").is_ok_and(|text| !text.is_empty());
        assert_eq!(pressure().is_some(), is_kept, "{:?}", Path::new("/proc/pressure"));
    }

    #[test]
    fn who_waits_for_a_cpu_that_another_has_is_counted_while_it_waits() {
        let began = Instant::now();
        let Some(before) = pressure() else {
            return ciphertax_testkit::not_tested("this kernel keeps no pressure");
        };
        let cpus = placement::allowed_cpus().unwrap();
        let ends = AtomicBool::new(false);
        let spin = |cpu: usize| {
            placement::confine_thread(cpu).unwrap();
            while !ends.load(Ordering::Relaxed) {
                hint::spin_loop();
            }
        };
        thread::scope(|scope| {
            // On each of them: one on which others run and nobody waits would count for as much as one with both.
            for cpu in cpus.into_iter().flat_map(|cpu| [cpu; 2]) {
                let spin = &spin;
                scope.spawn(move || spin(cpu));
            }
            thread::sleep(Duration::from_millis(300));
            ends.store(true, Ordering::Relaxed);
        });
        let (waited, wall) = (
            pressure().unwrap().since(&before),
            began.elapsed().as_nanos() as u64,
        );
        // Threads may take a while to begin.
        assert!(waited.cpu_some_ns > Some(wall / 2), "{waited:?} of {wall} ns");
        let is_less = waited.cpu_some_ns < Some(wall * 11 / 10);
        assert!(is_less, "{waited:?} of {wall} ns");
    }
}

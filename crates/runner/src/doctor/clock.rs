//! What it costs to read a clock.

use std::hint::black_box;
use std::time::Instant;

use ciphertax_observe::ThreadUsage;
use ciphertax_records::Check;
use ciphertax_stats::format::plain;

use super::line;

const READINGS: u32 = 50_000;
/// What reading the time may cost, in nanoseconds: two readings are in every operation.
const SLOW_NS: f64 = 300.0;
const SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

pub(super) fn look() -> Vec<Check> {
    let time = each_ns(|| {
        black_box(Instant::now());
    });
    let cpu = each_ns(|| {
        black_box(ThreadUsage::now());
    });
    let source = line(SOURCE).unwrap_or_else(|| "unknown".into());
    vec![clock(&source, time, cpu)]
}

fn each_ns(read: impl Fn()) -> f64 {
    let began = Instant::now();
    for _ in 0..READINGS {
        read();
    }
    began.elapsed().as_nanos() as f64 / f64::from(READINGS)
}

fn clock(source: &str, time_ns: f64, cpu_ns: f64) -> Check {
    let check = Check::good(
        "clock",
        "clock",
        format!(
            "{source}: {} ns to read the time, {} ns to read CPU time",
            plain(time_ns),
            plain(cpu_ns)
        ),
        "every operation reads the time twice, so that much of the client's CPU per operation is ciphertax's own, in all arms alike",
    )
    .with("time_ns", time_ns)
    .with("cpu_time_ns", cpu_ns);
    check.limited_if(
        time_ns > SLOW_NS,
        "have the kernel take a clock that is read without a system call: tsc or kvm-clock (`clocksource=tsc` on its command \
         line, if the CPUs' counters agree)",
    )
}

#[cfg(test)]
mod tests {
    use ciphertax_records::CheckStatus;

    use super::*;

    #[test]
    fn a_clock_that_is_slow_to_read_has_a_remedy() {
        assert_eq!(clock("tsc", 25.0, 400.0).status, CheckStatus::Good);
        let slow = clock("hpet", 1_200.0, 1_500.0);
        assert_eq!(slow.status, CheckStatus::Limited);
        assert!(slow.found.contains("hpet: 1,200 ns"), "{}", slow.found);
    }
}

//! What it costs to be sampled, before anybody is.

use std::time::{Duration, Instant};

use ciphertax_observe::perf_event::{Event, Whom};
use rustix::time::{ClockId, clock_gettime};

use super::event::cpu_clock;

/// Samples a second of the thread that finds out, and the CPU time that it takes for that.
const PROBE_HZ: u32 = 4999;
const PROBE: Duration = Duration::from_millis(20);
/// Shorter interruptions are not told from the reading of the clock.
const LEAST: Duration = Duration::from_nanos(500);
/// What a sample costs a database server, in interruptions: the copy of its stack, and what it finds no more in the caches. On a
/// virtual machine an interruption took 13 µs, a sample 53 µs, of which 15 µs were for the stack.
const INTERRUPTIONS: f64 = 4.0;

/// The highest of these numbers of samples a second that is expected to cost what is sampled no more than this share of its CPU
/// time, and the lowest if none is. A virtual machine is left and entered for each sample, which can take ten times as long as
/// the sample itself; where the kernel does not let that be measured, the highest will do.
pub fn affordable_hz(hz: &[u32], share: f64) -> u32 {
    affordable(hz, share, interruption())
}

fn affordable(hz: &[u32], share: f64, interruption: Option<Duration>) -> u32 {
    let sample = interruption.unwrap_or_default().as_secs_f64() * INTERRUPTIONS;
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
            if now - last > LEAST {
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
    (interruptions > 0).then(|| gaps.get(interruptions / 2).copied().unwrap_or(LEAST))
}

fn cpu_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use ciphertax_testkit::not_tested;

    use super::*;

    const RATES: [u32; 3] = [997, 499, 251];

    fn affordable_at(microseconds: u64) -> u32 {
        affordable(&RATES, 0.02, Some(Duration::from_micros(microseconds)))
    }

    #[test]
    fn the_longer_an_interruption_takes_the_fewer_samples_are_affordable() {
        let rates = [1, 5, 6, 10, 11, 1000].map(affordable_at);
        assert_eq!(rates, [997, 997, 499, 499, 251, 251]);
        assert_eq!(affordable(&RATES, 0.02, None), 997);
    }

    #[test]
    fn an_interruption_is_told_from_other_threads_and_from_the_reading_of_the_clock() {
        let us = Duration::from_micros;
        let gaps = [vec![us(4000); 5], vec![us(1); 300], vec![us(13); 95]].concat();
        assert_eq!(typical(gaps, 100), Some(us(13)));
        assert_eq!(typical(vec![us(4000); 5], 100), Some(LEAST));
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

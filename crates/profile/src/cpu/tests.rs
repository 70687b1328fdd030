//! Real events, as far as the kernel allows them; names are another test's.

use std::hint;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ciphertax_records::why::ProfiledSide;
use ciphertax_testkit::{PATIENCE, not_tested, stolen_ns};

use super::events::Events;
use super::samples::{Collected, Collector, Draining, User, lock};
use super::watch::Watch;
use crate::Watched;

const HZ: u32 = 997;

/// Events with rings for slices of this length; `None` where there are none.
fn open(slice: Duration) -> Option<(Events, Arc<Mutex<Collector>>)> {
    match Events::open(HZ, slice) {
        Ok((events, rings)) => Some((events, Arc::new(Mutex::new(Collector::new(rings))))),
        Err(error) => {
            not_tested(error);
            None
        }
    }
}

/// What is collected while this thread uses so much CPU time.
fn spin(events: &mut Events, collector: &Mutex<Collector>, time: Duration) -> Collected {
    let mut watch = Watch::new(&Watched {
        client: vec![rustix::thread::gettid().as_raw_pid().cast_unsigned()],
        ..Watched::default()
    });
    lock(collector).clear();
    assert!(events.enable(&mut watch).unwrap().is_none());
    lock(collector).watch = watch;
    let end = cpu_time() + time;
    while cpu_time() < end {
        (0..1000).for_each(|_| hint::spin_loop());
    }
    events.disable();
    events.close_threads();
    lock(collector).end()
}

fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

#[test]
fn samples_of_a_thread_are_as_many_as_its_cpu_time_says_and_hold_its_stack() {
    let Some((mut events, collector)) = open(Duration::from_secs(2)) else {
        return;
    };
    // A hypervisor that takes CPUs away adds samples.
    let is_as_many = (0..5).any(|_| {
        let before = stolen_ns(None);
        let count = samples_with_this_stack(&mut events, &collector);
        let stolen_s = (stolen_ns(None) - before) as f64 / 1e9;
        let expected = 0.94 * 0.5 * f64::from(HZ)..1.06 * (0.5 + stolen_s) * f64::from(HZ);
        println!("{count}: {expected:?}");
        expected.contains(&(count as f64))
    });
    assert!(is_as_many);
}

/// How many samples half a second has, each of which must hold the stack.
fn samples_with_this_stack(events: &mut Events, collector: &Arc<Mutex<Collector>>) -> usize {
    let here = 0_u64;
    let here = (&raw const here).addr() as u64;
    let draining = Draining::start(collector).unwrap();
    let collected = spin(events, collector, Duration::from_millis(500));
    drop(draining);
    // As on a machine that is busy.
    if collected.lost > 0 {
        return 0;
    }
    let taken = collected.samples.taken;
    let count = taken.len();
    for sample in taken {
        let found = (sample.side, sample.pid);
        assert_eq!(found, (ProfiledSide::Client, std::process::id()));
        let User::Stack(registers, stack) = sample.user else {
            panic!("no user part")
        };
        let (sp, ip) = (registers.values[7], registers.values[16]);
        let holds = sp <= here && here < sp + stack.len() as u64;
        assert!(holds, "{sp:x} {here:x} {}", stack.len());
        assert!(ip != 0 && ip < 1 << 47, "{ip:x}");
        assert!(sample.kernel.iter().all(|address| *address > u64::MAX / 2));
    }
    count
}

#[test]
fn a_ring_that_is_too_small_is_told_for_its_own_slice_and_for_no_other() {
    // Seven samples a CPU.
    let Some((mut events, collector)) = open(Duration::ZERO) else {
        return;
    };
    let begun = Instant::now();
    // Who runs in between fills the ring as well, so the short slice may lose something too.
    while begun.elapsed() < PATIENCE {
        let long = spin(&mut events, &collector, Duration::from_millis(60));
        assert!(long.lost > 0, "{long:?}");
        let long = long.samples.taken.len();
        assert!(long <= 16, "{long}");
        let short = spin(&mut events, &collector, Duration::from_millis(3));
        let (lost, short) = (short.lost, short.samples.taken.len());
        if lost == 0 && short > 0 {
            return;
        }
    }
    panic!("every slice after one with losses has some");
}

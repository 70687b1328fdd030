//! Counters against the kernel's own accounts.

use std::cell::Cell;
use std::io::{BufRead, BufReader, Write};
use std::process::{self, Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use std::{hint, thread};

use ciphertax_testkit::stolen_ns;

use super::*;
use crate::{Meter, ProcessMeter, ProcessTree, ThreadUsage};

#[test]
fn counters_that_take_turns_are_extrapolated() {
    let count = |value, enabled_ns, running_ns| Count {
        value,
        enabled_ns,
        running_ns,
    };
    let earlier = count(1_000, 500, 500);
    assert_eq!(count(1_600, 900, 900).since(&earlier), Some(600));
    // It counted for half of the time, and for a quarter of it.
    assert_eq!(count(1_600, 900, 700).since(&earlier), Some(1_200));
    assert_eq!(count(1_600, 900, 600).since(&earlier), None);
    assert_eq!(count(1_000, 900, 500).since(&earlier), None);
    // Nobody ran.
    assert_eq!(earlier.since(&earlier), Some(0));
    assert_eq!(count(999, 900, 900).since(&earlier), None);
}

/// What the kernel counts as it counts instructions and cycles, and what it keeps in an account of its own besides: CPU
/// time in nanoseconds, and page faults.
fn cpu_time_and_faults() -> [perf_event_attr; 2] {
    [
        bindings::PERF_COUNT_SW_TASK_CLOCK,
        bindings::PERF_COUNT_SW_PAGE_FAULTS,
    ]
    .map(|counter| counting(attributes(bindings::PERF_TYPE_SOFTWARE, counter)))
}

fn spin_ms(ms: u64) {
    let began = ThreadUsage::now();
    while ThreadUsage::now().since(&began).cpu.total_ns < ms * 1_000_000 {
        hint::spin_loop();
    }
}

/// What a hypervisor may have let others run since: the kernel's counter of CPU time goes on, its account of a thread does not.
fn stolen_since(before: u64) -> f64 {
    const TICK: f64 = 1e7;
    (stolen_ns(None) - before) as f64 + TICK
}

#[test]
fn threads_of_a_process_are_counted_those_that_begin_and_end_too() {
    // Other tests of this process may work between two readings, but not for ever.
    let alike = (0..30).any(|_| {
        let stolen = stolen_ns(None);
        let (counted, used) = counted_and_used();
        assert!(used > 1.1e8, "{used} ns");
        let room = 0.02 * used + 2e6;
        (used - room..used + room + stolen_since(stolen)).contains(&counted)
    });
    assert!(alike);
}

/// Nanoseconds that threads of this process work, by counters and by the kernel's account.
fn counted_and_used() -> (f64, f64) {
    let waits = |spins: u64| {
        let (tell, told) = std::sync::mpsc::channel::<()>();
        let thread = thread::spawn(move || {
            told.recv().unwrap();
            spin_ms(spins);
            // Whom it begins is counted as well.
            thread::spawn(move || spin_ms(spins)).join().unwrap();
        });
        (tell, thread)
    };
    let first = waits(40);
    // Other tests of this process begin threads too.
    let opened = || counting_threads_of(|| vec![process::id()], cpu_time_and_faults());
    let patiently = (0..500).find_map(|_| {
        thread::sleep(Duration::from_millis(10));
        opened()
    });
    let counters = patiently.unwrap();
    let meter = ProcessMeter::open(process::id()).unwrap();
    let second = waits(20);
    let before = (counters.read().unwrap(), meter.read().unwrap());
    for (tell, thread) in [first, second] {
        tell.send(()).unwrap();
        thread.join().unwrap();
    }
    let (counted, used) = (counters.read().unwrap(), meter.read().unwrap());
    let counted = counted.since(&before.0).unwrap().instructions;
    let used = used.since(&before.1).cpu.unwrap().total_ns;
    (counted as f64, used as f64)
}

#[test]
fn processes_that_a_server_begins_are_counted_and_what_is_no_ones_is_not() {
    let serve = "while read line; do (i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done); echo served; done";
    let mut server = Command::new("sh")
        .args(["-c", serve])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let tree = ProcessTree::open(&[server.id()]).unwrap();
    let counters = counting_threads_of(|| tree.members().unwrap(), cpu_time_and_faults()).unwrap();
    let stolen = stolen_ns(None);
    let before = (counters.read().unwrap(), tree.read().unwrap());
    spin_ms(100);
    let idle = counters.read().unwrap().since(&before.0).unwrap();
    // Nanoseconds, of which this thread has used more.
    assert!(idle.instructions < 100_000_000, "{idle:?}");
    let mut answers = BufReader::new(server.stdout.take().unwrap()).lines();
    for _ in 0..3 {
        server.stdin.as_mut().unwrap().write_all(b"one\n").unwrap();
        assert_eq!(answers.next().unwrap().unwrap(), "served");
    }
    let (counted, used) = (counters.read().unwrap(), tree.read().unwrap());
    let (counted, used) = (counted.since(&before.0).unwrap(), used.since(&before.1));
    drop(server.stdin.take());
    server.wait().unwrap();
    let (ns, cpu) = (counted.instructions as f64, used.cpu.unwrap().total_ns as f64);
    let most = 1.05 * cpu + 2e7 + stolen_since(stolen);
    // Those that have ended are in the process's account by ticks.
    let holds = cpu > 5e7 && ns > 0.95 * cpu - 2e7 && ns < most;
    assert!(holds, "{ns} and {cpu} ns, at most {most}");
    let faults = used.faults.unwrap().minor as f64;
    let holds = faults > 100.0 && (counted.cycles as f64 - faults).abs() <= 0.02 * faults + 5.0;
    assert!(holds, "{counted:?}, {faults}");
}

#[test]
fn own_counters_are_of_the_calling_thread() {
    let counters = HardwareCounters(vec![
        events_of(Whom::this_thread(), cpu_time_and_faults()).unwrap(),
    ]);
    let stolen = stolen_ns(None);
    let before = (counters.read().unwrap(), ThreadUsage::now());
    thread::spawn(|| spin_ms(300)).join().unwrap();
    spin_ms(30);
    let (counted, used) = (counters.read().unwrap(), ThreadUsage::now());
    let counted = counted.since(&before.0).unwrap().instructions as f64;
    let used = used.since(&before.1).cpu.total_ns as f64;
    let most = 1.02 * used + 1e6 + stolen_since(stolen);
    let holds = counted > 0.98 * used - 1e6 && counted < most;
    assert!(holds, "{counted} and {used} ns, at most {most}");
}

#[test]
fn who_begins_while_others_are_looked_for_is_counted_once() {
    let sleeps = || Command::new("sleep").arg("60").spawn().unwrap();
    let mut processes = [sleeps(), sleeps()];
    let pids = processes.each_ref().map(Child::id);
    let asked = Cell::new(0);
    let listed = |is_second_there: fn(u32) -> bool| {
        asked.set(0);
        let (asked, pids) = (&asked, &pids);
        move || {
            asked.set(asked.get() + 1);
            pids[..1 + usize::from(is_second_there(asked.get()))].to_vec()
        }
    };
    let late = counting_threads_of(listed(|asked| asked > 1), cpu_time_and_faults());
    assert_eq!((late.unwrap().0.len(), asked.get()), (2, 4));
    let restless = counting_threads_of(listed(|asked| asked % 2 == 0), cpu_time_and_faults());
    assert!(restless.is_none());
    for process in &mut processes {
        process.kill().unwrap();
        process.wait().unwrap();
    }
    assert!(counting_threads_of(|| pids.to_vec(), cpu_time_and_faults()).is_none());
}

#[test]
fn who_has_too_many_threads_is_not_counted() {
    let (tell, told) = std::sync::mpsc::channel::<()>();
    let told = Arc::new(Mutex::new(told));
    let threads: Vec<_> = (0..MOST_THREADS)
        .map(|_| {
            let told = Arc::clone(&told);
            thread::spawn(move || told.lock().unwrap().recv())
        })
        .collect();
    assert!(counting_threads_of(|| vec![process::id()], cpu_time_and_faults()).is_none());
    drop(tell);
    for thread in threads {
        assert!(thread.join().unwrap().is_err());
    }
}

#[test]
fn the_machine_says_the_same_to_everybody() {
    let has = has_hardware_counters().unwrap_or(false);
    assert_eq!(HardwareCounters::of_this_thread().is_some(), has);
}

#[test]
fn what_the_kernel_says_is_told_apart() {
    assert!(is_without(&Errno::NOENT.into()));
    assert!(!is_without(&Errno::ACCESS.into()));
}

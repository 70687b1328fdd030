//! The time that threads wait for a CPU, where the truth is made: whoever never sleeps waits whenever it does not run.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

use std::hint;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use ciphertax_observe::{ProcessMeter, RunQueueWaits, ThreadUsage, placement, thread_run_queue_wait_ns};
use ciphertax_testkit::{PATIENCE, stolen_ns, within};

const SPIN: Duration = Duration::from_millis(400);

/// True if what was waited is the wall time that was not run, to a tenth of the wall time; what the hypervisor stole while it
/// ran is neither. Who shares a CPU with one other waits for half of the time, with more others longer.
fn has_waited(waited_ns: u64, wall: Duration, cpu_ns: u64, stolen_ns: u64) -> bool {
    let (waited, stolen, wall) = (waited_ns as f64, stolen_ns as f64, wall.as_nanos() as f64);
    let expected = wall - cpu_ns as f64;
    eprintln!("waited {waited} ns, not run for {expected} of {wall} ns, of which {stolen} were stolen");
    let tenth = 0.1 * wall;
    (expected - stolen - tenth..expected + tenth).contains(&waited) && waited > 0.25 * wall
}

#[test]
fn two_threads_that_spin_on_one_cpu_wait_for_each_other() {
    assert!((0..10).any(|_| threads_wait_for_each_other()));
}

fn threads_wait_for_each_other() -> bool {
    let cpu = placement::last_allowed_cpu().unwrap();
    let stolen = stolen_ns(Some(cpu));
    let together = Arc::new(Barrier::new(2));
    let spin = move |together: Arc<Barrier>| {
        placement::confine_thread(cpu).unwrap();
        together.wait();
        let (waited, used, began) = (
            thread_run_queue_wait_ns().unwrap(),
            ThreadUsage::now(),
            Instant::now(),
        );
        while began.elapsed() < SPIN {
            hint::spin_loop();
        }
        let cpu_ns = ThreadUsage::now().since(&used).cpu.total_ns;
        (
            thread_run_queue_wait_ns().unwrap() - waited,
            began.elapsed(),
            cpu_ns,
        )
    };
    let threads = [(); 2].map(|()| {
        let together = Arc::clone(&together);
        thread::spawn(move || spin(together))
    });
    let spun = threads.map(|thread| thread.join().unwrap());
    let stolen = stolen_ns(Some(cpu)) - stolen;
    spun.into_iter()
        .all(|(waited, wall, cpu_ns)| has_waited(waited, wall, cpu_ns, stolen))
}

#[test]
fn two_processes_that_spin_on_one_cpu_wait_for_each_other() {
    assert!((0..10).any(|_| processes_wait_for_each_other()));
}

fn processes_wait_for_each_other() -> bool {
    let cpu = placement::last_allowed_cpu().unwrap();
    let mut spinners = [(); 2].map(|()| {
        let child = sh("while :; do :; done");
        placement::confine_process(child.id(), cpu).unwrap();
        child
    });
    let pid = spinners[0].id();
    let clock = ProcessMeter::open(pid).unwrap();
    let read = || {
        (
            RunQueueWaits::of(pid).unwrap(),
            clock.cpu().unwrap().total_ns,
            Instant::now(),
        )
    };
    let stolen = stolen_ns(Some(cpu));
    let before = read();
    thread::sleep(SPIN);
    let after = read();
    let stolen = stolen_ns(Some(cpu)) - stolen;
    let cpu_ns = after.1 - before.1;
    let waited = after.0.since(&before.0, cpu_ns);
    for child in &mut spinners {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert!(RunQueueWaits::of(pid).is_none(), "it has ended");
    waited.is_some_and(|waited| has_waited(waited, after.2 - before.2, cpu_ns, stolen))
}

#[test]
fn what_sleeps_does_not_wait_for_a_cpu() {
    let mut child = sh("read line");
    let waits = || RunQueueWaits::of(child.id()).unwrap();
    // It may wait for a CPU until it sleeps.
    let is_still = within(PATIENCE, || {
        let before = waits();
        thread::sleep(SPIN);
        waits().since(&before, 0) == Some(0)
    });
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(is_still);
}

#[test]
fn nothing_is_said_where_the_threads_that_worked_have_ended() {
    let own = std::process::id();
    let clock = ProcessMeter::open(own).unwrap();
    let before = (RunQueueWaits::of(own).unwrap(), clock.cpu().unwrap().total_ns);
    let worker = thread::spawn(|| {
        let began = ThreadUsage::now();
        while ThreadUsage::now().since(&began).cpu.total_ns < 100_000_000 {
            hint::spin_loop();
        }
        rustix::thread::gettid()
    });
    let tid = worker.join().unwrap().as_raw_nonzero();
    // It is waited for before the kernel takes it out of the list.
    let task = format!("/proc/self/task/{tid}");
    assert!(within(PATIENCE, || !Path::new(&task).exists()));
    // The threads of other tests, which share one CPU, do not hide that a good part is missing.
    let cpu_ns = clock.cpu().unwrap().total_ns - before.1;
    assert_eq!(RunQueueWaits::of(own).unwrap().since(&before.0, cpu_ns), None);
}

fn sh(script: &str) -> Child {
    let mut command = Command::new("sh");
    command.args(["-c", script]).stdin(Stdio::piped());
    command.spawn().unwrap()
}

//! The CPU clock of another process against what the kernel says of it after its end.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

use std::io::{Read, Write};
use std::mem::MaybeUninit;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use ciphertax_observe::{Error, Meter, ProcessMeter, ProcessTree};

#[test]
fn the_clock_agrees_with_the_kernels_account_of_the_child() {
    // It works, says so, and waits; what it uses to end is little.
    let mut child = shell("i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; echo done; read line");
    let clock = ProcessMeter::open(child.id()).unwrap();
    child.stdout.as_mut().unwrap().read_exact(&mut [0; 5]).unwrap();
    clock
        .settle(Duration::from_millis(1), Duration::from_secs(1))
        .unwrap();
    let cpu = clock.cpu().unwrap();
    let expected = usage_at_the_end_of(child);
    let ratio = cpu.total_ns as f64 / expected as f64;
    let holds = (0.95..=1.02).contains(&ratio);
    assert!(holds, "clock {} against {expected}", cpu.total_ns);
    let holds = cpu.total_ns > 20_000_000;
    assert!(holds, "it did too little to compare: {}", cpu.total_ns);
}

#[test]
fn bytes_are_those_of_a_process_and_of_the_children_that_it_waited_for() {
    const BYTES: u64 = 3 << 20;
    // Not in memory, as the folder for temporary files may be.
    let folder = env!("CARGO_TARGET_TMPDIR");
    let file = format!("{folder}/bytes-{}", std::process::id());
    let mut child = shell(&format!(
        "read go; head -c {BYTES} /dev/zero > '{file}'; echo done; read line"
    ));
    let process = ProcessMeter::open(child.id()).unwrap();
    let tree = ProcessTree::open(&[child.id()]).unwrap();
    let before = (process.read().unwrap(), tree.read().unwrap());
    child.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
    child.stdout.as_mut().unwrap().read_exact(&mut [0; 5]).unwrap();
    let after = [
        process.read().unwrap().since(&before.0),
        tree.read().unwrap().since(&before.1),
    ];
    for used in after {
        // With some of the file system's own.
        let written = used.bytes_written.unwrap();
        assert!((BYTES..BYTES + (1 << 20)).contains(&written), "{written}");
        assert!(used.bytes_read.is_some());
    }
    usage_at_the_end_of(child);
    std::fs::remove_file(file).unwrap();
}

#[test]
fn system_time_is_told_from_user_time() {
    // Copying zeros is all system time.
    let mut child = spawn(Command::new("dd").args(["if=/dev/zero", "of=/dev/null", "bs=1M"]));
    let clock = ProcessMeter::open(child.id()).unwrap();
    while clock.cpu().unwrap().total_ns < 300_000_000 {
        thread::sleep(Duration::from_millis(5));
    }
    let cpu = clock.cpu().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(cpu.system_ns as f64 > 0.8 * cpu.total_ns as f64, "{cpu:?}");
}

#[test]
fn threads_that_have_ended_are_counted() {
    let clock = ProcessMeter::open(std::process::id()).unwrap();
    let before = clock.cpu().unwrap().total_ns;
    let used = thread::spawn(|| {
        let start = ciphertax_observe::ThreadUsage::now();
        loop {
            let used = ciphertax_observe::ThreadUsage::now().since(&start).cpu.total_ns;
            if used > 50_000_000 {
                return used;
            }
        }
    })
    .join()
    .unwrap();
    assert!(clock.cpu().unwrap().total_ns - before >= used);
}

#[test]
fn a_sleeping_process_settles_and_a_busy_one_does_not() {
    let sleeping = Running(shell("read line"));
    let clock = ProcessMeter::open(sleeping.0.id()).unwrap();
    assert!(
        clock
            .settle(Duration::from_millis(1), Duration::from_secs(5))
            .unwrap()
    );
    let busy = Running(shell("while :; do :; done"));
    let clock = ProcessMeter::open(busy.0.id()).unwrap();
    assert!(
        !clock
            .settle(Duration::from_millis(200), Duration::from_secs(1))
            .unwrap()
    );
}

/// A child that nobody has waited for. It ends with the test, also with one that fails.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_process_that_ended_is_not_taken_for_another() {
    let mut child = shell("read line");
    let clock = ProcessMeter::open(child.id()).unwrap();
    clock.cpu().unwrap();
    child.kill().unwrap();
    while !std::fs::read_to_string(format!("/proc/{}/stat", child.id()))
        .unwrap()
        .contains(") Z")
    {
        thread::sleep(Duration::from_millis(1));
    }
    let is_over = matches!(clock.cpu(), Err(Error::ProcessEnded(_)));
    assert!(is_over, "dead, not yet reaped");
    child.wait().unwrap();
    assert!(matches!(clock.cpu(), Err(Error::ProcessEnded(_))), "reaped");
    assert!(clock.read().is_err());
}

#[test]
fn context_switches_of_a_process_rise_as_it_answers() {
    let mut child = shell("while read line; do echo answer; done");
    let clock = ProcessMeter::open(child.id()).unwrap();
    let (mut questions, mut answers) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut ask = || {
        questions.write_all(b"question\n").unwrap();
        answers.read_exact(&mut [0; 7]).unwrap();
    };
    ask();
    let before = clock.read().unwrap();
    // Whoever is asked before it waits again need not be switched to.
    for _ in 0..70 {
        ask();
        thread::sleep(Duration::from_millis(1));
    }
    let switches = clock.read().unwrap().since(&before).context_switches.unwrap();
    assert!((50..700).contains(&switches), "{switches}");
    child.kill().unwrap();
    child.wait().unwrap();
}

fn shell(script: &str) -> Child {
    spawn(Command::new("sh").args(["-c", script]))
}

fn spawn(command: &mut Command) -> Child {
    command
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Lets the child end and returns all the CPU time it used, in nanoseconds, from the kernel's account for its parent.
fn usage_at_the_end_of(mut child: Child) -> u64 {
    drop(child.stdin.take());
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    let pid = libc::pid_t::try_from(child.id()).unwrap();
    // SAFETY: both pointers are to values that outlive the call.
    let usage = unsafe {
        assert_eq!(libc::wait4(pid, &raw mut status, 0, usage.as_mut_ptr()), pid);
        usage.assume_init()
    };
    [usage.ru_utime, usage.ru_stime]
        .iter()
        .map(|time| time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_usec.unsigned_abs() * 1_000)
        .sum()
}

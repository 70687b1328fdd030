//! Counters that lag behind, of a shell that works when it is asked.

use std::collections::VecDeque;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ciphertax_model::{CounterCommand, CpuCounter};
use ciphertax_observe::{Meter, ProcessMeter, Usage};

use super::source::CounterMeter;
use super::{check_pace, resolution};
use crate::error::Result;
use crate::timeout::unusable;

/// A shell that works a little for each line, and else not at all.
struct Worker {
    shell: Child,
    answers: BufReader<ChildStdout>,
}

impl Worker {
    fn start() -> Self {
        let script = "while read line; do i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done; echo; done";
        let mut shell = Command::new("sh")
            .args(["-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let answers = BufReader::new(shell.stdout.take().unwrap());
        Self { shell, answers }
    }

    fn work(&mut self, time: Duration) {
        let until = Instant::now() + time;
        while Instant::now() < until {
            self.shell.stdin.as_mut().unwrap().write_all(b"work\n").unwrap();
            self.answers.read_line(&mut String::new()).unwrap();
        }
    }

    /// The file where the kernel keeps its CPU time, in nanoseconds first.
    fn clock(&self) -> PathBuf {
        format!("/proc/{}/schedstat", self.shell.id()).into()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.shell.kill();
        let _ = self.shell.wait();
    }
}

fn seconds_of(clock: &Path) -> f64 {
    let text = fs::read_to_string(clock).unwrap_or_default();
    let first = text.split_whitespace().next();
    first.and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

/// What shows a clock as it was, and that anew only now and then.
struct Lagging {
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Lagging {
    fn start(clock: PathBuf, shown: PathBuf, every: Duration, behind: Duration) -> Self {
        let ends = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&ends);
        let write = move |seconds: f64| {
            let new = shown.with_extension("new");
            fs::write(&new, seconds.to_string()).unwrap();
            fs::rename(&new, &shown).unwrap();
        };
        write(seconds_of(&clock));
        let thread = thread::spawn(move || {
            let mut seen = VecDeque::new();
            let mut renewed = Instant::now();
            while !flag.load(Ordering::Relaxed) {
                let now = Instant::now();
                seen.push_back((now, seconds_of(&clock)));
                while seen.get(1).is_some_and(|(at, _)| now - *at >= behind) {
                    seen.pop_front();
                }
                if now - renewed >= every {
                    renewed = now;
                    write(seen[0].1);
                }
                thread::sleep(Duration::from_millis(2));
            }
        });
        Self {
            ends,
            thread: Some(thread),
        }
    }
}

impl Drop for Lagging {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn printed_by(words: &[&str]) -> CpuCounter {
    CpuCounter {
        command: CounterCommand::new(words.iter().map(|word| (*word).to_owned())),
        ..CpuCounter::default()
    }
}

fn found(counter: &CpuCounter, worker: &mut Worker) -> Result<f64> {
    let mut work = |time| {
        worker.work(time);
        Ok(())
    };
    resolution(counter, &mut work, |problem| unusable("db", problem))
}

fn used(before: &Usage, after: &Usage) -> f64 {
    after.since(before).cpu.unwrap().total_ns as f64
}

#[test]
fn slices_have_all_of_their_cpu_time_though_the_counter_lags_behind() {
    let folder = tempfile::tempdir().unwrap();
    let shown = folder.path().join("seconds");
    let mut worker = Worker::start();
    let (every, behind) = (Duration::from_millis(100), Duration::from_millis(80));
    let _lagging = Lagging::start(worker.clock(), shown.clone(), every, behind);
    let counter = printed_by(&["cat", shown.to_str().unwrap()]);
    let resolution_s = found(&counter, &mut worker).unwrap();
    assert!(resolution_s >= (every + behind).as_secs_f64(), "{resolution_s}");

    let meter = CounterMeter::open(&CpuCounter {
        resolution_s: Some(resolution_s),
        ..counter
    })
    .unwrap();
    let read = || meter.read_when_quiet(Duration::ZERO, Duration::ZERO).unwrap();
    let own = ProcessMeter::open(worker.shell.id()).unwrap();
    let mut ratios = [(); 7].map(|()| {
        let before = (own.read().unwrap(), read());
        worker.work(Duration::from_millis(250));
        let truth = used(&before.0, &own.read().unwrap());
        let told = used(&before.1, &read());
        // Work outside of slices is nobody's.
        worker.work(Duration::from_millis(50));
        told / truth
    });
    // When the machine stands still, so does who shows the clock.
    ratios.sort_by(f64::total_cmp);
    assert!((ratios[3] - 1.0).abs() < 0.03, "{ratios:?}");
}

#[test]
fn what_counts_no_seconds_is_refused_before_it_is_measured_with() {
    let mut worker = Worker::start();
    let clock = worker.clock();
    // Microseconds, milliseconds.
    for of_ns in ["1e3", "1e6"] {
        let print = format!("{{printf \"%.3f\", $1 / {of_ns}}}");
        let counter = printed_by(&["awk", &print, clock.to_str().unwrap()]);
        let mut work = |time| {
            worker.work(time);
            Ok(())
        };
        let unusable = |problem| unusable("db", problem);
        let found = resolution(&counter, &mut work, unusable).unwrap_err().to_string();
        let known = check_pace(&counter, 0.1, &mut work, unusable)
            .unwrap_err()
            .to_string();
        for refused in [found, known] {
            assert!(refused.contains("does it print seconds?"), "{refused}");
        }
    }
}

#[test]
fn a_server_that_refuses_ends_the_search_at_once() {
    let asked = std::cell::Cell::new(0);
    let mut work = |_| {
        asked.set(asked.get() + 1);
        Err(unusable("db", "access denied"))
    };
    let refused = resolution(&printed_by(&["echo", "1"]), &mut work, |problem| {
        unusable("db", problem)
    });
    assert!(refused.unwrap_err().to_string().contains("access denied"));
    assert_eq!(asked.get(), 1);
}

#[test]
fn a_counter_that_falls_or_leaps_is_missed_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("seconds");
    let show = |seconds: &str| fs::write(&file, seconds).unwrap();
    show("100");
    let meter = CounterMeter::open(&CpuCounter {
        resolution_s: Some(0.001),
        ..printed_by(&["cat", file.to_str().unwrap()])
    })
    .unwrap();
    for (seconds, words) in [("3", "began anew"), ("9000000", "does it print seconds?")] {
        assert!(meter.read().is_ok() && meter.lost().is_none());
        show(seconds);
        let error = meter.read().unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
        assert_eq!(meter.lost(), Some(error));
    }
    assert!(meter.read().is_ok() && meter.lost().is_none());
    for resolution_s in [-1.0, 1e300, f64::NAN] {
        let counter = CpuCounter {
            resolution_s: Some(resolution_s),
            ..printed_by(&["echo", "1"])
        };
        assert!(CounterMeter::open(&counter).is_err(), "{resolution_s}");
    }
}

//! A server whose every `SSL_write` is slower by a time that is known.

use crate::common::*;
use crate::preloaded::Preloaded;

pub(crate) const STUDY: &str = r#"
name = "slowed"
question = "Where does the time go?"
time_s = 45
slice_s = 0.25
precision = { cpu = 0.001, throughput = 0.001 }
arm = [{ name = "plain", transport = "plain" }, { name = "tls", transport = "tls1.3" }]
cell = [{ name = "select", workload = "oltp_point_select", load = { connections = 2 } }]
"#;

/// The arm of the study that is slower.
pub(crate) const SLOW_ARM: &str = "tls";
/// One call of a thread in so many is timed, as the library does it.
const CALLS_A_TIMED_ONE: f64 = 32.0;
/// How often the truth is read while a run goes on, and how exactly its slices are found in what was read.
const READ_EVERY: Duration = Duration::from_millis(1);

/// What makes every `SSL_write` of a server slower, and where it counts.
pub(crate) struct SlowWrite {
    preloaded: Preloaded,
}

/// A run whose server was slower.
pub(crate) struct Slowed {
    pub(crate) run: Run,
    samples: Vec<Sample>,
    readings: Vec<Reading>,
}

/// What the library had counted at some time after the run was started.
#[derive(Clone, Copy, Default)]
struct Reading {
    at_s: f64,
    calls: f64,
    ns: f64,
}

impl SlowWrite {
    pub(crate) fn build() -> Self {
        let slow = Self {
            preloaded: Preloaded::build("slow_write.c"),
        };
        fs::write(slow.truth(), [0; 16]).unwrap();
        fs::set_permissions(slow.truth(), fs::Permissions::from_mode(0o666)).unwrap();
        slow
    }

    /// A run whose server is slower by so many nanoseconds.
    pub(crate) fn run(&self, sandbox: &Sandbox, ns: u32) -> Slowed {
        let mut command = sandbox.study(STUDY, &[]);
        command.envs(self.environment(ns));
        let is_over = AtomicBool::new(false);
        let readings = thread::scope(|scope| {
            let readings = scope.spawn(|| self.read_until(&is_over));
            let over = SetAtTheEnd(&is_over);
            Running::start(command).finish().measured();
            drop(over);
            readings.join().unwrap()
        });
        Slowed {
            run: record(&sandbox.run()),
            samples: samples(&sandbox.run()),
            readings,
        }
    }

    /// What a run's environment has for its server to be slower by so many nanoseconds.
    pub(crate) fn environment(&self, ns: u32) -> Vec<(&'static str, OsString)> {
        vec![
            ("LD_PRELOAD", self.preloaded.library().into()),
            ("SLOW_WRITE_NS", ns.to_string().into()),
            ("SLOW_WRITE_TRUTH", self.truth().into()),
        ]
    }

    fn read_until(&self, is_over: &AtomicBool) -> Vec<Reading> {
        let began = Instant::now();
        let mut readings = Vec::new();
        while !is_over.load(Ordering::Relaxed) {
            let counts = fs::read(self.truth()).unwrap();
            let count = |at: usize| u64::from_ne_bytes(counts[at..at + 8].try_into().unwrap()) as f64;
            readings.push(Reading {
                at_s: began.elapsed().as_secs_f64(),
                calls: count(0),
                ns: count(8),
            });
            thread::sleep(READ_EVERY);
        }
        readings
    }

    fn truth(&self) -> PathBuf {
        self.preloaded.folder().join("truth")
    }
}

impl Slowed {
    /// Microseconds of CPU time that a call took in those slices of the slow arm that were looked into: a virtual machine's CPU is
    /// not as fast in one second as in the next.
    ///
    /// A run does not say when it began by the clock of whoever started it. But calls are made in slices of the slow arm alone, so it
    /// began where these hold most of them.
    pub(crate) fn us_where_looked(&self) -> f64 {
        let slow = |sample: &&Sample| sample.slice.arm == SLOW_ARM;
        let slices: Vec<[f64; 2]> = self.samples.iter().filter(slow).map(times).collect();
        let last = slices.iter().map(|[_, end]| *end).fold(0.0, f64::max);
        let latest = self.readings.last().unwrap().at_s - last;
        let step = READ_EVERY.as_secs_f64();
        let begins = (0..).map(|steps| f64::from(steps) * step);
        let begins = begins.take_while(|begin| *begin < latest);
        let calls_from = |begin: &f64| self.counted(&slices, *begin).calls;
        let began = begins
            .max_by(|one, other| calls_from(one).total_cmp(&calls_from(other)))
            .unwrap();
        let operations = self.samples.iter().filter(slow);
        let operations: u64 = operations.map(|sample| sample.load.operation_count()).sum();
        let calls = CALLS_A_TIMED_ONE * calls_from(&began);
        let is_each = (calls / operations as f64 - 1.0).abs() < 0.05;
        assert!(is_each, "{calls} calls in slices of {operations} operations");
        let looked = self.samples.iter().filter(slow);
        let looked = looked.filter(|sample| sample.look.is_some() && sample.is_valid());
        let counted = self.counted(&looked.map(times).collect::<Vec<_>>(), began);
        counted.ns / 1e3 / counted.calls
    }

    /// What was counted in slices of a run that began then.
    fn counted(&self, slices: &[[f64; 2]], began: f64) -> Reading {
        let mut counted = Reading::default();
        for slice in slices {
            let [before, after] = slice.map(|time| self.reading(began + time));
            counted.calls += after.calls - before.calls;
            counted.ns += after.ns - before.ns;
        }
        counted
    }

    /// The last one that was read until then.
    fn reading(&self, at_s: f64) -> Reading {
        let after = self.readings.partition_point(|reading| reading.at_s <= at_s);
        self.readings[after.saturating_sub(1)]
    }
}

/// When a slice began and ended, in seconds after the run began.
fn times(sample: &Sample) -> [f64; 2] {
    let begin = sample.start_ns as f64 / 1e9;
    [begin, begin + sample.load.duration_ns as f64 / 1e9]
}

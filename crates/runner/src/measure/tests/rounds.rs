//! Servers that are shells: what each burns and writes, and when, is known before.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use ciphertax_base::CpuTime;
use ciphertax_lab::page_cache::{Cached, Dropped};
use ciphertax_observe::{FileSystemMeter, Meter, ProcessMeter};
use ciphertax_records::{QuietPhase, Round, RoundOfArm};
use ciphertax_testkit::{PATIENCE, within};

use super::super::round::RoundClocks;
use super::super::still::STILL_FOR;
use crate::error::Result;
use crate::server::Server;
use crate::servers::ServersByArm;

const ARMS: [&str; 3] = ["plain", "baseline again", "at rest"];

/// Does what each line tells it: counts so far, or writes so many bytes, or works for ever.
const SCRIPT: &str = r#"
while read what number file; do
  case $what in
    burn) i=0; while [ $i -lt $number ]; do i=$((i+1)); done ;;
    write) head -c $number /dev/zero > "$file" ;;
    forever) while :; do :; done ;;
  esac
  echo done
done"#;

struct Shell {
    process: Child,
    answers: BufReader<ChildStdout>,
    meter: ProcessMeter,
    counted: i64,
    /// A clock that the test winds.
    file_system: CpuTime,
    behind: RefCell<Option<Behind>>,
    behind_meters: Option<(ProcessMeter, FileSystemMeter)>,
}

/// Who reads and writes the disk for a server, and what is asked of it when its files are to be forgotten.
struct Behind {
    shell: Box<Shell>,
    asked: String,
}

/// What stays of each server's files, and how long writing them took who dropped the others.
const LEFT: u64 = 4096;
const WRITING: Duration = Duration::from_millis(700);

impl Shell {
    fn start() -> Self {
        let mut process = Command::new("sh")
            .args(["-c", SCRIPT])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            answers: BufReader::new(process.stdout.take().unwrap()),
            meter: ProcessMeter::open(process.id()).unwrap(),
            process,
            counted: 0,
            file_system: CpuTime::default(),
            behind: RefCell::new(None),
            behind_meters: None,
        }
    }

    fn put_behind(&mut self, shell: Self, asked: String) {
        let pid = shell.process.id();
        self.behind_meters = Some((
            ProcessMeter::open(pid).unwrap(),
            FileSystemMeter::open(&[pid]).unwrap(),
        ));
        let shell = Box::new(shell);
        self.behind = RefCell::new(Some(Behind { shell, asked }));
    }

    fn begin(&mut self, what: &str) {
        let mut input = self.process.stdin.as_ref().unwrap();
        writeln!(input, "{what}").unwrap();
    }

    fn wait(&mut self) {
        let mut answer = String::new();
        self.answers.read_line(&mut answer).unwrap();
        assert_eq!(answer, "done\n");
        // It has said so a little before it has done all.
        assert!(within(PATIENCE, || self.sleeps()));
    }

    /// True if it waits for what it is told next.
    fn sleeps(&self) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.process.id())).unwrap();
        let behind_name = stat.rsplit_once(") ");
        behind_name.is_some_and(|(_, behind)| behind.starts_with('S'))
    }

    fn work(&mut self, what: &str) {
        self.begin(what);
        self.wait();
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Server for Shell {
    fn counters(&mut self) -> Result<BTreeMap<String, i64>> {
        Ok([("pages_flushed".to_owned(), self.counted)].into())
    }

    fn meter(&self) -> &dyn Meter {
        &self.meter
    }

    fn file_system_cpu(&self) -> Option<CpuTime> {
        match &self.behind_meters {
            Some((_, clock)) => clock.own().ok(),
            None => Some(self.file_system),
        }
    }

    fn daemon(&self) -> Option<&dyn Meter> {
        let meters = self.behind_meters.as_ref();
        meters.map(|(meter, _)| meter as &dyn Meter)
    }

    fn drop_cached(&self) -> Result<Option<Dropped>> {
        if let Some(Behind { shell, asked }) = &mut *self.behind.borrow_mut() {
            shell.work(asked);
        }
        Ok(Some(Dropped {
            left: Cached {
                files: 1,
                bytes: LEFT,
            },
            writing: WRITING,
        }))
    }

    fn death(&self) -> Option<String> {
        None
    }
}

struct Shells(BTreeMap<&'static str, Shell>);

impl Shells {
    fn start() -> Self {
        Self(ARMS.map(|arm| (arm, Shell::start())).into())
    }

    fn of(&mut self, arm: &str) -> &mut Shell {
        self.0.get_mut(arm).unwrap()
    }
}

impl ServersByArm for Shells {
    fn server(&mut self, arm: &str) -> &mut dyn Server {
        self.of(arm)
    }
}

fn still() -> QuietPhase {
    QuietPhase {
        waited_ns: 0,
        is_still: true,
    }
}

fn of<'a>(round: &'a Round, arm: &str) -> &'a RoundOfArm {
    round.arms.iter().find(|of_arm| of_arm.arm == arm).unwrap()
}

fn cpu_ns(round: &Round, arm: &str) -> u64 {
    of(round, arm).server_cpu.unwrap().total_ns
}

#[test]
fn what_a_server_does_between_its_slices_is_billed_to_its_own_arm_and_nothing_is_lost() {
    // On a disk, which the folder for temporary files may not be.
    let program = std::env::current_exe().unwrap();
    let folder = tempfile::tempdir_in(program.parent().unwrap()).unwrap();
    let file = folder.path().join("page");
    let mut shells = Shells::start();
    let mut clocks = RoundClocks::new();
    // Not billed: it was before the first round.
    shells.of("at rest").work("burn 100000");
    let began = Instant::now();
    let rest = clocks.begin(&mut shells, &ARMS);
    let is_real = rest >= STILL_FOR && rest <= began.elapsed();
    assert!(is_real, "coming to rest is no part of the measuring: {rest:?}");
    assert_eq!(clocks.begin(&mut shells, &ARMS), Duration::ZERO, "it has begun");
    let before = ARMS.map(|arm| shells.of(arm).meter.read().unwrap());

    let mut rounds = Vec::new();
    for block in 0..3 {
        for arm in ARMS {
            clocks.begin_turn(&mut shells, &ARMS, arm);
            shells.of(arm).work("burn 2000");
        }
        // While nobody asks it anything: in the first round after its slice, in the second as long before its next one.
        match block {
            0 => shells.of("at rest").work("burn 400000"),
            1 => {
                shells
                    .of("plain")
                    .work(&format!("write 3145728 {}", file.display()));
                shells.of("plain").counted += 192;
                shells.of("plain").file_system.total_ns += 7_000;
            }
            _ => {}
        }
        rounds.push(clocks.end(&mut shells, &ARMS, ("cell", block), began, still()));
    }

    let [first, second, third] = &rounds[..] else {
        panic!("{rounds:?}")
    };
    for arm in ["plain", "baseline again"] {
        let (own, others) = (cpu_ns(first, "at rest"), cpu_ns(first, arm));
        assert!(own > 10 * others, "{own} ns, and {others} ns of {arm}");
    }
    for round in [second, third] {
        let most = ARMS.map(|arm| cpu_ns(round, arm)).into_iter().max().unwrap();
        assert!(5 * most < cpu_ns(first, "at rest"), "{round:?}");
    }
    let written = |round: &Round| ARMS.map(|arm| of(round, arm).bytes_written.unwrap());
    assert_eq!(written(first), [0, 0, 0]);
    // With some of the file system's own.
    let [plain, again, at_rest] = written(second);
    assert!((3 << 20..4 << 20).contains(&plain), "{plain}");
    assert_eq!([again, at_rest], [0, 0]);
    let plain = of(second, "plain");
    assert_eq!(plain.server_counters, [("pages_flushed".to_owned(), 192)].into());
    assert_eq!(plain.file_system_cpu.unwrap().total_ns, 7_000);
    assert_eq!(of(third, "plain").file_system_cpu.unwrap().total_ns, 0);

    for (arm, before) in ARMS.iter().zip(before) {
        let all: u64 = rounds.iter().map(|round| cpu_ns(round, arm)).sum();
        let used = shells.of(arm).meter.read().unwrap().since(&before);
        assert_eq!(all, used.cpu.unwrap().total_ns, "{arm}");
    }
    for pair in rounds.windows(2) {
        let found = pair[0].end_ns();
        assert_eq!(found, pair[1].start_ns, "no time lies between two rounds");
    }
}

#[test]
fn quiet_is_waited_for_until_the_other_servers_stand_still_and_no_longer_than_is_bearable() {
    let mut shells = Shells::start();
    let mut clocks = RoundClocks::new();
    clocks.begin(&mut shells, &ARMS);
    shells.of("at rest").begin("burn 1500000");
    assert!(clocks.wait(&mut shells, &ARMS, PATIENCE).is_still);
    // It has ended, so this does not hang.
    shells.of("at rest").wait();

    shells.of("at rest").begin("forever");
    let others = &ARMS[..2];
    let holds = clocks.quiet(&mut shells, others, true).is_still;
    assert!(holds, "it is its own slice");
    // On a busy machine it may get hardly any CPU time for a while.
    let quiet = (0..5)
        .map(|_| clocks.wait(&mut shells, &ARMS, Duration::from_millis(1_500)))
        .find(|quiet| !quiet.is_still)
        .expect("a server that works for ever is never still");
    assert!(quiet.waited_ns >= 1_500_000_000, "{quiet:?}");
}

#[test]
fn a_server_that_works_in_anothers_slice_is_seen_and_quiet_is_then_waited_for_longer() {
    let mut shells = Shells::start();
    let mut clocks = RoundClocks::new();
    clocks.begin(&mut shells, &ARMS);
    clocks.begin_turn(&mut shells, &ARMS, "at rest");
    shells.of("at rest").work("burn 400000");
    assert!(!clocks.others_worked(&mut shells), "it was its own slice");
    let short = clocks.wait(&mut shells, &ARMS, PATIENCE);

    clocks.begin_turn(&mut shells, &ARMS, "plain");
    shells.of("at rest").work("burn 1500000");
    assert!(clocks.others_worked(&mut shells));
    let longer = clocks.wait(&mut shells, &ARMS, PATIENCE);
    assert!(short.is_still && longer.is_still);
    assert!(longer.waited_ns >= 2_000_000_000, "{longer:?}");
}

#[test]
fn after_slices_that_only_read_less_is_waited_for_until_a_server_is_seen_to_work_all_the_same() {
    let mut shells = Shells::start();
    let mut clocks = RoundClocks::new();
    clocks.begin(&mut shells, &ARMS);
    let mut quiet_after = |shells: &mut Shells, writes| {
        shells.of("at rest").work("burn 400000");
        clocks.begin_turn(shells, &ARMS, "plain");
        clocks.quiet(shells, &ARMS, writes)
    };
    let after_writes = quiet_after(&mut shells, true);
    let is_long = after_writes.is_still && after_writes.waited_ns >= 1_100_000_000;
    assert!(is_long, "{after_writes:?}");
    let after_reads = [(); 5].map(|()| quiet_after(&mut shells, false));
    for quiet in &after_reads {
        let is_long = quiet.is_still && quiet.waited_ns >= 150_000_000;
        assert!(is_long, "{after_reads:?}");
    }
    assert!(
        after_reads
            .iter()
            .any(|quiet| quiet.waited_ns < after_writes.waited_ns),
        "{after_reads:?}, {after_writes:?}"
    );

    clocks.begin_turn(&mut shells, &ARMS, "plain");
    shells.of("at rest").work("burn 1500000");
    assert!(clocks.others_worked(&mut shells));
    let after_reads = clocks.quiet(&mut shells, &ARMS, false);
    assert!(after_reads.waited_ns >= 2_000_000_000, "{after_reads:?}");
}

#[test]
fn quiet_is_waited_for_where_a_daemon_works_for_a_server() {
    let mut shells = Shells::start();
    let mut clocks = RoundClocks::new();
    clocks.begin(&mut shells, &ARMS);
    let is_still = clocks.wait(&mut shells, &ARMS, Duration::ZERO).is_still;
    assert!(is_still, "since the begin");
    shells.of("plain").file_system.total_ns += 1_000_000_000;
    assert!(!clocks.wait(&mut shells, &ARMS, Duration::ZERO).is_still);
}

#[test]
fn a_daemon_is_billed_for_what_its_server_asks_and_not_for_what_forgetting_its_files_takes() {
    let program = std::env::current_exe().unwrap();
    let folder = tempfile::tempdir_in(program.parent().unwrap()).unwrap();
    let [page, header] = ["page", "header"].map(|name| folder.path().join(name));
    let mut shells = Shells::start();
    let asked = format!("write 8388608 {}", header.display());
    shells.of("at rest").put_behind(Shell::start(), asked);
    let mut clocks = RoundClocks::new();
    clocks.begin(&mut shells, &ARMS);
    for arm in ARMS {
        clocks.begin_turn(&mut shells, &ARMS, arm);
        assert_eq!(clocks.drop_cached(&mut shells, arm), Some(LEFT));
        // For its server.
        if let Some(Behind { shell, .. }) = &mut *shells.of(arm).behind.borrow_mut() {
            shell.work(&format!("write 1048576 {}", page.display()));
        }
        clocks.quiet(&mut shells, &[""; 0], true);
    }
    let round = clocks.end(&mut shells, &ARMS, ("cell", 0), Instant::now(), still());
    let written = of(&round, "at rest").bytes_written.unwrap();
    assert!((1 << 20..2 << 20).contains(&written), "{written}");
    assert!(of(&round, "at rest").file_system_cpu.is_some());
    for arm in ARMS {
        // In a container the kernel's workers cannot be seen.
        let workers = of(&round, arm).kernel_workers_cpu_ns;
        let is_whole = workers.is_none_or(|ns| u128::from(ns) >= WRITING.as_nanos());
        assert!(is_whole, "{workers:?}");
    }
}

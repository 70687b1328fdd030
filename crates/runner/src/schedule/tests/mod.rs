//! The schedule without databases, clocks or sleep: a mock says what every slice yields and how long it takes.

mod order;
mod rounds;
mod stopping;
mod voids;

use std::time::Duration;

use ciphertax_model::Study;
use ciphertax_records::why::{Look, SymbolTable};
use ciphertax_records::*;
use ciphertax_stats::histogram;

use super::{Course, Looked, Measure, Measured, PlannedSlice, Rounds};
use crate::error::{Result, RunError};
use crate::progress::{Headline, Progress, Stage};

const SEED: u64 = 7;

/// A study of so many seconds with these cells; its three arms are `plain`, `baseline again` and `tls`, and its slices
/// take half a second.
fn study(time_s: u32, cells: &[(&str, &str)]) -> Study {
    let cells = cells.iter().map(|(name, load)| {
        format!("[[cell]]\nname = {name:?}\nworkload = \"oltp_point_select\"\nload = {{ connections = 2{load} }}\n")
    });
    let text = format!(
        "name = \"made-up\"\nquestion = \"Does it end?\"\ntime_s = {time_s}\nslice_s = 0.5\n\
         [[arm]]\nname = \"plain\"\ntransport = \"plain\"\n[[arm]]\nname = \"tls\"\ntransport = \"tls1.3\"\n{}",
        cells.collect::<String>()
    );
    Study::from_toml(&text).unwrap()
}

/// What a slice is made to be.
#[derive(Clone)]
struct Made {
    took: Duration,
    void: Option<VoidReason>,
    /// Operations that had not begun at the end of an open loop.
    not_begun: u64,
    /// What is measured, relative to what would be without noise.
    noise: f64,
    /// True if somebody wants to stop while it is measured.
    stops: bool,
    /// True if measuring itself fails.
    fails: bool,
}

impl Made {
    fn taking(self, took: Duration) -> Self {
        Self { took, ..self }
    }

    fn stopping(self, stops: bool) -> Self {
        Self { stops, ..self }
    }

    fn failing(self, fails: bool) -> Self {
        Self { fails, ..self }
    }
}

/// Slices that count, until somebody wants to stop in the one of this number.
fn stopping_at(number: u32) -> impl FnMut(&PlannedSlice<'_>) -> Made {
    let mut slices = 0;
    move |slice| {
        slices += 1;
        noisy(slice).stopping(slices == number)
    }
}

/// One that counts, with so little noise that twelve blocks are enough.
fn quiet(slice: &PlannedSlice<'_>) -> Made {
    let step = slice.block * 7 + slice.position * 3;
    Made {
        took: Duration::from_millis(500),
        void: None,
        not_begun: 0,
        noise: 1.0 + 0.001 * (f64::from(step % 11) / 5.0 - 1.0),
        stops: false,
        fails: false,
    }
}

/// One that counts, with so much noise that no number of blocks is enough.
fn noisy(slice: &PlannedSlice<'_>) -> Made {
    Made {
        noise: if (slice.block + slice.position).is_multiple_of(2) {
            0.5
        } else {
            1.5
        },
        ..quiet(slice)
    }
}

/// One that does not count.
fn void(slice: &PlannedSlice<'_>, reason: VoidReason) -> Made {
    Made {
        void: Some(reason),
        ..noisy(slice)
    }
}

fn stolen() -> VoidReason {
    VoidReason::Steal { fraction: 0.2 }
}

fn failed() -> VoidReason {
    VoidReason::Errors {
        count: 1,
        first: "duplicate key".into(),
    }
}

/// Measures nothing: makes what it is asked for.
struct Mock<'a> {
    now: Duration,
    is_stopped: bool,
    log: Vec<Slot>,
    waits: Vec<Duration>,
    /// The cell of every block that was begun.
    blocks: Vec<usize>,
    /// True if arms differ at rest.
    has_rounds: bool,
    /// The names of the cells.
    cells: Vec<String>,
    /// What was done, in its order, where arms differ at rest.
    done: Vec<Done>,
    make: &'a mut dyn FnMut(&PlannedSlice<'_>) -> Made,
}

/// How long a quiet phase of the mock takes.
const QUIET: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Done {
    /// A quiet phase before the slice of an arm, or at the end of a round.
    Quiet(Option<usize>),
    Slice(usize),
    /// The clocks of all servers were read.
    Read(u32),
}

/// A slice that was measured.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Slot {
    cell: String,
    block: u32,
    position: u32,
    arm: usize,
    look: Option<Look>,
}

impl Measure for Mock<'_> {
    fn elapsed(&self) -> Duration {
        self.now
    }

    fn wait(&mut self, time: Duration) {
        self.waits.push(time);
        self.now += time;
    }

    fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    fn begin_block(&mut self, cell: usize) -> Result<()> {
        self.blocks.push(cell);
        Ok(())
    }

    fn has_rounds(&self, _cell: usize) -> bool {
        self.has_rounds
    }

    fn quiet(&mut self, _cell: usize, next: Option<&PlannedSlice<'_>>) -> QuietPhase {
        self.done.push(Done::Quiet(next.map(|next| next.arm_index)));
        self.now += QUIET;
        QuietPhase {
            waited_ns: QUIET.as_nanos() as u64,
            // The server of the last arm flushes for long.
            is_still: next.is_none_or(|next| next.position != 2),
        }
    }

    fn end_round(&mut self, cell: usize, block: u32, quiet: QuietPhase) -> Round {
        self.done.push(Done::Read(block));
        Round {
            cell: self.cells[cell].clone(),
            block,
            start_ns: 0,
            duration_ns: self.now.as_nanos() as u64,
            quiet,
            arms: Vec::new(),
        }
    }

    fn symbols(&self) -> &SymbolTable {
        unimplemented!("nothing is seen")
    }

    fn slice(&mut self, cell: usize, slice: &PlannedSlice<'_>) -> Result<Measured> {
        assert_eq!(self.blocks.last(), Some(&cell), "its servers are ready");
        self.done.push(Done::Slice(slice.arm_index));
        self.log.push(Slot {
            cell: slice.cell.name.clone(),
            block: slice.block,
            position: slice.position,
            arm: slice.arm_index,
            look: slice.look,
        });
        let made = (self.make)(slice);
        if made.fails {
            return Err(RunError::Stopped);
        }
        let sample = Sample {
            slice: slice.id(),
            start_ns: self.now.as_nanos() as u64,
            load: Yield {
                duration_ns: made.took.as_nanos() as u64,
                operations: vec![OperationSample {
                    kind: "point_select".into(),
                    count: (100_000.0 * made.noise) as u64,
                    latency_sum_ns: 1_000_000_000,
                    latency: histogram::encode(&histogram::empty()),
                    ..OperationSample::default()
                }],
                client_cpu: ciphertax_base::CpuTime {
                    total_ns: 400_000_000,
                    system_ns: 0,
                },
                open_loop: slice.cell.load.rate.map(|_| OpenLoopSample {
                    planned: 100,
                    not_begun: made.not_begun,
                    late: 0,
                    delay_sum_ns: 0,
                    response_sum_ns: (1e9 * made.noise) as u64,
                    response: histogram::encode(&histogram::empty()),
                }),
                ..Yield::default()
            },
            look: slice.look,
            void: made.void,
            ..Sample::default()
        };
        self.now += made.took;
        self.is_stopped |= made.stops;
        Ok(Measured {
            sample,
            unfinished: Some(0),
            kept: Vec::new(),
            looked: Looked::default(),
        })
    }
}

/// What a run came to.
struct Run {
    status: Result<RunStatus>,
    samples: Vec<Sample>,
    rounds: Vec<Round>,
    /// Samples and rounds in the run folder.
    written: usize,
    log: Vec<Slot>,
    done: Vec<Done>,
    waits: Vec<Duration>,
    took: Duration,
    heard: Heard,
}

/// What a run said while it worked.
#[derive(Default)]
struct Heard {
    waiting: Vec<String>,
    /// Cells whose slices became longer, and how long they are then, in seconds.
    lengthened: Vec<(String, f64)>,
    /// How often it waited for servers.
    settling: usize,
    blocks: Vec<Headline>,
    void: Vec<String>,
}

impl Progress for Heard {
    fn stage(&mut self, stage: &Stage) {
        match stage {
            Stage::Waiting(reason) => self.waiting.push(reason.clone()),
            Stage::Lengthening { cell, slice, .. } => {
                self.lengthened.push((cell.clone(), slice.as_secs_f64()));
            }
            Stage::Settling => self.settling += 1,
            Stage::Measuring { .. } => {}
            other => panic!("{other:?} is not for the schedule to say"),
        }
    }

    fn block(&mut self, headline: &Headline) {
        self.blocks.push(headline.clone());
    }

    fn void(&mut self, cell: &str, arm: &str, reason: &str) {
        self.void.push(format!("{cell} {arm}: {reason}"));
    }
}

fn run(study: &Study, make: &mut dyn FnMut(&PlannedSlice<'_>) -> Made) -> Run {
    resume(study, SampleLog::default(), make)
}

/// A run of which some blocks are looked into.
fn look(
    study: &Study,
    earlier: impl Into<SampleLog>,
    make: &mut dyn FnMut(&PlannedSlice<'_>) -> Made,
) -> Run {
    play(study, Some(Look::Full), earlier.into(), make)
}

/// A run that goes on after what was measured earlier.
fn resume(
    study: &Study,
    earlier: impl Into<SampleLog>,
    make: &mut dyn FnMut(&PlannedSlice<'_>) -> Made,
) -> Run {
    play(study, None, earlier.into(), make)
}

fn play(
    study: &Study,
    look: Option<Look>,
    earlier: SampleLog,
    make: &mut dyn FnMut(&PlannedSlice<'_>) -> Made,
) -> Run {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("run");
    let mut folder = RunFolder::create(&path).unwrap();
    let mut courses: Vec<Course<'_>> = (0..)
        .zip(&study.cells)
        .map(|(number, cell)| Course::new(study, cell, SEED + number, look, &earlier).unwrap())
        .collect();
    let mut mock = Mock {
        now: super::time_of(&earlier),
        is_stopped: false,
        log: Vec::new(),
        waits: Vec::new(),
        blocks: Vec::new(),
        has_rounds: study.differs_at_rest(),
        cells: study.cells.iter().map(|cell| cell.name.clone()).collect(),
        done: Vec::new(),
        make,
    };
    let mut heard = Heard::default();
    let mut rounds = Rounds::begin(study, &mut mock, &mut folder, earlier);
    let status = rounds.measure(&mut courses, &mut heard);
    let SampleLog { samples, rounds } = rounds.log;
    let text = std::fs::read_to_string(path.join("samples.jsonl")).unwrap();
    Run {
        status,
        samples,
        rounds,
        // The first line says which version the others have.
        written: text.lines().skip(1).count(),
        log: mock.log,
        done: mock.done,
        waits: mock.waits,
        took: mock.now,
        heard,
    }
}

impl Run {
    /// Why it ended before its end.
    #[track_caller]
    fn partial(&self) -> &str {
        match &self.status {
            Ok(RunStatus::Partial { reason }) => reason,
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    fn assert_complete(&self) {
        let is_one = matches!(self.status, Ok(RunStatus::Complete));
        assert!(is_one, "{:?}", self.status);
    }

    /// The cell of every block, in order.
    fn turns(&self) -> Vec<&str> {
        let firsts = self.log.iter().filter(|slot| slot.position == 0);
        firsts.map(|slot| slot.cell.as_str()).collect()
    }

    fn blocks(&self) -> usize {
        self.turns().len()
    }
}

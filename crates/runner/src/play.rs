//! A study from beginning to end.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ciphertax_engine::Engine;
use ciphertax_explain::{CellPrecision, explain, precision};
use ciphertax_lab::Proved;
use ciphertax_model::record::{
    ArmRecord, ArmRole, Run, RunStatus, SCHEMA, Sample, ServerRecord, Tool, VoidReason,
};
use ciphertax_model::{Arm, Cell, Study, Workload};
use ciphertax_stats::BalancedOrder;
use ciphertax_wire::Target;
use ciphertax_wire::mysql::ConnectOptions;
use ciphertax_workload::dataset::{self, Size};
use ciphertax_workload::{Access, BulkRead, Connect, PointSelect};

use crate::control::Control;
use crate::error::RunError;
use crate::folder::RunFolder;
use crate::measure::{Meter, Place};
use crate::progress::{Headline, Progress, Stage};
use crate::server::{IDENTITY, SETTINGS, Server};

/// Rows of the table: with its index some 30 MB, which every server keeps in memory.
const DATASET: Size = Size { rows: 100_000 };
/// A cell in which so many blocks in a row are void says no more by trying again.
const MOST_VOID_BLOCKS: u32 = 3;

/// What is to be played.
pub struct Plan {
    /// The study.
    pub study: Study,
    /// The user's own server; `None` for a private one.
    pub target: Option<Target>,
    /// Where the run goes.
    pub folder: PathBuf,
    /// Seed of the order of the slices.
    pub seed: u64,
    /// Who measures.
    pub tool: Tool,
    /// The command that repeats it, without passwords.
    pub command: String,
}

/// Plays a study and leaves a run folder. `stop` ends it at the next edge of a slice; what was measured until then is
/// kept and evaluated.
///
/// # Errors
/// When nothing could be measured, or the run folder cannot be written.
pub fn play(plan: &Plan, progress: &mut dyn Progress, stop: &AtomicBool) -> Result<Run, RunError> {
    let folder = RunFolder::create(&plan.folder)?;
    match Player::set_up(plan, &folder, progress, stop) {
        Err(error) => {
            folder.discard();
            Err(error)
        }
        Ok((player, server)) => {
            let run = player.play(&server, folder, progress, stop)?;
            server.stop()?;
            Ok(run)
        }
    }
}

/// A study that is ready to be measured.
struct Player<'a> {
    plan: &'a Plan,
    arms: Vec<Arm>,
    cells: Vec<CellInPlay<'a>>,
    control: Control,
    head: Run,
}

struct CellInPlay<'a> {
    cell: &'a Cell,
    engine: Engine,
    order: BalancedOrder,
    blocks: u32,
    void_in_a_row: u32,
    reached: CellPrecision,
    /// Nothing more is to be learnt here.
    done: bool,
}

impl<'a> Player<'a> {
    fn set_up(
        plan: &'a Plan,
        folder: &RunFolder,
        progress: &mut dyn Progress,
        stop: &AtomicBool,
    ) -> Result<(Self, Server), RunError> {
        let go_on = || {
            if stop.load(Ordering::Relaxed) {
                Err(RunError::Stopped)
            } else {
                Ok(())
            }
        };
        let server = match &plan.target {
            None => {
                progress.stage(&Stage::StartingServer);
                Server::private(&plan.study)?
            }
            Some(target) => {
                progress.stage(&Stage::Connecting(target.to_string()));
                Server::external(target)
            }
        };
        go_on()?;
        let mut control = Control::connect(
            server.display(),
            &server.options(),
            &server.encrypted(&plan.study),
        )?;
        control.claim()?;
        let names: Vec<&str> = IDENTITY.into_iter().chain(SETTINGS).collect();
        let variables = control.variables(&names)?;
        let arms = plan.study.measured_arms();
        let (proved, accesses) = prove_all(&arms, &server, progress, &go_on)?;

        let head = head(plan, server.record(&variables), &arms, &proved);

        let rows = |rows| Stage::Loading {
            rows,
            of: DATASET.rows,
        };
        progress.stage(&rows(0));
        let opened = control
            .prepare(DATASET, |written| progress.stage(&rows(written)))
            .and_then(|()| {
                progress.stage(&Stage::Opening);
                let cells = open_all(plan, &accesses, server.cpu, &go_on)?;
                folder.write_run(&head)?;
                Ok(cells)
            });
        let cells = opened.inspect_err(|_| {
            // The error that led here matters more than one of cleaning up.
            let _ = control.remove(DATASET);
        })?;
        Ok((
            Self {
                plan,
                arms,
                cells,
                control,
                head,
            },
            server,
        ))
    }

    /// Measures, evaluates, and cleans up.
    fn play(
        self,
        server: &Server,
        mut folder: RunFolder,
        progress: &mut dyn Progress,
        stop: &AtomicBool,
    ) -> Result<Run, RunError> {
        let Self {
            plan,
            arms,
            mut cells,
            control,
            mut head,
        } = self;
        let mut meter = Meter {
            server,
            control,
            began: Instant::now(),
            slice: plan.study.slice(),
        };
        let mut samples = Vec::new();
        let measured = measure(
            plan,
            &arms,
            &mut cells,
            &mut meter,
            &mut folder,
            &mut samples,
            progress,
            stop,
        );
        drop(cells);

        progress.stage(&Stage::CleaningUp);
        let cleaned = match server.death() {
            Some(_) => Ok(()),
            None => meter.control.remove(DATASET),
        };
        progress.stage(&Stage::Evaluating);
        head.status = match (&measured, &cleaned) {
            (Ok(RunStatus::Complete), Err(error)) | (Err(error), _) => RunStatus::Partial {
                reason: error.to_string(),
            },
            (Ok(status), _) => status.clone(),
        };
        let run = explain(head, &samples)?;
        folder.write_run(&run)?;
        match measured {
            Err(error @ RunError::Write { .. }) => Err(error),
            _ => Ok(run),
        }
    }
}

/// Proves every arm, before anything is written to the server.
fn prove_all(
    arms: &[Arm],
    server: &Server,
    progress: &mut dyn Progress,
    go_on: &dyn Fn() -> Result<(), RunError>,
) -> Result<(Vec<Proved>, Vec<Access>), RunError> {
    let mut proved = Vec::with_capacity(arms.len());
    let mut accesses = Vec::with_capacity(arms.len());
    for arm in arms {
        go_on()?;
        progress.stage(&Stage::Proving(arm.name.clone()));
        let (options, expectation) = server.arm(arm)?;
        let proof = server.prove(arm, &options, &expectation)?;
        accesses.push(Access {
            options: ConnectOptions {
                database: Some(dataset::SCHEMA.to_owned()),
                ..options
            },
            expectation: proof.expectation.clone(),
        });
        proved.push(proof);
    }
    Ok((proved, accesses))
}

/// Starts the load threads of every cell and opens their connections.
fn open_all<'a>(
    plan: &'a Plan,
    accesses: &[Access],
    cpu: Option<usize>,
    go_on: &dyn Fn() -> Result<(), RunError>,
) -> Result<Vec<CellInPlay<'a>>, RunError> {
    let mut cells = Vec::with_capacity(plan.study.cells.len());
    for (index, cell) in plan.study.cells.iter().enumerate() {
        let seed = plan.seed.wrapping_add(index as u64);
        let mut engine = start_engine(cell, accesses, cpu, seed)?;
        for arm in 0..accesses.len() {
            go_on()?;
            // A connection that cannot be had makes the first slice void, with its reason.
            let _ = engine.prepare(arm)?;
        }
        cells.push(CellInPlay {
            cell,
            engine,
            order: BalancedOrder::new(accesses.len(), seed),
            blocks: 0,
            void_in_a_row: 0,
            reached: precision(&plan.study, cell, &[])?,
            done: false,
        });
    }
    Ok(cells)
}

/// Block after block, the cells in turn, until every cell is precise or the time is spent.
#[expect(
    clippy::too_many_arguments,
    reason = "the parts of one loop, which has no life of its own"
)]
fn measure(
    plan: &Plan,
    arms: &[Arm],
    cells: &mut [CellInPlay<'_>],
    meter: &mut Meter<'_>,
    folder: &mut RunFolder,
    samples: &mut Vec<Sample>,
    progress: &mut dyn Progress,
    stop: &AtomicBool,
) -> Result<RunStatus, RunError> {
    let budget = Duration::from_secs_f64(plan.study.time_s);
    let block_time = plan.study.slice() * arms.len() as u32;
    while cells.iter().any(|cell| !cell.done) {
        for cell in cells.iter_mut().filter(|cell| !cell.done) {
            if meter.began.elapsed() + block_time > budget {
                return Ok(RunStatus::Complete);
            }
            for (position, arm) in cell.order.next().unwrap_or_default().into_iter().enumerate() {
                if stop.load(Ordering::Relaxed) {
                    return Ok(RunStatus::Partial {
                        reason: "stopped by the user".into(),
                    });
                }
                let place = Place {
                    cell: &cell.cell.name,
                    arm: &arms[arm].name,
                    arm_index: arm,
                    block: cell.blocks,
                    position: position as u32,
                };
                let sample = meter.slice(&mut cell.engine, &place)?;
                folder.append(&sample)?;
                if let Some(reason) = &sample.void {
                    progress.void(place.cell, place.arm, &reason.to_string());
                }
                let died = matches!(sample.void, Some(VoidReason::ServerDied { .. }));
                let reason = sample.void.as_ref().map(ToString::to_string);
                samples.push(sample);
                if died {
                    return Ok(RunStatus::Partial {
                        reason: reason.unwrap_or_default(),
                    });
                }
            }
            cell.end_block(&plan.study, samples)?;
            if cell.void_in_a_row >= MOST_VOID_BLOCKS {
                let last = samples.iter().rev().find_map(|sample| sample.void.as_ref());
                let reason = format!(
                    "{} blocks in a row of {} are void, the last because: {}",
                    cell.void_in_a_row,
                    cell.cell.name,
                    last.map(ToString::to_string).unwrap_or_default()
                );
                return Ok(RunStatus::Partial { reason });
            }
            progress.block(&headline(plan, cell, samples, meter.began.elapsed(), budget));
        }
    }
    Ok(RunStatus::Complete)
}

impl CellInPlay<'_> {
    fn end_block(&mut self, study: &Study, samples: &[Sample]) -> Result<(), RunError> {
        self.blocks += 1;
        let before = self.reached.blocks;
        self.reached = precision(study, self.cell, samples)?;
        self.void_in_a_row = if self.reached.blocks == before {
            self.void_in_a_row + 1
        } else {
            0
        };
        self.done = self.reached.precise;
        Ok(())
    }
}

fn headline(
    plan: &Plan,
    cell: &CellInPlay<'_>,
    samples: &[Sample],
    elapsed: Duration,
    budget: Duration,
) -> Headline {
    Headline {
        cell: cell.cell.name.clone(),
        blocks: cell.reached.blocks,
        cpu: (cell.reached.cpu_half_width, plan.study.precision.cpu),
        throughput: (
            cell.reached.throughput_half_width,
            plan.study.precision.throughput,
        ),
        void: samples.iter().filter(|sample| !sample.is_valid()).count() as u32,
        elapsed,
        left: budget.saturating_sub(elapsed),
    }
}

fn start_engine(cell: &Cell, accesses: &[Access], cpu: Option<usize>, seed: u64) -> Result<Engine, RunError> {
    let accesses = accesses.iter().cloned();
    let rows = DATASET.rows;
    let engine = match cell.workload {
        Workload::OltpPointSelect => Engine::start_on(
            cpu,
            accesses.map(|access| PointSelect { access, rows }).collect(),
            &cell.load,
            seed,
        ),
        Workload::Connect => Engine::start_on(
            cpu,
            accesses.map(|access| Connect { access, rows }).collect(),
            &cell.load,
            seed,
        ),
        Workload::BulkRead => Engine::start_on(
            cpu,
            accesses.map(|access| BulkRead { access }).collect(),
            &cell.load,
            seed,
        ),
    };
    Ok(engine?)
}

/// What is known before the first slice.
fn head(plan: &Plan, server: ServerRecord, arms: &[Arm], proved: &[Proved]) -> Run {
    let role = |index| match index {
        0 => ArmRole::Baseline,
        1 => ArmRole::BaselineAgain,
        _ => ArmRole::Variant,
    };
    let arms = arms
        .iter()
        .zip(proved)
        .enumerate()
        .map(|(index, (arm, proved))| ArmRecord {
            name: arm.name.clone(),
            role: role(index),
            transport: arm.transport,
            proofs: proved.proofs.clone(),
            facts: Some(proved.facts.clone()),
        });
    Run {
        schema: SCHEMA.to_owned(),
        tool: plan.tool.clone(),
        host: ciphertax_observe::host(),
        started: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        elapsed_s: 0.0,
        status: RunStatus::Running,
        command: plan.command.clone(),
        seed: plan.seed,
        study: plan.study.clone(),
        server,
        arms: arms.collect(),
        cells: Vec::new(),
        verdict: String::new(),
        measurements: Vec::new(),
        estimates: Vec::new(),
        noise_floor: Vec::new(),
        block_ratios: Vec::new(),
        connect_phases: Vec::new(),
        churn: Vec::new(),
        capacity: Vec::new(),
        findings: Vec::new(),
        void: Vec::new(),
    }
}

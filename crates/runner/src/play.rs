//! A study from beginning to end.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use ciphertax_explain::explain;
use ciphertax_model::record::{ArmRecord, ArmRole, LeftOut, Run, RunStatus, Tool};
use ciphertax_model::{Arm, Study};
use ciphertax_wire::Target;

use crate::cell::OpenCell;
use crate::error::RunError;
use crate::fit;
use crate::folder::RunFolder;
use crate::progress::{Progress, Stage};
use crate::refusals::refuse_impossible;
use crate::rounds::Rounds;
use crate::site::{OpenSite, Place};

/// What is to be played.
#[derive(Clone)]
pub struct Plan {
    /// The study.
    pub study: Study,
    /// The user's own server; `None` for private ones.
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
    refuse_impossible(plan)?;
    let folder = RunFolder::create(&plan.folder)?;
    let (plan, left_out) = match fit::to_target(plan, progress) {
        Ok(fitted) => fitted,
        Err(error) => {
            folder.discard();
            return Err(error);
        }
    };
    match Player::set_up(&plan, left_out, &folder, progress, stop) {
        Err(error) => {
            folder.discard();
            Err(error)
        }
        Ok(player) => player.play(folder, progress, stop),
    }
}

/// A study that is ready to be measured.
struct Player<'a> {
    plan: &'a Plan,
    sites: Vec<OpenSite>,
    cells: Vec<OpenCell<'a>>,
    head: Run,
}

impl<'a> Player<'a> {
    fn set_up(
        plan: &'a Plan,
        left_out: Vec<LeftOut>,
        folder: &RunFolder,
        progress: &mut dyn Progress,
        stop: &AtomicBool,
    ) -> Result<Self, RunError> {
        let go_on = || {
            if stop.load(Ordering::Relaxed) {
                Err(RunError::Stopped)
            } else {
                Ok(())
            }
        };
        let arms = plan.study.measured_arms();
        let mut sites = Vec::new();
        for place in places(plan) {
            sites.push(OpenSite::open(&plan.study, place, &arms, progress, &go_on)?);
        }
        let head = Run {
            left_out,
            ..head(plan, &arms, &sites)
        };
        match open_cells(plan, &mut sites, progress, &go_on)
            .and_then(|cells| folder.write_run(&head).map(|()| cells))
        {
            Ok(cells) => Ok(Self {
                plan,
                sites,
                cells,
                head,
            }),
            Err(error) => {
                // The error that led here matters more than one of cleaning up.
                let _ = close_all(sites);
                Err(error)
            }
        }
    }

    /// Measures, cleans up, and evaluates.
    fn play(
        self,
        mut folder: RunFolder,
        progress: &mut dyn Progress,
        stop: &AtomicBool,
    ) -> Result<Run, RunError> {
        let Self {
            plan,
            mut sites,
            mut cells,
            mut head,
        } = self;
        let mut rounds = Rounds::begin(&plan.study, &mut sites, &mut folder);
        let measured = rounds.measure(&mut cells, progress, stop);
        let samples = rounds.into_samples();
        drop(cells);
        head.servers = sites.iter().flat_map(OpenSite::records).collect();

        progress.stage(&Stage::CleaningUp);
        let cleaned = close_all(sites);
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

/// Where the cells are measured: on the user's own server, which is all there is, or on private ones.
fn places(plan: &Plan) -> Vec<Place<'_>> {
    match &plan.target {
        Some(target) => vec![Place::Target(target)],
        None => plan.study.sites().into_iter().map(Place::Private).collect(),
    }
}

/// Makes the data sets, starts the load threads of every cell and opens their connections.
fn open_cells<'a>(
    plan: &'a Plan,
    sites: &mut [OpenSite],
    progress: &mut dyn Progress,
    go_on: &dyn Fn() -> Result<(), RunError>,
) -> Result<Vec<OpenCell<'a>>, RunError> {
    for site in &mut *sites {
        go_on()?;
        site.load(&plan.study, progress)?;
    }
    progress.stage(&Stage::Opening);
    let mut cells = Vec::with_capacity(plan.study.cells.len());
    for (number, cell) in plan.study.cells.iter().enumerate() {
        let seed = plan.seed.wrapping_add(number as u64);
        let at = sites.iter().position(|site| site.holds(&plan.study, cell));
        let at = at.expect("every cell has its site");
        sites[at].set_distance(plan.study.link(cell))?;
        cells.push(OpenCell::open(
            &plan.study,
            cell,
            (at, &mut sites[at]),
            seed,
            go_on,
        )?);
    }
    Ok(cells)
}

/// Removes data sets and private servers; all of them, whatever happens to one.
fn close_all(sites: Vec<OpenSite>) -> Result<(), RunError> {
    sites.into_iter().map(OpenSite::close).fold(Ok(()), Result::and)
}

/// What is known before the first slice.
fn head(plan: &Plan, arms: &[Arm], sites: &[OpenSite]) -> Run {
    let role = |index| match index {
        0 => ArmRole::Baseline,
        1 => ArmRole::BaselineAgain,
        _ => ArmRole::Variant,
    };
    let arms = arms.iter().enumerate().map(|(index, arm)| ArmRecord {
        name: arm.name.clone(),
        role: role(index),
        transport: arm.transport,
        sessions: sites
            .iter()
            .filter_map(|site| site.session(&arm.name).cloned())
            .collect(),
    });
    Run {
        started: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        servers: sites.iter().flat_map(OpenSite::first_records).collect(),
        arms: arms.collect(),
        ..Run::begin(
            plan.tool.clone(),
            ciphertax_observe::host(),
            plan.study.clone(),
            plan.command.clone(),
            plan.seed,
        )
    }
}

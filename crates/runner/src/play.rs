//! A study from beginning to end.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use ciphertax_columns::MasterKey;
use ciphertax_model::{Arm, FileSystem, Study};
use ciphertax_reactor::stop;
use ciphertax_records::why::{Look, SymbolTable};
use ciphertax_records::{
    ArmRecord, ArmRole, Destination, Earlier, Head, LeftOut, Results, Run, RunFolder, RunStatus, SampleLog,
    write_run,
};
use ciphertax_wire::Target;

use crate::check::{beyond, lacking, make_room, refuse};
use crate::clean::remedy;
use crate::columns::column_key;
use crate::databases::made_on;
use crate::error::{Result, RunError};
use crate::groups::holds;
use crate::look::{Looker, Looking, not_looked_into};
use crate::measure::{Cells, OpenCell};
use crate::progress::{Progress, Stage};
use crate::ranks::Ranks;
use crate::remote_cpu::tell_errors;
use crate::schedule::{Course, Rounds, time_of};
use crate::servers::{ArmProof, Opening, Servers};
use crate::servers_to_play::{Plan, not_resumable, refuse_other_servers};
use crate::{databases, unsupported_arms};

/// What a study came to, before anybody evaluates it.
pub struct Measured {
    /// What was measured, and where.
    pub head: Head,
    /// Every slice of it.
    pub samples: SampleLog,
    /// The folder, which has all but the results.
    pub folder: RunFolder,
}

/// Plays a study and leaves a run folder without results. `stop` ends it within a second, whatever it does; what was measured until
/// then is kept.
///
/// # Errors
/// When nothing could be measured. A run that should have gone on is then as it was.
pub fn play(
    plan: &Plan,
    destination: Destination,
    progress: &mut dyn Progress,
    stop: &Arc<AtomicBool>,
) -> Result<Measured> {
    refuse(lacking(plan)?)?;
    make_room(&plan.study).map_err(RunError::Files)?;
    let (folder, earlier) = destination.open()?;
    let is_new = earlier.is_none();
    progress.folder(folder.path());
    let fitted = stop::with_flag(stop, || {
        unsupported_arms::leave_out(plan, progress).map_err(if_stopped)
    });
    let fitted = fitted.and_then(|fitted| refuse(beyond(&fitted.0)).map(|()| fitted));
    let fitted = fitted.and_then(|(plan, left_out)| match (&earlier, left_out.first()) {
        (None, _) => Ok((plan, left_out)),
        // What was left out at its beginning is in the study no more.
        (Some(earlier), None) => Ok((plan, earlier.head.left_out.clone())),
        (Some(_), Some(lost)) => Err(not_resumable(
            &folder,
            format!(
                "{} cannot be measured now: {}; begin a new run",
                lost.arm, lost.reason
            ),
        )),
    });
    let (plan, left_out) = match fitted {
        Ok(fitted) => fitted,
        Err(error) => {
            if is_new {
                folder.discard();
            }
            return Err(error);
        }
    };
    if let Some(why) = earlier
        .as_ref()
        .and_then(|earlier| earlier.head.inconsistent.as_ref())
    {
        return Err(not_resumable(
            &folder,
            format!("its tables were not consistent: {why}; begin a new run"),
        ));
    }
    match Player::set_up(&plan, left_out, &folder, earlier, progress, stop) {
        Ok(player) => player.play(folder, progress, stop),
        Err(error) if is_new => {
            folder.discard();
            Err(error)
        }
        Err(error) => Err(error),
    }
}

/// A study that is ready to be measured.
struct Player<'a> {
    plan: &'a Plan,
    servers: Vec<Box<dyn Servers>>,
    courses: Vec<Course<'a>>,
    /// By course.
    cells: Vec<OpenCell>,
    looker: Option<Looker>,
    head: Head,
    /// What was measured of it before.
    earlier: SampleLog,
    /// True if its folder was made for it just now.
    is_new: bool,
}

impl<'a> Player<'a> {
    fn set_up(
        plan: &'a Plan,
        left_out: Vec<LeftOut>,
        folder: &RunFolder,
        earlier: Option<Earlier>,
        progress: &mut dyn Progress,
        stop: &Arc<AtomicBool>,
    ) -> Result<Self> {
        let arms = plan.study.measured_arms();
        let mut servers = Vec::new();
        let is_new = earlier.is_none();
        let (before, log, symbols) = match earlier {
            Some(earlier) => (Some(earlier.head), earlier.log, earlier.symbols),
            None => (None, SampleLog::default(), SymbolTable::default()),
        };
        let ready = stop::with_flag(stop, || {
            let key = column_key(&plan.study)?;
            open(plan, &arms, key, &mut servers, progress)?;
            let looking = Looking::open(plan.study.profile, plan.study.slice(), symbols);
            let mut head = Head {
                left_out,
                ..head(plan, &arms, &servers, before.as_ref())
            };
            head.not_explained = looking.refused.clone().or_else(|| not_looked_into(&head));
            before.map_or(Ok(()), |before| refuse_other_servers(folder, &before, &head))?;
            let (courses, cells) = open_cells(plan, &mut servers, &log, looking.look(), progress)?;
            for servers in &mut servers {
                head.data_sizes.extend(servers.data_sizes(&plan.study)?);
            }
            write_run(folder.path(), &Run::new(head.clone(), Results::default()))?;
            Ok((courses, cells, head, looking.looker))
        });
        match ready {
            Ok((courses, cells, head, looker)) => Ok(Self {
                looker,
                plan,
                servers,
                courses,
                cells,
                head,
                earlier: log,
                is_new,
            }),
            Err(error) => {
                let error = stop::with_flag(stop, || if_stopped(error));
                if plan.target.is_some() && !servers.is_empty() {
                    progress.stage(&Stage::CleaningUp);
                }
                dismiss(plan);
                Err(and_left(error, close_all(plan, servers)))
            }
        }
    }

    /// Measures, and cleans up.
    fn play(
        self,
        mut folder: RunFolder,
        progress: &mut dyn Progress,
        stop: &Arc<AtomicBool>,
    ) -> Result<Measured> {
        let Self {
            plan,
            mut servers,
            mut courses,
            cells,
            looker,
            mut head,
            earlier,
            is_new,
        } = self;
        let (measured, checked, log, unseen) = stop::with_flag(stop, || {
            // Ends with this, which closes the connections.
            let began = Instant::now() - time_of(&earlier);
            let mut cells = Cells::new(&plan.study, &mut servers, cells, &head.data_sizes, looker, began);
            let mut rounds = Rounds::begin(&plan.study, &mut cells, &mut folder, earlier);
            let measured = rounds.measure(&mut courses, progress);
            let log = rounds.log;
            let unseen = cells.looker.as_ref().and_then(Looker::passed_over);
            drop(cells);
            let checked = check(&plan.study, &measured, &mut servers, progress);
            (measured, checked, log, unseen)
        });
        head.not_explained = head.not_explained.or(unseen);
        head.servers = servers.iter().flat_map(|servers| servers.records()).collect();
        tell_errors(&mut head.servers, &log);

        progress.stage(&Stage::CleaningUp);
        dismiss(plan);
        let cleaned = close_all(plan, servers);
        let measured = match (measured, checked) {
            (Err(RunError::Inconsistent(why)), _) | (_, Err(RunError::Inconsistent(why))) => {
                return Err(without_figures(head, why, &folder, cleaned));
            }
            (measured, Ok(proofs)) => {
                add(&mut head, proofs);
                measured
            }
            (measured, Err(unchecked)) => measured.and(Err(unchecked)),
        };
        if log.samples.is_empty() && is_new && !matches!(measured, Ok(RunStatus::Complete)) {
            folder.discard();
            let error = measured.err().unwrap_or(RunError::Stopped);
            return Err(and_left(error, cleaned));
        }
        head.status = status(&measured, &cleaned);
        Ok(Measured {
            head,
            samples: log,
            folder,
        })
    }
}

/// Makes sure that tables are what they must be, whoever was to blame for the end of the run; as far as its servers still answer.
fn check(
    study: &Study,
    measured: &Result<RunStatus>,
    servers: &mut [Box<dyn Servers>],
    progress: &mut dyn Progress,
) -> Result<Vec<ArmProof>> {
    let mut proofs = Vec::new();
    for servers in servers {
        if stop::is_requested() || matches!(measured, Err(RunError::Inconsistent(_))) {
            return Ok(Vec::new());
        }
        match servers.check(study, progress) {
            Ok(proved) => proofs.extend(proved),
            Err(error @ RunError::Inconsistent(_)) => return Err(error),
            Err(_) if !matches!(measured, Ok(RunStatus::Complete)) || stop::is_requested() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(proofs)
}

/// What held of the tables goes to the proofs of the arms that asked them.
fn add(head: &mut Head, proofs: Vec<ArmProof>) {
    for ArmProof { arm, server, proof } in proofs {
        let arms = head.arms.iter_mut().filter(|record| record.name == arm);
        let mut sessions = arms.flat_map(|record| &mut record.sessions);
        if let Some(session) = sessions.find(|session| session.server_id == server) {
            session.proofs.push(proof);
        }
    }
}

/// Leaves what was measured where it is, for whoever looks for the fault, and says for good that it has no figures.
fn without_figures(mut head: Head, why: String, folder: &RunFolder, cleaned: Result<()>) -> RunError {
    head.status = RunStatus::Partial { reason: why.clone() };
    head.inconsistent = Some(why.clone());
    let written = write_run(folder.path(), &Run::new(head, Results::default()));
    and_left(
        RunError::Inconsistent(why),
        written.map_err(RunError::from).and(cleaned),
    )
}

/// Whether a run came to its end, and whether something is left of it.
fn status(measured: &Result<RunStatus>, cleaned: &Result<()>) -> RunStatus {
    let reason = match measured {
        Ok(RunStatus::Partial { reason }) => reason.clone(),
        Ok(status) => {
            return match cleaned {
                Ok(()) => status.clone(),
                Err(left) => RunStatus::NotCleanedUp {
                    problem: left.to_string(),
                },
            };
        }
        Err(error) => error.to_string(),
    };
    RunStatus::Partial {
        reason: match cleaned {
            Ok(()) => reason,
            Err(left) => format!("{reason}; {left}"),
        },
    }
}

fn go_on() -> Result<()> {
    match stop::is_requested() {
        true => Err(RunError::Stopped),
        false => Ok(()),
    }
}

/// Whatever goes wrong while somebody wants to stop, that is why.
fn if_stopped(error: RunError) -> RunError {
    go_on().err().unwrap_or(error)
}

/// What is said where cleaning up may have failed too.
fn and_left(error: RunError, cleaned: Result<()>) -> RunError {
    match cleaned {
        Ok(()) => error,
        Err(left) => RunError::AndNotCleanedUp(error.into(), left.into()),
    }
}

/// Takes the user's own servers, which is all there is, or starts private ones for every cell, and proves the arms.
fn open(
    plan: &Plan,
    arms: &[Arm],
    column_key: Option<MasterKey>,
    servers: &mut Vec<Box<dyn Servers>>,
    progress: &mut dyn Progress,
) -> Result<()> {
    let mut opening = Opening {
        study: &plan.study,
        arms,
        servers: 0,
        column_key,
        ranks: plan.ranks.clone(),
        no_wrong_logins: plan.no_wrong_logins,
        progress,
        go_on: &go_on,
    };
    if let Some(target) = &plan.target {
        let key = opening.column_key.as_ref();
        let own = databases::measured_target(target, plan.encdb.as_ref(), key);
        servers.push(own.open(&mut opening)?);
        return Ok(());
    }
    for spec in plan.study.server_specs() {
        servers.push(databases::open_private(&mut opening, &spec)?);
    }
    Ok(())
}

/// Makes the data sets, starts the load threads of every cell and opens their connections.
fn open_cells<'a>(
    plan: &'a Plan,
    servers: &mut [Box<dyn Servers>],
    earlier: &SampleLog,
    look: Option<Look>,
    progress: &mut dyn Progress,
) -> Result<(Vec<Course<'a>>, Vec<OpenCell>)> {
    for servers in &mut *servers {
        go_on()?;
        servers.load(&plan.study, progress)?;
    }
    progress.stage(&Stage::Opening);
    let (mut courses, mut cells) = (Vec::new(), Vec::new());
    for (number, cell) in plan.study.cells.iter().enumerate() {
        let seed = plan.seed.wrapping_add(number as u64);
        let at = servers
            .iter()
            .position(|servers| holds(servers.spec(), &plan.study, cell));
        let at = at.expect("every cell has its servers");
        servers[at].set_distances(plan.study.distances(cell))?;
        cells.push(OpenCell::open(
            &plan.study,
            cell,
            (at, servers[at].as_mut()),
            seed,
            &go_on,
        )?);
        courses.push(Course::new(&plan.study, cell, seed, look, earlier)?);
    }
    go_on()?;
    Ok((courses, cells))
}

/// Ends the other load generators, before what they may have locked is removed.
fn dismiss(plan: &Plan) {
    if let Some(ranks) = &plan.ranks {
        ranks.dismiss();
    }
}

/// Removes data sets and private servers; all of them, whatever happens to one.
fn close_all(plan: &Plan, servers: Vec<Box<dyn Servers>>) -> Result<()> {
    let closed = servers.into_iter().map(Servers::close).fold(Ok(()), Result::and);
    closed.map_err(|error| match (&plan.target, error) {
        (None, error) => RunError::NotCleanedUp {
            problem: error.to_string(),
            remedy: None,
        },
        (Some(target), error) => RunError::NotCleanedUp {
            problem: format!(
                "{} is left on {target}: {}",
                made_on(target),
                match error {
                    RunError::Server { problem, .. } => problem,
                    error => error.to_string(),
                }
            ),
            remedy: Some(remedy(target)),
        },
    })
}

/// The kernel's cipher, where it encrypts the files of an arm.
fn kernel_cipher(study: &Study) -> Option<String> {
    let has_fscrypt = |arm: &Arm| arm.at_rest.file_system == Some(FileSystem::Fscrypt);
    let is_used = study.arms.iter().any(has_fscrypt);
    is_used
        .then(|| ciphertax_observe::kernel_cipher("xts(aes)"))
        .flatten()
}

/// What is known before the first slice; of a run that goes on, when it began.
fn head(plan: &Plan, arms: &[Arm], servers: &[Box<dyn Servers>], before: Option<&Head>) -> Head {
    let role = |index| match index {
        0 => ArmRole::Baseline,
        1 => ArmRole::BaselineAgain,
        _ => ArmRole::Variant,
    };
    let arms = arms.iter().enumerate().map(|(index, arm)| ArmRecord {
        name: arm.name.clone(),
        role: role(index),
        sessions: servers
            .iter()
            .filter_map(|servers| servers.session(&arm.name).cloned())
            .collect(),
    });
    Head {
        started: match before {
            Some(before) => before.started.clone(),
            None => jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        },
        target: plan.target.as_ref().map(Target::url),
        servers: servers
            .iter()
            .flat_map(|servers| servers.first_records())
            .collect(),
        arms: arms.collect(),
        kernel_cipher: kernel_cipher(&plan.study),
        ranks: plan.ranks.as_ref().map(Ranks::records).unwrap_or_default(),
        ..Head::begin(
            plan.tool.clone(),
            ciphertax_observe::host(),
            plan.study.clone(),
            plan.command.clone(),
            plan.seed,
        )
    }
}

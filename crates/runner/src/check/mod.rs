//! What is refused because of the machine, the servers, or what a plan adds to its study: said before anything is started.
//!
//! What is refused of a study whatever the machine is the model's.

mod capabilities;
mod database;
mod limits;
mod private;
mod ranks;
mod target;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use ciphertax_lab::catalogue::{self, Protocol};
use ciphertax_lab::pooler::Release;
use ciphertax_lab::{Installation, pooler};
use ciphertax_model::{Arm, Cell, PoolerProgram, Refusal, ServerSpec, Study};
use ciphertax_wire::Target;

use crate::columns::column_key;
use crate::error::{Result, RunError};
use crate::ranks::Ranks;
use crate::servers_to_play::{EncdbAccount, Entry, Plan, entry};

pub(crate) use database::not_spoken;
pub(crate) use limits::{OWN_FILES, OwnLimits, make_room, ports};

/// Every rule, by what it is about, but for those of limits.
const RULES: [&[Rule]; 5] = [
    target::RULES,
    private::RULES,
    database::RULES,
    capabilities::RULES,
    ranks::RULES,
];

/// One thing that is refused.
struct Rule {
    /// What it refuses, as no other rule does.
    #[cfg_attr(not(test), expect(dead_code, reason = "its tests and the reference name it"))]
    id: &'static str,
    applies: Applies,
}

/// What a rule looks at.
#[derive(Clone, Copy)]
enum Applies {
    /// The plan as a whole.
    Plan(fn(&Asked<'_>) -> Option<Refusal>),
    /// A cell, on the server where it is measured.
    Cell(fn(&Asked<'_>, &At<'_>) -> Option<Refusal>),
    /// An arm in a cell that measures it.
    ArmIn(fn(&Asked<'_>, &At<'_>, &Arm) -> Option<Refusal>),
}

const fn of_plan(id: &'static str, find: fn(&Asked<'_>) -> Option<Refusal>) -> Rule {
    let applies = Applies::Plan(find);
    Rule { id, applies }
}

const fn of_cell(id: &'static str, find: fn(&Asked<'_>, &At<'_>) -> Option<Refusal>) -> Rule {
    let applies = Applies::Cell(find);
    Rule { id, applies }
}

const fn of_arm_in(id: &'static str, find: fn(&Asked<'_>, &At<'_>, &Arm) -> Option<Refusal>) -> Rule {
    let applies = Applies::ArmIn(find);
    Rule { id, applies }
}

impl Rule {
    fn refusals(&self, asked: &Asked<'_>) -> Vec<Refusal> {
        let study = asked.study;
        match self.applies {
            Applies::Plan(find) => find(asked).into_iter().collect(),
            Applies::Cell(find) => asked
                .places()
                .filter_map(|at| Some(find(asked, &at)?.about(format!("cell {:?}", at.cell.name))))
                .collect(),
            Applies::ArmIn(find) => asked
                .places()
                .flat_map(|at| {
                    let arms = study.arms_of(at.cell);
                    arms.filter_map(|arm| Some(find(asked, &at, arm)?.about(format!("arm {:?}", arm.name))))
                        .collect::<Vec<_>>()
                })
                .collect(),
        }
    }
}

/// What is asked for, and what there is for it.
struct Asked<'a> {
    study: &'a Study,
    /// The user's own server; `None` for private ones.
    target: Option<&'a Target>,
    encdb: Option<&'a EncdbAccount>,
    /// How many load generators there are, of several.
    ranks: Option<u32>,
    limits: OwnLimits,
    /// The poolers that are started before private servers, where arms have one; or why there is none.
    poolers: BTreeMap<PoolerProgram, Result<Release, String>>,
}

/// A cell and the server where it is measured.
struct At<'a> {
    cell: &'a Cell,
    spec: ServerSpec,
    /// `None` for a server of the user's own.
    entry: Option<&'static Entry>,
    /// `None` for a database in its client.
    protocol: Option<Protocol>,
}

impl<'a> Asked<'a> {
    fn of(plan: &'a Plan) -> Self {
        let measured = plan.study.cells.iter().flat_map(|cell| plan.study.arms_of(cell));
        let programs: BTreeSet<PoolerProgram> = measured
            .filter_map(|arm| Some(arm.pooler.filter(|_| plan.target.is_none())?.program))
            .collect();
        let poolers = programs
            .into_iter()
            .map(|program| {
                (
                    program,
                    pooler::release(program).map_err(|error| error.to_string()),
                )
            })
            .collect();
        Self {
            target: plan.target.as_ref(),
            encdb: plan.encdb.as_ref(),
            ranks: plan.ranks.as_ref().map(Ranks::count),
            limits: OwnLimits::found(),
            poolers,
            ..Self::of_study(&plan.study)
        }
    }

    /// On private servers, and a machine without limits.
    fn of_study(study: &'a Study) -> Self {
        Self {
            study,
            target: None,
            encdb: None,
            ranks: None,
            limits: OwnLimits::NONE,
            poolers: BTreeMap::new(),
        }
    }

    /// The cells whose servers are known.
    fn places(&self) -> impl Iterator<Item = At<'a>> {
        let (study, target) = (self.study, self.target.map(Target::protocol));
        study.cells.iter().filter_map(move |cell| {
            let spec = study.server_spec(cell);
            let entry = match target {
                Some(_) => None,
                None => Some(catalogue::find(&spec.server)?),
            };
            Some(At {
                cell,
                spec,
                entry,
                protocol: target.or_else(|| entry?.protocol()),
            })
        })
    }
}

/// All that is refused, each once.
fn refusals(asked: &Asked<'_>) -> Vec<Refusal> {
    let mut found: Vec<Refusal> = target::of_another_kind(asked).into_iter().collect();
    // What another database cannot do follows from that.
    let rules = if found.is_empty() { &RULES[..] } else { &RULES[..1] };
    for refusal in rules
        .iter()
        .copied()
        .flatten()
        .flat_map(|rule| rule.refusals(asked))
    {
        if !found.contains(&refusal) {
            found.push(refusal);
        }
    }
    found
}

/// What keeps a plan from being measured, as far as it is known before servers are asked.
pub(crate) fn lacking(plan: &Plan) -> Result<Vec<Refusal>> {
    column_key(&plan.study)?;
    let asked = Asked::of(plan);
    let mut found = refusals(&asked);
    let limits = limits::RULES.iter().filter(|_| plan.target.is_none());
    found.extend(limits.flat_map(|rule| rule.refusals(&asked)));
    found.extend(plan.ranks.iter().flat_map(|ranks| ranks::lacking(plan, ranks)));
    let specs = plan.study.server_specs();
    for spec in specs.iter().filter(|_| plan.target.is_none()) {
        let fetched = Some(entry(&spec.server)?).filter(|entry| !entry.is_built_in());
        let missing = fetched.and_then(|entry| Installation::of(entry).err());
        let missing = missing.map(|error| Refusal::new(error.to_string()));
        found.extend(missing.filter(|missing| !found.contains(missing)));
    }
    Ok(found)
}

/// What this machine lacks for the connections to a server of the user's own, once it is known which arms that can do.
pub(crate) fn beyond(plan: &Plan) -> Vec<Refusal> {
    if plan.target.is_none() {
        return Vec::new();
    }
    let asked = Asked::of(plan);
    let rules = limits::RULES.iter();
    rules.flat_map(|rule| rule.refusals(&asked)).collect()
}

/// Ends a run for which anything is lacking.
pub(crate) fn refuse(lacking: Vec<Refusal>) -> Result<()> {
    match lacking.is_empty() {
        true => Ok(()),
        false => Err(RunError::Impossible(lacking)),
    }
}

//! What a plan would start, how long it would take, and what it lacks. Nothing is started, and no server is asked.

use std::collections::BTreeSet;
use std::time::Duration;

use ciphertax_model::{Arm, AuthenticationMethod, Pace, Study, by_reason};
use ciphertax_records::ServerToStart;
use ciphertax_stats::FEWEST_BLOCKS;
use ciphertax_wire::{Protocol, Target};
use ciphertax_workload::dataset::Contents;

use crate::check::lacking;
use crate::connections::{needed, prepared};
use crate::databases;
use crate::error::Result;
use crate::groups::{groups, measured_at};
use crate::remote_cpu::RESOLUTION_AT_MOST;
use crate::schedule::TRIED;
use crate::servers_to_play::{Plan, entry};

/// What a plan would do.
#[derive(Debug, Clone, PartialEq)]
pub struct Preview {
    /// The servers it would start; none for a server of the user's own.
    pub servers: Vec<ServerToStart>,
    /// Connections that it would have open at a time, at most; those of a program of the user's own come on top.
    pub connections: u64,
    /// Statements that it would have prepared at a time, at most.
    pub prepared_statements: u64,
    /// Wrong passwords that it would log in with, at most.
    pub wrong_logins: u64,
    /// Rows that it would load into every server, about.
    pub rows: u64,
    /// Measuring takes so long at least: an interval needs so many blocks. Where only the load knows how long a slice takes, as
    /// with batches, this is counted as nothing. More than `at_most` where so many do not fit, and nothing can be said.
    pub at_least: Duration,
    /// Measuring takes so long at most; starting servers and loading come on top.
    pub at_most: Duration,
    /// Before that, it is found out in so long at most how often the counter of the server's CPU moves, and slices become as long as
    /// that needs; `None` where it is known, and where there is no counter.
    pub resolution_at_most: Option<Duration>,
    /// What keeps it from being measured, each with the remedy.
    pub missing: Vec<String>,
}

/// Looks at a plan.
///
/// # Errors
/// When the study names a server that the catalogue does not have, or the key of its columns is none.
pub fn preview(plan: &Plan) -> Result<Preview> {
    let study = &plan.study;
    let missing = by_reason(&lacking(plan)?);
    let mut servers = Vec::new();
    if plan.target.is_none() {
        for spec in study.server_specs() {
            let entry = entry(&spec.server)?;
            let arms = study.measured_arms();
            let arms = measured_at(study, &arms, Some(&spec));
            let cells = study.cells.iter().filter(|cell| study.server_spec(cell) == spec);
            let cells: Vec<String> = cells.map(|cell| cell.name.clone()).collect();
            let names = |arms: &[&Arm]| arms.iter().map(|arm| arm.name.clone()).collect();
            if entry.is_built_in() {
                servers.push(ServerToStart {
                    name: spec.to_string(),
                    arms: names(&arms),
                    cells,
                    is_embedded: true,
                });
                continue;
            }
            servers.extend(groups(study, &spec, arms).into_iter().map(|group| ServerToStart {
                arms: names(&group.arms),
                name: group.name,
                cells: cells.clone(),
                is_embedded: false,
            }));
        }
    }
    // Nobody has said how often the counter of the server's CPU moves.
    let seeks_resolution = study
        .server_cpu
        .as_ref()
        .is_some_and(|counter| counter.resolution_s.is_none());
    Ok(Preview {
        servers,
        connections: needed(study),
        prepared_statements: match plan.target.as_ref().map(Target::protocol) {
            Some(Protocol::MongoDb) => 0,
            _ => prepared(study),
        },
        wrong_logins: wrong_logins(plan),
        rows: rows(study, plan.target.as_ref())?,
        at_least: at_least(study),
        at_most: Duration::from_secs_f64(study.time_s),
        resolution_at_most: seeks_resolution.then_some(RESOLUTION_AT_MOST),
        missing,
    })
}

/// The fewest blocks of every cell, a slice of every arm each.
fn at_least(study: &Study) -> Duration {
    let seconds = study.cells.iter().map(|cell| {
        let arms = study.measured_arms_of(cell).len() as f64;
        let slice_s = match (&cell.command, cell.load.pace()) {
            (Some(_), _) | (None, Pace::Batch { .. }) => 0.0,
            // Every arm is tried before.
            _ if study.has_free_slices(cell) => {
                return arms * (TRIED.as_secs_f64() + f64::from(FEWEST_BLOCKS) * Study::SLICE_S.start());
            }
            (None, Pace::Open { .. } | Pace::Closed) => study.slice_seconds(),
        };
        arms * f64::from(FEWEST_BLOCKS) * slice_s
    });
    Duration::from_secs_f64(seconds.sum())
}

/// One for each method by which arms log in, where none is forbidden.
fn wrong_logins(plan: &Plan) -> u64 {
    let arms = plan.study.arms.iter().filter(|_| !plan.no_wrong_logins);
    let methods = arms.map(|arm| arm.authentication.method.map(AuthenticationMethod::name));
    methods.collect::<BTreeSet<_>>().len() as u64
}

/// The rows of the tables that cells ask.
fn rows(study: &Study, target: Option<&Target>) -> Result<u64> {
    let protocol = match target {
        Some(target) => Some(target.protocol()),
        None => entry(&study.server)?.protocol(),
    };
    let (_, spoken) = databases::spoken(protocol);
    Ok(Contents::of(study, spoken).rows())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows_of(arms: &str, workload: &str) -> u64 {
        let text = format!(
            "name = \"s\"\nquestion = \"?\"\ntime_s = 1\ntpcc = {{ warehouses = 2 }}\narm = [{arms}]\n\
             cell = [{{ name = \"c\", workload = \"{workload}\", load = {{ connections = 1, batch = 100 }} }}]\n"
        );
        rows(&Study::from_toml(&text).unwrap(), None).unwrap()
    }

    #[test]
    fn rows_are_those_of_every_set_of_tables() {
        let plain = r#"{ name = "plain", transport = "plain" }"#;
        let tls = r#"{ name = "tls", transport = "tls" }"#;
        let stored = r#"{ name = "cells", transport = "plain", columns = { feature = "stored", columns = "payload" } }"#;
        let one_set = rows_of(&format!("{plain}, {tls}"), "tpcc");
        assert!(one_set > 0);
        // Two arms and the baseline again have a set each.
        assert_eq!(rows_of(&format!("{plain}, {stored}"), "tpcc"), 3 * one_set);
    }
}

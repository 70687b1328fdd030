//! What several load generators cannot measure together.

use ciphertax_model::{Pace, PasswordCache, Refusal, Workload};

use super::{Rule, limits::OWN_FILES, of_arm_in, of_cell};
use crate::connections::needed;
use crate::ranks::Ranks;
use crate::servers_to_play::Plan;

pub(super) const RULES: &[Rule] = &[
    of_cell("cell-of-several-generators", |asked, at| {
        let (of, load) = (asked.ranks?, &at.cell.load);
        let (connections, pace) = (load.connections, load.pace());
        let why = if at.cell.command.is_some() {
            "a program of your own makes its load in one process".to_owned()
        } else if at.cell.workload == Workload::YcsbLoad {
            "one process empties its table before every slice".to_owned()
        } else if matches!(pace, Pace::Batch { .. }) {
            "a batch is done when the last of them is done".to_owned()
        } else if at.protocol.is_none() {
            "a database in its client has one load generator".to_owned()
        } else if at.cell.keep_operations {
            "single operations are kept by one process".to_owned()
        } else if matches!(pace, Pace::Open { .. }) && !connections.is_multiple_of(of) {
            let cannot = format!("its {connections} connections share a rate");
            format!(
                "{cannot}, and cannot be shared evenly by {of} load generators: take another number of either"
            )
        } else {
            return None;
        };
        Some(Refusal::new(format!(
            "{why}; measure it with `ciphertax run`, without mpirun"
        )))
    }),
    of_arm_in("arm-of-several-generators", |asked, _, arm| {
        asked.ranks?;
        let is_cold = arm.authentication.password_cache == PasswordCache::Cold;
        let known = [
            (arm.columns.is_some(), "cells that its clients encrypt"),
            (
                arm.at_rest.columns.is_some(),
                "columns whose key its sessions give the server",
            ),
            (is_cold, "logins that the server must not remember"),
        ];
        let (_, what) = known.into_iter().find(|(is, _)| *is)?;
        let cannot = format!("{what} are known to one load generator alone");
        Some(Refusal::new(format!(
            "{cannot}; leave the arm out, or measure it without mpirun"
        )))
    }),
];

/// What the machines of the load generators lack.
pub(super) fn lacking(plan: &Plan, ranks: &Ranks) -> Vec<Refusal> {
    let share = needed(&plan.study).div_ceil(u64::from(ranks.count()));
    let lacking = ranks.lacking(share + OWN_FILES, plan.target.is_none());
    lacking.into_iter().map(Refusal::new).collect()
}

//! The samples of all slices of an arm, by stack.

use std::collections::{BTreeMap, HashSet};
use std::io;

use ciphertax_records::Run;
use ciphertax_records::why::{Looks, ProfiledSide, StackId};

use super::Chosen;

/// Samples of one side of one arm in one cell.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Of {
    pub(super) cell: String,
    pub(super) arm: String,
    pub(super) side: ProfiledSide,
}

/// Microseconds of CPU time by stack, in slices that count and lost no sample.
pub(super) fn of_cpu(
    run: &Run,
    looks: &dyn Looks,
    chosen: Chosen<'_>,
) -> io::Result<BTreeMap<Of, BTreeMap<StackId, f64>>> {
    let void = void(run);
    let mut all: BTreeMap<Of, BTreeMap<StackId, f64>> = BTreeMap::new();
    for profile in looks.profiles() {
        let profile = profile?;
        let slice = &profile.slice;
        if !chosen.has(&slice.cell, &slice.arm) || void.contains(&(&*slice.cell, slice.block, &*slice.arm)) {
            continue;
        }
        for (side, samples) in profile.sides.iter().filter(|(_, side)| side.lost == 0) {
            let of = Of {
                cell: slice.cell.clone(),
                arm: slice.arm.clone(),
                side: *side,
            };
            let sums = all.entry(of).or_default();
            for (stack, count) in &samples.stacks {
                *sums.entry(*stack).or_default() += *count as f64 * 1e6 / f64::from(samples.hz);
            }
        }
    }
    Ok(all)
}

fn void(run: &Run) -> HashSet<(&str, u32, &str)> {
    let rows = run.results.void.iter();
    rows.map(|row| (row.cell.as_str(), row.block, row.arm.as_str()))
        .collect()
}

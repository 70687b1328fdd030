//! The states of each arm of a cell.

use std::collections::{BTreeMap, BTreeSet};

use ciphertax_base::Interval;
use ciphertax_records::why::StateRow;

use super::seen::{Block, InState, per_operation};
use ciphertax_estimate::EstimateError;
use ciphertax_estimate::cell::BASELINE;
use ciphertax_estimate::paired::{Pair, Paired};
use ciphertax_estimate::slices::CellSlices;

/// What takes less of every arm's operations is not told apart.
const WORTH_A_ROW: f64 = 0.002;

/// Of one cell, each arm, by the name of what it is that states are told by: an arm's add up to the connections by the throughput.
pub(in crate::why) fn rows<T: Ord + Clone>(
    cell: &CellSlices<'_>,
    mut arms: Vec<BTreeMap<u32, Block<T>>>,
    name: impl Fn(&T) -> &str,
) -> Result<Vec<StateRow>, EstimateError> {
    let small = too_small(&arms);
    for block in arms.iter_mut().flat_map(BTreeMap::values_mut) {
        block.states = folded(std::mem::take(&mut block.states), &small);
    }
    let states: BTreeSet<&InState<T>> = arms
        .iter()
        .flat_map(BTreeMap::values)
        .flat_map(|block| block.states.keys())
        .collect();
    let mut rows = Vec::new();
    for (arm, blocks) in arms.iter().enumerate().filter(|(_, blocks)| !blocks.is_empty()) {
        for state in &states {
            let us = |block: &Block<T>| block.states.get(*state).copied().unwrap_or(0.0);
            let difference = match arm {
                BASELINE => None,
                _ => difference(&arms[BASELINE], blocks, us)?,
            };
            rows.push(StateRow {
                cell: cell.cell.name.clone(),
                arm: cell.arms[arm].clone(),
                state: name(&state.0).to_owned(),
                detail: state.1.clone(),
                us: per_operation(blocks.values(), us),
                difference,
            });
        }
    }
    Ok(rows)
}

/// Of blocks that both arms have: it is what lies between what is said of each.
fn difference<T>(
    baseline: &BTreeMap<u32, Block<T>>,
    variant: &BTreeMap<u32, Block<T>>,
    us: impl Fn(&Block<T>) -> f64,
) -> Result<Option<Interval>, EstimateError> {
    if !baseline.keys().eq(variant.keys()) {
        return Ok(None);
    }
    let pairs = baseline.values().zip(variant.values());
    let pairs = pairs.map(|(baseline, variant)| Pair {
        values: [us(baseline), us(variant)],
        weights: [baseline.operations, variant.operations],
        variances: [0.0; 2],
    });
    let paired = Paired::of(&pairs.collect::<Vec<_>>())?;
    Ok(paired.and_then(|paired| paired.difference))
}

/// What is waited for that no arm spends much time on.
fn too_small<T: Ord + Clone>(arms: &[BTreeMap<u32, Block<T>>]) -> BTreeSet<InState<T>> {
    let mut largest: BTreeMap<InState<T>, f64> = BTreeMap::new();
    for blocks in arms {
        let all = per_operation(blocks.values(), |block| block.states.values().sum());
        let states: BTreeSet<&InState<T>> = blocks.values().flat_map(|block| block.states.keys()).collect();
        for state in states {
            let us = per_operation(blocks.values(), |block| {
                block.states.get(state).copied().unwrap_or(0.0)
            });
            let largest = largest.entry(state.clone()).or_default();
            *largest = largest.max(us / all);
        }
    }
    largest.retain(|(_, detail), share| detail.is_some() && *share < WORTH_A_ROW);
    largest.into_keys().collect()
}

fn folded<T: Ord>(
    states: BTreeMap<InState<T>, f64>,
    small: &BTreeSet<InState<T>>,
) -> BTreeMap<InState<T>, f64> {
    let mut all = BTreeMap::new();
    for (state, us) in states {
        let state = match small.contains(&state) {
            true => (state.0, None),
            false => state,
        };
        *all.entry(state).or_default() += us;
    }
    all
}

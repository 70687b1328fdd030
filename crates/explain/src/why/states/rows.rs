//! The states of each arm of a cell.

use std::collections::{BTreeMap, BTreeSet};

use ciphertax_records::why::StateRow;

use super::seen::{InState, Seen};
use crate::cell::BASELINE;
use crate::error::ExplainError;
use crate::why::paired::{Pair, Paired};
use crate::why::slices::CellSlices;

/// What takes less of every arm's operations is not told apart.
const WORTH_A_ROW: f64 = 0.002;

/// The states of one slice, and its operations.
type Block = (BTreeMap<InState, f64>, f64);

/// Of one cell, each arm; an arm's add up to the connections by the throughput.
pub(in crate::why) fn rows(
    index: usize,
    cell: &CellSlices<'_>,
    seen: &Seen,
) -> Result<Vec<StateRow>, ExplainError> {
    let of_arm = |arm: usize| -> BTreeMap<u32, Block> {
        let of_block = |block: &u32| {
            let states = seen.get(index, *block, arm)?.clone();
            Some((*block, (states, cell.get(*block, arm)?.operations)))
        };
        cell.blocks.keys().filter_map(of_block).collect()
    };
    let mut arms: Vec<BTreeMap<u32, Block>> = (0..cell.arms.len()).map(of_arm).collect();
    let small = too_small(&arms);
    for (states, _) in arms.iter_mut().flat_map(BTreeMap::values_mut) {
        *states = folded(std::mem::take(states), &small);
    }
    let states: BTreeSet<&InState> = arms
        .iter()
        .flat_map(BTreeMap::values)
        .flat_map(|(states, _)| states.keys())
        .collect();
    let mut rows = Vec::new();
    for (arm, blocks) in arms.iter().enumerate().filter(|(_, blocks)| !blocks.is_empty()) {
        for state in &states {
            let us = |block: &Block| block.0.get(*state).copied().unwrap_or(0.0);
            let difference = match arm {
                BASELINE => None,
                _ => {
                    let pairs = blocks.iter().filter_map(|(number, block)| {
                        Some(Pair {
                            baseline: us(arms[BASELINE].get(number)?),
                            variant: us(block),
                            weight: 1.0,
                            variance: 0.0,
                        })
                    });
                    let paired = Paired::of(&pairs.collect::<Vec<_>>())?;
                    paired.and_then(|paired| paired.difference)
                }
            };
            rows.push(StateRow {
                cell: cell.cell.name.clone(),
                arm: cell.arms[arm].clone(),
                state: state.0.name().to_owned(),
                detail: state.1.clone(),
                us: pooled(blocks.values(), us),
                difference,
            });
        }
    }
    Ok(rows)
}

/// Over all operations of the blocks.
fn pooled<'a>(blocks: impl Iterator<Item = &'a Block>, us: impl Fn(&Block) -> f64) -> f64 {
    let (sum, operations) = blocks.fold((0.0, 0.0), |(sum, operations), block| {
        (sum + us(block) * block.1, operations + block.1)
    });
    sum / f64::max(operations, 1.0)
}

/// What is waited for that no arm spends much time on.
fn too_small(arms: &[BTreeMap<u32, Block>]) -> BTreeSet<InState> {
    let mut largest: BTreeMap<InState, f64> = BTreeMap::new();
    for blocks in arms {
        let all = pooled(blocks.values(), |(states, _)| states.values().sum());
        let states: BTreeSet<&InState> = blocks.values().flat_map(|(states, _)| states.keys()).collect();
        for state in states {
            let us = pooled(blocks.values(), |block| {
                block.0.get(state).copied().unwrap_or(0.0)
            });
            let largest = largest.entry(state.clone()).or_default();
            *largest = largest.max(us / all);
        }
    }
    largest.retain(|(_, detail), share| detail.is_some() && *share < WORTH_A_ROW);
    largest.into_keys().collect()
}

fn folded(states: BTreeMap<InState, f64>, small: &BTreeSet<InState>) -> BTreeMap<InState, f64> {
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

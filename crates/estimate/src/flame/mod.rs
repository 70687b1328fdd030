//! Stacks of two arms as one tree, for a differential flame graph.

mod seen;
mod series;
mod tree;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ciphertax_records::Head;
use ciphertax_records::why::{Flame, Looks};

use self::seen::{Seen, Slices, What};
use self::series::{Comparison, Role};
use self::tree::Tree;
use crate::EstimateError;
use crate::cell::{AGAIN, BASELINE};

/// The flame graphs of all variants in all cells, of CPU time and of waits. Nothing is said where no block has both arms.
///
/// Looks are read twice: once for what there is, and once for how much of it each block has, so that what takes next to nothing has
/// no figures.
///
/// # Errors
/// When samples or looks are damaged.
pub fn flames(
    head: &Head,
    samples: &(impl ciphertax_records::Samples + ?Sized),
    looks: &dyn Looks,
) -> Result<Vec<Flame>, EstimateError> {
    let slices = Slices::read(head, samples)?;
    let overview = Overview::of(&slices, looks)?;
    let compared = overview.compared();
    let mut comparisons: Vec<Comparison<'_>> = compared
        .iter()
        .map(|compared| {
            let tree = Tree::of(looks.symbols(), &compared.seen);
            Comparison::new(
                [compared.cell, compared.variant],
                compared.of,
                tree,
                &compared.blocks,
            )
        })
        .collect();
    slices.each(looks, |place, of, of_slice| {
        for comparison in &mut comparisons {
            if comparison.cell != place.cell || comparison.of != of {
                continue;
            }
            let role = match place.arm {
                BASELINE => Role::Baseline,
                AGAIN => Role::Again,
                arm if arm == comparison.variant => Role::Variant,
                _ => continue,
            };
            comparison.add(role, place.block, of_slice);
        }
    })?;
    let made = comparisons.into_iter().filter_map(|comparison| {
        let (cell, arm) = (comparison.cell, comparison.variant);
        let flame = comparison.flame(slices.cell(cell), &slices.arms(cell)[arm]);
        flame.transpose()
    });
    made.collect()
}

/// What there is of each arm, all blocks together.
#[derive(Debug, Default)]
struct Overview {
    by_arm: BTreeMap<ArmKey, OfArm>,
}

/// Cell, what is shown, and arm.
type ArmKey = (usize, What, usize);

/// How much of what was seen of an arm, in microseconds of all operations, and in which blocks.
#[derive(Debug, Default)]
struct OfArm {
    us: HashMap<Seen, f64>,
    operations: f64,
    blocks: BTreeSet<u32>,
}

/// A baseline and a variant that have blocks in common.
#[derive(Debug)]
struct Compared {
    cell: usize,
    variant: usize,
    of: What,
    blocks: Vec<u32>,
    /// How much was seen of both, in microseconds of an operation.
    seen: BTreeMap<Seen, [f64; 2]>,
}

impl Overview {
    fn of(slices: &Slices<'_>, looks: &dyn Looks) -> Result<Self, EstimateError> {
        let mut overview = Self::default();
        slices.each(looks, |place, of, of_slice| {
            let arm = overview.by_arm.entry((place.cell, of, place.arm)).or_default();
            arm.blocks.insert(place.block);
            arm.operations += of_slice.operations;
            for (seen, amount) in &of_slice.amounts {
                let us = amount.us * of_slice.operations;
                match arm.us.get_mut(seen) {
                    Some(sum) => *sum += us,
                    None => {
                        arm.us.insert(seen.clone(), us);
                    }
                }
            }
        })?;
        Ok(overview)
    }

    fn compared(&self) -> Vec<Compared> {
        let with_baseline = |((cell, of, arm), variant): (&ArmKey, &OfArm)| {
            let baseline = self.by_arm.get(&(*cell, *of, BASELINE))?;
            let blocks: Vec<u32> = baseline.blocks.intersection(&variant.blocks).copied().collect();
            let is_variant = *arm != BASELINE && *arm != AGAIN;
            (is_variant && !blocks.is_empty()).then(|| Compared {
                cell: *cell,
                variant: *arm,
                of: *of,
                blocks,
                seen: together([baseline, variant]),
            })
        };
        self.by_arm.iter().filter_map(with_baseline).collect()
    }
}

/// What was seen of two arms, over all their operations.
fn together(arms: [&OfArm; 2]) -> BTreeMap<Seen, [f64; 2]> {
    let mut together: BTreeMap<Seen, [f64; 2]> = BTreeMap::new();
    for (place, arm) in arms.into_iter().enumerate() {
        for (seen, us) in &arm.us {
            together.entry(seen.clone()).or_default()[place] += us / arm.operations;
        }
    }
    together
}

//! A tree's figures, block by block.

use std::collections::BTreeMap;

use ciphertax_records::why::{Flame, FlameFrame, FlameOf};
use ciphertax_stats::{FEWEST_BLOCKS, Interval, MeanEstimate};

use super::seen::{Amount, Seen, What};
use super::tree::Tree;
use crate::error::ExplainError;
use crate::why::paired::{excludes_zero, floor, no_narrower};

/// Values of a series. Of more blocks than that, neighbours become one: memory has a bound, and more values would make no interval
/// any narrower.
const MOST: usize = 64;

/// Which arm of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Baseline,
    Again,
    Variant,
}

/// A flame graph that is being made.
#[derive(Debug)]
pub(super) struct Comparison<'a> {
    pub(super) cell: usize,
    pub(super) variant: usize,
    pub(super) of: What,
    tree: Tree<'a>,
    /// Which value of a series a block belongs to.
    value_of: BTreeMap<u32, usize>,
    /// Blocks of each value.
    blocks: Vec<f64>,
    /// Microseconds of an operation by role, node and value; sums over the blocks of a value.
    us: [Vec<f64>; 3],
    /// What counting adds to the variance of a node's difference, summed over blocks.
    variance: Vec<f64>,
    /// Blocks that have the baseline again too.
    again: usize,
}

impl<'a> Comparison<'a> {
    /// Of these blocks, which both arms have.
    pub(super) fn new([cell, variant]: [usize; 2], of: What, tree: Tree<'a>, blocks: &[u32]) -> Self {
        let values = blocks.len().min(MOST);
        let mut count = vec![0.0; values];
        let value_of = blocks.iter().enumerate().map(|(index, block)| {
            let value = index * values / blocks.len();
            count[value] += 1.0;
            (*block, value)
        });
        let value_of = value_of.collect();
        let size = tree.nodes.len() * values;
        Self {
            cell,
            variant,
            of,
            value_of,
            blocks: count,
            us: [vec![0.0; size], vec![0.0; size], vec![0.0; size]],
            variance: vec![0.0; tree.nodes.len()],
            again: 0,
            tree,
        }
    }

    /// Takes what was seen in a slice of one of its arms.
    pub(super) fn add(&mut self, role: Role, block: u32, seen: &[(Seen, Amount)]) {
        let Some(value) = self.value_of.get(&block) else {
            return;
        };
        self.again += usize::from(role == Role::Again);
        for (seen, amount) in seen {
            if let Some(node) = self.tree.node_of.get(seen) {
                self.us[role as usize][node * self.blocks.len() + value] += amount.us;
                if role != Role::Again {
                    self.variance[*node] += amount.variance;
                }
            }
        }
    }

    /// The flame graph; `None` if nothing was seen.
    pub(super) fn flame(mut self, cell: &str, arm: &str) -> Result<Option<Flame>, ExplainError> {
        self.add_up();
        let root = self.frame(0)?;
        Ok((root.baseline_us > 0.0 || root.variant_us > 0.0).then(|| Flame {
            cell: cell.to_owned(),
            arm: arm.to_owned(),
            of: self.of.map_or(FlameOf::Waits, FlameOf::Cpu),
            root,
        }))
    }

    /// Adds what a function calls to what it takes itself. What is called has a higher number.
    fn add_up(&mut self) {
        let values = self.blocks.len();
        for node in (1..self.tree.nodes.len()).rev() {
            let Some(parent) = self.tree.nodes[node].parent else {
                continue;
            };
            self.variance[parent] += self.variance[node];
            for us in &mut self.us {
                for value in 0..values {
                    us[parent * values + value] += us[node * values + value];
                }
            }
        }
    }

    fn frame(&self, node: usize) -> Result<FlameFrame, ExplainError> {
        let of = &self.tree.nodes[node];
        let mean = |role: Role| self.sum(role, node) / self.all_blocks();
        let difference = self.difference(node, Role::Variant)?;
        // What the baseline differs from itself is noise.
        let noise = match self.again == self.value_of.len() {
            true => self
                .difference(node, Role::Again)?
                .map_or(0.0, |again| floor(&again)),
            false => 0.0,
        };
        let is_significant =
            difference.is_some_and(|difference| excludes_zero(&difference) && difference.value.abs() > noise);
        Ok(FlameFrame {
            name: of.name.to_owned(),
            module: of.module.to_owned(),
            baseline_us: mean(Role::Baseline),
            variant_us: mean(Role::Variant),
            difference,
            is_significant,
            calls: of
                .calls
                .iter()
                .map(|call| self.frame(*call))
                .collect::<Result<_, _>>()?,
        })
    }

    /// An arm less the baseline, as the mean of the blocks. The interval is that of a mean of blocks, by Student's t and widened for
    /// serial correlation, and never narrower than counting allows: where little was seen a few blocks may agree by chance.
    fn difference(&self, node: usize, role: Role) -> Result<Option<Interval>, ExplainError> {
        if self.value_of.len() < FEWEST_BLOCKS as usize {
            return Ok(None);
        }
        let (baseline, arm) = (self.series(Role::Baseline, node), self.series(role, node));
        let values = baseline.iter().zip(arm).zip(&self.blocks);
        let series: Vec<f64> = values
            .map(|((baseline, arm), blocks)| (arm - baseline) / blocks)
            .collect();
        let estimate = MeanEstimate::of(&series)?;
        let value = (self.sum(role, node) - self.sum(Role::Baseline, node)) / self.all_blocks();
        let by_counting = self.variance[node].sqrt() / self.all_blocks();
        Ok(Some(no_narrower(value, &estimate, by_counting)))
    }

    fn series(&self, role: Role, node: usize) -> &[f64] {
        let values = self.blocks.len();
        &self.us[role as usize][node * values..(node + 1) * values]
    }

    fn sum(&self, role: Role, node: usize) -> f64 {
        self.series(role, node).iter().sum()
    }

    fn all_blocks(&self) -> f64 {
        self.value_of.len() as f64
    }
}

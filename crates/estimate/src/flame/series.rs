//! A tree's figures, block by block.

use std::collections::BTreeMap;

use ciphertax_base::Interval;
use ciphertax_records::why::{Flame, FlameFrame, FlameOf};

use super::seen::{OfSlice, What};
use super::tree::Tree;
use crate::EstimateError;
use crate::paired::{Pair, Paired, excludes_zero, floor};

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
    /// Values of a series.
    values: usize,
    /// By role and value, of all their operations.
    operations: [Vec<f64>; 3],
    /// Microseconds of all operations by role, node and value.
    us: [Vec<f64>; 3],
    /// What counting adds to the variance of these.
    variance: [Vec<f64>; 3],
    /// Blocks that have the baseline again too.
    again: usize,
}

impl<'a> Comparison<'a> {
    /// Of these blocks, which both arms have.
    pub(super) fn new([cell, variant]: [usize; 2], of: What, tree: Tree<'a>, blocks: &[u32]) -> Self {
        let values = blocks.len().min(MOST);
        let value_of = blocks.iter().enumerate();
        let value_of = value_of.map(|(index, block)| (*block, index * values / blocks.len()));
        let of_each_role = |size: usize| [vec![0.0; size], vec![0.0; size], vec![0.0; size]];
        Self {
            cell,
            variant,
            of,
            value_of: value_of.collect(),
            values,
            operations: of_each_role(values),
            us: of_each_role(tree.nodes.len() * values),
            variance: of_each_role(tree.nodes.len() * values),
            again: 0,
            tree,
        }
    }

    /// Takes what was seen in a slice of one of its arms.
    pub(super) fn add(&mut self, role: Role, block: u32, of_slice: &OfSlice) {
        let Some(value) = self.value_of.get(&block) else {
            return;
        };
        self.again += usize::from(role == Role::Again);
        let (role, operations) = (role as usize, of_slice.operations);
        self.operations[role][*value] += operations;
        for (seen, amount) in &of_slice.amounts {
            if let Some(node) = self.tree.node_of.get(seen) {
                let at = node * self.values + value;
                self.us[role][at] += amount.us * operations;
                self.variance[role][at] += amount.variance * operations * operations;
            }
        }
    }

    /// The flame graph; `None` if nothing was seen.
    pub(super) fn flame(mut self, cell: &str, arm: &str) -> Result<Option<Flame>, EstimateError> {
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
        let values = self.values;
        for node in (1..self.tree.nodes.len()).rev() {
            let Some(parent) = self.tree.nodes[node].parent else {
                continue;
            };
            for sums in self.us.iter_mut().chain(&mut self.variance) {
                for value in 0..values {
                    sums[parent * values + value] += sums[node * values + value];
                }
            }
        }
    }

    fn frame(&self, node: usize) -> Result<FlameFrame, EstimateError> {
        let of = &self.tree.nodes[node];
        let (us, difference) = self.compared(node, Role::Variant)?;
        // What the baseline differs from itself is noise.
        let noise = match self.again == self.value_of.len() {
            true => {
                let (_, again) = self.compared(node, Role::Again)?;
                again.map_or(0.0, |again| floor(&again))
            }
            false => 0.0,
        };
        let is_significant =
            difference.is_some_and(|difference| excludes_zero(&difference) && difference.value.abs() > noise);
        Ok(FlameFrame {
            name: of.name.to_owned(),
            module: of.module.to_owned(),
            baseline_us: us[0],
            variant_us: us[1],
            difference,
            is_significant,
            calls: of
                .calls
                .iter()
                .map(|call| self.frame(*call))
                .collect::<Result<_, _>>()?,
        })
    }

    /// Microseconds of an operation of the baseline and of an arm, each over all its operations, and their difference, as the tables
    /// have them.
    fn compared(&self, node: usize, role: Role) -> Result<([f64; 2], Option<Interval>), EstimateError> {
        let roles = [Role::Baseline as usize, role as usize];
        let pair = |value: usize| {
            let operations = roles.map(|role| self.operations[role][value]);
            let at = node * self.values + value;
            let of = |sums: &[Vec<f64>; 3], power: i32| {
                [0, 1].map(|arm| sums[roles[arm]][at] / operations[arm].powi(power))
            };
            let is_whole = operations.iter().all(|operations| *operations > 0.0);
            is_whole.then(|| Pair {
                values: of(&self.us, 1),
                weights: operations,
                variances: of(&self.variance, 2),
            })
        };
        let pairs: Vec<Pair> = (0..self.values).filter_map(pair).collect();
        let paired = Paired::of(&pairs)?;
        Ok(paired.map_or(([0.0; 2], None), |paired| {
            ([paired.baseline, paired.variant], paired.difference)
        }))
    }
}

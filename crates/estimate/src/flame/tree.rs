//! The functions of two arms' stacks as one tree, without what takes next to nothing.

use std::collections::{BTreeMap, HashMap};

use ciphertax_records::why::SymbolTable;

use super::seen::Seen;

/// What takes less of the whole in both arms is left out.
const LEAST_SHARE: f64 = 1e-3;
/// Functions of a stack that are told apart, from the first; recursion may be endless.
const DEEPEST: usize = 256;

/// A function with its module, outermost first in a path.
type Function<'a> = (&'a str, &'a str);

/// A tree of functions. The node 0 is what all stacks begin at.
#[derive(Debug)]
pub(super) struct Tree<'a> {
    pub(super) nodes: Vec<Node<'a>>,
    /// The deepest node that is left of what was seen.
    pub(super) node_of: HashMap<Seen, usize>,
}

#[derive(Debug)]
pub(super) struct Node<'a> {
    pub(super) name: &'a str,
    pub(super) module: &'a str,
    /// By name, then by module.
    pub(super) calls: Vec<usize>,
    pub(super) parent: Option<usize>,
}

/// A tree that is being made of all stacks.
struct Growing<'a> {
    /// What each is, where it is called, and what of both arms runs there or below.
    nodes: Vec<(Function<'a>, usize, [f64; 2])>,
    calls: HashMap<(usize, Function<'a>), usize>,
}

impl<'a> Tree<'a> {
    /// Of what was seen of two arms, by how much of each.
    pub(super) fn of(symbols: &'a SymbolTable, seen: &'a BTreeMap<Seen, [f64; 2]>) -> Self {
        let mut growing = Growing {
            nodes: vec![(("all", ""), 0, [0.0; 2])],
            calls: HashMap::new(),
        };
        let leaves: Vec<usize> = seen
            .iter()
            .map(|(seen, us)| growing.add(symbols, seen, *us))
            .collect();
        let kept = growing.keep();
        let node_of = seen.keys().zip(leaves).map(|(seen, mut leaf)| {
            // The root is always kept.
            while kept[leaf].is_none() && leaf > 0 {
                leaf = growing.nodes[leaf].1;
            }
            (seen.clone(), kept[leaf].unwrap_or(0))
        });
        let node_of = node_of.collect();
        let mut nodes: Vec<Node<'a>> = Vec::new();
        for (index, ((name, module), parent, _)) in growing.nodes.iter().enumerate() {
            if kept[index].is_some() {
                nodes.push(Node {
                    name,
                    module,
                    calls: Vec::new(),
                    parent: kept[*parent].filter(|_| index > 0),
                });
            }
        }
        for node in 1..nodes.len() {
            if let Some(parent) = nodes[node].parent {
                nodes[parent].calls.push(node);
            }
        }
        let names: Vec<Function<'a>> = nodes.iter().map(|node| (node.name, node.module)).collect();
        for node in &mut nodes {
            node.calls.sort_by_key(|call| names[*call]);
        }
        Self { nodes, node_of }
    }
}

impl<'a> Growing<'a> {
    /// Adds a stack; returns the node of the function that ran or waited.
    fn add(&mut self, symbols: &'a SymbolTable, seen: &'a Seen, us: [f64; 2]) -> usize {
        let call = seen.call.as_deref().map(|call| (call, "[kernel]"));
        let path = symbols.names(seen.stack).rev().chain(call).take(DEEPEST);
        let mut node = 0;
        self.add_to(node, us);
        for function in path {
            let next = self.nodes.len();
            let child = *self.calls.entry((node, function)).or_insert(next);
            if child == next {
                self.nodes.push((function, node, [0.0; 2]));
            }
            node = child;
            self.add_to(node, us);
        }
        node
    }

    fn add_to(&mut self, node: usize, us: [f64; 2]) {
        let sums = &mut self.nodes[node].2;
        sums[0] += us[0];
        sums[1] += us[1];
    }

    /// The new numbers of the nodes that are kept. Parents come before what they call, and are kept with any of it.
    fn keep(&self) -> Vec<Option<usize>> {
        let whole = self.nodes[0].2;
        let mut count = 0;
        let mut number = |(index, (_, _, us)): (usize, &(Function<'a>, usize, [f64; 2]))| {
            let is_kept =
                index == 0 || (0..2).any(|arm| us[arm] > 0.0 && us[arm] >= LEAST_SHARE * whole[arm]);
            is_kept.then(|| {
                count += 1;
                count - 1
            })
        };
        self.nodes.iter().enumerate().map(&mut number).collect()
    }
}

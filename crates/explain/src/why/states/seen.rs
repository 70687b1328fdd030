//! What sessions were seen to do in the slices of a run.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;

use ciphertax_records::Head;
use ciphertax_records::why::{Looks, Waits};
use ciphertax_stats::FEWEST_BLOCKS;

use super::blocked::Family;
use super::state::State;
use ciphertax_estimate::slices::{self, CellSlices, Slice, place};

/// A state, and what is waited for in it.
pub(in crate::why) type InState<T = State> = (T, Option<String>);

/// One arm's half of a block that was looked into.
pub(in crate::why) struct Block<T = State> {
    /// Microseconds of an operation by state.
    pub(in crate::why) states: BTreeMap<InState<T>, f64>,
    /// Above zero.
    pub(in crate::why) operations: f64,
}

/// Microseconds of an operation, over all operations of some blocks: a block with few operations counts for little.
pub(in crate::why) fn per_operation<'a, T: 'a>(
    blocks: impl Iterator<Item = &'a Block<T>>,
    us: impl Fn(&Block<T>) -> f64,
) -> f64 {
    let (sum, operations) = blocks.fold((0.0, 0.0), |(sum, operations), block| {
        (sum + us(block) * block.operations, operations + block.operations)
    });
    sum / f64::max(operations, 1.0)
}

/// Microseconds of an operation by state, in each slice that was looked at, by cell, block and arm.
pub(in crate::why) type Slices<T> = HashMap<(usize, u32, usize), BTreeMap<InState<T>, f64>>;

/// What was seen in all of them.
#[derive(Default)]
pub(in crate::why) struct Seen {
    pub(in crate::why) by_state: Slices<State>,
    pub(in crate::why) by_wait_event: Slices<String>,
}

impl Seen {
    pub(in crate::why) fn read(head: &Head, cells: &[CellSlices<'_>], looks: &dyn Looks) -> io::Result<Self> {
        let mut all = Self::default();
        let mut families = HashMap::new();
        for waits in looks.waits() {
            let waits = waits?;
            let Some((cell, arm)) = place(cells, &waits.slice) else {
                continue;
            };
            let of = &cells[cell];
            let block = waits.slice.block;
            let Some(slice) = of.get(block, arm).filter(|slice| slice.look.is_some()) else {
                continue;
            };
            if slice.duration_ns <= 0.0 {
                continue;
            }
            if let Some(events) = waits.events.as_ref().filter(|events| events.rounds > 0) {
                let ns = |sessions: u64| slice.duration_ns * sessions as f64 / events.rounds as f64;
                let sessions = events.sessions.iter();
                let times = sessions.map(|(event, sessions)| (event.as_str(), ns(*sessions)));
                all.by_wait_event
                    .insert((cell, block, arm), by_wait_event(slice, times));
            }
            if waits.rounds == 0 {
                continue;
            }
            let family = families
                .entry((cell, arm))
                .or_insert_with(|| Family::of(&slices::product(head, of.cell, &of.arms[arm])));
            let states = states(slice, f64::from(of.cell.load.connections), &waits, *family, looks);
            all.by_state.insert((cell, block, arm), states);
        }
        all.add_counted(cells);
        Ok(all)
    }

    /// The waits of slices that were looked into, of a server that counts them itself.
    fn add_counted(&mut self, cells: &[CellSlices<'_>]) {
        for (cell, of) in cells.iter().enumerate() {
            for (block, arms) in &of.blocks {
                for (arm, slice) in arms.iter().enumerate() {
                    let looked_into = slice.as_ref().filter(|slice| slice.look.is_some());
                    let Some(slice) = looked_into.filter(|slice| !slice.waited_ns.is_empty()) else {
                        continue;
                    };
                    let times = slice.waited_ns.iter().map(|(event, ns)| (event.as_str(), *ns));
                    self.by_wait_event
                        .insert((cell, *block, arm), by_wait_event(slice, times));
                }
            }
        }
    }
}

/// Of each arm of a cell the blocks that say what it does: those that all arms with enough of them have in common, so that what
/// is said of two arms is of the same blocks. Where these are too few, and of an arm with too few, its own.
pub(in crate::why) fn blocks<T: Clone>(
    slices: &Slices<T>,
    index: usize,
    cell: &CellSlices<'_>,
) -> Vec<BTreeMap<u32, Block<T>>> {
    let of_arm = |arm: usize| -> BTreeMap<u32, Block<T>> {
        let of_block = |block: &u32| {
            let block_of_arm = Block {
                states: slices.get(&(index, *block, arm))?.clone(),
                operations: cell.get(*block, arm)?.operations,
            };
            Some((*block, block_of_arm))
        };
        cell.blocks.keys().filter_map(of_block).collect()
    };
    let mut arms: Vec<BTreeMap<u32, Block<T>>> = (0..cell.arms.len()).map(of_arm).collect();
    let has_enough = |blocks: usize| blocks >= FEWEST_BLOCKS as usize;
    let numbers = arms.iter().filter(|blocks| has_enough(blocks.len()));
    let numbers = numbers.map(|blocks| blocks.keys().copied().collect::<BTreeSet<u32>>());
    let common = numbers.reduce(|one, other| &one & &other).unwrap_or_default();
    if has_enough(common.len()) {
        let with_enough = arms.iter_mut().filter(|blocks| has_enough(blocks.len()));
        with_enough.for_each(|blocks| blocks.retain(|block, _| common.contains(block)));
    }
    arms
}

/// What the server calls sessions that wait for nothing: it has no name for it.
const NO_WAIT_EVENT: &str = "no wait event";

/// From the time of all sessions together for each event, which for events that were asked for is known by Little's law as below.
/// Sessions that are not at work are not among them.
fn by_wait_event<'a>(
    slice: &Slice,
    times: impl Iterator<Item = (&'a str, f64)>,
) -> BTreeMap<InState<String>, f64> {
    let mut by_event = BTreeMap::new();
    for (event, ns) in times {
        let name = match event.split_once(':') {
            Some((of_type, event)) => (of_type.to_owned(), Some(event.to_owned())),
            None if event.is_empty() => (NO_WAIT_EVENT.to_owned(), None),
            None => (event.to_owned(), None),
        };
        *by_event.entry(name).or_default() += slice.us_of(ns);
    }
    by_event
}

/// By Little's law a session's share of the time in a state, times the slice's length, is shared by its operations. What runs is
/// told by the meters, which know it to the nanosecond; what waits by the looks; whoever does neither is with the network or the
/// client. So all of them add up to the connections' time.
fn states(
    slice: &Slice,
    connections: f64,
    waits: &Waits,
    family: Family,
    looks: &dyn Looks,
) -> BTreeMap<InState, f64> {
    let us = |seen: u64| slice.us_of(slice.duration_ns * seen as f64 / waits.rounds as f64);
    let all = slice.us_of(slice.duration_ns * connections);
    let mut states: BTreeMap<InState, f64> = BTreeMap::new();
    let mut add = |state: InState, us: f64| *states.entry(state).or_default() += us;
    let running = us(waits.running);
    // Threads that serve no session run too.
    let looks_at_running = (waits.running.saturating_add(waits.background_running)) as f64;
    let of_sessions = match looks_at_running > 0.0 {
        true => waits.running as f64 / looks_at_running,
        false => 1.0,
    };
    let on_cpu = match slice.server_cpu {
        Some(cpu) => slice.us_of(cpu.total_ns as f64 * of_sessions),
        None => running,
    };
    let runnable = match slice.server_wait_ns {
        Some(wait_ns) => slice.us_of(wait_ns as f64 * of_sessions),
        None => (running - on_cpu).max(0.0),
    };
    add((State::OnCpu, None), on_cpu);
    add((State::Runnable, None), runnable);
    add((State::Other, None), us(waits.inconsistent));
    for blocked in waits.blocked.iter().filter(|blocked| !blocked.background) {
        let stack: Vec<(&str, &str)> = looks.symbols().names(blocked.stack).collect();
        let state = family.state(&blocked.call, blocked.object.as_deref(), &stack);
        add(state, us(blocked.seen));
    }
    let seen: f64 = states.values().sum();
    if seen > all {
        // Meters and looks are not of the same moment.
        states.values_mut().for_each(|us| *us *= all / seen);
    }
    states.insert((State::Network, None), (all - seen).max(0.0));
    states.retain(|(state, _), us| *us > 0.0 || *state == State::Network);
    states
}

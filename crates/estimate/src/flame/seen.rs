//! What was seen in the slices that were looked into, as microseconds of an operation.

use std::collections::{HashMap, HashSet};
use std::io;

use ciphertax_records::why::{Complete, Looks, Profile, ProfiledSide, SideProfile, StackId, Waits};
use ciphertax_records::{Head, Samples, SliceId};

use crate::EstimateError;
use crate::slices::{self, CellSlices, Slice};

/// Where a slice belongs. Cells and arms are known by their index; arm 0 is the baseline, 1 the baseline again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Place {
    pub(super) cell: usize,
    pub(super) arm: usize,
    pub(super) block: u32,
}

/// The slices that were looked into and count.
pub(super) struct Slices<'a> {
    cells: Vec<CellSlices<'a>>,
    /// The part of a side's CPU time outside of the kernel, over all slices of an arm: of one slice it is known too roughly.
    outside: HashMap<(usize, usize, ProfiledSide), f64>,
}

/// What is shown of a slice: the CPU time of a side, or what was waited for.
pub(super) type What = Option<ProfiledSide>;

/// Code that used CPU time or waited, with the system call that it waited in.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Seen {
    pub(super) stack: StackId,
    pub(super) call: Option<String>,
}

/// What was seen in a slice.
pub(super) struct OfSlice {
    /// Above zero.
    pub(super) operations: f64,
    pub(super) amounts: Vec<(Seen, Amount)>,
}

/// How much of it there was in a slice.
#[derive(Debug, Clone, Copy)]
pub(super) struct Amount {
    /// Microseconds of an operation.
    pub(super) us: f64,
    /// What counting adds to the variance of `us`: of a count it is the count.
    pub(super) variance: f64,
}

impl<'a> Slices<'a> {
    pub(super) fn read(head: &'a Head, samples: &(impl Samples + ?Sized)) -> io::Result<Self> {
        let cells = slices::read(head, samples)?;
        Ok(Self {
            outside: outside(&cells),
            cells,
        })
    }

    pub(super) fn cell(&self, index: usize) -> &str {
        &self.cells[index].cell.name
    }

    /// The arms of a cell, the baseline first.
    pub(super) fn arms(&self, cell: usize) -> &[String] {
        &self.cells[cell].arms
    }

    /// Calls `each` for each slice that tells something and counts, in the order in which they were seen.
    pub(super) fn each(
        &self,
        looks: &dyn Looks,
        mut each: impl FnMut(Place, What, &OfSlice),
    ) -> Result<(), EstimateError> {
        let mut had = HashSet::new();
        for profile in looks.profiles() {
            let profile = profile?;
            if let Some((place, slice)) = self.find(&profile.slice) {
                for (side, amounts) in self.cpu(&profile, place, slice) {
                    if had.insert((place, Some(side))) {
                        each(place, Some(side), &OfSlice::new(slice, amounts));
                    }
                }
            }
        }
        for waits in looks.waits() {
            let waits = waits?;
            if let Some((place, slice)) = self.find(&waits.slice)
                && waits.rounds > 0
                && had.insert((place, None))
            {
                each(place, None, &OfSlice::new(slice, waited(&waits, slice)));
            }
        }
        Ok(())
    }

    fn cpu(
        &self,
        profile: &Profile,
        place: Place,
        slice: &Slice,
    ) -> Vec<(ProfiledSide, Vec<(Seen, Amount)>)> {
        let of_side = |(side, seen): (&ProfiledSide, &SideProfile)| {
            let counted: u64 = seen
                .stacks
                .values()
                .fold(0, |sum, count| sum.saturating_add(*count));
            // Of samples that were lost nobody knows whose they were.
            if seen.lost > 0 || counted == 0 {
                return None;
            }
            let part = match seen.comprises {
                Complete::UserOnly => *self.outside.get(&(place.cell, place.arm, *side))?,
                Complete::Whole | Complete::KernelUnnamed => 1.0,
            };
            let us = slice.us_of(slice.cpu(*side)?.total_ns as f64 * part);
            let each = us / counted as f64;
            let stacks = seen.stacks.iter().map(|(stack, count)| (*stack, None, *count));
            Some((*side, amounts(stacks, each)))
        };
        profile.sides.iter().filter_map(of_side).collect()
    }

    fn find(&self, slice: &SliceId) -> Option<(Place, &Slice)> {
        let (cell, arm) = slices::place(&self.cells, slice)?;
        let place = Place {
            cell,
            arm,
            block: slice.block,
        };
        let found = self.cells[cell].get(slice.block, arm);
        Some((place, found.filter(|slice| slice.look.is_some())?))
    }
}

impl OfSlice {
    fn new(slice: &Slice, amounts: Vec<(Seen, Amount)>) -> Self {
        Self {
            operations: slice.operations,
            amounts,
        }
    }
}

fn outside(cells: &[CellSlices<'_>]) -> HashMap<(usize, usize, ProfiledSide), f64> {
    let mut sums: HashMap<_, (f64, f64)> = HashMap::new();
    for (cell, of_cell) in cells.iter().enumerate() {
        for (arm, slice) in of_cell.blocks.values().flat_map(|arms| arms.iter().enumerate()) {
            let Some(slice) = slice.as_ref().filter(|slice| slice.look.is_some()) else {
                continue;
            };
            for side in [ProfiledSide::Server, ProfiledSide::Client] {
                let Some(cpu) = slice.cpu(side) else { continue };
                let (outside, all) = sums.entry((cell, arm, side)).or_default();
                *outside += cpu.total_ns.saturating_sub(cpu.system_ns) as f64;
                *all += cpu.total_ns as f64;
            }
        }
    }
    let parts = sums.into_iter().filter(|(_, (_, all))| *all > 0.0);
    parts.map(|(key, (outside, all))| (key, outside / all)).collect()
}

/// What threads that serve sessions waited for. By Little's law an operation waits as long as there are sessions that wait, by the
/// throughput.
fn waited(waits: &Waits, slice: &Slice) -> Vec<(Seen, Amount)> {
    let each = slice.us_of(slice.duration_ns / waits.rounds as f64);
    let of_sessions = waits.blocked.iter().filter(|blocked| !blocked.background);
    let seen = of_sessions.map(|blocked| {
        let call = match &blocked.object {
            Some(object) => format!("{} {object}", blocked.call),
            None => blocked.call.clone(),
        };
        (blocked.stack, Some(call), blocked.seen)
    });
    amounts(seen, each)
}

fn amounts(seen: impl Iterator<Item = (StackId, Option<String>, u64)>, each: f64) -> Vec<(Seen, Amount)> {
    seen.map(|(stack, call, count)| {
        let amount = Amount {
            us: count as f64 * each,
            variance: count as f64 * each * each,
        };
        (Seen { stack, call }, amount)
    })
    .collect()
}

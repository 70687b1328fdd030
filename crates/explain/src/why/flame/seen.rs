//! What was seen in the slices that were looked into, as microseconds of an operation.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;

use ciphertax_records::why::{Complete, Looks, Profile, ProfiledSide, SideProfile, StackId, Waits};
use ciphertax_records::{CpuTime, Head, Sample, Samples, SliceId};

use crate::error::ExplainError;

/// Where a slice belongs. Cells and arms are known by their index; arm 0 is the baseline, 1 the baseline again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Place {
    pub(super) cell: usize,
    pub(super) arm: usize,
    pub(super) block: u32,
}

/// The slices that were looked into and count.
#[derive(Debug)]
pub(super) struct Slices {
    cells: Vec<Cell>,
    by_place: BTreeMap<Place, Slice>,
    /// The part of a side's CPU time outside of the kernel, over all slices of an arm: of one slice it is known too roughly.
    outside: HashMap<(usize, usize, ProfiledSide), f64>,
}

#[derive(Debug)]
struct Cell {
    name: String,
    arms: Vec<String>,
}

#[derive(Debug)]
struct Slice {
    operations: f64,
    duration_ns: f64,
    server_cpu: Option<CpuTime>,
    client_cpu: CpuTime,
}

/// What is shown of a slice: the CPU time of a side, or what was waited for.
pub(super) type What = Option<ProfiledSide>;

/// Code that used CPU time or waited, with the system call that it waited in.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Seen {
    pub(super) stack: StackId,
    pub(super) call: Option<String>,
}

/// How much of it there was in a slice.
#[derive(Debug, Clone, Copy)]
pub(super) struct Amount {
    /// Microseconds of an operation.
    pub(super) us: f64,
    /// What counting adds to the variance of `us`: of a count it is the count.
    pub(super) variance: f64,
}

impl Slices {
    pub(super) fn read(head: &Head, samples: &(impl Samples + ?Sized)) -> io::Result<Self> {
        let study = &head.study;
        let of_cell = |cell: &ciphertax_model::Cell| Cell {
            name: cell.name.clone(),
            arms: study
                .measured_arms_of(cell)
                .into_iter()
                .map(|arm| arm.name)
                .collect(),
        };
        let mut slices = Self {
            cells: study.cells.iter().map(of_cell).collect(),
            by_place: BTreeMap::new(),
            outside: HashMap::new(),
        };
        for index in 0..samples.count() {
            let sample = samples.get(index)?;
            let counts = sample.look.is_some() && sample.is_valid() && sample.load.operation_count() > 0;
            if let Some(place) = slices.place(&sample.slice).filter(|_| counts) {
                slices.by_place.insert(place, Slice::of(&sample));
            }
        }
        slices.outside = slices.outside();
        Ok(slices)
    }

    pub(super) fn cell(&self, index: usize) -> &str {
        &self.cells[index].name
    }

    /// The arms of a cell, the baseline first.
    pub(super) fn arms(&self, cell: usize) -> &[String] {
        &self.cells[cell].arms
    }

    /// Calls `each` for each slice that tells something and counts, in the order in which they were seen.
    pub(super) fn each(
        &self,
        looks: &dyn Looks,
        mut each: impl FnMut(Place, What, &[(Seen, Amount)]),
    ) -> Result<(), ExplainError> {
        let mut had = HashSet::new();
        for profile in looks.profiles() {
            let profile = profile?;
            if let Some((place, slice)) = self.find(&profile.slice) {
                for (side, seen) in self.cpu(&profile, place, slice) {
                    if had.insert((place, Some(side))) {
                        each(place, Some(side), &seen);
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
                each(place, None, &waited(&waits, slice));
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
            let us = slice.cpu(*side)?.total_ns as f64 * part / 1e3 / slice.operations;
            let each = us / counted as f64;
            let stacks = seen.stacks.iter().map(|(stack, count)| (*stack, None, *count));
            Some((*side, amounts(stacks, each)))
        };
        profile.sides.iter().filter_map(of_side).collect()
    }

    fn find(&self, slice: &SliceId) -> Option<(Place, &Slice)> {
        let place = self.place(slice)?;
        Some((place, self.by_place.get(&place)?))
    }

    fn place(&self, slice: &SliceId) -> Option<Place> {
        let cell = self.cells.iter().position(|cell| cell.name == slice.cell)?;
        let arm = self.cells[cell].arms.iter().position(|arm| *arm == slice.arm)?;
        Some(Place {
            cell,
            arm,
            block: slice.block,
        })
    }

    fn outside(&self) -> HashMap<(usize, usize, ProfiledSide), f64> {
        let mut sums: HashMap<_, (f64, f64)> = HashMap::new();
        for (place, slice) in &self.by_place {
            for side in [ProfiledSide::Server, ProfiledSide::Client] {
                let Some(cpu) = slice.cpu(side) else { continue };
                let (outside, all) = sums.entry((place.cell, place.arm, side)).or_default();
                *outside += cpu.total_ns.saturating_sub(cpu.system_ns) as f64;
                *all += cpu.total_ns as f64;
            }
        }
        let parts = sums.into_iter().filter(|(_, (_, all))| *all > 0.0);
        parts.map(|(key, (outside, all))| (key, outside / all)).collect()
    }
}

impl Slice {
    fn of(sample: &Sample) -> Self {
        Self {
            operations: sample.load.operation_count() as f64,
            duration_ns: sample.load.duration_ns as f64,
            server_cpu: sample.server.server_cpu,
            client_cpu: sample.load.client_cpu,
        }
    }

    fn cpu(&self, side: ProfiledSide) -> Option<CpuTime> {
        match side {
            ProfiledSide::Server => self.server_cpu,
            ProfiledSide::Client => Some(self.client_cpu),
        }
    }
}

/// What threads that serve sessions waited for. By Little's law an operation waits as long as there are sessions that wait, by the
/// throughput.
fn waited(waits: &Waits, slice: &Slice) -> Vec<(Seen, Amount)> {
    let each = slice.duration_ns / 1e3 / slice.operations / waits.rounds as f64;
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

//! Profiles, as counts of samples by category.

use std::collections::{BTreeMap, HashMap};
use std::io;

use ciphertax_records::Head;
use ciphertax_records::why::{Complete, Look, Looks, ProfiledSide, SideProfile};

use super::categories::{SPINNING, UNCLASSIFIED};
use super::names::{Classify, Known};
use super::slices::{self, CellSlices, place};
use super::states::Family;

/// The samples of one side in one slice.
#[derive(Debug, Clone, Default)]
pub(super) struct Counted {
    pub(super) comprises: Complete,
    /// All of them.
    pub(super) samples: u64,
    pub(super) complete: u64,
    /// Those that no rule knows are `unclassified`.
    pub(super) by_category: BTreeMap<&'static str, u64>,
    /// Those that wait for a lock on the CPU, by the lock.
    pub(super) spinning: BTreeMap<String, u64>,
}

/// All of a run, by cell, block, arm and side. Slices that do not count, and those that lost samples, are not among them.
#[derive(Default)]
pub(super) struct Profiles {
    slices: HashMap<(usize, u32, usize, ProfiledSide), Counted>,
}

impl Profiles {
    pub(super) fn read(
        head: &Head,
        cells: &[CellSlices<'_>],
        looks: &dyn Looks,
        classify: &dyn Classify,
    ) -> io::Result<Self> {
        let mut known = Known::new(classify, looks.symbols());
        let mut products = HashMap::new();
        let mut all = Self::default();
        for profile in looks.profiles() {
            let profile = profile?;
            let block = profile.slice.block;
            let Some((cell, arm)) = place(cells, &profile.slice) else {
                continue;
            };
            let slice = cells[cell].get(block, arm);
            if slice.is_none_or(|slice| slice.look != Some(Look::Full)) {
                continue;
            }
            let product = products
                .entry((cell, arm))
                .or_insert_with(|| slices::product(head, cells[cell].cell, &cells[cell].arms[arm]));
            for (side, samples) in &profile.sides {
                if let Some(counted) = count(*side, samples, product, &mut known, looks) {
                    all.slices.insert((cell, block, arm, *side), counted);
                }
            }
        }
        Ok(all)
    }

    /// The samples of a slice; `None` where there are none that tell anything.
    pub(super) fn get(&self, cell: usize, block: u32, arm: usize, side: ProfiledSide) -> Option<&Counted> {
        self.slices.get(&(cell, block, arm, side))
    }
}

/// `None` where samples were lost, or none were taken: shares are then not known.
fn count(
    side: ProfiledSide,
    profile: &SideProfile,
    product: &str,
    known: &mut Known<'_>,
    looks: &dyn Looks,
) -> Option<Counted> {
    let mut counted = Counted {
        comprises: profile.comprises,
        ..Counted::default()
    };
    known.each(side, product, profile.stacks.iter(), |stack, count, category| {
        let category = category.unwrap_or(UNCLASSIFIED);
        let sum = counted.by_category.entry(category).or_default();
        *sum = sum.saturating_add(count);
        counted.samples = counted.samples.saturating_add(count);
        if category == SPINNING {
            let names: Vec<(&str, &str)> = looks.symbols().names(stack).collect();
            let lock = Family::of(product).lock(None, &names).unwrap_or_default();
            let sum = counted.spinning.entry(lock).or_default();
            *sum = sum.saturating_add(count);
        }
    });
    counted.complete = profile.complete.min(counted.samples);
    (profile.lost == 0 && counted.samples > 0).then_some(counted)
}

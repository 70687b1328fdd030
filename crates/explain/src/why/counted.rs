//! Profiles as counts of samples by category.

use std::collections::{BTreeMap, HashMap};
use std::io;

use ciphertax_records::Head;
use ciphertax_records::why::{Complete, Look, Looks, ProfiledSide, SideProfile, StackId, SymbolTable};

use super::categories::{Rules, SPINNING, UNCLASSIFIED};
use super::states::Family;
use ciphertax_estimate::slices::{self, CellSlices, place};

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
    pub(super) slices: HashMap<(usize, u32, usize, ProfiledSide), Counted>,
}

impl Profiles {
    pub(super) fn read(
        head: &Head,
        cells: &[CellSlices<'_>],
        looks: &dyn Looks,
        classify: &Classify<'_>,
    ) -> io::Result<Self> {
        let mut known: HashMap<(ProfiledSide, String), Known> = HashMap::new();
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
                let known = known.entry((*side, product.clone())).or_default();
                let category =
                    |stack: &[(&str, &str)]| classify(*side, product, stack).unwrap_or(UNCLASSIFIED);
                if let Some(counted) = count(samples, product, looks.symbols(), known, category) {
                    all.slices.insert((cell, block, arm, *side), counted);
                }
            }
        }
        Ok(all)
    }
}

/// The categories of the stacks of a side of a product that were asked for.
type Known = HashMap<StackId, &'static str>;

/// `None` where samples were lost, or none were taken: shares are then not known.
fn count(
    profile: &SideProfile,
    product: &str,
    symbols: &SymbolTable,
    known: &mut Known,
    category: impl Fn(&[(&str, &str)]) -> &'static str,
) -> Option<Counted> {
    let mut counted = Counted {
        comprises: profile.comprises,
        ..Counted::default()
    };
    for (stack, count) in &profile.stacks {
        let names = || symbols.names(*stack).collect::<Vec<_>>();
        let category = *known.entry(*stack).or_insert_with(|| category(&names()));
        let sum = counted.by_category.entry(category).or_default();
        *sum = sum.saturating_add(*count);
        counted.samples = counted.samples.saturating_add(*count);
        if category == SPINNING {
            let lock = Family::of(product).lock(None, &names()).unwrap_or_default();
            let sum = counted.spinning.entry(lock).or_default();
            *sum = sum.saturating_add(*count);
        }
    }
    counted.complete = profile.complete.min(counted.samples);
    (profile.lost == 0 && counted.samples > 0).then_some(counted)
}

/// Tells the category of a stack of a side; of a server, by what it says of its product and version. `None` where nothing knows it.
pub(super) type Classify<'a> = dyn Fn(ProfiledSide, &str, &[(&str, &str)]) -> Option<&'static str> + 'a;

/// By the rules of the products of a run.
pub(crate) fn by_rules(
    head: &Head,
) -> impl Fn(ProfiledSide, &str, &[(&str, &str)]) -> Option<&'static str> + use<> {
    let mut servers: HashMap<String, Rules> = HashMap::new();
    for cell in &head.study.cells {
        for arm in head.study.measured_arms_of(cell) {
            let product = slices::product(head, cell, &arm.name);
            servers
                .entry(product)
                .or_insert_with_key(|product| Rules::of_server(product));
        }
    }
    let client = Rules::of_client();
    move |side, product, stack| match side {
        ProfiledSide::Client => client.category(stack),
        ProfiledSide::Server => servers.get(product)?.category(stack),
    }
}

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

/// Tells the category of a stack.
pub(super) trait Classify {
    /// Of a side; of a server, by what it says of its product and version. `None` where nothing knows it.
    fn category(&self, side: ProfiledSide, product: &str, stack: &[(&str, &str)]) -> Option<&'static str>;
}

/// The rules of the products of a run.
pub(super) struct ByRules {
    servers: HashMap<String, Rules>,
    client: Rules,
}

impl ByRules {
    /// Of these products.
    pub(super) fn of(products: impl Iterator<Item = String>) -> Self {
        let rules = |product: String| {
            let rules = Rules::of_server(&product);
            (product, rules)
        };
        Self {
            servers: products.map(rules).collect(),
            client: Rules::of_client(),
        }
    }

    /// Of those in a run.
    pub(super) fn of_run(head: &Head) -> Self {
        let cells = head.study.cells.iter();
        Self::of(cells.flat_map(|cell| {
            let arms = head.study.measured_arms_of(cell).into_iter();
            arms.map(|arm| super::slices::product(head, cell, &arm.name))
        }))
    }
}

impl Classify for ByRules {
    fn category(&self, side: ProfiledSide, product: &str, stack: &[(&str, &str)]) -> Option<&'static str> {
        match side {
            ProfiledSide::Client => self.client.category(stack),
            ProfiledSide::Server => self.servers.get(product)?.category(stack),
        }
    }
}

/// The categories of the stacks that were asked for.
pub(super) struct Known<'a> {
    classify: &'a dyn Classify,
    symbols: &'a SymbolTable,
    /// By side and product.
    known: HashMap<(ProfiledSide, String), HashMap<StackId, Option<&'static str>>>,
}

impl<'a> Known<'a> {
    pub(super) fn new(classify: &'a dyn Classify, symbols: &'a SymbolTable) -> Self {
        Self {
            classify,
            symbols,
            known: HashMap::new(),
        }
    }

    /// Calls `each` with the category of every one of these stacks.
    pub(super) fn each<'s>(
        &mut self,
        side: ProfiledSide,
        product: &str,
        stacks: impl Iterator<Item = (&'s StackId, &'s u64)>,
        mut each: impl FnMut(StackId, u64, Option<&'static str>),
    ) {
        let (classify, symbols) = (self.classify, self.symbols);
        let known = self.known.entry((side, product.to_owned())).or_default();
        for (stack, count) in stacks {
            let category = known.entry(*stack).or_insert_with(|| {
                let names: Vec<(&str, &str)> = symbols.names(*stack).collect();
                classify.category(side, product, &names)
            });
            each(*stack, *count, *category);
        }
    }
}

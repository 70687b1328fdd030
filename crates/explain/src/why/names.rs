//! Which category the samples of a stack belong to, each stack looked at once.

use std::collections::HashMap;

use ciphertax_records::Head;
use ciphertax_records::why::{ProfiledSide, StackId, SymbolTable};

use super::categories::Rules;

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

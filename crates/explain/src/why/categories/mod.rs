//! Which category of work code belongs to.
//!
//! A stack is looked at from the function that ran to its callers: the first that a rule knows tells the category. In the kernel
//! that is all; elsewhere functions without names are passed over, so they belong to what calls them. Cryptography is prefixed by
//! what it is called for, which callers further up tell. The rules are tables, one for each family of code.

mod kernel;
mod libraries;
mod names;
mod rule;
mod servers;

#[cfg(test)]
mod tests;

use ciphertax_records::is_of_mysqls_family;

use self::libraries::Compiled;
pub(super) use self::names::{KERNEL_OTHER, SPINNING, UNCLASSIFIED};
use self::rule::{Phase, Table, Work};

/// The module that the kernel's functions are in.
const KERNEL: &str = "[kernel]";

/// Tells the category of a stack of one product.
#[derive(Debug)]
pub struct Rules {
    kernel: Compiled<Work>,
    user: Compiled<Work>,
    last: Compiled<Work>,
    phases: Compiled<Phase>,
}

impl Rules {
    /// The rules for the code of a server, by what it says of its product and version, such as `10.11.14-MariaDB`; rules that
    /// hold for all of them where it is not known.
    pub fn of_server(product: &str) -> Self {
        Self::of_tables(&tables_of_server(product))
    }

    /// Those for the load generator.
    pub fn of_client() -> Self {
        Self::of_tables(&with_common(&[libraries::CLIENT]))
    }

    fn of_tables(tables: &[Table]) -> Self {
        let rules = |table: Table| {
            let rules = table.iter();
            rules.flat_map(|(work, patterns)| patterns.split_whitespace().map(|pattern| (pattern, *work)))
        };
        let phases = Phase::ALL.into_iter();
        Self {
            kernel: Compiled::of(rules(kernel::KERNEL)),
            user: Compiled::of(tables.iter().flat_map(|table| rules(table))),
            last: Compiled::of(rules(kernel::LAST)),
            phases: Compiled::of(phases.flat_map(|(phase, patterns)| {
                patterns.split_whitespace().map(move |pattern| (pattern, phase))
            })),
        }
    }

    /// The category of a stack, given the names of its functions and of their modules, the one that ran first: one of a few dozen
    /// names, such as `TLS record: cipher`. `None` where no rule knows it.
    pub fn category(&self, stack: &[(&str, &str)]) -> Option<&'static str> {
        self.find(stack).map(|found| found.category)
    }

    fn find(&self, stack: &[(&str, &str)]) -> Option<Found> {
        let in_kernel = stack.iter().take_while(|(_, module)| *module == KERNEL).count();
        if in_kernel > 0 {
            return Some(self.find_in_kernel(stack, in_kernel));
        }
        let first = |rules: &Compiled<Work>| {
            let mut frames = stack.iter().enumerate();
            frames.find_map(|(depth, (function, module))| Some((depth, rules.find(function, module)?)))
        };
        let (depth, hit) = first(&self.user).or_else(|| first(&self.last))?;
        let mut found = Found {
            category: "",
            pattern: hit.pattern,
            depth,
            phase: None,
        };
        found.category = match hit.value {
            Work::Of(category) => category,
            Work::For(kind) => {
                found.phase = self.phase(stack);
                rule::category(kind, found.phase.map(|(phase, ..)| phase))
            }
        };
        Some(found)
    }

    /// The category of the kernel's functions, of which there are so many; by the function that called it where none is known.
    fn find_in_kernel(&self, stack: &[(&str, &str)], count: usize) -> Found {
        let (kernel, caller) = (&stack[..count], stack.get(count));
        let known = kernel
            .iter()
            .enumerate()
            .find_map(|(depth, (function, module))| Some((depth, self.kernel.find(function, module)?)));
        let by_caller = || {
            let hit = self.user.find(caller?.0, caller?.1)?;
            matches!(hit.value, Work::Of(category) if category.starts_with("kernel: "))
                .then_some((count, hit))
        };
        let (depth, hit) = match known.or_else(by_caller) {
            Some((depth, hit)) => (depth, Some(hit)),
            None => (0, None),
        };
        Found {
            category: match hit.map(|hit| hit.value) {
                Some(Work::Of(category)) => category,
                _ => KERNEL_OTHER,
            },
            pattern: hit.map_or("", |hit| hit.pattern),
            depth,
            phase: None,
        }
    }

    /// What a stack's cryptography is called for, with the pattern that tells it, and how far up its function is.
    fn phase(&self, stack: &[(&str, &str)]) -> Option<(Phase, &'static str, usize)> {
        let hits = stack
            .iter()
            .enumerate()
            .filter_map(|(depth, (function, module))| {
                let hit = self.phases.find(function, module)?;
                Some((hit, depth))
            });
        let (hit, depth) = hits.min_by_key(|(hit, _)| hit.rank)?;
        Some((hit.value, hit.pattern, depth))
    }
}

/// The rule that tells the category of a stack.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(
    not(test),
    expect(dead_code, reason = "tests see to it that each rule has a stack")
)]
struct Found {
    category: &'static str,
    /// Empty where no pattern did.
    pattern: &'static str,
    /// Which function of the stack fits it.
    depth: usize,
    phase: Option<(Phase, &'static str, usize)>,
}

/// The tables for a server's code, the first rules first.
fn tables_of_server(product: &str) -> Vec<Table> {
    if is_of_mysqls_family(product) {
        return with_common(&[servers::MYSQL, servers::INNODB]);
    }
    let product = product.to_ascii_lowercase();
    if product.contains("mongo") {
        with_common(&[servers::MONGODB])
    } else if product.contains("postgres") {
        with_common(&[servers::POSTGRESQL])
    } else {
        with_common(&[
            servers::MYSQL,
            servers::INNODB,
            servers::POSTGRESQL,
            servers::MONGODB,
        ])
    }
}

fn with_common(tables: &[Table]) -> Vec<Table> {
    let common = [kernel::SYSTEM, libraries::OPENSSL, libraries::YASSL_WOLFSSL];
    common.into_iter().chain(tables.iter().copied()).collect()
}

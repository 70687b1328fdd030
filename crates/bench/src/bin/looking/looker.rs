//! What all ways to look have in common.

use ciphertax_bench::{Repeats, Result};
use ciphertax_explain::why::categories::{Rules, feature, is_cryptography};

/// Somebody who looks at a server.
pub(crate) trait Looker {
    /// Begins to look at the server with this process number.
    fn begin(&mut self, server: u32) -> Result<()>;

    /// Ends that, and adds what was seen.
    fn end(&mut self, rules: &Rules, seen: &mut Seen) -> Result<()>;
}

/// What was seen in some slices.
#[derive(Default)]
pub(crate) struct Seen {
    /// Stacks.
    pub(crate) stacks: u64,
    /// Those that were unwound to the begin of their thread.
    pub(crate) complete: u64,
    /// Those whose category the rules know; `None` where stacks are not of CPU time, which the rules are for.
    pub(crate) with_category: Option<u64>,
    /// Those of cryptography, and those of these of which the callers tell what it is for.
    pub(crate) cryptography: u64,
    pub(crate) with_purpose: u64,
    /// Samples that there was no room for.
    pub(crate) lost: u64,
    /// Seconds for which each look stopped the server.
    pub(crate) stopped: Repeats,
}

impl Seen {
    /// Adds so many stacks of CPU time that are the same.
    pub(crate) fn count(&mut self, rules: &Rules, stack: &[(&str, &str)], count: u64) {
        self.stacks += count;
        let known = self.with_category.get_or_insert(0);
        let Some(category) = rules.category(stack) else {
            return;
        };
        *known += count;
        if is_cryptography(category) {
            self.cryptography += count;
            self.with_purpose += if feature(category).is_some() { count } else { 0 };
        }
    }
}

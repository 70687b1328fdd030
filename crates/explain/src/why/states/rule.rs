//! Rules that tell what a stack waits for.

use super::state::State;

/// Functions of a stack and their modules, the innermost first.
pub(super) type Stack<'a> = &'a [(&'a str, &'a str)];

/// One rule: all that it says must hold; what is empty holds always.
pub(super) struct Rule {
    /// One of these system calls.
    pub(super) calls: &'static [&'static str],
    /// One of these functions is on the stack.
    pub(super) has: &'static [&'static str],
    /// And one of these.
    pub(super) under: &'static [&'static str],
    pub(super) state: State,
    /// What is waited for; empty to name the variable, or who waits.
    pub(super) detail: &'static str,
}

/// A rule by functions alone.
pub(super) const fn has(functions: &'static [&'static str], state: State, detail: &'static str) -> Rule {
    Rule {
        calls: &[],
        has: functions,
        under: &[],
        state,
        detail,
    }
}

/// A rule by system calls alone.
pub(super) const fn call(calls: &'static [&'static str], state: State, detail: &'static str) -> Rule {
    Rule {
        calls,
        has: &[],
        under: &[],
        state,
        detail,
    }
}

impl Rule {
    /// This rule below one of these functions.
    pub(super) const fn under(mut self, functions: &'static [&'static str]) -> Self {
        self.under = functions;
        self
    }

    /// This rule in one of these system calls.
    pub(super) const fn by(mut self, calls: &'static [&'static str]) -> Self {
        self.calls = calls;
        self
    }

    /// `call` is absent of a stack that does not wait in the kernel.
    pub(super) fn fits(&self, call: Option<&str>, stack: Stack<'_>) -> bool {
        let is_called = |call| self.calls.is_empty() || self.calls.contains(&call);
        call.is_none_or(is_called) && is_on(self.has, stack) && is_on(self.under, stack)
    }
}

fn is_on(patterns: &[&str], stack: Stack<'_>) -> bool {
    let is_one = |name: &str| patterns.iter().any(|pattern| matches(pattern, name));
    patterns.is_empty() || stack.iter().any(|(name, _)| is_one(name))
}

/// A pattern is a name, or how it begins where it ends in `*`; the classes and namespaces that a function is in may be left out.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    let fits = |name: &str| match pattern.strip_suffix('*') {
        Some(begin) => name.starts_with(begin),
        None => name == pattern,
    };
    let inner = name.match_indices("::").map(|(at, _)| &name[at + 2..]);
    std::iter::once(name).chain(inner).any(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_fits_a_name_with_or_without_its_classes() {
        assert!(matches("acquire_lock", "MDL_context::acquire_lock"));
        assert!(matches("MDL_context::acquire_lock", "MDL_context::acquire_lock"));
        assert!(matches("rw_lock_*", "rw_lock_s_lock_spin"));
        assert!(matches("LockerImpl::*", "mongo::LockerImpl::lockBegin"));
        assert!(!matches("lock", "MDL_context::acquire_lock"));
        assert!(!matches("rw_lock_*", "pfs_rw_lock_s_lock"));
    }
}

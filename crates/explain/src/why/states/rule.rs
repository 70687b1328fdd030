//! Rules that tell what a stack waits for.

use super::state::State;

/// Functions of a stack and their modules, the innermost first.
pub(super) type Stack<'a> = &'a [(&'a str, &'a str)];

/// One rule: all that it says must hold; what is empty holds always. Names have blanks between them.
pub(super) struct Rule {
    /// One of these system calls.
    calls: &'static str,
    /// One of these functions is on the stack.
    has: &'static str,
    /// And one of these.
    under: &'static str,
    pub(super) state: State,
    /// What is waited for; empty to name the variable, or who waits.
    pub(super) what: &'static str,
}

/// What a lock is called, by the functions that take it.
pub(super) type Lock = (&'static str, &'static str);

impl State {
    /// A rule by functions alone.
    pub(super) const fn has(self, functions: &'static str) -> Rule {
        Rule {
            calls: "",
            has: functions,
            under: "",
            state: self,
            what: "",
        }
    }

    /// A rule by system calls alone.
    pub(super) const fn in_call(self, calls: &'static str) -> Rule {
        self.has("").called(calls)
    }
}

impl Rule {
    /// This rule below one of these functions.
    pub(super) const fn under(mut self, functions: &'static str) -> Self {
        self.under = functions;
        self
    }

    /// This rule in one of these system calls.
    pub(super) const fn called(mut self, calls: &'static str) -> Self {
        self.calls = calls;
        self
    }

    /// This rule with what is waited for.
    pub(super) const fn what(mut self, what: &'static str) -> Self {
        self.what = what;
        self
    }

    pub(super) fn fits(&self, call: &str, stack: Stack<'_>) -> bool {
        let is_on = |functions: &str| {
            functions.is_empty() || stack.iter().any(|(name, _)| is_one_of(name, functions))
        };
        (self.calls.is_empty() || is_named(call, self.calls)) && is_on(self.has) && is_on(self.under)
    }
}

/// True if a name is one of these.
pub(super) fn is_named(name: &str, names: &str) -> bool {
    names.split_whitespace().any(|other| other == name)
}

/// True if a function is one of these. Each is a name, or how it begins where it ends in `*`; the classes and namespaces that a
/// function is in may be left out.
pub(super) fn is_one_of(function: &str, patterns: &str) -> bool {
    let inner = function.match_indices("::").map(|(at, _)| &function[at + 2..]);
    let mut names = std::iter::once(function).chain(inner);
    names.any(|name| {
        patterns
            .split_whitespace()
            .any(|pattern| match pattern.strip_suffix('*') {
                Some(begin) => name.starts_with(begin),
                None => name == pattern,
            })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_fits_a_name_with_or_without_its_classes() {
        for (function, patterns, fits) in [
            ("MDL_context::acquire_lock", "acquire_lock", true),
            ("MDL_context::acquire_lock", "MDL_context::acquire_lock", true),
            ("rw_lock_s_lock_spin", "rw_lock_*", true),
            ("mongo::LockerImpl::lockBegin", "other\n LockerImpl::*", true),
            ("MDL_context::acquire_lock", "lock", false),
            ("pfs_rw_lock_s_lock", "rw_lock_*", false),
        ] {
            assert_eq!(is_one_of(function, patterns), fits, "{function}, {patterns}");
        }
    }
}

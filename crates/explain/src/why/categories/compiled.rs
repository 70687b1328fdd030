//! Rules as they are looked up: a stack has dozens of functions, and there are hundreds of patterns.

use super::rule::Pattern;

/// Patterns and what each stands for, by what the functions begin with that they fit.
#[derive(Debug)]
pub(super) struct Compiled<T> {
    rules: Vec<(Pattern, T)>,
    /// The places of the patterns that may fit a name, by its first byte, in their order.
    by_first_byte: Vec<Vec<usize>>,
}

/// The first pattern that fits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hit<T> {
    pub(super) value: T,
    pub(super) pattern: &'static str,
    /// How many patterns come before it.
    pub(super) rank: usize,
}

impl<T: Copy> Compiled<T> {
    pub(super) fn of(rules: impl Iterator<Item = (&'static str, T)>) -> Self {
        let rules: Vec<_> = rules
            .map(|(written, value)| (Pattern::of(written), value))
            .collect();
        let fitting = |byte: u8| {
            let may_fit =
                |(pattern, _): &(Pattern, T)| pattern.first_byte().is_none_or(|first| first == byte);
            let places = rules.iter().enumerate();
            places
                .filter(|(_, rule)| may_fit(rule))
                .map(|(place, _)| place)
                .collect()
        };
        Self {
            by_first_byte: (0..=u8::MAX).map(fitting).collect(),
            rules,
        }
    }

    /// The first pattern that fits a function; none fits one without a name at all.
    pub(super) fn find(&self, function: &str, module: &str) -> Option<Hit<T>> {
        let first = usize::from(*function.as_bytes().first()?);
        let places = self.by_first_byte.get(first)?;
        places.iter().find_map(|place| {
            let (pattern, value) = self.rules.get(*place)?;
            pattern.fits(function, module).then_some(Hit {
                value: *value,
                pattern: pattern.written,
                rank: *place,
            })
        })
    }
}

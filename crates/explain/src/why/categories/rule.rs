//! What rules are made of: functions by patterns of their names, and what they do.

use super::phase::Cryptography;

/// What the functions of a rule do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    /// What belongs to a category, whoever calls it.
    Of(&'static str),
    /// Cryptography, whose category depends on what it is called for.
    For(Cryptography),
}

/// What functions do, by patterns of their names with blanks between them. Where several fit a function the first counts.
///
/// A pattern is the name of a function, in which each `*` stands for any characters or none; `libssl*!SSL_*` holds in modules of
/// these names alone.
pub(super) type Table = &'static [(Work, &'static str)];

/// A pattern in its parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pattern {
    pub(super) written: &'static str,
    module: Option<&'static str>,
    function: &'static str,
}

impl Pattern {
    pub(super) fn of(written: &'static str) -> Self {
        let (module, function) = match written.split_once('!') {
            Some((module, function)) => (Some(module), function),
            None => (None, written),
        };
        Self {
            written,
            module,
            function,
        }
    }

    pub(super) fn fits(&self, function: &str, module: &str) -> bool {
        glob(self.function, function) && self.module.is_none_or(|pattern| glob(pattern, module))
    }

    /// The byte that all functions begin with that it fits; `None` if they begin with any.
    pub(super) fn first_byte(&self) -> Option<u8> {
        self.function.bytes().next().filter(|byte| *byte != b'*')
    }
}

/// True if a name fits a pattern in which `*` stands for anything.
fn glob(pattern: &str, name: &str) -> bool {
    let Some((begin, mut pattern)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(mut name) = name.strip_prefix(begin) else {
        return false;
    };
    while let Some((part, rest)) = pattern.split_once('*') {
        let Some(at) = name.find(part) else {
            return false;
        };
        name = &name[at + part.len()..];
        pattern = rest;
    }
    name.ends_with(pattern)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_asterisk_stands_for_anything_and_a_module_is_named_before_an_exclamation_mark() {
        let fits = |pattern, function, module| Pattern::of(pattern).fits(function, module);
        assert!(fits("malloc", "malloc", "libc.so.6"));
        assert!(!fits("malloc", "malloc_consolidate", "libc.so.6"));
        assert!(fits("EVP_Encrypt*", "EVP_EncryptUpdate", "libcrypto.so.3"));
        assert!(fits("*futex*", "__x64_sys_futex", "[kernel]"));
        assert!(fits("my_*_net*read", "my_real_net_read", "mysqld"));
        assert!(!fits("aba*aba", "aba", ""));
        assert!(fits("libssl*!*", "libssl.so.3+0x2eeaf", "libssl.so.3"));
        assert!(!fits("libssl*!*", "SSL_read", "mysqld"));
        assert!(fits("*", "", ""));
    }
}

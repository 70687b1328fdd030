//! Names as programmers write them.

use std::fmt;

use cpp_demangle::{DemangleOptions, ParseOptions, Symbol};

/// Longer names are cut.
const MAXIMUM: usize = 200;
/// Longer mangled names are left as they are, up to [`MAXIMUM`].
const MAXIMUM_MANGLED: usize = 4096;
/// What is demangled before it is cut.
const MAXIMUM_DEMANGLED: usize = 16 << 10;
/// How deep a name may be nested.
const MAXIMUM_NESTING: u32 = 96;

/// The name without versions, types of arguments and what compilers add to parts and copies of a function, in at most 200 bytes.
pub(super) fn readable(name: &str) -> String {
    let name = name.split('@').next().unwrap_or(name);
    let whole = without_suffixes(name);
    let demangled = match whole.len() <= MAXIMUM_MANGLED {
        true => rust(whole).or_else(|| cpp(whole)),
        false => None,
    };
    shortened(demangled.as_deref().unwrap_or(whole))
}

/// Such as `.cold`, `.isra.0`, `.part.3.lto_priv.0`.
fn without_suffixes(name: &str) -> &str {
    const SUFFIXES: [&str; 8] = [
        ".cold",
        ".isra.",
        ".part.",
        ".constprop.",
        ".lto_priv.",
        ".localalias",
        ".llvm.",
        ".clone.",
    ];
    let ends = SUFFIXES.iter().filter_map(|suffix| name.find(suffix));
    match ends.min() {
        Some(end) if end > 0 => &name[..end],
        _ => name,
    }
}

fn rust(name: &str) -> Option<String> {
    let demangled = rustc_demangle::try_demangle(name).ok()?;
    let mut out = Bounded::default();
    // What is too long is cut there.
    let _ = fmt::write(&mut out, format_args!("{demangled:#}"));
    Some(out.text).filter(|text| !text.is_empty())
}

fn cpp(name: &str) -> Option<String> {
    if !name.starts_with("_Z") {
        return None;
    }
    let parse = ParseOptions::default().recursion_limit(MAXIMUM_NESTING);
    let options = DemangleOptions::new()
        .no_params()
        .no_return_type()
        .recursion_limit(MAXIMUM_NESTING);
    let symbol = Symbol::new_with_options(name.as_bytes(), &parse).ok()?;
    let mut out = Bounded::default();
    let is_whole = symbol.structured_demangle(&mut out, &options).is_ok();
    (is_whole || out.is_full)
        .then_some(out.text)
        .filter(|text| !text.is_empty())
}

/// Text that grows up to a limit: a short mangled name can stand for an endless one.
#[derive(Default)]
struct Bounded {
    text: String,
    is_full: bool,
}

impl fmt::Write for Bounded {
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        if self.text.len() + piece.len() > MAXIMUM_DEMANGLED {
            self.is_full = true;
            return Err(fmt::Error);
        }
        self.text.push_str(piece);
        Ok(())
    }
}

/// At most [`MAXIMUM`] bytes: first without what templates are made of, then cut.
fn shortened(name: &str) -> String {
    if name.len() <= MAXIMUM {
        return name.to_owned();
    }
    let name = without_template_arguments(name);
    if name.len() <= MAXIMUM {
        return name;
    }
    let end = (0..=MAXIMUM - '…'.len_utf8())
        .rev()
        .find(|end| name.is_char_boundary(*end));
    format!("{}…", &name[..end.unwrap_or(0)])
}

fn without_template_arguments(name: &str) -> String {
    let mut out = String::new();
    let mut depth = 0_usize;
    let mut before = ' ';
    for character in name.chars() {
        // Of `operator<`, `operator<<` and `operator->` the brackets are part of the name.
        let is_operator = depth == 0 && matches!(character, '<' | '>') && is_operator(&out);
        match character {
            '<' if !is_operator => {
                depth += 1;
                if depth == 1 {
                    out.push_str("<…");
                }
            }
            '>' if depth > 0 && before != '-' => {
                depth -= 1;
                if depth == 0 {
                    out.push('>');
                }
            }
            _ if depth == 0 => out.push(character),
            _ => {}
        }
        before = character;
    }
    out
}

fn is_operator(before: &str) -> bool {
    let name = before.trim_end_matches(['<', '>', '-', '=']);
    name.ends_with("operator")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_neither_types_of_arguments_nor_hashes_nor_versions() {
        for (name, expected) in [
            ("memcpy@@GLIBC_2.14", "memcpy"),
            (
                "_Z16dispatch_command19enum_server_commandP3THDPcjb",
                "dispatch_command",
            ),
            (
                "_ZN13MYSQL_BIN_LOG34write_transaction_to_binlog_eventsEPNS_12group_commitE",
                "MYSQL_BIN_LOG::write_transaction_to_binlog_events",
            ),
            (
                "_ZNSt6vectorIiSaIiEE9push_backEOi",
                "std::vector<int, std::allocator<int> >::push_back",
            ),
            (
                "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE",
                "core::fmt::Formatter::pad",
            ),
            ("_RNvCs1234_7mycrate3foo", "mycrate::foo"),
            ("_Z3foov.isra.0.cold", "foo"),
            ("mtr_commit.part.0", "mtr_commit"),
            (".cold", ".cold"),
            ("_Znot_mangled", "_Znot_mangled"),
            ("", ""),
        ] {
            assert_eq!(readable(name), expected, "{name}");
        }
    }

    #[test]
    fn long_names_lose_what_their_templates_are_made_of() {
        let argument = "std::allocator<char>, ".repeat(20);
        let name = format!("mongo::map<{argument}int>::operator->");
        assert_eq!(shortened(&name), "mongo::map<…>::operator->");
        let name = format!("operator<< <{argument}>::end");
        assert_eq!(shortened(&name), "operator<< <…>::end");
        let endless = "é".repeat(1000);
        assert!(shortened(&endless).len() <= MAXIMUM);
    }

    #[test]
    fn a_name_that_stands_for_an_endless_one_is_cut() {
        // Each S_ stands for all before it.
        let mut name = "_Z1fI".to_owned();
        name.push_str("St4pairIiiE");
        for n in 0..30 {
            let last = char::from_digit(n % 36, 36).map(|digit| digit.to_ascii_uppercase());
            name.push_str(&format!("St4pairIS{0}_S{0}_E", last.unwrap()));
        }
        name.push_str("Evv");
        assert!(readable(&name).len() <= MAXIMUM);
    }
}

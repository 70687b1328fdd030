//! The known name that was probably meant.

use std::cmp::Reverse;

/// Names longer than this are no slip of the finger, and not worth comparing.
const LONGEST: usize = 64;

/// The known name most like `name`, if one is so like it that it was probably meant: it begins with it or holds it, or
/// differs in at most one letter of three (Damerau–Levenshtein, upper and lower case alike). Of equals, the last.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = name.chars().count();
    if length > LONGEST {
        return None;
    }
    let name = name.to_lowercase();
    let distance = |other: &str| {
        let other = other.to_lowercase();
        match length {
            3.. if other.starts_with(&name) => 0,
            4.. if other.contains(&name) => 1,
            _ => strsim::damerau_levenshtein(&name, &other),
        }
    };
    known
        .into_iter()
        .map(|other| (distance(other), other))
        .filter(|(distance, _)| *distance <= (length / 3).max(1))
        .max_by_key(|(distance, _)| Reverse(*distance))
        .map(|(_, other)| other)
}

/// What to say of a name that none of the known ones is: the nearest, and all of them.
pub fn unknown(what: &str, name: &str, known: &[&str]) -> String {
    let near = nearest(name, known.iter().copied()).map(|near| format!("; did you mean {near}?"));
    let near = near.unwrap_or_else(|| ".".to_owned());
    format!("unknown {what} {name:?}{near} Known are {}", known.join(", "))
}

/// What to say after an unknown name: the nearest known one, or all of them.
pub(crate) fn hint(name: &str, known: &[&str]) -> String {
    match nearest(name, known.iter().copied()) {
        Some(near) => format!("; did you mean {near:?}?"),
        None if known.is_empty() => String::new(),
        None => format!("; known are {}", list(known)),
    }
}

/// `"a", "b", "c"`
pub(crate) fn list(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
    quoted.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 4] = ["time_s", "slice_s", "P-384", "mysql-tls-library"];

    #[test]
    fn a_slip_of_the_finger_finds_the_name() {
        for (slip, meant) in [
            ("tiem_s", "time_s"),
            ("time", "time_s"),
            ("slices", "slice_s"),
            ("p-348", "P-384"),
            ("mysql-tls-libary", "mysql-tls-library"),
            ("library", "mysql-tls-library"),
            ("mysql-tls", "mysql-tls-library"),
        ] {
            assert_eq!(nearest(slip, KNOWN), Some(meant), "{slip}");
        }
    }

    #[test]
    fn another_word_finds_nothing() {
        for word in ["", "u", "duration", "P-521x9", &"time_s".repeat(1000)] {
            assert_eq!(nearest(word, KNOWN), None, "{word}");
        }
    }
}

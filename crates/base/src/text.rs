//! Texts that must not be seen, and texts that may be seen anywhere.

use std::fmt;

/// A password or key. It has no `Display` and no `Serialize`, and `Debug` hides it, so that it reaches a log, a message
/// or a record only where someone wrote [`Secret::expose`].
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Secret(String);

impl Secret {
    /// Takes charge of a secret text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself, for the one place that must send it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// The text without the control and direction characters that could rule a terminal: each is replaced, line ends too.
pub fn harmless(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                '\u{fffd}'
            }
            c if c.is_control() => '\u{fffd}',
            c => c,
        })
        .collect()
}

/// The same of text of several lines, which stay lines.
pub fn harmless_lines(text: &str) -> String {
    let lines: Vec<String> = text.split('\n').map(harmless).collect();
    lines.join("\n")
}

/// Texts in one, with this between any two.
pub fn joined(texts: impl IntoIterator<Item = String>, between: &str) -> String {
    texts.into_iter().collect::<Vec<_>>().join(between)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_hides_the_text() {
        let secret = Secret::new("correct horse");
        assert_eq!(format!("{secret:?}"), "***");
        assert_eq!(secret.expose(), "correct horse");
    }

    #[test]
    fn control_and_direction_characters_are_replaced() {
        let found = harmless("10.11\u{1b}[31m\u{202e}x\ny");
        assert_eq!(found, "10.11\u{fffd}[31m\u{fffd}x\u{fffd}y");
        assert_eq!(harmless_lines("a\u{9b}1m\n\nb\n"), "a\u{fffd}1m\n\nb\n");
    }
}

//! A password or key that must not end up in output.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_hides_the_text() {
        let secret = Secret::new("correct horse");
        assert_eq!(format!("{secret:?}"), "***");
        assert_eq!(secret.expose(), "correct horse");
    }
}

//! A command of the user's own that may hold a key.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

/// What stands for the arguments where they are not shown.
const HIDDEN: &str = "…";

/// A program and its arguments. These may hold a key, so that of what is printed or written to a record they are no part: there the
/// program stands alone, with `…` for them.
#[derive(Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct CounterCommand(Vec<String>);

impl CounterCommand {
    /// Of these words, the first of which is the program.
    pub fn new(words: impl IntoIterator<Item = String>) -> Self {
        Self(words.into_iter().collect())
    }

    /// The program; empty where there is none.
    pub fn program(&self) -> &str {
        self.0.first().map_or("", String::as_str)
    }

    /// Program and arguments, for the one place that runs them.
    pub fn words(&self) -> &[String] {
        &self.0
    }

    /// True without a program.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What may be shown: the program, and that it has arguments.
    fn shown(&self) -> impl Iterator<Item = &str> {
        let hidden = (self.0.len() > 1).then_some(HIDDEN);
        let program = self.0.first().map(String::as_str);
        program.into_iter().chain(hidden)
    }
}

/// The program, with `…` for its arguments.
impl fmt::Display for CounterCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown().collect::<Vec<_>>().join(" "))
    }
}

impl fmt::Debug for CounterCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.shown()).finish()
    }
}

impl Serialize for CounterCommand {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.shown())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_is_shown_holds_its_arguments() {
        let command: CounterCommand = serde_json::from_str(r#"["curl", "-H", "token: 1234"]"#).unwrap();
        assert_eq!(command.words().len(), 3);
        assert_eq!(command.to_string(), "curl …");
        assert_eq!(format!("{command:?}"), "[\"curl\", \"…\"]");
        assert_eq!(serde_json::to_string(&command).unwrap(), "[\"curl\",\"…\"]");
        let alone = CounterCommand::new(["db-cpu".to_owned()]);
        assert_eq!(
            (alone.to_string().as_str(), alone.program()),
            ("db-cpu", "db-cpu")
        );
        let none = CounterCommand::default();
        assert!(none.is_empty() && none.to_string().is_empty());
    }
}

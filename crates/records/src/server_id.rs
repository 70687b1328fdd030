//! Which server of a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which server of a run: a number, from 1 on. Records of former releases have none, and names stand for it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ServerId(String);

impl ServerId {
    /// That of the server of this number, from 1 on.
    pub fn numbered(number: usize) -> Self {
        Self(number.to_string())
    }

    /// True in records of former releases.
    pub fn is_unknown(&self) -> bool {
        self.0.is_empty()
    }

    /// True if both are known to be, or not to be, and are the same; by name where neither is.
    pub(crate) fn is_same(&self, name: &str, other: &Self, other_name: &str) -> bool {
        self == other && (!self.is_unknown() || name == other_name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_joined_by_number_and_in_records_of_former_releases_by_name() {
        let (one, two, unknown) = (ServerId::numbered(1), ServerId::numbered(2), ServerId::default());
        assert!(one.is_same("a", &one, "b"));
        assert!(!one.is_same("a", &two, "a"));
        assert!(unknown.is_same("a", &unknown, "a"));
        assert!(!unknown.is_same("a", &unknown, "b"));
        assert!(!unknown.is_same("a", &one, "a"));
    }
}

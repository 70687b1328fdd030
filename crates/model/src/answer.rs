//! The shape of the answer to a study's question.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The shape of a headline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// What the first arm costs; of several servers that are asked the same, which pays most.
    #[default]
    Cost,
    /// Which arm costs most, and which least.
    Ranking,
    /// What the first arm saves per connection and costs per query, and below how many queries per connection it saves in total.
    Saving,
    /// Whether the costs of two arms add up to the cost of both together.
    Sum,
    /// What one more encrypted cell costs, and which arm costs most.
    Dose,
}

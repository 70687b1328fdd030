//! The tables of pgbench, in its own terms (PostgreSQL 15 and 18, `pgbench --initialize`).

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The tables that the `pgbench` workloads ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Pgbench {
    /// Branches (`--scale`); each has 10 tellers and 100,000 accounts.
    pub scale: u32,
}

impl Pgbench {
    /// The most branches there may be: 100 million accounts, about 15 GB.
    pub const MOST_BRANCHES: u32 = 1000;
    /// Tellers of a branch.
    pub const TELLERS: u32 = 10;
    /// Accounts of a branch.
    pub const ACCOUNTS: u32 = 100_000;

    /// Rows of `pgbench_tellers`.
    pub fn tellers(&self) -> u32 {
        self.scale * Self::TELLERS
    }

    /// Rows of `pgbench_accounts`.
    pub fn accounts(&self) -> u32 {
        self.scale * Self::ACCOUNTS
    }

    /// Rows of all tables before anything was asked of them.
    pub fn rows(&self) -> u64 {
        u64::from(self.scale) + u64::from(self.tellers()) + u64::from(self.accounts())
    }
}

impl Default for Pgbench {
    /// pgbench's own.
    fn default() -> Self {
        Self { scale: 1 }
    }
}

/// `pgbench of scale 10`
impl fmt::Display for Pgbench {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pgbench of scale {}", self.scale)
    }
}

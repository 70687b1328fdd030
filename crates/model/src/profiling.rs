//! How far a run looks into the server and the load generator to say why.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::all;

/// How far some of a run's blocks are looked into. Those blocks tell why; what a feature costs is told by the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[derive(strum::Display, strum::EnumString, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Profiling {
    /// Not at all.
    Off,
    /// What the server's threads wait for.
    Waits,
    /// That, and which code uses the CPU time of both sides, as far as the kernel allows.
    #[default]
    Full,
}

impl Profiling {
    /// All of them, the one that looks least first.
    pub const ALL: [Self; 3] = all();

    /// Its name in study files and on the command line.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// One block in so many is looked into.
    pub const ONE_BLOCK_IN: u32 = 4;
    /// So many blocks are measured before the first that is looked into, so that a short run has its figures.
    pub const BLOCKS_BEFORE: u32 = 5;
}

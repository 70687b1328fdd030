//! Which code used the CPU time of a slice.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::symbols::StackId;
use crate::sample::SliceId;

/// Who used CPU time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProfiledSide {
    /// The database's processes.
    Server,
    /// The load threads.
    Client,
}

/// Where the CPU time of one slice went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// Which slice.
    #[serde(flatten)]
    pub slice: SliceId,
    /// By side; a side that cannot be profiled is absent.
    pub sides: BTreeMap<ProfiledSide, SideProfile>,
}

/// The samples of one side. Each stands for `1 / hz` seconds of CPU time; the share of a stack in all of them is its share of the
/// CPU time that the meters read in the slice.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SideProfile {
    /// Samples a second of CPU time.
    pub hz: u32,
    /// Samples that were taken, of all stacks together.
    pub samples: u64,
    /// Samples that the kernel could not keep, since the ring was full. A slice with any tells nothing of its shares.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lost: u64,
    /// How many of `samples` were unwound to the begin of their thread, or were in the kernel alone.
    pub complete: u64,
    /// What they comprise.
    #[serde(default, skip_serializing_if = "Complete::is_whole")]
    pub comprises: Complete,
    /// How many samples had which stack. The kernel's functions come before those of the program that called it.
    pub stacks: BTreeMap<StackId, u64>,
}

/// What the samples of a profile comprise, which is a matter of privilege.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Complete {
    /// All CPU time, with the kernel's functions by name.
    #[default]
    Whole,
    /// All CPU time; the kernel's functions have no names.
    KernelUnnamed,
    /// The time outside of the kernel alone.
    UserOnly,
}

impl Complete {
    fn is_whole(&self) -> bool {
        *self == Self::Whole
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

//! Why: which code used CPU time in slices that were looked into, and what threads waited for.
//!
//! Three files of a run folder, each with a first line that says its version: `symbols.jsonl`, the names and stacks that the
//! others give by number; `profiles.jsonl`, a [`Profile`] a line; `waits.jsonl`, [`Waits`] a line.

mod lines;
mod profile;
mod read;
mod rows;

pub use lines::LookWriter;
pub use profile::{
    Blocked, Complete, Course, CourseOf, Flame, FlameFrame, FlameOf, ModuleId, ModuleRecord, Pictures,
    Profile, ProfiledSide, SideProfile, StackId, StackRecord, SymbolId, SymbolRecord, SymbolTable,
    WaitEvents, Waits,
};
pub use read::LookFiles;
pub use rows::{Bound, BoundRow, CategoryRow, Confirmation, DifferenceOfSide, Look, LookCost, StateRow, Why};

use std::borrow::Cow;
use std::io;

/// What was seen in the slices of a run that were looked into. Each is read when it is asked for, as often as it is asked for.
pub trait Looks {
    /// The names and stacks that profiles and waits give by number.
    fn symbols(&self) -> &SymbolTable;

    /// The profiles in the order in which they were made.
    fn profiles(&self) -> Box<dyn Iterator<Item = io::Result<Cow<'_, Profile>>> + '_>;

    /// The waits in the order in which they were seen.
    fn waits(&self) -> Box<dyn Iterator<Item = io::Result<Cow<'_, Waits>>> + '_>;
}

/// All of it in memory; nothing where nothing was looked into.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LookLog {
    /// Names and stacks.
    pub symbols: SymbolTable,
    /// In the order in which they were made.
    pub profiles: Vec<Profile>,
    /// In the order in which they were seen.
    pub waits: Vec<Waits>,
}

impl Looks for LookLog {
    fn symbols(&self) -> &SymbolTable {
        &self.symbols
    }

    fn profiles(&self) -> Box<dyn Iterator<Item = io::Result<Cow<'_, Profile>>> + '_> {
        Box::new(self.profiles.iter().map(|profile| Ok(Cow::Borrowed(profile))))
    }

    fn waits(&self) -> Box<dyn Iterator<Item = io::Result<Cow<'_, Waits>>> + '_> {
        Box::new(self.waits.iter().map(|waits| Ok(Cow::Borrowed(waits))))
    }
}

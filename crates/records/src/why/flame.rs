//! Stacks of two arms as one tree, and what passed in the course of a run: what pictures are made of.

use ciphertax_stats::Interval;

use super::profile::ProfiledSide;

/// What a flame graph shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FlameOf {
    /// CPU time of one side.
    Cpu(ProfiledSide),
    /// What sessions wait for.
    Waits,
}

/// The stacks of a variant in a cell beside the baseline's.
#[derive(Debug, Clone, PartialEq)]
pub struct Flame {
    /// Name of the cell.
    pub cell: String,
    /// Name of the variant.
    pub arm: String,
    /// What it shows.
    pub of: FlameOf,
    /// What all stacks begin at.
    pub root: FlameFrame,
}

/// A function where it was called from, with all that it calls.
#[derive(Debug, Clone, PartialEq)]
pub struct FlameFrame {
    /// Its name.
    pub name: String,
    /// The name of its module.
    pub module: String,
    /// Microseconds of an operation of the baseline.
    pub baseline_us: f64,
    /// Microseconds of an operation of the variant.
    pub variant_us: f64,
    /// Variant less baseline, paired by block; absent with too few blocks.
    pub difference: Option<Interval>,
    /// True if the difference is no noise: its interval excludes zero, and it is more than the baseline differs from itself.
    pub is_significant: bool,
    /// What it calls, by name; what takes less than a thousandth of the whole in both arms is left out.
    pub calls: Vec<FlameFrame>,
}

/// How one figure of a cell went in the course of a run, all arms together.
#[derive(Debug, Clone, PartialEq)]
pub struct Course {
    /// Name of the cell.
    pub cell: String,
    /// What was counted.
    pub of: CourseOf,
    /// Seconds since the run began, and the figure in the block measured then.
    pub points: Vec<[f64; 2]>,
}

/// What is counted in the course of a run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum CourseOf {
    /// Share of the time in which the device had something to do, as a fraction.
    DeviceBusy,
    /// Bytes read from it, per second.
    DeviceRead,
    /// Bytes written to it, per second.
    DeviceWritten,
    /// A counter of the server, per second.
    Counter(String),
}

/// What is shown besides figures; it is made of samples and looks each time.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Pictures {
    /// Flame graphs.
    pub flames: Vec<Flame>,
    /// Courses, by cell.
    pub courses: Vec<Course>,
}

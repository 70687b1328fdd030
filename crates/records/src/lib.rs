//! The folder that a run leaves, and nothing of how it comes about.
//!
//! | file | holds | format |
//! |---|---|---|
//! | `run.json` | one [`Run`]: its [`Head`] (what, where, versions) and its [`Results`], side by side | [`SCHEMA`], in its first field |
//! | `samples.jsonl` | one [`Sample`] or [`Round`] a line, appended as it happens | [`SAMPLES_SCHEMA`], in its first line |
//! | `operations.csv` | every single operation, where a study asks for it | its column names |
//! | `profiles.jsonl` | which code used the CPU time of a slice, a [`why::Profile`] a line | its first line |
//! | `waits.jsonl` | what the server's threads waited for in a slice, [`why::Waits`] a line | its first line |
//! | `symbols.jsonl` | the names and stacks that both give by number | its first line |
//! | `report.html` | the report, made from the above | the release that made it |
//!
//! Results are made of head and samples, and can be made again from the folder: [`Recorded`] reads it. A file in another version
//! of its format is refused.

mod comparison;
mod connection;
mod consequences;
mod doctor;
mod dry_run;
mod files;
mod folder;
mod head;
mod merged;
mod operations;
mod results;
mod resume;
mod run;
mod sample;
mod samples;
mod storage;
pub mod why;

pub use comparison::{
    COMPARISON_SCHEMA, ComparedRun, Comparison, CostChange, GATE_SCHEMA, Gate, GateRow, HeadDifference,
    HeldTo, NotComparable, NotHeld,
};
pub use connection::{
    CONNECTION_SCHEMA, ConnectRow, ConnectionPhase, ConnectionRecord, ConnectionTotal, ConnectionWork,
    PhaseRow, Spread, TriedConnection,
};
pub use consequences::{
    Agreement, CapacityRow, ChurnBreakEven, ChurnPoint, ChurnRow, Finding, PublishedRow, Rated, Severity,
    Side,
};
pub use doctor::{Check, CheckStatus, DOCTOR_SCHEMA, DoctorRecord};
pub use dry_run::{DRY_RUN_SCHEMA, DryRun, ServerToStart};
pub use files::{RecordError, refuse_foreign_folder, write_whole};
pub use folder::{Recorded, RunFolder, write_run};
pub use head::{
    AgentRecord, ArmRecord, ArmRole, CounterRecord, CpuSource, Head, LeftOut, LeftOutReason, LinkRecord,
    MemberRecord, RankRecord, RunStatus, ServerId, ServerPlacement, ServerRecord, SessionRecord, Tool,
    is_of_mysqls_family,
};
pub use operations::KeptOperation;
pub use results::{
    BatchRow, BlockRatios, CellRecord, EstimateRow, KindRate, KindRow, Measurement, Results, RoundsOfCell,
    VoidRow,
};
pub use resume::{CutOff, Destination, Earlier};
pub use run::{FormatError, MeasuredCell, Run, SCHEMA};
pub use sample::{
    Handshakes, OpenLoopSample, OperationSample, PhaseSample, QuietPhase, RankShare, Sample, ServerSide,
    SliceId, VoidReason, Yield,
};
pub use samples::{Round, RoundOfArm, SAMPLES_SCHEMA, SampleFile, SampleLog, Samples};
pub use storage::{DataSize, DiskRecord, FilesOnDisk, LiesOn, Readability, StorageRow};

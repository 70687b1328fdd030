//! What a run leaves: `samples.jsonl` holds one [`Sample`] a line, `run.json` one [`Run`].

mod facts;
mod run;
mod sample;
mod trace;

pub use facts::{AuthenticationFacts, CertificateFacts, Proof, SessionFacts, TlsFacts};
pub use run::{
    Agreement, ArmRecord, ArmRole, BatchRow, BlockRatios, CapacityRow, CellRecord, ChurnBreakEven,
    ChurnPoint, ChurnRow, ConnectRow, EstimateRow, Finding, Host, KindRow, LeftOut, LinkRecord, Measurement,
    PhaseRow, PublishedRow, Run, RunStatus, SCHEMA, ServerId, ServerPlacement, ServerRecord, SessionRecord,
    Severity, Tool, VoidRow,
};
pub use sample::{CpuTime, Handshakes, OpenLoopSample, OperationSample, PhaseSample, Sample, VoidReason};
pub use trace::{ConnectTrace, Phase, PhaseTrace};

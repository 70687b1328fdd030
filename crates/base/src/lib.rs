//! What all crates share: quantities, facts of a session, phases, counters, and texts.

pub mod counter;
mod facts;
pub mod format;
mod interval;
mod phase;
mod schema;
mod text;
mod usage;

pub use facts::{
    AuthenticationFacts, CertificateFacts, ChainCertificate, LoginPath, Proof, SeenByServer, SessionFacts,
    TlsFacts, Verified, Witness,
};
pub use interval::{Direction, Interval};
pub use phase::{ConnectTrace, Phase, PhaseTrace};
pub use schema::SCHEMA;
pub use text::{Secret, harmless, harmless_lines, joined};
pub use usage::{CpuTime, DeviceUse, HardwareCounts, Host, PageFaults, Pressure};

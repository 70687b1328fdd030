//! What a study is and what a run records, as validated types.
//!
//! Nothing here opens a socket or reads a clock: a [`Study`] comes from TOML, a [`record::Run`] goes to JSON.

pub mod arm;
pub mod metric;
pub mod record;
mod secret;
pub mod study;

pub use arm::{Arm, CertificateKind, TlsVersion, Transport};
pub use metric::{Direction, Metric};
pub use secret::Secret;
pub use study::{Cell, Load, Placement, Precision, Study, StudyError, Workload};

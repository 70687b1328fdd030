//! The head of a made-up run, for the tests of this folder and those of `src/why`.

use std::iter;

use ciphertax_model::Study;
use ciphertax_records::{ArmRecord, ArmRole, Head, Host, Tool};

/// That of a run that has begun, without servers.
pub(crate) fn head(study: Study) -> Head {
    let first = [ArmRole::Baseline, ArmRole::BaselineAgain];
    let roles = first.into_iter().chain(iter::repeat(ArmRole::Variant));
    let arms = study.measured_arms().into_iter().zip(roles);
    let arms = arms.map(|(arm, role)| ArmRecord {
        name: arm.name,
        role,
        sessions: Vec::new(),
    });
    let arms = arms.collect();
    let tool = Tool {
        name: "ciphertax".into(),
        version: "0".into(),
        commit: "unknown".into(),
    };
    let host = Host {
        os: String::new(),
        kernel: String::new(),
        cpu: String::new(),
        cpus: 2,
        memory_bytes: 0,
        virtualization: "none".into(),
    };
    Head {
        arms,
        ..Head::begin(tool, host, study, String::new(), 1)
    }
}

//! Arms that a server of the user's own cannot do are left out before anything is measured, and said to be; and slices are as
//! long as what tells its CPU time needs.

use ciphertax_model::{Arm, CpuCounter, Study, TlsVersion};
use ciphertax_records::{LeftOut, LeftOutReason};
use ciphertax_wire::Target;

use crate::databases::{self, OwnDatabase};
use crate::error::RunError;
use crate::far::resolution;
use crate::patience::unusable;
use crate::plan::Plan;
use crate::progress::{Progress, Stage};

/// The plan without the arms whose TLS version the target does not have, and which those are.
///
/// # Errors
/// When the baseline is one of them, or nothing is left to compare it with; when the server does not answer.
pub(crate) fn to_target(plan: &Plan, progress: &mut dyn Progress) -> Result<(Plan, Vec<LeftOut>), RunError> {
    let mut left_out = Vec::new();
    let Some(target) = &plan.target else {
        return Ok((plan.clone(), left_out));
    };
    let arms = plan.study.arms.iter();
    let pinned: Vec<(&Arm, TlsVersion)> = arms
        .filter_map(|arm| Some((arm, arm.transport.tls_version()?)))
        .collect();
    if !pinned.is_empty() {
        progress.stage(&Stage::Connecting(target.to_string()));
    }
    let own = databases::target(target);
    for (arm, version) in pinned {
        match own.negotiate(Some(version))? {
            Ok(_) => {}
            Err(error) if error.is_failed_handshake() => {
                // A connection may break by chance, but not twice.
                let again = own.negotiate(Some(version))?;
                if again.is_err_and(|error| error.is_failed_handshake()) {
                    left_out.extend(lacks(own.as_ref(), arm, version)?);
                }
            }
            // What keeps everybody out, whoever connects next says; a wrong password is tried no more often than it must.
            Err(_) => break,
        }
    }
    let names: Vec<&str> = left_out.iter().map(|left_out| left_out.arm.as_str()).collect();
    let study = plan.study.without_arms(&names);
    let baseline = &plan.study.baseline().name;
    if let Some(lacking) = left_out.iter().find(|left_out| left_out.arm == *baseline) {
        return Err(unusable(
            &target.to_string(),
            format!(
                "the baseline {baseline} cannot be measured: {}; take a study whose first arm it can do",
                lacking.reason
            ),
        ));
    }
    if study.cells.is_empty() {
        let reasons: Vec<String> = left_out
            .iter()
            .map(|left| format!("{}: {}", left.arm, left.reason))
            .collect();
        return Err(unusable(
            &target.to_string(),
            format!(
                "no arm is left to compare the baseline with: {}",
                reasons.join("; ")
            ),
        ));
    }
    for left_out in &left_out {
        progress.stage(&Stage::LeavingOut(left_out.clone()));
    }
    let study = with_resolution(study, own.as_ref(), target, progress)?;
    let study = Plan {
        study,
        ..plan.clone()
    };
    Ok((study, left_out))
}

/// The study with the resolution of its counter, which is found out while a session keeps the server busy. Nothing happens where
/// the study says it, and where there is no counter.
fn with_resolution(
    mut study: Study,
    own: &dyn OwnDatabase,
    target: &Target,
    progress: &mut dyn Progress,
) -> Result<Study, RunError> {
    let Some(counter) = study.server_cpu.clone() else {
        return Ok(study);
    };
    if counter.resolution_s.is_some() {
        return Ok(study);
    }
    progress.stage(&Stage::SeekingResolution);
    let mut work = own.busy(&study)?;
    let found = resolution(&counter, &mut work, |problem| {
        unusable(&target.to_string(), problem)
    })?;
    study.server_cpu = Some(CpuCounter {
        resolution_s: Some(found),
        ..counter
    });
    Ok(study)
}

/// Why an arm is left out whose version the server does not shake hands by; `None` if it is by no other version either.
fn lacks(own: &dyn OwnDatabase, arm: &Arm, version: TlsVersion) -> Result<Option<LeftOut>, RunError> {
    let has = match own.negotiate(None)? {
        Ok(Some(has)) if has != version.to_string() => Some(has),
        Ok(None) => None,
        Ok(Some(_)) | Err(_) => return Ok(None),
    };
    Ok(Some(LeftOut {
        arm: arm.name.clone(),
        reason: LeftOutReason::TlsVersion {
            lacks_tls: version,
            has,
        },
    }))
}

//! Arms that a server of the user's own cannot do are left out before anything is measured, and said to be; and slices are as
//! long as what tells its CPU time needs.

use std::collections::BTreeMap;

use ciphertax_model::{Arm, CpuCounter, Study, TlsVersion, Transport};
use ciphertax_records::{LeftOut, LeftOutReason};
use ciphertax_wire::{Target, WireError};

use crate::databases::{self, OwnDatabase};
use crate::error::Result;
use crate::progress::{Progress, Stage};
use crate::remote_cpu::{LONGEST_TOLD_S, check_pace, resolution};
use crate::servers_to_play::Plan;
use crate::timeout::unusable;

/// The plan without the arms whose TLS version the target does not have, and without plain ones where the password would go to
/// whoever answers; and which those are.
///
/// # Errors
/// When the target does not have the TLS version of the baseline, or nothing is left to compare; when the server does not answer.
pub(crate) fn leave_out(plan: &Plan, progress: &mut dyn Progress) -> Result<(Plan, Vec<LeftOut>)> {
    let mut left_out = Vec::new();
    let Some(target) = &plan.target else {
        return Ok((plan.clone(), left_out));
    };
    let own = databases::target(target);
    let arms = &plan.study.arms;
    progress.stage(&Stage::Connecting(target.to_string()));
    let mut lets_in = true;
    let version = |arm: &Arm| Some((arm.transport.tls_version()?, arm.transport));
    let versions: BTreeMap<TlsVersion, Transport> = arms.iter().filter_map(version).collect();
    for transport in versions.into_values() {
        match own.negotiate(transport)? {
            Ok(_) => {}
            Err(error) if error.is_failed_handshake() => {
                let reason = lacks(own.as_ref(), transport, &error)?;
                let of_version = arms.iter().filter(|arm| arm.transport == transport);
                left_out.extend(of_version.filter_map(|arm| {
                    Some(LeftOut {
                        arm: arm.name.clone(),
                        reason: reason.clone()?,
                    })
                }));
            }
            // What keeps everybody out, whoever connects next says; a wrong password is tried no more often than it must.
            Err(_) => {
                lets_in = false;
                break;
            }
        }
    }
    let without = |left_out: &[LeftOut]| {
        let names: Vec<&str> = left_out.iter().map(|left_out| left_out.arm.as_str()).collect();
        plan.study.without_arms(&names)
    };
    if lets_in && let Some(password_withheld) = own.withheld(&without(&left_out))? {
        let plain = arms.iter().filter(|arm| !arm.transport.is_encrypted());
        left_out.extend(plain.map(|arm| LeftOut {
            arm: arm.name.clone(),
            reason: LeftOutReason::PasswordWithheld {
                password_withheld: password_withheld.clone(),
            },
        }));
    }
    let mut study = without(&left_out);
    let refused = |problem: String| Err(unusable(&target.to_string(), problem));
    let baseline = &plan.study.baseline().name;
    if let Some(lacking) = left_out.iter().find(|left_out| left_out.arm == *baseline) {
        let is_of_version = matches!(lacking.reason, LeftOutReason::TlsVersion { .. });
        // Budgets are for what the others cost against this one.
        if study.cells.is_empty() || is_of_version || !study.budgets.is_empty() {
            return refused(format!(
                "the baseline {baseline} cannot be measured: {}; take a study whose first arm it can do",
                lacking.reason
            ));
        }
        // The first arm that is left is the baseline now, and these are about the former.
        study.published.clear();
    }
    if study.cells.is_empty() {
        let reasons = left_out
            .iter()
            .map(|left| format!("{}: {}", left.arm, left.reason));
        let reasons = reasons.collect::<Vec<_>>().join("; ");
        return refused(format!("no arm is left to compare the baseline with: {reasons}"));
    }
    for left_out in &left_out {
        progress.stage(&Stage::LeavingOut(left_out.clone()));
    }
    let study = with_resolution(study, own.as_ref(), target, progress)?;
    let plan = plan.clone();
    Ok((Plan { study, ..plan }, left_out))
}

/// The study with the resolution of its counter, which is found out while a session keeps the server busy; one that the study says is
/// held to what a session can use.
fn with_resolution(
    mut study: Study,
    own: &dyn OwnDatabase,
    target: &Target,
    progress: &mut dyn Progress,
) -> Result<Study> {
    let Some(counter) = study.server_cpu.clone() else {
        return Ok(study);
    };
    if counter.resolution_s.is_some_and(|known| known > LONGEST_TOLD_S) {
        return Ok(study);
    }
    let unusable = |problem| unusable(&target.to_string(), problem);
    let mut work = own.busy(&study)?;
    if let Some(resolution_s) = counter.resolution_s {
        check_pace(&counter, resolution_s, &mut work, unusable)?;
        return Ok(study);
    }
    progress.stage(&Stage::SeekingResolution);
    let found = resolution(&counter, &mut work, unusable)?;
    study.server_cpu = Some(CpuCounter {
        resolution_s: Some(found),
        ..counter
    });
    Ok(study)
}

/// That the server does not shake hands by a version, by which that failed; `None` if it does by no other version either.
fn lacks(own: &dyn OwnDatabase, transport: Transport, failure: &WireError) -> Result<Option<LeftOutReason>> {
    // A login between two that fail keeps servers from counting them (MySQL's max_connect_errors).
    let has = own.negotiate(Transport::Tls)?;
    let (Some(version), Ok(has)) = (transport.tls_version(), has) else {
        return Ok(None);
    };
    // What the server says itself is no chance; a connection may break, but not twice.
    let is_sure = failure.is_version_refused()
        || own
            .negotiate(transport)?
            .is_err_and(|error| error.is_failed_handshake());
    let is_another = has.as_ref() != Some(&version.to_string());
    Ok((is_sure && is_another).then_some(LeftOutReason::TlsVersion {
        lacks_tls: version,
        has,
    }))
}

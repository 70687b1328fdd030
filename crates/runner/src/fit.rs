//! Arms that a server of the user's own cannot do are left out before anything is measured, and said to be.

use std::time::Duration;

use ciphertax_model::{Arm, TlsVersion};
use ciphertax_reactor::Reactor;
use ciphertax_records::LeftOut;
use ciphertax_wire::mongodb::Session as MongoDbSession;
use ciphertax_wire::mysql::Session as MySqlSession;
use ciphertax_wire::tls::{TlsConnector, TlsPolicy};
use ciphertax_wire::{Target, WireError};

use crate::error::RunError;
use crate::mongodb::Deployment;
use crate::mysql::Server;
use crate::patience::{unusable, wait_for};
use crate::play::Plan;
use crate::progress::{Progress, Stage};

/// How long a server may take to answer.
const PATIENCE: Duration = Duration::from_secs(20);

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
    for (arm, version) in pinned {
        match negotiate(target, Some(version))? {
            Ok(_) => {}
            Err(error) if error.is_failed_handshake() => {
                // A connection may break by chance, but not twice.
                let again = negotiate(target, Some(version))?;
                if again.is_err_and(|error| error.is_failed_handshake()) {
                    left_out.extend(lacks(target, arm, version)?);
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
    let study = Plan {
        study,
        ..plan.clone()
    };
    Ok((study, left_out))
}

/// Why an arm is left out whose version the server does not shake hands by; `None` if it is by no other version either.
fn lacks(target: &Target, arm: &Arm, version: TlsVersion) -> Result<Option<LeftOut>, RunError> {
    let has = match negotiate(target, None)? {
        Ok(Some(has)) if has != version.to_string() => format!(", it has {has}"),
        Ok(None) => String::new(),
        Ok(Some(_)) | Err(_) => return Ok(None),
    };
    Ok(Some(LeftOut {
        arm: arm.name.clone(),
        reason: format!("the server does not offer {version}{has}"),
    }))
}

/// The version that a session is of which offers this one alone, or all that are thought safe.
fn negotiate(
    target: &Target,
    version: Option<TlsVersion>,
) -> Result<Result<Option<String>, WireError>, RunError> {
    // A login is part of it, so whoever is asked for the version is verified as the target wants it.
    let verification = match target {
        Target::MySql(target) => &target.verification,
        Target::MongoDb(target) => &target.verification,
    };
    let tls = TlsConnector::new(&TlsPolicy::new(version, verification.clone()))?;
    let reactor = Reactor::new().map_err(|error| unusable(&target.to_string(), error.to_string()))?;
    let version =
        |summary: Option<ciphertax_wire::tls::TlsSummary>| summary.map(|tls| tls.version.to_owned());
    let negotiated = async {
        match target {
            Target::MySql(target) => {
                let (session, _) = MySqlSession::connect(&reactor, &Server::way(target, Some(tls))).await?;
                let negotiated = version(session.tls_summary());
                session.close().await?;
                Ok(negotiated)
            }
            Target::MongoDb(target) => {
                let (session, _) =
                    MongoDbSession::connect(&reactor, &Deployment::way(target, Some(tls))).await?;
                let negotiated = version(session.tls_summary());
                session.close().await?;
                Ok(negotiated)
            }
        }
    };
    wait_for(&reactor, &target.to_string(), PATIENCE, negotiated)
}

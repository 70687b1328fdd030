//! Arms that a server of the user's own cannot do are left out before anything is measured, and said to be; and slices are as
//! long as what tells its CPU time needs.

use std::collections::BTreeMap;

use ciphertax_model::{Arm, CpuCounter, Group, Study, TlsLibrary, TlsSettings, TlsVersion, Transport};
use ciphertax_records::{LeftOut, LeftOutReason};
use ciphertax_wire::tls::TlsSummary;
use ciphertax_wire::{Protocol, Target, WireError};

use crate::databases::{self, OwnDatabase};
use crate::error::Result;
use crate::progress::{Progress, Stage};
use crate::remote_cpu::{LONGEST_TOLD_S, check_pace, resolution};
use crate::servers_to_play::Plan;
use crate::timeout::unusable;

/// The plan without the arms whose TLS the target does not have, and without plain ones where the password would go to whoever
/// answers; and which those are.
///
/// # Errors
/// When the target does not have the TLS of the baseline, or nothing is left to compare; when the server does not answer.
pub(crate) fn leave_out(plan: &Plan, progress: &mut dyn Progress) -> Result<(Plan, Vec<LeftOut>)> {
    let mut left_out = Vec::new();
    let Some(target) = &plan.target else {
        return Ok((plan.clone(), left_out));
    };
    let own = databases::target(target);
    let arms = &plan.study.arms;
    progress.stage(&Stage::Connecting(target.to_string()));
    let tried = try_arms(own.as_ref(), arms, target)?;
    let without_arm = |arm: &Arm, reason: &LeftOutReason| {
        let (arm, reason) = (arm.name.clone(), reason.clone());
        LeftOut { arm, reason }
    };
    for arm in arms.iter().filter(|arm| arm.transport.is_encrypted()) {
        let of_arm = |(version, tls, _): &&Lacking| {
            *version == arm.transport.tls_version() && tls.as_ref().is_none_or(|tls| *tls == asked(arm))
        };
        let lacking = tried.iter().flatten().find(of_arm);
        left_out.extend(lacking.map(|(_, _, reason)| without_arm(arm, reason)));
    }
    let without = |left_out: &[LeftOut]| {
        let names: Vec<&str> = left_out.iter().map(|left_out| left_out.arm.as_str()).collect();
        plan.study.without_arms(&names)
    };
    if tried.is_some()
        && let Some(password_withheld) = own.withheld(&without(&left_out))?
    {
        let plain = arms.iter().filter(|arm| !arm.transport.is_encrypted());
        let reason = LeftOutReason::PasswordWithheld { password_withheld };
        left_out.extend(plain.map(|arm| without_arm(arm, &reason)));
    }
    let mut study = without(&left_out);
    let refused = |problem: String| Err(unusable(&target.to_string(), problem));
    let baseline = &plan.study.baseline().name;
    if let Some(lacking) = left_out.iter().find(|left_out| left_out.arm == *baseline) {
        let is_of_tls = !matches!(lacking.reason, LeftOutReason::PasswordWithheld { .. });
        // Budgets are for what the others cost against this one.
        if study.cells.is_empty() || is_of_tls || !study.budgets.is_empty() {
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
    let plan = Plan {
        study,
        ..plan.clone()
    };
    Ok((plan, left_out))
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

/// The version, and the settings besides unless none of that version are taken, that a server does not take; and why.
type Lacking = (Option<TlsVersion>, Option<TlsSettings>, LeftOutReason);

/// The settings of an arm that a server, or its certificate, may not suit.
fn asked(arm: &Arm) -> TlsSettings {
    TlsSettings {
        cipher: arm.tls.cipher.clone(),
        group: arm.tls.group,
        verification: arm.tls.verification,
        library: arm.tls.library,
        ..TlsSettings::default()
    }
}

/// All TLS of the arms that the server does not take: each version is tried alone, verified as the target wants it, and then with
/// what arms ask for besides. `None` where it lets nobody in: whoever connects next says why, and a wrong password is tried no more
/// often than it must.
fn try_arms(own: &dyn OwnDatabase, arms: &[Arm], target: &Target) -> Result<Option<Vec<Lacking>>> {
    let protocol = target.protocol();
    let (mut without_suite, mut of_url) = (target.clone(), TlsSettings::default());
    if let Target::MySql(target) = &mut without_suite {
        of_url.cipher = target.cipher.take();
    }
    let without_suite = databases::target(&without_suite);
    let mut versions: BTreeMap<Option<TlsVersion>, (Transport, Vec<TlsSettings>)> = BTreeMap::new();
    for arm in arms.iter().filter(|arm| arm.transport.is_encrypted()) {
        let nothing = (arm.transport, Vec::new());
        let (_, more) = versions.entry(arm.transport.tls_version()).or_insert(nothing);
        let tls = asked(arm);
        let is_more = tls.cipher.is_some() || tls.group.is_some() || tls.library != TlsLibrary::default();
        if is_more && !more.contains(&tls) {
            more.push(tls);
        }
    }
    versions.retain(|version, (_, more)| version.is_some() || of_url.cipher.is_some() || !more.is_empty());
    let mut lacking = Vec::new();
    for (version, (transport, mut more)) in versions {
        let with = |tls: TlsSettings| Arm {
            tls,
            ..Arm::new("", transport)
        };
        let bare = with(TlsSettings::default());
        let (mut taken, mut has) = (own, own.negotiate(&bare)?);
        if let Err(error) = &has
            && of_url.cipher.is_some()
            && error.is_nothing_in_common()
            && let Ok(Some(takes)) = without_suite.negotiate(&bare)?
        {
            let why = unsuitable(&of_url, &takes, error, protocol);
            let tls_refused = format!("{why}: give that as ssl-cipher in the URL, or none");
            let of_version = arms
                .iter()
                .filter(|arm| arm.transport.is_encrypted() && arm.transport.tls_version() == version);
            let without = of_version.map(asked).filter(|tls| tls.cipher.is_none());
            let refused = |tls| {
                (
                    version,
                    Some(tls),
                    LeftOutReason::TlsRefused {
                        tls_refused: tls_refused.clone(),
                    },
                )
            };
            lacking.extend(without.map(refused));
            more.retain(|tls| tls.cipher.is_some());
            (taken, has) = (without_suite.as_ref(), Ok(Some(takes)));
        }
        let has = match has {
            Ok(has) => has,
            Err(error) if error.is_failed_handshake() => {
                let reason = lacks(without_suite.as_ref(), &bare, &error, protocol)?;
                lacking.extend(reason.map(|reason| (version, None, reason)));
                continue;
            }
            Err(_) => return Ok(None),
        };
        for tls in more {
            let arm = with(tls);
            let (Some(has), Err(failure)) = (&has, own.negotiate(&arm)?) else {
                continue;
            };
            if !failure.is_failed_handshake() && !matches!(failure, WireError::NotTrusted { .. }) {
                return Ok(None);
            }
            // A login between two that fail keeps servers from counting them (MySQL's max_connect_errors).
            taken.negotiate(&bare)?.ok();
            // A connection may break, but not twice.
            if failure.is_disconnect() && own.negotiate(&arm)?.is_ok() {
                continue;
            }
            let tls_refused = unsuitable(&arm.tls, has, &failure, protocol);
            lacking.push((version, Some(arm.tls), LeftOutReason::TlsRefused { tls_refused }));
        }
    }
    Ok(Some(lacking))
}

/// Why these settings suit no session with a server that has others, by which that failed.
fn unsuitable(tls: &TlsSettings, has: &TlsSummary, failure: &WireError, protocol: Protocol) -> String {
    let group = |group: Option<Group>| group.map(Group::name);
    let (asked, takes): (Vec<_>, Vec<_>) = [
        (tls.cipher.as_deref(), Some(has.cipher)),
        (group(tls.group), group(has.group)),
    ]
    .into_iter()
    .filter_map(|(asked, takes)| Some((asked?, takes.unwrap_or("another"))))
    .filter(|(asked, takes)| asked != takes)
    .unzip();
    if asked.is_empty() || matches!(failure, WireError::NotTrusted { .. }) {
        return format!("{failure}{}", failure.remedy(protocol));
    }
    fn key_of(cipher: &str) -> Option<&str> {
        cipher.split('-').find(|part| ["ECDSA", "RSA"].contains(part))
    }
    let key = match (tls.cipher.as_deref().and_then(key_of), key_of(has.cipher)) {
        (Some(asked), Some(key)) if asked != key => format!(", because its certificate has an {key} key"),
        _ => String::new(),
    };
    format!(
        "the server does not take {} in {}{key}; it takes {}",
        asked.join(" with "),
        has.version,
        takes.join(" with ")
    )
}

/// That the server does not shake hands by a version, by which that failed; `None` if it does by no other version either.
fn lacks(
    own: &dyn OwnDatabase,
    arm: &Arm,
    failure: &WireError,
    protocol: Protocol,
) -> Result<Option<LeftOutReason>> {
    // A login between two that fail keeps servers from counting them (MySQL's max_connect_errors).
    let has = own.negotiate(&Arm::new("", Transport::Tls))?;
    let (Some(lacks_tls), Ok(has)) = (arm.transport.tls_version(), has) else {
        return Ok(None);
    };
    // What the server says itself is no chance; a connection may break, but not twice.
    let is_sure = failure.is_version_refused()
        || failure.is_nothing_in_common()
        || own.negotiate(arm)?.is_err_and(|it| it.is_failed_handshake());
    let has = has.map(|has| has.version.to_owned());
    let is_another = has.as_deref() != Some(lacks_tls.name());
    let reason = match failure.is_nothing_in_common() {
        true => {
            let tls_refused = format!("{failure}{}", failure.remedy(protocol));
            LeftOutReason::TlsRefused { tls_refused }
        }
        false => LeftOutReason::TlsVersion { lacks_tls, has },
    };
    Ok((is_sure && is_another).then_some(reason))
}

//! A run that goes on goes on with what it was begun with.

use ciphertax_records::{Head, RecordError, RunFolder};

use crate::error::RunError;

/// Makes sure that the slices of a run are of the same servers and sessions, also when it goes on later.
///
/// # Errors
/// Names the first that differs.
pub(crate) fn refuse_other_servers(folder: &RunFolder, before: &Head, now: &Head) -> Result<(), RunError> {
    let before = words(before);
    let changed = words(now).into_iter().find(|line| !before.contains(line));
    match changed {
        None => Ok(()),
        Some(changed) => Err(not_resumable(
            folder,
            format!("it was measured elsewhere or otherwise, now there is {changed}; begin a new run"),
        )),
    }
}

/// A run that cannot go on, and why.
pub(crate) fn not_resumable(folder: &RunFolder, problem: String) -> RunError {
    RunError::Record(RecordError::NotResumable {
        folder: folder.path().to_owned(),
        problem,
    })
}

/// What must stay the same of servers and arms, so that samples of different days can be averaged.
fn words(head: &Head) -> Vec<String> {
    let servers = head.servers.iter().map(|server| {
        let settings: Vec<String> = server
            .settings
            .iter()
            .map(|(name, value)| format!("{name} = {value}"))
            .collect();
        format!(
            "{}: {} {} with {}, {}, its CPU {}",
            server.name,
            server.product,
            server.version,
            server.tls_library,
            settings.join(", "),
            match server.cpu_unread {
                None => "measured",
                Some(_) => "not measured",
            }
        )
    });
    let sessions = head.arms.iter().flat_map(|arm| {
        arm.sessions.iter().map(|session| {
            let tls = session.facts.tls.as_ref().map(|tls| {
                let (version, cipher, key) = (&tls.version, &tls.cipher, &tls.certificate.key);
                format!("{version}, {cipher}, {}, {key}", tls.group)
            });
            format!(
                "{} with {} on {}",
                arm.name,
                [
                    tls.unwrap_or_else(|| "no TLS".into()),
                    session.facts.authentication.method.clone()
                ]
                .join(", "),
                session.server
            )
        })
    });
    servers.chain(sessions).collect()
}

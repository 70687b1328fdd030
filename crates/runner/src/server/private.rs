//! Private servers as a group of arms wants them.

use ciphertax_lab::{PrivateServer, RunningLink};
use ciphertax_model::{ServerSpec, Study};

use crate::entry::entry;
use crate::error::RunError;
use crate::groups::Group;
use crate::trust::need_old_tls;

/// Starts them, inside a link if there is one.
///
/// # Errors
/// When they are not available or cannot be started.
pub(super) fn start(
    study: &Study,
    spec: &ServerSpec,
    group: &Group<'_>,
    link: Option<&RunningLink>,
) -> Result<PrivateServer, RunError> {
    let entry = entry(&spec.server)?;
    let mut builder = PrivateServer::builder(entry)
        .access_control(group.needs.access_control)
        .storage(spec.storage)
        .at_rest(group.needs.at_rest);
    builder = match study.needs_tls() {
        true => builder
            .certificate(group.needs.certificate.kind)
            .chain_length(group.needs.certificate.chain_length),
        false => builder.without_tls(),
    };
    if need_old_tls(&group.set_up_for) {
        builder = builder.tls_versions(entry.capabilities.tls_versions);
    }
    let arms = group.set_up_for.iter();
    for authentication in arms.map(|arm| &arm.authentication) {
        builder = match (authentication.method, authentication.scram_iterations) {
            (None, _) => builder,
            (Some(method), None) => builder.account(method),
            (Some(method), Some(iterations)) => builder.scram_account(method, iterations),
        };
    }
    if let Some(replica_set) = spec.replica_set {
        builder = builder.replica_set(replica_set);
    }
    if let Some(link) = link {
        builder = builder.inside(link);
    }
    Ok(builder.start()?)
}

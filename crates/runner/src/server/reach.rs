//! How a server is reached: by its arms, and for what is not measured.

use std::sync::Arc;

use ciphertax_lab::PrivateServer;
use ciphertax_model::{Arm, Study};
use ciphertax_wire::tls::TlsConnector;

use super::route::Route;
use crate::database::{Clients, Control, Endpoint, ReachedArm, Ways};
use crate::error::RunError;
use crate::ranks::account_of;

/// How an arm reaches it, before any proof.
///
/// # Errors
/// When the arm verifies the server, and no authority is known.
pub(super) fn reached<D: Clients>(
    route: &Route,
    private: Option<&PrivateServer>,
    default: &D::Login,
    arm: &Arm,
) -> Result<ReachedArm<D>, RunError> {
    let policy = arm
        .transport
        .is_encrypted()
        .then(|| route.trust.policy(arm))
        .transpose()?;
    let account = private.map(|server| account_of(server, arm));
    let mut endpoint = route.endpoint_of(arm);
    if D::is_over_socket(arm)
        && let Some(socket) = private.and_then(PrivateServer::socket)
    {
        endpoint.socket = Some(socket.to_owned());
    }
    Ok(ReachedArm {
        endpoint,
        login: account.map_or_else(|| default.clone(), D::login_of),
        policy,
    })
}

/// Opens the session for what is not measured.
pub(super) fn connect<D: Clients>(
    study: &Study,
    database: &D,
    route: &Route,
    private: Option<&PrivateServer>,
    login: &D::Login,
    url: Option<&str>,
) -> Result<Control<D>, RunError> {
    let encrypted = study
        .arms
        .iter()
        .filter(|arm| arm.transport.is_encrypted())
        .filter_map(|arm| {
            let reached = reached::<D>(route, private, login, arm).ok()?;
            reached.options(database, arm).ok()
        });
    let ways = Ways {
        default: ways::<D>(&route.control, login, route.default_tls.as_ref()),
        is_encrypted: route.default_tls.is_some(),
        encrypted: encrypted.collect(),
        patience: D::patience(login),
    };
    Control::connect(&route.trust.display, ways, url)
}

/// How each server is reached for what is not measured.
pub(super) fn ways<D: Clients>(
    endpoints: &[Endpoint],
    login: &D::Login,
    tls: Option<&Arc<TlsConnector>>,
) -> Vec<D::Options> {
    let way = |endpoint| D::options(endpoint, login, tls.cloned());
    endpoints.iter().map(way).collect()
}

//! The user's own servers, by their URL.

use std::sync::Arc;

use ciphertax_model::{Study, TlsVersion};
use ciphertax_reactor::Reactor;
use ciphertax_wire::tls::{ClientCertificate, TlsConnector, TlsPolicy, Verification};
use ciphertax_wire::{Negotiated, Session, WireError};

use super::reach::connect;
use super::route::Route;
use crate::database::{Clients, Control, Endpoint};
use crate::error::RunError;
use crate::patience::{unusable, wait_for};
use crate::trust::Trust;

/// The user's own servers, which form one database.
pub(crate) struct TargetServers<D: Clients> {
    pub(crate) database: D,
    /// One at least.
    pub(crate) endpoints: Vec<Endpoint>,
    pub(crate) login: D::Login,
    /// How the server's certificate is verified in TLS arms.
    pub(crate) verification: Verification,
    /// What its clients show, where the URL names a certificate.
    pub(crate) client_certificate: Option<ClientCertificate>,
    /// True for a login that TLS carries.
    pub(crate) needs_tls: bool,
    /// Without password and options.
    pub(crate) display: String,
    /// Without the password.
    pub(crate) url: String,
}

impl<D: Clients> TargetServers<D> {
    pub(crate) fn trust(&self) -> Trust {
        Trust {
            display: self.display.clone(),
            host: self.endpoints[0].host.clone(),
            verification: self.verification.clone(),
            legacy: false,
            clients: Default::default(),
            unknown_clients: Default::default(),
            own_client: self.client_certificate.clone(),
            releases_buffers: false,
        }
    }

    /// A session for what is not measured of a study.
    ///
    /// # Errors
    /// Names the server, what went wrong, and the remedy.
    pub(crate) fn control(&self, study: &Study) -> Result<Control<D>, RunError> {
        let mut route = Route::to_target(&self.endpoints, self.trust());
        route.default_tls = route.trust.default_tls(study)?;
        connect(study, &self.database, &route, None, &self.login, Some(&self.url))
    }

    /// The version that a session with the first server is of which offers this one alone, or all that are thought safe. A
    /// login is part of it, so the server is verified as the target wants it.
    pub(crate) fn negotiate(
        &self,
        version: Option<TlsVersion>,
    ) -> Result<Result<Option<String>, WireError>, RunError> {
        let policy = TlsPolicy {
            client_certificate: self.client_certificate.clone(),
            ..TlsPolicy::new(version, self.verification.clone())
        };
        let tls = Arc::new(TlsConnector::new(&policy)?);
        let options = D::options(&self.endpoints[0], &self.login, Some(tls));
        let reactor = Reactor::new().map_err(|error| unusable(&self.display, error.to_string()))?;
        let negotiated = async {
            let (session, _) = D::Session::connect(&reactor, &options).await?;
            let version = session.tls_summary().map(|tls| tls.version.to_owned());
            session.close().await?;
            Ok(version)
        };
        wait_for(&reactor, &self.display, D::patience(&self.login), negotiated)
    }
}

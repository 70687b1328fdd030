//! The user's own servers, by their URL.

use std::sync::Arc;
use std::time::Duration;

use ciphertax_model::{Arm, Resumption, Study};
use ciphertax_reactor::Reactor;
use ciphertax_wire::tls::{ClientCertificate, TlsConnector, TlsPolicy, TlsSummary, Verification};
use ciphertax_wire::{Session, WireError, is_this_machine};

use super::route::Route;
use crate::database::{Clients, Endpoint};
use crate::error::Result;
use crate::timeout::{unusable, wait_for};
use crate::trust::Trust;

/// How long all servers but the first are waited for before it is known which of them answer.
pub(crate) const OTHERS: Duration = Duration::from_secs(5);

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
    /// The cipher suite of TLS sessions that name none, where the URL names one.
    pub(crate) cipher: Option<String>,
    /// How long the first connection may take.
    pub(crate) patience: Duration,
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
            own_cipher: self.cipher.clone(),
            releases_buffers: false,
        }
    }

    /// How everything that is not measured of a study is reached: over TLS where it verifies the server, or where no arm is
    /// plain. Over a Unix socket nobody is in between, so there plain arms are enough.
    pub(crate) fn route(&self, study: &Study) -> Result<Route> {
        let mut route = Route::to_target(self);
        let verifies = self.verifies();
        if verifies || study.arms.iter().all(|arm| arm.transport.is_encrypted()) {
            route.default_tls = Some(route.trust.default_tls(study, verifies, D::ALPN)?);
        }
        Ok(route)
    }

    /// True if clients are to verify the server: then nothing logs in to one that was not, but an arm that says so.
    pub(crate) fn verifies(&self) -> bool {
        self.verification != Verification::None && self.endpoints[0].socket.is_none()
    }

    /// True if TLS may go to whoever answers: nobody is to verify the server, and it is on another machine.
    pub(crate) fn is_unverified(&self) -> bool {
        let Endpoint { host, socket, .. } = &self.endpoints[0];
        self.verification == Verification::None && socket.is_none() && !is_this_machine(host)
    }

    /// Logs in to one of the servers with the TLS of an arm, but by a full handshake, and tells what was negotiated.
    pub(crate) fn log_in(
        &self,
        endpoint: &Endpoint,
        arm: &Arm,
    ) -> Result<Result<Option<TlsSummary>, WireError>> {
        let policy = TlsPolicy {
            resumption: Resumption::Off,
            alpn: D::ALPN,
            ..self.trust().policy(arm)?
        };
        let tls = arm.transport.is_encrypted().then(|| TlsConnector::new(&policy));
        let tls = tls.transpose()?.map(Arc::new);
        let options = self.database.options(endpoint, &self.login, tls);
        let reactor = Reactor::new().map_err(|error| unusable(&self.display, error.to_string()))?;
        let negotiated = async {
            let (session, _) = D::Session::connect(&reactor, &options).await?;
            let tls = session.tls_summary();
            session.close().await?;
            Ok(tls)
        };
        // One of several that is silent must not hold up the others.
        let patience = match *endpoint == self.endpoints[0] {
            true => self.patience,
            false => self.patience.min(OTHERS),
        };
        wait_for(&reactor, &self.display, patience, negotiated)
    }
}

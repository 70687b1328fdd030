//! Private servers of a group.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;

use ciphertax_lab::catalogue::{Entry, Protocol};
use ciphertax_lab::certificates::ClientCertificateFiles;
use ciphertax_lab::{Account, PrivateMongoDb, PrivateServer, RunningLink};
use ciphertax_model::{AuthenticationMethod, CertificateKind, Site, Study};

use crate::entry::entry;
use crate::error::RunError;
use crate::groups::Group;
use crate::trust::need_old_tls;

/// Private servers of a group, which form one database.
pub(crate) enum Private {
    MySql(PrivateServer),
    MongoDb(PrivateMongoDb),
}

/// Starts them as a group of arms wants them, inside a link if there is one.
pub(crate) fn start(
    study: &Study,
    site: &Site,
    group: &Group<'_>,
    link: Option<&RunningLink>,
) -> Result<Private, RunError> {
    let entry = entry(&site.server)?;
    let certificate = study.needs_tls().then_some(group.needs.certificate);
    let old_tls = need_old_tls(&group.set_up_for).then_some(entry.capabilities.tls_versions);
    let methods = group
        .set_up_for
        .iter()
        .filter_map(|arm| arm.authentication.method);
    macro_rules! set_up {
        ($builder:expr) => {{
            let mut builder = $builder.server(entry);
            builder = match certificate {
                Some(certificate) => builder
                    .certificate(certificate.kind)
                    .chain_length(certificate.chain_length),
                None => builder.without_tls(),
            };
            if let Some(versions) = old_tls {
                builder = builder.tls_versions(versions);
            }
            methods.fold(builder, |builder, method| builder.account(method))
        }};
    }
    Ok(match entry.protocol() {
        Protocol::MySql => {
            let builder = set_up!(PrivateServer::builder());
            let builder = match link {
                Some(link) => builder.inside(link),
                None => builder,
            };
            Private::MySql(builder.start()?)
        }
        Protocol::MongoDb => {
            let builder = set_up!(PrivateMongoDb::builder()).access_control(group.needs.access_control);
            let builder = match site.replica_set {
                Some(replica_set) => builder.replica_set(replica_set),
                None => builder,
            };
            Private::MongoDb(builder.start()?)
        }
    })
}

macro_rules! either {
    ($self:expr, $server:ident => $value:expr) => {
        match $self {
            Private::MySql($server) => $value,
            Private::MongoDb($server) => $value,
        }
    };
}

impl Private {
    pub(crate) fn entry(&self) -> &'static Entry {
        either!(self, server => server.entry())
    }

    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        match self {
            Self::MySql(server) => vec![server.address()],
            Self::MongoDb(server) => server.members(),
        }
    }

    pub(crate) fn is_replica_set(&self) -> bool {
        matches!(self, Self::MongoDb(server) if server.replica_set().is_some())
    }

    pub(crate) fn pids(&self) -> Vec<u32> {
        match self {
            Self::MySql(server) => vec![server.pid()],
            Self::MongoDb(server) => server.pids(),
        }
    }

    pub(crate) fn socket(&self) -> Option<&Path> {
        match self {
            Self::MySql(server) => Some(server.socket()),
            Self::MongoDb(_) => None,
        }
    }

    pub(crate) fn default_account(&self) -> Account {
        either!(self, server => Account {
            user: server.user().to_owned(),
            password: server.password().clone(),
            method: server.entry().default_method(),
        })
    }

    pub(crate) fn account(&self, method: AuthenticationMethod) -> Option<&Account> {
        either!(self, server => server.account(method))
    }

    pub(crate) fn ca_file(&self) -> Option<&Path> {
        either!(self, server => server.ca_file())
    }

    pub(crate) fn client_certificate(
        &self,
        kind: CertificateKind,
    ) -> ciphertax_lab::Result<Option<ClientCertificateFiles>> {
        either!(self, server => server.client_certificate(kind))
    }

    pub(crate) fn unknown_client_certificate(
        &self,
        kind: CertificateKind,
    ) -> ciphertax_lab::Result<Option<ClientCertificateFiles>> {
        match self {
            Self::MySql(_) => Ok(None),
            Self::MongoDb(server) => server.strangers_certificate(kind),
        }
    }

    pub(crate) fn settings(&self) -> &BTreeMap<String, String> {
        either!(self, server => server.settings())
    }

    pub(crate) fn log_tail(&self) -> String {
        either!(self, server => server.log_tail())
    }

    pub(crate) fn stop(self) -> ciphertax_lab::Result<()> {
        either!(self, server => server.stop())
    }
}

//! One way to run: the security settings that make an arm.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::at_rest::AtRest;
use crate::authentication::{Authentication, CertificateKind};
use crate::columns::ColumnEncryption;
use crate::network::{Pooler, Tunnel};
use crate::probe::Probe;
use crate::tls::{TlsNegotiation, TlsSettings, Transport};

/// One way to run; the first arm of a study is the baseline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arm {
    /// The name used in records and reports, unique in its study.
    pub name: String,
    /// How bytes travel between client and server.
    pub transport: Transport,
    /// What the client asks of TLS besides the version; for TLS transports alone.
    #[serde(default, skip_serializing_if = "TlsSettings::is_default")]
    pub tls: TlsSettings,
    /// How the account logs in.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub authentication: Authentication,
    /// The key of the private server's certificate, where arms differ in it; `None` for the study's. Arms that differ in it
    /// have servers of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<CertificateKind>,
    /// What carries the connection besides TCP; its CPU is accounted for on its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tunnel: Option<Tunnel>,
    /// What keeps connections to the server open; its CPU is accounted for on its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pooler: Option<Pooler>,
    /// Whether private servers that hold the same data encrypt what they tell each other. Arms that differ in it have servers of
    /// their own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cluster_tls: bool,
    /// What the private server encrypts on the disk. Arms that differ in it have servers of their own.
    #[serde(default, skip_serializing_if = "AtRest::is_default")]
    pub at_rest: AtRest,
    /// Which cells are encrypted in results or in what the client stores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<ColumnEncryption>,
    /// What is changed about the server while a slice of this arm runs. It shares the server with arms that differ in nothing
    /// else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<Probe>,
}

impl Arm {
    /// An arm of this transport with default settings.
    pub fn new(name: impl Into<String>, transport: Transport) -> Self {
        Self {
            name: name.into(),
            transport,
            tls: TlsSettings::default(),
            authentication: Authentication::default(),
            certificate: None,
            tunnel: None,
            pooler: None,
            cluster_tls: false,
            at_rest: AtRest::default(),
            columns: None,
            probe: None,
        }
    }

    /// What carries its connections besides TCP, in processes of its own; `None` where nothing does.
    pub fn is_carried_by(&self) -> Option<&'static str> {
        if self.tunnel.is_some() {
            Some("tunnel")
        } else if self.pooler.is_some() {
            Some("pooler")
        } else {
            None
        }
    }

    /// The setting that only PostgreSQL has, if the arm has one, as study files write it.
    pub fn setting_of_postgresql(&self) -> Option<&'static str> {
        if self
            .pooler
            .is_some_and(|pooler| pooler.program.is_of_postgresql())
        {
            Some("pooler")
        } else if self.tls.negotiation == TlsNegotiation::Direct {
            Some("tls.negotiation = \"direct\"")
        } else if self.authentication.scram_iterations.is_some() {
            Some("authentication.scram_iterations")
        } else {
            None
        }
    }
}

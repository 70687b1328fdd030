//! How a program of the user's own reaches an arm.

use std::path::{Path, PathBuf};

use ciphertax_model::Arm;
use ciphertax_model::load::{Part, Placeholder, parts};
use ciphertax_wire::tls::{ClientCertificate, TlsPolicy, Verification};
use ciphertax_workload::dataset;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::clients::Clients;
use super::reached::{Endpoint, ReachedArm};
use crate::error::{Result, RunError};

/// What a program must see of a server before it trusts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProgramTrust {
    /// Nothing; it does not ask for TLS.
    Plaintext,
    /// TLS, and no matter whose.
    Anybody,
    /// A certificate of the authority.
    Ca,
    /// The same, of the host's name.
    HostName,
}

/// How a program reaches an arm.
pub(crate) struct Reached<'a, D: Clients> {
    pub(crate) arm: &'a Arm,
    pub(crate) endpoint: &'a Endpoint,
    pub(crate) login: &'a D::Login,
    /// No policy for an arm in plaintext.
    pub(crate) policy: Option<&'a TlsPolicy>,
    pub(crate) folder: PathBuf,
}

impl<'a, D: Clients> Reached<'a, D> {
    /// With this folder for its files.
    pub(crate) fn new(arm: &'a Arm, reached: &'a ReachedArm<D>, folder: PathBuf) -> Self {
        Self {
            arm,
            endpoint: &reached.endpoint,
            login: &reached.login,
            policy: reached.policy.as_ref(),
            folder,
        }
    }

    /// One that tests make up.
    #[cfg(test)]
    pub(crate) fn made_up(
        arm: &'a Arm,
        endpoint: &'a Endpoint,
        login: &'a D::Login,
        policy: Option<&'a TlsPolicy>,
    ) -> Self {
        Self {
            arm,
            endpoint,
            login,
            policy,
            folder: "/tmp/f".into(),
        }
    }

    /// What stands for something of the arm; empty where there is nothing to say.
    pub(crate) fn value(&self, of: Placeholder) -> String {
        let path = |path: &Path| path.to_string_lossy().into_owned();
        let client = self.client_certificate();
        let text = match of {
            Placeholder::Arm => Some(self.arm.name.clone()),
            Placeholder::Host => Some(self.host().to_owned()),
            Placeholder::Port => Some(self.endpoint.port.to_string()),
            Placeholder::Socket => self.endpoint.socket.as_deref().map(path),
            Placeholder::User => Some(D::user_and_password(self.login).0),
            Placeholder::Database => Some(dataset::SCHEMA.to_owned()),
            Placeholder::SslMode => Some(self.ssl_mode().to_owned()),
            Placeholder::SslCa => self.ca().map(path),
            Placeholder::SslCert => client.map(|client| path(&client.certificate)),
            Placeholder::SslKey => client.map(|client| path(&client.key)),
            Placeholder::TlsVersion => {
                let version = self.arm.transport.tls_version();
                version.map(|version| version.name().to_owned())
            }
            Placeholder::Cipher => self.arm.tls.cipher.clone(),
            Placeholder::Folder => Some(path(&self.folder)),
            file => {
                let mut files = D::FILES.iter();
                let named = files.find(|(placeholder, _)| *placeholder == file);
                named.map(|(_, name)| path(&self.folder.join(name)))
            }
        };
        text.unwrap_or_default()
    }

    /// An argument with the values of its placeholders.
    pub(crate) fn filled_in(&self, word: &str) -> String {
        let parts = parts(word).unwrap_or_default();
        let text = |part| match part {
            Part::Text(text) => text.to_owned(),
            Part::Placeholder(placeholder) => self.value(placeholder),
        };
        parts.into_iter().map(text).collect()
    }

    /// Clients take `localhost` for "over the socket".
    pub(crate) fn host(&self) -> &str {
        match self.endpoint.socket {
            Some(_) => "localhost",
            None => &self.endpoint.host,
        }
    }

    /// The same as a part of a URL.
    pub(crate) fn host_in_url(&self) -> String {
        match self.host() {
            host if host.contains(':') => format!("[{host}]"),
            host => host.to_owned(),
        }
    }

    /// The file of the authorities that the server is verified with.
    pub(crate) fn ca(&self) -> Option<&'a Path> {
        match &self.policy?.verification {
            Verification::None => None,
            Verification::Ca(ca) | Verification::HostName(ca, _) => Some(ca),
        }
    }

    /// The client's own certificate.
    pub(crate) fn client_certificate(&self) -> Option<&'a ClientCertificate> {
        self.policy.and_then(|policy| policy.client_certificate.as_ref())
    }

    /// True if a program verifies the name that it connects to: it knows no other.
    pub(crate) fn verifies_name(&self) -> bool {
        let verification = self.policy.map(|policy| &policy.verification);
        matches!(verification, Some(Verification::HostName(_, name)) if *name == self.endpoint.host)
    }

    /// What a program must see of the server before it trusts it.
    pub(crate) fn trust(&self) -> ProgramTrust {
        match self.policy.map(|policy| &policy.verification) {
            None => ProgramTrust::Plaintext,
            Some(Verification::None) => ProgramTrust::Anybody,
            Some(_) if self.verifies_name() => ProgramTrust::HostName,
            Some(Verification::Ca(_) | Verification::HostName(..)) => ProgramTrust::Ca,
        }
    }

    /// The same in the words of the database's own clients.
    pub(crate) fn ssl_mode(&self) -> &'static str {
        D::SSL_MODES[self.trust() as usize]
    }

    /// A file that goes into one of the program's own.
    pub(crate) fn read(&self, path: &Path) -> Result<Vec<u8>> {
        std::fs::read(path).map_err(|error| RunError::Server {
            server: self.arm.name.clone(),
            problem: format!("{} cannot be read: {error}", path.display()),
        })
    }
}

/// Text as a part of a URL.
pub(crate) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

//! What a program finds in its environment and its files, and what its arguments leave open.

use std::path::Path;

use ciphertax_model::command::{Part, Placeholder, parts};
use ciphertax_model::{Arm, Command};
use ciphertax_supervise::PrivateFiles;
use ciphertax_wire::tls::{ClientCertificate, TlsPolicy, Verification};
use ciphertax_workload::dataset;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::database::Database;
use crate::error::RunError;
use crate::server::{Endpoint, ReachedArm};

/// What a program finds of an arm.
pub(super) struct Environment {
    /// The program and its arguments.
    pub(super) line: Vec<String>,
    /// Names and values.
    pub(super) variables: Vec<(String, String)>,
}

/// Begins the name of every variable.
const PREFIX: &str = "CIPHERTAX_";

/// The name of the option file for MySQL's and MariaDB's clients in an arm's folder.
pub(crate) const MY_CNF: &str = "my.cnf";
/// The name of that for sysbench.
pub(crate) const SYSBENCH_CNF: &str = "sysbench.cnf";

impl Environment {
    /// Writes the arm's files into its folder among `files`, and says all there is to say.
    pub(super) fn of<D: Database>(
        command: &Command,
        reached: &Reached<'_, D>,
        files: &PrivateFiles,
    ) -> Result<Self, RunError> {
        files.create_folder(&reached.folder)?;
        for (name, contents) in D::files(reached)? {
            files.write(reached.folder.join(name), &contents)?;
        }
        let named = Placeholder::ALL.map(|one| (one.name().to_uppercase(), reached.value(one)));
        let secret = [
            (
                "PASSWORD".to_owned(),
                D::user_and_password(reached.login).1.expose().to_owned(),
            ),
            ("URL".to_owned(), D::url(reached)),
        ];
        let named = named.into_iter().chain(secret);
        Ok(Self {
            line: command.run.iter().map(|word| reached.filled_in(word)).collect(),
            variables: named
                .map(|(name, value)| (format!("{PREFIX}{name}"), value))
                .collect(),
        })
    }
}

/// How a program reaches an arm.
pub(crate) struct Reached<'a, D: Database> {
    pub(crate) arm: &'a Arm,
    pub(crate) endpoint: &'a Endpoint,
    pub(crate) login: &'a D::Login,
    /// No policy for an arm in plaintext.
    pub(crate) policy: Option<&'a TlsPolicy>,
    /// The folder of its files.
    pub(crate) folder: std::path::PathBuf,
}

impl<'a, D: Database> Reached<'a, D> {
    /// With a folder of this name for its files.
    pub(super) fn new(arm: &'a Arm, reached: &'a ReachedArm<D>, files: &PrivateFiles, folder: &str) -> Self {
        Self {
            arm,
            endpoint: &reached.endpoint,
            login: &reached.login,
            policy: reached.policy.as_ref(),
            folder: files.folder().join(folder),
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
            Placeholder::MyCnf => self.file(MY_CNF).as_deref().map(path),
            Placeholder::SysbenchCnf => self.file(SYSBENCH_CNF).as_deref().map(path),
        };
        text.unwrap_or_default()
    }

    /// A file that the database has for programs; `None` where it has no such file.
    fn file(&self, name: &str) -> Option<std::path::PathBuf> {
        D::OPTION_FILES.contains(&name).then(|| self.folder.join(name))
    }

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

    /// `DISABLED`, `REQUIRED`, `VERIFY_CA` or `VERIFY_IDENTITY`.
    pub(crate) fn ssl_mode(&self) -> &'static str {
        match self.policy.map(|policy| &policy.verification) {
            None => "DISABLED",
            Some(Verification::None) => "REQUIRED",
            Some(_) if self.verifies_name() => "VERIFY_IDENTITY",
            Some(Verification::Ca(_) | Verification::HostName(..)) => "VERIFY_CA",
        }
    }

    /// A file that goes into one of the program's own.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn read(&self, path: &Path) -> Result<Vec<u8>, RunError> {
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

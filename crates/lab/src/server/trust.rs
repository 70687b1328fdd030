//! Whom the clients of a private server trust, and what the server trusts of them.

use std::fmt;
use std::fs;
use std::path::Path;

use ciphertax_model::CertificateKind;

use crate::certificates::{Authority, CertificateFiles, ClientCertificateFiles};
use crate::error::{Error, Result};

/// What clients of a server with TLS trust, and what signs their certificates.
pub(crate) struct Trust {
    files: CertificateFiles,
    authority: Authority,
}

impl Trust {
    /// The authority, and the files of the server's certificate.
    pub(crate) fn new(authority: Authority, files: CertificateFiles) -> Self {
        Self { files, authority }
    }

    /// The certificate of the authority.
    pub(crate) fn ca(&self) -> &Path {
        &self.files.ca
    }

    /// The server's certificate.
    pub(crate) fn files(&self) -> &CertificateFiles {
        &self.files
    }

    /// A new certificate for a client of this name with a key of this kind, in a folder of its own below `folder`.
    pub(crate) fn client_certificate(
        &self,
        folder: &Path,
        client: &str,
        kind: CertificateKind,
    ) -> Result<ClientCertificateFiles> {
        let folder = folder.join(format!("client-{kind}"));
        fs::create_dir_all(&folder).map_err(Error::write(&folder))?;
        self.authority.issue_client(&folder, client, kind)
    }
}

impl fmt::Debug for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trust")
            .field("files", &self.files)
            .finish_non_exhaustive()
    }
}

//! HAProxy on both sides.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use ciphertax_model::CertificateKind;
use ciphertax_supervise::guard::Helper;

use crate::certificates::Authority;
use crate::error::{Error, Result};
use crate::files::write_private;

use super::pair::{About, Pair, Route, TLS_VERSION, Word, half};
use super::program::Program;

/// Certificate and key in one file, as HAProxy wants them.
const CERTIFICATE_WITH_KEY: &str = "haproxy.pem";

/// Idle connections live as long as client and server want.
const DEFAULTS: &str = "defaults\n\
                        \x20   mode tcp\n\
                        \x20   timeout connect 10s\n\
                        \x20   timeout client 24d\n\
                        \x20   timeout server 24d\n";

/// What a talkative client half writes before version and cipher of a session.
const MARK: &str = "tunnel session: ";

/// TCP to TLS on the client's side, TLS to TCP on the server's. Sessions are resumed, as HAProxy does by
/// default.
#[derive(Debug)]
pub(super) struct Haproxy {
    program: Program,
    about: About,
}

impl Haproxy {
    pub(super) fn find() -> Result<Self> {
        let program = Program::find(&["haproxy"], "haproxy")?;
        let version = program.version("HAProxy", "-v", "version ")?;
        let library = program.says("-vv", "Running on OpenSSL version : ")?;
        Ok(Self {
            about: About::tls("haproxy", &version, &library),
            program,
        })
    }

    fn half(&self, folder: &Path, side: &str, listen: SocketAddr, settings: &str) -> Result<Helper> {
        let file = folder.join(format!("haproxy-{side}-{}.cfg", listen.port()));
        half(&self.program, &["-db", "-f"], settings, file)
    }

    fn tls(&self) -> String {
        format!(
            "ssl ssl-min-ver {TLS_VERSION} ssl-max-ver {TLS_VERSION} ciphersuites {}",
            self.about.cipher
        )
    }
}

impl Pair for Haproxy {
    fn about(&self) -> &About {
        &self.about
    }

    fn prepare(&self, folder: &Path) -> Result<()> {
        let files = Authority::new(CertificateKind::EcdsaP256)?.issue_for_localhost(folder)?;
        let [certificate, key] =
            [&files.certificate, &files.key].map(|part| fs::read(part).map_err(Error::read(part)));
        write_private(&folder.join(CERTIFICATE_WITH_KEY), [certificate?, key?].concat())
    }

    fn server_half(&self, folder: &Path, listen: SocketAddr, target: SocketAddr) -> Result<Helper> {
        let settings = format!(
            "{DEFAULTS}\
             listen tunnel\n\
             \x20   bind {listen} {tls} crt {CERTIFICATE_WITH_KEY}\n\
             \x20   server near {target}\n",
            tls = self.tls()
        );
        self.half(folder, "server", listen, &settings)
    }

    fn client_half(&self, folder: &Path, listen: SocketAddr, route: &Route) -> Result<Helper> {
        let log = if route.talkative {
            format!(
                "    log stdout format raw local0 info\n    log-format \"{MARK}%[ssl_bc_protocol] %[ssl_bc_cipher]\"\n"
            )
        } else {
            String::new()
        };
        let settings = format!(
            "{DEFAULTS}\
             listen tunnel\n\
             {log}\
             \x20   bind {listen}\n\
             \x20   server far {peer} {tls} verify required ca-file ca.pem verifyhost localhost\n",
            peer = route.peer,
            tls = self.tls()
        );
        self.half(folder, "client", listen, &settings)
    }

    /// `tunnel session: TLSv1.3 TLS_AES_256_GCM_SHA384`
    fn word(&self, log: &str) -> Option<Word> {
        let session = log.lines().find_map(|line| line.split_once(MARK))?.1.trim();
        let (_, suite) = session.split_once(' ')?;
        Some(Word {
            ciphers: vec![suite.to_owned()],
            text: session.to_owned(),
        })
    }
}

#[cfg(test)]
mod real_servers {
    use super::*;
    use crate::tunnel::testing::refusal;

    #[test]
    fn the_cipher_is_read() {
        let haproxy = Haproxy::find().unwrap();
        let word = haproxy.word("[NOTICE] x\ntunnel session: TLSv1.3 TLS_AES_256_GCM_SHA384\n");
        assert_eq!(word.unwrap().ciphers, ["TLS_AES_256_GCM_SHA384"]);
        assert_eq!(haproxy.word("[NOTICE] x\n"), None);
    }

    #[test]
    fn a_cipher_that_the_server_half_refuses_carries_nothing() {
        let client = Haproxy::find().unwrap();
        let mut server = Haproxy::find().unwrap();
        server.about.cipher = "TLS_AES_128_GCM_SHA256".into();
        let error = refusal(server, client);
        assert!(error.contains("is not what it says"), "{error}");
    }
}

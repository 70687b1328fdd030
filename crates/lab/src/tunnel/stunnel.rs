//! stunnel on both sides.

use std::net::SocketAddr;
use std::path::Path;

use ciphertax_supervise::guard::Helper;

use crate::error::Result;

use super::pair::{About, Pair, Route, TLS_VERSION, Word, half};
use super::program::Program;

/// In the foreground, without files of its own, and without waiting for more bytes before it sends few.
const COMMON: &str = "foreground = yes\n\
                      pid =\n\
                      syslog = no\n\
                      socket = l:TCP_NODELAY=1\n\
                      socket = r:TCP_NODELAY=1\n";

/// One connection through TLS for each that is carried. Sessions are resumed, as stunnel does by default.
#[derive(Debug)]
pub(super) struct Stunnel {
    program: Program,
    about: About,
}

impl Stunnel {
    pub(super) fn find() -> Result<Self> {
        let program = Program::find(&["stunnel4", "stunnel"], "stunnel4")?;
        let version = program.version("stunnel", "-version", "stunnel ")?;
        // Of the one it was compiled with, it says `Compiled`, or `Compiled/running` if that is the same.
        let library = program.says("-version", "unning")?.replacen("with ", "", 1);
        Ok(Self {
            about: About::tls("stunnel", &version, &library),
            program,
        })
    }
}

impl Pair for Stunnel {
    fn about(&self) -> &About {
        &self.about
    }

    fn server_half(&self, folder: &Path, listen: SocketAddr, target: SocketAddr) -> Result<Helper> {
        let settings = format!(
            "{COMMON}\
             debug = warning\n\
             [tunnel]\n\
             accept = {listen}\n\
             connect = {target}\n\
             cert = server-cert.pem\n\
             key = server-key.pem\n\
             sslVersion = {TLS_VERSION}\n\
             ciphersuites = {}\n",
            self.about.cipher
        );
        half(
            &self.program,
            &[],
            &settings,
            folder.join(format!("stunnel-server-{}.conf", listen.port())),
        )
    }

    fn client_half(&self, folder: &Path, listen: SocketAddr, route: &Route) -> Result<Helper> {
        let settings = format!(
            "{COMMON}\
             debug = {level}\n\
             [tunnel]\n\
             client = yes\n\
             accept = {listen}\n\
             connect = {peer}\n\
             CAfile = ca.pem\n\
             verifyChain = yes\n\
             checkHost = localhost\n\
             sslVersion = {TLS_VERSION}\n\
             ciphersuites = {suite}\n",
            level = if route.talkative { "info" } else { "warning" },
            peer = route.peer,
            suite = self.about.cipher,
        );
        half(
            &self.program,
            &[],
            &settings,
            folder.join(format!("stunnel-client-{}.conf", listen.port())),
        )
    }

    /// `LOG6[0]: TLSv1.3 ciphersuite: TLS_AES_256_GCM_SHA384 (256-bit encryption)`
    fn word(&self, log: &str) -> Option<Word> {
        let text = log.lines().find(|line| line.contains(" ciphersuite: "))?;
        let text = text.split_once("]: ").map_or(text, |(_, text)| text);
        let (_, suite) = text.split_once(" ciphersuite: ")?;
        Some(Word {
            ciphers: vec![suite.split_whitespace().next()?.to_owned()],
            text: text.to_owned(),
        })
    }
}

#[cfg(test)]
mod real_servers {
    use super::*;
    use crate::tunnel::testing::refusal;

    #[test]
    fn the_cipher_is_read() {
        let log = "2026.01.01 00:00:00 LOG6[ui]: Configuration successful\n\
                   2026.01.01 00:00:00 LOG6[0]: TLSv1.3 ciphersuite: TLS_AES_256_GCM_SHA384 (256-bit encryption)\n";
        let word = Stunnel::find().unwrap().word(log).unwrap();
        assert_eq!(word.ciphers, ["TLS_AES_256_GCM_SHA384"]);
        assert_eq!(
            word.text,
            "TLSv1.3 ciphersuite: TLS_AES_256_GCM_SHA384 (256-bit encryption)"
        );
    }

    #[test]
    fn a_cipher_that_the_server_half_refuses_carries_nothing() {
        let client = Stunnel::find().unwrap();
        let mut server = Stunnel::find().unwrap();
        server.about.cipher = "TLS_AES_128_GCM_SHA256".into();
        let error = refusal(server, client);
        assert!(error.contains("is not what it says"), "{error}");
    }
}

//! What MySQL's client has in common with all others.

use std::net::SocketAddr;
use std::rc::Rc;

use ciphertax_base::{LoginPath, Proof, Secret, SeenByServer, SessionFacts, Witness};
use ciphertax_model::AuthenticationMethod;
use ciphertax_reactor::Reactor;
use openssl::rand::rand_bytes;

use super::handshake::{ConnectOptions, connect_offering};
use super::public_key::TrustedKeys;
use super::session::Session;
use crate::Protocol;
use crate::client::{Client, Endpoint, Session as _};
use crate::error::Result;
use crate::expectation::{Expectation, Word};
use crate::sql::SqlSession as _;
use crate::tls::Offer;

impl Client for Session {
    const PROTOCOL: Protocol = Protocol::MySql;

    /// A server forgets a password that it should remember when an arm without a password cache empties its cache; the first
    /// login fills it again.
    async fn connect_as(
        reactor: &Rc<Reactor>,
        options: &ConnectOptions,
        expectation: &Expectation,
    ) -> Result<Self> {
        let (session, _) = Session::connect(reactor, options).await?;
        let expected = expectation.login.as_ref().and_then(|login| login.path);
        if expected != Some(LoginPath::Fast) || session.authentication.path != LoginPath::Full {
            return Ok(session);
        }
        session.close().await?;
        Ok(Session::connect(reactor, options).await?.0)
    }

    /// A ticket of TLS 1.3 serves one connection, which gets a new one in return; older sessions serve any number.
    async fn warm_up(reactor: &Rc<Reactor>, options: &ConnectOptions, connections: usize) -> Result<()> {
        let Some(tls) = &options.tls else { return Ok(()) };
        let handshake = async || {
            let (session, _) = connect_offering(reactor, options, Offer::Nothing).await?;
            session.close().await
        };
        tls.warm_up(connections, handshake).await
    }

    async fn check_by_server(
        &mut self,
        _options: &ConnectOptions,
        expectation: &Expectation,
    ) -> Result<Word> {
        let status = match expectation.check_status(self).await? {
            Err(problem) => return Ok(Word::Contradicts(problem)),
            Ok(status) => status,
        };
        if let Some(why) = status.silence {
            return Ok(Word::Silent(why));
        }
        Ok(Word::Agrees(Proof {
            witness: Witness::Server,
            claim: "its status variables Ssl_version and Ssl_cipher agree".into(),
            evidence: match status.version.is_empty() {
                true => "both empty".into(),
                false => format!("{} {}", status.version, status.cipher),
            },
        }))
    }

    async fn seen_by_server(&mut self) -> Result<SeenByServer> {
        let ask = "SELECT host, @@port FROM information_schema.processlist WHERE id = CONNECTION_ID()";
        let rows = self.query_or_none(ask).await?;
        // From a name where the server resolves names; without a port over a Unix socket.
        Ok(rows
            .first()
            .map_or_else(SeenByServer::default, |row| SeenByServer {
                port: row.text(1).parse().ok(),
                ..SeenByServer::from_peer(&row.text(0))
            }))
    }

    async fn facts(&mut self) -> Result<SessionFacts> {
        Ok(SessionFacts {
            server_version: self.server_version.clone(),
            authentication: self.authentication.clone(),
            tls: self.framed.stream.tls().map(|tls| tls.facts()).transpose()?,
        })
    }

    async fn ask(&mut self) -> Result<()> {
        self.query_raw("SELECT 1", |_| Ok(())).await.map(drop)
    }

    fn endpoint(options: &ConnectOptions) -> Endpoint<'_> {
        match &options.socket {
            Some(path) => Endpoint::Unix(path),
            None => Endpoint::Tcp(&options.host, options.port),
        }
    }

    fn through(options: &ConnectOptions, relay: SocketAddr) -> ConnectOptions {
        ConnectOptions {
            relay: Some(relay),
            socket: None,
            ..options.clone()
        }
    }

    /// By the kernel's word no password is sent, so there it is the user who is wrong. A wrong password has nothing of the right
    /// one, so whoever asks may have it.
    fn with_wrong_secret(options: &ConnectOptions) -> Option<(&'static str, ConnectOptions)> {
        let right = options.clone();
        Some(match options.authentication {
            Some(AuthenticationMethod::UnixSocket) => (
                "another user",
                ConnectOptions {
                    user: format!("not{}", right.user),
                    ..right
                },
            ),
            _ => (
                "a wrong password",
                ConnectOptions {
                    password: random_password(),
                    trusted_keys: TrustedKeys::Anybody,
                    ..right
                },
            ),
        })
    }

    /// After a greeting, which begins with its length.
    fn tls_begins_at(answers: &[u8]) -> Option<usize> {
        let header = answers.get(..4)?;
        Some(4 + usize::from(header[0]) + (usize::from(header[1]) << 8) + (usize::from(header[2]) << 16))
    }
}

fn random_password() -> Secret {
    let mut bytes = [0; 16];
    // Where there is no chance at all, zeros are wrong enough.
    let _ = rand_bytes(&mut bytes);
    Secret::new(bytes.map(|byte| format!("{byte:02x}")).concat())
}

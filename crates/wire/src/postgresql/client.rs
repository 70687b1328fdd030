//! What PostgreSQL's client has in common with all others.

use std::net::SocketAddr;
use std::rc::Rc;

use ciphertax_base::{Proof, Secret, SeenByServer, SessionFacts, Witness};
use ciphertax_reactor::Reactor;

use super::authentication;
use super::connect::connect_offering;
use super::options::{ConnectOptions, Method};
use super::session::Session;
use crate::Protocol;
use crate::client::{Client, Endpoint, Session as _};
use crate::error::Result;
use crate::expectation::{Expectation, Word};
use crate::scram::ScramKeys;
use crate::sql::SqlSession as _;
use crate::tls::Offer;

impl Client for Session {
    const PROTOCOL: Protocol = Protocol::PostgreSql;

    /// No PostgreSQL gives TLS sessions to be resumed.
    async fn warm_up(reactor: &Rc<Reactor>, options: &ConnectOptions, connections: usize) -> Result<()> {
        let handshake = async || {
            let (session, _) = connect_offering(reactor, options, Offer::Nothing).await?;
            session.close().await
        };
        if let ScramKeys::Kept(_) = &options.scram_keys
            && options.method.is_none_or(|method| method.is_scram())
            && !options.scram_keys.has(authentication::account(options))
        {
            handshake().await?;
        }
        match &options.tls {
            Some(tls) => tls.warm_up(connections, handshake).await,
            None => Ok(()),
        }
    }

    async fn check_by_server(
        &mut self,
        _options: &ConnectOptions,
        expectation: &Expectation,
    ) -> Result<Word> {
        let status = match expectation.check_backend(self).await? {
            Err(problem) => return Ok(Word::Contradicts(problem)),
            Ok(status) if !status.is_told => {
                return Ok(Word::Silent(
                    "its view pg_stat_ssl has no row for the session".into(),
                ));
            }
            Ok(status) => status,
        };
        let tls = match status.version.is_empty() {
            true => "no TLS".into(),
            false => format!("{} {}", status.version, status.cipher),
        };
        Ok(Word::Agrees(Proof {
            witness: Witness::Server,
            claim: "its view pg_stat_ssl agrees".into(),
            evidence: match status.login {
                None => tls,
                Some(login) => format!("{tls}, logged in by {login}"),
            },
        }))
    }

    async fn seen_by_server(&mut self) -> Result<SeenByServer> {
        let ask = "SELECT pg_catalog.host(pg_catalog.inet_client_addr()) || ':' || pg_catalog.inet_client_port(), \
                   pg_catalog.pg_backend_pid()";
        let rows = self.query_or_none(ask).await?;
        Ok(rows
            .first()
            .map_or_else(SeenByServer::default, |row| SeenByServer {
                pid: row.text(1).parse().ok(),
                ..SeenByServer::from_peer(&row.text(0))
            }))
    }

    async fn facts(&mut self) -> Result<SessionFacts> {
        Ok(SessionFacts {
            server_version: self.server_version().to_owned(),
            authentication: self.authentication.clone(),
            tls: self.messages.stream.tls().map(|tls| tls.facts()).transpose()?,
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

    /// Where the server may ask for nothing, there may be no secret that could be wrong.
    fn with_wrong_secret(options: &ConnectOptions) -> Option<(&'static str, ConnectOptions)> {
        if !options.method.is_some_and(Method::has_password) {
            return None;
        }
        let wrong = ConnectOptions {
            password: Secret::new(format!("not{}", options.password.expose())),
            scram_keys: ScramKeys::Derived,
            ..options.clone()
        };
        Some(("a wrong password", wrong))
    }

    /// After the one byte that answers the client's request for TLS; at once where the client did not ask.
    fn tls_begins_at(answers: &[u8]) -> Option<usize> {
        match answers.first()? {
            b'S' => Some(1),
            _ => Some(0),
        }
    }
}

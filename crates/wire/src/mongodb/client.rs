//! What MongoDB's client has in common with all others.

use std::net::SocketAddr;
use std::rc::Rc;

use bson::{RawDocument, rawdoc};
use ciphertax_base::{Proof, Secret, SeenByServer, SessionFacts, Witness};
use ciphertax_reactor::Reactor;

use super::connect::{ConnectOptions, Login, connect_offering};
use super::counters::authenticated_users;
use super::login::Account;
use super::session::Session;
use super::unreadable;
use crate::Protocol;
use crate::client::{Client, Endpoint, Session as _};
use crate::error::Result;
use crate::expectation::{Expectation, Word};
use crate::scram::{Mechanism, ScramKeys};
use crate::tls::Offer;

impl Client for Session {
    const PROTOCOL: Protocol = Protocol::MongoDb;

    async fn warm_up(reactor: &Rc<Reactor>, options: &ConnectOptions, connections: usize) -> Result<()> {
        let handshake = async || {
            let (session, _) = connect_offering(reactor, options, Offer::Nothing).await?;
            session.close().await
        };
        if let (Login::Scram(account), keys @ ScramKeys::Kept(_)) = (&options.login, &options.scram_keys)
            && ![Mechanism::ScramSha256, Mechanism::ScramSha1]
                .into_iter()
                .filter(|mechanism| account.mechanism.is_none_or(|own| own == *mechanism))
                .any(|mechanism| keys.has(account.scram(mechanism)))
        {
            handshake().await?;
        }
        match &options.tls {
            Some(tls) => tls.warm_up(connections, handshake).await,
            None => Ok(()),
        }
    }

    /// Whom the server takes the session for. Of the TLS of a single connection it says nothing.
    async fn check_by_server(
        &mut self,
        options: &ConnectOptions,
        _expectation: &Expectation,
    ) -> Result<Word> {
        let found = authenticated_users(self).await?;
        let agrees = match &options.login {
            Login::None => found.is_empty(),
            Login::Scram(account) => found == [format!("{}@{}", account.user, account.source)],
            Login::X509 => matches!(&found[..], [user] if user.ends_with("@$external")),
        };
        let found = match found.is_empty() {
            true => "nobody".to_owned(),
            false => found.join(", "),
        };
        if !agrees {
            return Ok(Word::Contradicts(format!(
                "the server takes the session for {found}"
            )));
        }
        Ok(Word::Agrees(Proof {
            witness: Witness::Authentication,
            claim: "knows who is logged in".into(),
            evidence: found,
        }))
    }

    /// Its number is for those alone who may see its status.
    async fn seen_by_server(&mut self) -> Result<SeenByServer> {
        let mut ask = async |command: &RawDocument| match self.command(command).await {
            Err(error) if error.is_refusal() => Ok(None),
            answer => answer.map(Some),
        };
        let peer = ask(&rawdoc! { "whatsmyuri": 1_i32, "$db": "admin" }).await?;
        let status = ask(&rawdoc! { "serverStatus": 1_i32, "$db": "admin" }).await?;
        let peer = peer.as_ref().and_then(|peer| peer.get_str("you").ok());
        let pid = status.and_then(|status| status.get("pid").ok()??.as_i64());
        Ok(SeenByServer {
            pid: pid.and_then(|pid| pid.try_into().ok()),
            ..SeenByServer::from_peer(peer.unwrap_or_default())
        })
    }

    async fn facts(&mut self) -> Result<SessionFacts> {
        let build = rawdoc! { "buildInfo": 1_i32, "$db": "admin" };
        let reply = self.messages.command(&build).await?;
        let version = reply.document().get_str("version").map_err(unreadable)?;
        Ok(SessionFacts {
            server_version: version.to_owned(),
            authentication: self.authentication.clone(),
            tls: self.messages.stream.tls().map(|tls| tls.facts()).transpose()?,
        })
    }

    async fn ask(&mut self) -> Result<()> {
        self.command(&rawdoc! { "ping": 1_i32, "$db": "admin" })
            .await
            .map(drop)
    }

    fn endpoint(options: &ConnectOptions) -> Endpoint<'_> {
        Endpoint::Tcp(&options.host, options.port)
    }

    fn through(options: &ConnectOptions, relay: SocketAddr) -> ConnectOptions {
        ConnectOptions {
            relay: Some(relay),
            ..options.clone()
        }
    }

    /// A certificate is no secret of the options; that one without an account is refused takes another certificate.
    fn with_wrong_secret(options: &ConnectOptions) -> Option<(&'static str, ConnectOptions)> {
        let Login::Scram(account) = &options.login else {
            return None;
        };
        let wrong = Account {
            password: Secret::new(format!("not{}", account.password.expose())),
            ..account.clone()
        };
        let options = ConnectOptions {
            login: Login::Scram(wrong),
            scram_keys: ScramKeys::Derived,
            ..options.clone()
        };
        Some(("a wrong password", options))
    }

    /// At once.
    fn tls_begins_at(_answers: &[u8]) -> Option<usize> {
        Some(0)
    }
}

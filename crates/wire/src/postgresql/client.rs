//! What PostgreSQL's client has in common with all others.

use std::rc::Rc;

use ciphertax_model::Secret;
use ciphertax_reactor::Reactor;
use ciphertax_records::{ConnectTrace, PhaseTrace, Proof, SessionFacts, Witness};

use super::options::{ConnectOptions, Method};
use super::session::Session;
use crate::client::{self, Client, Endpoint};
use crate::error::WireError;
use crate::expectation::Expectation;
use crate::protocol::Protocol;
use crate::scram::ScramKeys;
use crate::traffic::Traffic;

impl client::Session for Session {
    type Options = ConnectOptions;

    async fn connect(
        reactor: &Rc<Reactor>,
        options: &ConnectOptions,
    ) -> Result<(Self, ConnectTrace), WireError> {
        Session::connect(reactor, options).await
    }

    fn traffic(&self) -> Traffic {
        Session::traffic(self)
    }

    async fn leave(&mut self) -> Result<PhaseTrace, WireError> {
        Session::leave(self).await
    }

    async fn gone(self) -> u64 {
        Session::gone(self).await
    }

    async fn close(self) -> Result<PhaseTrace, WireError> {
        Session::close(self).await
    }
}

impl Client for Session {
    const PROTOCOL: Protocol = Protocol::PostgreSql;

    /// A PostgreSQL remembers nothing of a login.
    async fn connect_as(
        reactor: &Rc<Reactor>,
        options: &ConnectOptions,
        _expectation: &Expectation,
    ) -> Result<Self, WireError> {
        Ok(Session::connect(reactor, options).await?.0)
    }

    async fn warm_up(
        reactor: &Rc<Reactor>,
        options: &ConnectOptions,
        connections: usize,
    ) -> Result<(), WireError> {
        Session::warm_up(reactor, options, connections).await
    }

    async fn check_by_server(
        &mut self,
        _options: &ConnectOptions,
        expectation: &Expectation,
    ) -> Result<Result<Proof, String>, WireError> {
        let checked = expectation.check_backend(self).await?;
        Ok(checked.map(|status| {
            let tls = match status.version.is_empty() {
                true => "no TLS".into(),
                false => format!("{} {}", status.version, status.cipher),
            };
            Proof {
                witness: Witness::Server,
                claim: "its view pg_stat_ssl agrees".into(),
                evidence: match status.login {
                    None => tls,
                    Some(login) => format!("{tls}, logged in by {login}"),
                },
            }
        }))
    }

    async fn facts(&mut self) -> Result<SessionFacts, WireError> {
        Session::facts(self)
    }

    async fn ask(&mut self) -> Result<(), WireError> {
        self.query_raw("SELECT 1", |_| Ok(())).await.map(drop)
    }

    fn endpoint(options: &ConnectOptions) -> Endpoint<'_> {
        match &options.socket {
            Some(path) => Endpoint::Unix(path),
            None => Endpoint::Tcp(&options.host, options.port),
        }
    }

    fn at(options: &ConnectOptions, host: &str, port: u16) -> ConnectOptions {
        ConnectOptions {
            host: host.to_owned(),
            port,
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
}

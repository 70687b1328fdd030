//! What MySQL's client has in common with all others.

use std::rc::Rc;

use ciphertax_model::{AuthenticationMethod, Secret};
use ciphertax_reactor::Reactor;
use ciphertax_records::{ConnectTrace, PhaseTrace, Proof, SessionFacts};
use openssl::rand::rand_bytes;

use super::options::ConnectOptions;
use super::public_key::TrustedKeys;
use super::session::Session;
use crate::client::{self, Client, Endpoint};
use crate::error::WireError;
use crate::expectation::Expectation;
use crate::protocol::Protocol;
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
    const PROTOCOL: Protocol = Protocol::MySql;

    async fn connect_as(
        reactor: &Rc<Reactor>,
        options: &ConnectOptions,
        expectation: &Expectation,
    ) -> Result<Self, WireError> {
        expectation.connect(reactor, options).await
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
        let checked = expectation.check_status(self).await?;
        Ok(checked.map(|status| Proof {
            witness: ciphertax_records::Witness::Server,
            claim: "its status variables Ssl_version and Ssl_cipher agree".into(),
            evidence: match status.version.is_empty() {
                true => "both empty".into(),
                false => format!("{} {}", status.version, status.cipher),
            },
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
}

fn random_password() -> Secret {
    let mut bytes = [0; 16];
    // Where there is no chance at all, zeros are wrong enough.
    let _ = rand_bytes(&mut bytes);
    Secret::new(bytes.map(|byte| format!("{byte:02x}")).concat())
}

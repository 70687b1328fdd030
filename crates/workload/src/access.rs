//! Sessions that are what their arm says.

use std::rc::Rc;

use ciphertax_engine::Failure;
use ciphertax_reactor::Reactor;
use ciphertax_wire::WireError;
use ciphertax_wire::mysql::{ConnectOptions, Expectation, Session};

/// How an arm reaches its server, and what every session must then be.
#[derive(Clone)]
pub struct Access {
    /// How to connect.
    pub options: ConnectOptions,
    /// What every session must be.
    pub expectation: Expectation,
    /// Connections that may be opened at a time: where the arm resumes sessions, as many are kept ready.
    pub connections: usize,
}

impl Access {
    /// Opens a session and checks it by the client's and by the server's word.
    ///
    /// # Errors
    /// When there is no session, or one that is not what the arm says.
    pub async fn open(&self, reactor: &Rc<Reactor>) -> Result<Session, Failure> {
        Session::warm_up(reactor, &self.options, self.connections)
            .await
            .map_err(failure)?;
        let (mut session, _) = Session::connect(reactor, &self.options).await.map_err(failure)?;
        self.expectation.check(&session).map_err(Failure::FactsDiffer)?;
        let word = self
            .expectation
            .check_servers_word(&mut session)
            .await
            .map_err(failure)?;
        word.map_err(Failure::FactsDiffer)?;
        Ok(session)
    }
}

pub(crate) fn failure(error: WireError) -> Failure {
    if error.is_disconnect() {
        Failure::Disconnected(error.to_string())
    } else {
        Failure::Error(error.to_string())
    }
}

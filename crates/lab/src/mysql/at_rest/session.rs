//! Asking a private server, over its Unix socket: it is secure whatever the server wants of TCP.

use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

use ciphertax_reactor::Reactor;
use ciphertax_wire::mysql::{ConnectOptions, Session, TextRow};
use ciphertax_wire::{Session as _, WireError};

use crate::accounts::Account;
use crate::error::{Error, Result};

/// How long a task may take.
const PATIENCE: Duration = Duration::from_secs(180);

/// Who is asked, and as whom.
#[derive(Clone, Copy)]
pub(in crate::mysql) struct Asked<'a> {
    pub(in crate::mysql) server: &'static str,
    pub(in crate::mysql) socket: &'a Path,
    pub(in crate::mysql) account: &'a Account,
}

impl Asked<'_> {
    /// Runs a task on a session of its own.
    pub(in crate::mysql) fn run<T>(
        self,
        task: impl AsyncFnOnce(&Rc<Reactor>, &mut Session) -> std::result::Result<T, WireError>,
    ) -> Result<T> {
        let reactor = Reactor::new().map_err(|error| self.failed(error.to_string()))?;
        let options = ConnectOptions {
            socket: Some(self.socket.to_owned()),
            ..ConnectOptions::new("localhost", 0, &self.account.user, self.account.password.clone())
        };
        let work = async {
            let (mut session, _) = Session::connect(&reactor, &options).await?;
            let outcome = task(&reactor, &mut session).await?;
            session.close().await?;
            Ok::<T, WireError>(outcome)
        };
        match reactor.run_one(work, Instant::now() + PATIENCE) {
            Ok(Some(outcome)) => outcome.map_err(|error| self.failed(error.to_string())),
            Ok(None) => Err(self.failed(format!("it was not done after {} s", PATIENCE.as_secs()))),
            Err(error) => Err(self.failed(error.to_string())),
        }
    }

    pub(super) fn failed(self, problem: String) -> Error {
        Error::SetUp {
            server: self.server,
            problem,
        }
    }
}

/// The first column of the first row, empty if there is none.
pub(super) fn first(rows: &[TextRow]) -> String {
    rows.first().map(|row| row.text(0)).unwrap_or_default()
}

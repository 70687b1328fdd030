//! The session for everything that is not measured.

use std::rc::Rc;
use std::time::{Duration, Instant};

use ciphertax_reactor::{Reactor, Together};
use ciphertax_wire::{Client, WireError};
use ciphertax_workload::dataset::DatasetError;

use super::clients::Clients;
use crate::error::RunError;
use crate::patience::{unusable, wait_for};

/// How long a server may take to answer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// How much longer than the first that answers others are waited for that come before it.
const GRACE: Duration = Duration::from_secs(1);

/// A session of the calling thread.
pub(crate) struct Control<D: Clients> {
    pub(crate) reactor: Rc<Reactor>,
    /// To each of the servers; the first is the one that is asked, if it answers.
    pub(crate) ways: Vec<D::Options>,
    session: D::Session,
    /// The server, in words.
    pub(crate) server: String,
}

/// How servers are reached for what is not measured.
pub(crate) struct Ways<D: Clients> {
    /// To each of the servers.
    pub(crate) default: Vec<D::Options>,
    /// True if these are over TLS.
    pub(crate) is_encrypted: bool,
    /// Ways over TLS, tried only to tell a server that demands TLS from one that does not answer or a wrong password.
    pub(crate) encrypted: Vec<D::Options>,
}

impl<D: Clients> Control<D> {
    /// Connects to the first of the servers that answers. `url` is that of a target.
    ///
    /// # Errors
    /// Names the server, what went wrong, and the remedy.
    pub(crate) fn connect(server: &str, ways: Ways<D>, url: Option<&str>) -> Result<Self, RunError> {
        let broken = |problem: String| unusable(server, problem);
        let reactor = Reactor::new().map_err(|error| broken(error.to_string()))?;
        let connecting = first_that_answers::<D>(&reactor, &ways.default);
        let connected = reactor.run_one(connecting, Instant::now() + PATIENCE);
        match connected.map_err(|error| broken(error.to_string()))? {
            None => Err(broken(format!(
                "no answer within {} s; is it reachable from here?",
                PATIENCE.as_secs()
            ))),
            Some(Ok(session)) => Ok(Self {
                reactor,
                ways: ways.default,
                session,
                server: server.to_owned(),
            }),
            Some(Err(error)) if ways.find_demand_of_tls(&reactor, &error) => Err(broken(format!(
                "{}, and the study has a plain arm; compare TLS versions with each other: ciphertax run {} '{}', or take a \
                 study of your own without a plain arm",
                D::DEMANDS_TLS,
                D::TLS_VERSIONS_STUDY,
                url.unwrap_or("TARGET")
            ))),
            Some(Err(error)) if error.is_access_denied() && ways.default.iter().any(D::lacks_password) => {
                Err(broken(format!(
                    "{error}; give the password in the environment variable CIPHERTAX_PASSWORD"
                )))
            }
            Some(Err(error)) => Err(broken(format!("{error}{}", error.remedy(D::Session::PROTOCOL)))),
        }
    }

    /// Asks over the session.
    ///
    /// # Errors
    /// Names the server if it refuses, or does not answer in time.
    pub(crate) fn ask<T>(
        &mut self,
        task: impl AsyncFnOnce(&mut D::Session) -> Result<T, WireError>,
    ) -> Result<T, RunError> {
        let outcome = wait_for(&self.reactor, &self.server, PATIENCE, task(&mut self.session))?;
        outcome.map_err(|error| self.unusable(error.to_string()))
    }

    /// The same of the data set.
    ///
    /// # Errors
    /// As [`Control::of_dataset`].
    pub(crate) fn ask_dataset<T>(
        &mut self,
        patience: Duration,
        task: impl AsyncFnOnce(&mut D::Session) -> Result<T, DatasetError>,
    ) -> Result<T, RunError> {
        let outcome = wait_for(&self.reactor, &self.server, patience, task(&mut self.session))?;
        outcome.map_err(|error| self.of_dataset(error))
    }

    /// What is wrong with the data set is said as it is, and of what is wrong with the server its name.
    pub(crate) fn of_dataset(&self, error: DatasetError) -> RunError {
        match error {
            DatasetError::Wire(WireError::Server { .. } | WireError::Command { .. }) => error.into(),
            DatasetError::Wire(error) => self.unusable(error.to_string()),
            DatasetError::Failed(failure) => self.unusable(failure.message()),
            error => error.into(),
        }
    }

    /// Runs a task of many steps, and gives what it came to.
    ///
    /// # Errors
    /// Names the server if there is no answer in time.
    pub(crate) fn wait_for<T>(
        &self,
        patience: Duration,
        task: impl Future<Output = T>,
    ) -> Result<T, RunError> {
        wait_for(&self.reactor, &self.server, patience, task)
    }

    /// Opens a session and closes it again.
    ///
    /// # Errors
    /// Names the server if there is none.
    pub(crate) fn visit(&self, options: &D::Options) -> Result<(), RunError> {
        let visit = async {
            let (session, _) = D::Session::connect(&self.reactor, options).await?;
            session.close().await.map(drop)
        };
        let outcome = self.wait_for(PATIENCE, visit)?;
        outcome.map_err(|error| self.unusable(error.to_string()))
    }

    /// Takes a new session with the first of the servers that answers.
    ///
    /// # Errors
    /// Names the server if none does.
    pub(crate) fn reconnect(&mut self) -> Result<(), RunError> {
        let connected = self.wait_for(PATIENCE, first_that_answers::<D>(&self.reactor, &self.ways))?;
        self.session = connected.map_err(|error| self.unusable(error.to_string()))?;
        Ok(())
    }

    /// The server cannot be used, and why.
    pub(crate) fn unusable(&self, problem: impl Into<String>) -> RunError {
        unusable(&self.server, problem)
    }
}

impl<D: Clients> Ways<D> {
    /// True if the server demands TLS of whoever came without. Some say so; others hang up, or deny access, and are asked
    /// again over TLS.
    fn find_demand_of_tls(&self, reactor: &Rc<Reactor>, error: &WireError) -> bool {
        let may_mean_it = error.is_tls_demanded() || (D::DENIAL_MAY_MEAN_TLS && error.is_access_denied());
        if self.is_encrypted || !may_mean_it {
            return false;
        }
        // PostgreSQL says it of users too that it takes neither way.
        let may_mean_else = matches!(error, WireError::HungUp { .. } | WireError::PostgreSql { .. });
        let says_so = error.is_tls_demanded() && !may_mean_else;
        let takes = |options| {
            let connecting = D::Session::connect(reactor, options);
            matches!(
                reactor.run_one(connecting, Instant::now() + PATIENCE),
                Ok(Some(Ok(_)))
            )
        };
        says_so || self.encrypted.iter().any(takes)
    }
}

/// A session with the first of the servers, in their order, that answers; the failure of the last where none does. All are
/// asked at the same time, so one that is silent takes [`GRACE`] from the others and no more. The order matters: two runs
/// that ask the same servers must meet on the same one, which tells them of each other.
async fn first_that_answers<D: Clients>(
    reactor: &Rc<Reactor>,
    ways: &[D::Options],
) -> Result<D::Session, WireError> {
    let mut connecting = Together::new(ways.iter().map(|options| D::Session::connect(reactor, options)));
    let mut outcomes: Vec<_> = ways.iter().map(|_| None).collect();
    let mut deadline = None;
    loop {
        let next = match deadline {
            None => Some(connecting.next().await),
            Some(deadline) => reactor.until(deadline, connecting.next()).await,
        };
        match next {
            Some(Some((place, outcome))) => outcomes[place] = Some(outcome),
            // All have ended, or whoever has not is not waited for any longer.
            Some(None) | None => break,
        }
        let mut known = outcomes.iter().take_while(|outcome| outcome.is_some()).flatten();
        if known.any(Result::is_ok) {
            break;
        }
        if deadline.is_none() && outcomes.iter().flatten().any(Result::is_ok) {
            deadline = Some(Instant::now() + GRACE);
        }
    }
    let mut failure = WireError::Closed;
    for outcome in outcomes.into_iter().flatten() {
        match outcome {
            Ok((session, _)) => return Ok(session),
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

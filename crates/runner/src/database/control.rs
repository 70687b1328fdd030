//! The session for everything that is not measured.

use std::rc::Rc;
use std::time::{Duration, Instant};

use ciphertax_reactor::{Reactor, Together};
use ciphertax_wire::{Client, Overridden, Session, WireError};
use ciphertax_workload::dataset::DatasetError;

use super::clients::Clients;
use crate::error::{Result, RunError};
use crate::timeout::{TIMEOUT, unusable, wait_for};

/// How much longer than the first that answers others are waited for that come before it.
const GRACE: Duration = Duration::from_secs(1);

/// A session of the calling thread.
pub(crate) struct Control<D: Clients> {
    pub(crate) reactor: Rc<Reactor>,
    /// To each of the servers; the first is the one that is asked, if it answers.
    pub(crate) ways: Vec<D::Options>,
    session: D::Session,
    /// Settings of the server that it does not take over.
    pub(crate) overridden: Vec<Overridden>,
    /// Sessions that loaded and were given up, for which the server may still work.
    pub(crate) given_up: Vec<u32>,
    /// The server, in words.
    pub(crate) server: String,
}

/// How servers are reached for what is not measured.
pub(crate) struct ControlOptions<D: Clients> {
    /// To each of the servers.
    pub(crate) default: Vec<D::Options>,
    /// True if these are over TLS.
    pub(crate) is_encrypted: bool,
    /// Ways over TLS, tried only to tell a server that demands TLS, or the password over it, from one that does not answer or
    /// a wrong password.
    pub(crate) encrypted: Vec<D::Options>,
    /// True if no password was given to those who log in.
    pub(crate) lacks_password: bool,
    /// How long connecting may take.
    pub(crate) patience: Duration,
}

impl<D: Clients> Control<D> {
    /// Connects to the first of the servers that answers. `url` is that of a study's target.
    pub(crate) fn connect(server: &str, ways: ControlOptions<D>, url: Option<&str>) -> Result<Self> {
        let broken = |problem: String| unusable(server, problem);
        let reactor = Reactor::new().map_err(|error| broken(error.to_string()))?;
        let connecting = first_that_answers::<D>(&reactor, &ways.default);
        let connected = reactor.run_one(connecting, Instant::now() + ways.patience);
        match connected.map_err(|error| broken(error.to_string()))? {
            None => Err(broken(format!(
                "no answer within {} s; is it reachable from here?",
                ways.patience.as_secs()
            ))),
            Some(Ok((session, overridden))) => Ok(Self {
                reactor,
                ways: ways.default,
                session,
                overridden,
                given_up: Vec::new(),
                server: server.to_owned(),
            }),
            Some(Err(error)) if url.is_some() && ways.find_demand_of_tls(&reactor, &error) => {
                // Of one version alone there is nothing that study could compare.
                let versions = match ways.encrypted.len() > 1 {
                    true => format!(
                        "compare TLS versions with each other: ciphertax run {} '{}', or ",
                        D::TLS_VERSIONS_STUDY,
                        url.unwrap_or_default()
                    ),
                    false => String::new(),
                };
                Err(broken(format!(
                    "{}, and the study has a plain arm; {versions}take a study of your own without a plain arm",
                    D::DEMANDS_TLS
                )))
            }
            Some(Err(error)) => {
                let error = ways.refusal(&reactor, error);
                let remedy = match error.is_of_password() && ways.lacks_password {
                    true => "; give the password in the environment variable CIPHERTAX_PASSWORD",
                    false => error.remedy(D::Session::PROTOCOL),
                };
                Err(broken(format!("{error}{remedy}")))
            }
        }
    }

    /// Asks over the session.
    pub(crate) fn ask<T>(
        &mut self,
        task: impl AsyncFnOnce(&mut D::Session) -> Result<T, WireError>,
    ) -> Result<T> {
        let outcome = wait_for(&self.reactor, &self.server, TIMEOUT, task(&mut self.session))?;
        outcome.map_err(|error| self.unusable(format!("{error}{}", error.remedy(D::Session::PROTOCOL))))
    }

    /// The same of the data set.
    pub(crate) fn ask_dataset<T>(
        &mut self,
        patience: Duration,
        task: impl AsyncFnOnce(&mut D::Session) -> Result<T, DatasetError>,
    ) -> Result<T> {
        let outcome = wait_for(&self.reactor, &self.server, patience, task(&mut self.session))?;
        outcome.map_err(|error| self.of_dataset(error))
    }

    /// What keeps a data set from being made, with the name of the server.
    pub(crate) fn of_dataset(&self, error: DatasetError) -> RunError {
        match error {
            DatasetError::Stopped => error.into(),
            // Whatever is wrong with the server keeps everything else from being made too.
            DatasetError::Wire(error) if !error.is_refusal() => self.unusable(error.to_string()),
            DatasetError::Inconsistent { .. } => RunError::Inconsistent(format!("{}: {error}", self.server)),
            DatasetError::Failed(failure) => self.unusable(failure.message()),
            DatasetError::Wire(refusal) => {
                let remedy = refusal.remedy(D::Session::PROTOCOL);
                self.unusable(format!("{}{remedy}", DatasetError::Wire(refusal)))
            }
            error => self.unusable(error.to_string()),
        }
    }

    /// What keeps a data set from being removed, with the name of the server.
    pub(crate) fn of_removal(&self, error: DatasetError) -> RunError {
        match error {
            DatasetError::Wire(error) => self.unusable(error.to_string()),
            error => self.of_dataset(error),
        }
    }

    /// Runs a task of many steps, and gives what it came to.
    pub(crate) fn wait_for<T>(&self, patience: Duration, task: impl Future<Output = T>) -> Result<T> {
        wait_for(&self.reactor, &self.server, patience, task)
    }

    /// Opens a session, asks over it, and closes it again.
    pub(crate) fn visit<T>(
        &self,
        options: &D::Options,
        task: impl AsyncFnOnce(&mut D::Session) -> Result<T, WireError>,
    ) -> Result<T> {
        let visit = async {
            let (mut session, _) = D::Session::connect(&self.reactor, options).await?;
            let answer = task(&mut session).await?;
            session.close().await.map(|_| answer)
        };
        let outcome = self.wait_for(TIMEOUT, visit)?;
        outcome.map_err(|error| self.unusable(error.to_string()))
    }

    /// Takes a new session with the first of the servers that answers.
    pub(crate) fn reconnect(&mut self) -> Result<()> {
        let connected = self.wait_for(TIMEOUT, first_that_answers::<D>(&self.reactor, &self.ways))?;
        (self.session, self.overridden) = connected.map_err(|error| self.unusable(error.to_string()))?;
        Ok(())
    }

    /// Takes a new session with the first of these servers, and from now on with the first of them that answers.
    pub(crate) fn switch_to(&mut self, ways: Vec<D::Options>) -> Result<()> {
        if let Some(first) = ways.first() {
            let connecting = D::Session::connect_with_settings(&self.reactor, first);
            let connected = self.wait_for(TIMEOUT, connecting)?;
            (self.session, self.overridden) = connected.map_err(|error| self.unusable(error.to_string()))?;
        }
        self.ways = ways;
        Ok(())
    }

    /// The server cannot be used, and why.
    pub(crate) fn unusable(&self, problem: impl Into<String>) -> RunError {
        unusable(&self.server, problem)
    }
}

impl<D: Clients> ControlOptions<D> {
    /// True if the server demands TLS of whoever came without. Some say so; others hang up, or deny access, and are asked
    /// again over TLS.
    pub(crate) fn find_demand_of_tls(&self, reactor: &Rc<Reactor>, error: &WireError) -> bool {
        let may_mean_it = error.is_tls_demanded() || (D::DENIAL_MAY_MEAN_TLS && error.is_access_denied());
        if self.is_encrypted || !may_mean_it {
            return false;
        }
        error.is_tls_demanded_of_all() || self.over_tls(reactor).any(|outcome| outcome.is_ok())
    }

    /// Why nobody is let in: where it is for want of TLS, what the server says to those who come over TLS.
    fn refusal(&self, reactor: &Rc<Reactor>, error: WireError) -> WireError {
        let wants_tls = matches!(error, WireError::PasswordWithheld(_)) || error.is_tls_demanded();
        if self.is_encrypted || !wants_tls {
            return error;
        }
        let mut refusals = self.over_tls(reactor).filter_map(Result::err);
        refusals.find(WireError::is_refusal).unwrap_or(error)
    }

    /// Attempts to connect over TLS.
    fn over_tls(&self, reactor: &Rc<Reactor>) -> impl Iterator<Item = Result<(), WireError>> {
        self.encrypted.iter().filter_map(|options| {
            let connecting = D::Session::connect(reactor, options);
            let connected = reactor.run_one(connecting, Instant::now() + TIMEOUT);
            connected.ok().flatten().map(|outcome| outcome.map(drop))
        })
    }
}

/// A session with the first of the servers, in their order, that answers. The order matters: two runs that ask the same
/// servers must meet on the same one, which tells them of each other.
async fn first_that_answers<D: Clients>(
    reactor: &Rc<Reactor>,
    ways: &[D::Options],
) -> Result<(D::Session, Vec<Overridden>), WireError> {
    let connecting = ways
        .iter()
        .map(|options| D::Session::connect_with_settings(reactor, options));
    first_in_order(reactor, connecting).await
}

/// What the first of several attempts, in their order, came to that succeeds; the failure of the last where none does. All
/// are made at the same time, so one that is silent takes [`GRACE`] from the others and no more.
async fn first_in_order<T>(
    reactor: &Reactor,
    attempts: impl IntoIterator<Item = impl Future<Output = Result<T, WireError>>>,
) -> Result<T, WireError> {
    let attempts: Vec<_> = attempts.into_iter().collect();
    let mut outcomes: Vec<_> = attempts.iter().map(|_| None).collect();
    let mut attempts = Together::new(attempts);
    let mut deadline = None;
    loop {
        let next = match deadline {
            None => Some(attempts.next().await),
            Some(deadline) => reactor.until(deadline, attempts.next()).await,
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
            Ok(reached) => return Ok(reached),
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What one attempt comes to, and after how many milliseconds; `None` for one that is silent.
    type Attempt = Option<(u64, Result<&'static str, &'static str>)>;

    fn first(attempts: &[Attempt]) -> Result<&'static str, String> {
        let reactor = Reactor::new().unwrap();
        let attempt = |attempt: &Attempt| {
            let (reactor, attempt) = (Rc::clone(&reactor), *attempt);
            async move {
                let begin = Instant::now();
                let silence = Duration::from_secs(600);
                let (after, outcome) = attempt.map_or((silence, Ok("silent")), |(after, outcome)| {
                    (Duration::from_millis(after), outcome)
                });
                reactor.sleep_until(begin + after).await;
                outcome.map_err(|problem| WireError::Request(problem.into()))
            }
        };
        let outcome = reactor.run_one(
            first_in_order(&reactor, attempts.iter().map(attempt)),
            Instant::now() + Duration::from_secs(60),
        );
        outcome
            .unwrap()
            .expect("it does not wait for the silent")
            .map_err(|error| error.to_string())
    }

    #[test]
    fn the_first_in_order_is_taken_though_others_answer_earlier() {
        assert_eq!(first(&[Some((50, Ok("one"))), Some((0, Ok("other")))]), Ok("one"));
        let found = first(&[Some((0, Err("refused"))), Some((50, Ok("other")))]);
        assert_eq!(found, Ok("other"));
        // One that is silent holds up nobody for long.
        let found = first(&[None, Some((0, Ok("other"))), Some((0, Ok("third")))]);
        assert_eq!(found, Ok("other"));
    }

    #[test]
    fn of_those_that_all_fail_the_last_says_why() {
        let error = first(&[Some((50, Err("one"))), Some((0, Err("other")))]).unwrap_err();
        assert!(error.contains("other"), "{error}");
        assert!(first(&[]).is_err());
    }
}

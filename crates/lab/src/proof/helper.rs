//! Proof of what stands between client and server: a pooler, or a relay that encrypts cells.

use std::rc::Rc;
use std::time::{Duration, Instant};

use ciphertax_reactor::Reactor;
use ciphertax_wire::WireError;

use super::ProofError;
use crate::error::Error;

/// How long all questions together may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// What keeps it from being proved.
pub(crate) enum Objection {
    /// Something could not be asked.
    Wire(WireError),
    /// It or a relay beside it failed.
    Lab(Error),
    /// What was seen contradicts.
    Disproved(String),
}

impl From<WireError> for Objection {
    fn from(error: WireError) -> Self {
        Self::Wire(error)
    }
}

impl From<Error> for Objection {
    fn from(error: Error) -> Self {
        Self::Lab(error)
    }
}

/// Has it proved on an event loop of its own. `name` is what it is called in a problem.
///
/// # Errors
/// Names the arm, and what contradicts it or keeps it from being tried.
pub(crate) fn prove<T>(
    arm: &str,
    name: &str,
    proof: impl AsyncFnOnce(&Rc<Reactor>) -> Result<T, Objection>,
) -> Result<T, ProofError> {
    let no_session = |problem: String| ProofError::NoSession {
        arm: arm.to_owned(),
        problem: format!("{name}: {problem}"),
    };
    let reactor = Reactor::new().map_err(|error| no_session(error.to_string()))?;
    let proved = reactor.run_one(proof(&reactor), Instant::now() + PATIENCE);
    let proved = proved
        .map_err(|error| no_session(error.to_string()))?
        .ok_or_else(|| no_session(format!("no answer within {} s", PATIENCE.as_secs())))?;
    proved.map_err(|objection| match objection {
        Objection::Wire(error) => no_session(error.to_string()),
        Objection::Lab(source) => ProofError::Relay {
            arm: arm.to_owned(),
            source,
        },
        Objection::Disproved(problem) => ProofError::Disproved {
            arm: arm.to_owned(),
            problem,
        },
    })
}

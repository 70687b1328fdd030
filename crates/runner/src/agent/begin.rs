//! How an agent begins: it is started, and finds the server.

use std::io;
use std::time::Duration;

use ciphertax_model::Profiling;

use super::protocol::{Answer, Found, LONGEST_NAME, Request, Server, kept};
use super::way::{Reach, Way};
use crate::meter::ServedBy;

/// So many characters of what an agent says are kept.
const LONGEST_WORDS: usize = 400;
/// How long an answer may take, besides what is waited for there.
pub(super) const ANSWER: Duration = Duration::from_secs(15);

/// Where an agent is, and whom it is to read.
#[derive(Debug, Clone)]
pub struct AgentOptions {
    /// Where it is, and who leads there.
    pub reach: Reach,
    /// The server's host, as its clients know it.
    pub host: String,
    /// The server's port.
    pub port: u16,
    /// Who serves the server's connections.
    pub served_by: ServedBy,
    /// How it is to look into the server.
    pub profile: Profiling,
    /// In slices of up to this length.
    pub slice: Duration,
}

/// An agent that has found its server.
pub(super) struct Begun {
    pub(super) way: Way,
    pub(super) found: Found,
    /// Why it does not look into it, or sees less than it is asked.
    pub(super) refused: Option<String>,
}

/// Starts an agent, has it find the server, and get ready to look into it.
///
/// # Errors
/// Why it cannot be started or does not find it, and the remedy.
pub(super) fn begin(options: &AgentOptions) -> Result<Begun, String> {
    let mut way = Way::start(&options.reach)?;
    let request = Request::Find(Server {
        host: options.host.clone(),
        port: options.port,
        served_by: options.served_by,
    });
    let reach = &options.reach;
    let found = match way.ask(&request, ANSWER) {
        Ok(Answer::Found(found)) => shown(found),
        Ok(Answer::Refused(why) | Answer::Ended(why)) => {
            return Err(format!(
                "the agent {reach} cannot read the server on port {}: {why}",
                options.port
            ));
        }
        Ok(_) => return Err(format!("the agent {reach} answers what it was not asked")),
        Err(error) => return Err(gone(way, reach, &error)),
    };
    let request = Request::Look {
        profile: options.profile,
        slice_ns: options.slice.as_nanos().try_into().unwrap_or(u64::MAX),
    };
    match way.ask(&request, ANSWER) {
        Ok(Answer::Looks { refused }) => Ok(Begun {
            way,
            found,
            refused: refused.map(|why| kept(&why, LONGEST_WORDS)),
        }),
        Ok(_) => Err(format!("the agent {reach} answers what it was not asked")),
        Err(error) => Err(gone(way, reach, &error)),
    }
}

fn gone(way: Way, reach: &Reach, error: &io::Error) -> String {
    let said = way.end();
    format!("the agent {reach} is gone: {error}; {said}")
}

/// With a name that may be printed: another machine said it.
fn shown(found: Found) -> Found {
    Found {
        program: kept(&found.program, LONGEST_NAME),
        ..found
    }
}

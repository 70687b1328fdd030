//! The load generator that makes no load: it is beside the server, and reads its clocks.

use std::io::{self, ErrorKind};
use std::time::{Duration, Instant};

use ciphertax_reactor::stop;

use super::conduct::Ranks;
use super::hello::Hello;
use super::protocol::{Answer, Request};
use crate::agent;

#[derive(Debug)]
pub(super) struct Agent {
    pub(super) rank: u32,
    pub(super) hello: Hello,
    asked: u64,
}

impl Agent {
    /// Takes the first on this host from those that follow.
    pub(super) fn among(followers: &mut Vec<(u32, Hello)>, host: &str, own: &Hello) -> Result<Self, String> {
        let Some(place) = followers.iter().position(|(_, hello)| hello.is_on(host)) else {
            let hosts: Vec<String> = followers.iter().map(|(rank, hello)| hello.name(*rank)).collect();
            return Err(format!(
                "no load generator on {host} can be the agent: rank 0 on {} conducts, and there is {}; start one there too, or name its \
                 host as it calls itself",
                own.host,
                hosts.join(", ")
            ));
        };
        let (rank, hello) = followers.remove(place);
        Ok(Self {
            rank,
            hello,
            asked: 0,
        })
    }
}

impl Ranks {
    pub(crate) fn ask_agent(
        &self,
        request: &agent::Request,
        patience: Duration,
    ) -> io::Result<agent::Answer> {
        let mut all = self.lock();
        all.still_there().map_err(io::Error::other)?;
        let agent = all.agent.as_mut().ok_or(ErrorKind::NotConnected)?;
        agent.asked += 1;
        let (rank, number) = (agent.rank, agent.asked);
        all.channel.writer.send(
            rank,
            &Request::Agent {
                number,
                request: request.clone(),
            },
        )?;
        let deadline = Instant::now() + patience;
        loop {
            let why = match all.next(deadline.min(Instant::now() + stop::LOOK)) {
                Ok(Some((from, Answer::Agent { number: of, answer }))) if (from, of) == (rank, number) => {
                    return Ok(*answer);
                }
                Ok(Some((_, Answer::Agent { .. } | Answer::Alive))) => continue,
                Ok(Some((from, _))) => format!("{} answers what it was not asked", all.name_of(from)),
                Ok(None) if stop::is_over(deadline) => {
                    return Err(io::Error::new(ErrorKind::TimedOut, "it does not answer"));
                }
                Ok(None) => continue,
                Err(why) => why,
            };
            return Err(io::Error::other(all.lost.insert(why).clone()));
        }
    }
}

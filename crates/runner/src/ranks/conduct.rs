//! The conductor's side: who follows, what their clocks say, and what all of them are asked.

use std::io::ErrorKind;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ciphertax_base::harmless;
use ciphertax_engine::Part;
use ciphertax_reactor::stop;
use ciphertax_records::RankRecord;

use super::agent::Agent;
use super::clock::{Lead, Offset, now_ns};
use super::hello::Hello;
use super::protocol::{Answer, Arrival, Channel, Request};
use crate::error::{Result, RunError};

/// How long all load generators may take to begin.
const BEGINNING: Duration = Duration::from_secs(60);
/// How long one of them may take to say what its clock says.
const PROMPT: Duration = Duration::from_secs(5);
/// How long a follower may be silent that works: it says every second that it lives.
const SILENCE: Duration = Duration::from_secs(4);
/// How often each is asked what its clock says, at the beginning and later.
const QUESTIONS: [usize; 2] = [20, 5];
/// How old an answer may be. Clocks of two machines run apart by some 50 µs a second at most, which is half a millisecond then.
const FRESH: Duration = Duration::from_secs(10);
/// How long followers may take to end.
const ENDING: Duration = Duration::from_secs(6);
/// So many characters of what another machine calls itself are kept.
const LONGEST_NAME: usize = 80;

/// The load generators of a run, as the one sees them that conducts.
#[derive(Debug, Clone)]
pub struct Ranks {
    all: Arc<Mutex<All>>,
    /// How many make load.
    of: u32,
}

#[derive(Debug)]
pub(super) struct All {
    pub(super) channel: Channel,
    /// What this one says of itself.
    own: Hello,
    /// Those that make load, in the order of their numbers.
    followers: Vec<Follower>,
    /// The one that makes none.
    pub(super) agent: Option<Agent>,
    pub(super) lead: Lead,
    /// When the clocks were asked last.
    asked: Instant,
    pub(super) loads: u32,
    /// Why nobody can be asked any more.
    pub(super) lost: Option<String>,
}

#[derive(Debug, Clone)]
struct Follower {
    rank: u32,
    hello: Hello,
    offset: Offset,
}

impl Ranks {
    /// Waits for all load generators, and asks their clocks. `build` tells builds of one release apart; the first on the host `agent`
    /// makes no load.
    ///
    /// # Errors
    /// Names the host of one that is not as this one, or does not come; and all hosts where none is on that of the agent.
    pub fn gather(mut channel: Channel, build: &str, agent: Option<&str>) -> Result<Self, String> {
        let own = Hello::of_this_process(build);
        let mut hellos = hellos(&mut channel)?;
        let refusals: Vec<String> = hellos
            .iter()
            .filter_map(|(rank, hello)| hello.differs_from(*rank, &own))
            .collect();
        if !refusals.is_empty() {
            return Err(refusals.join("\n"));
        }
        let agent = agent
            .map(|host| Agent::among(&mut hellos, host, &own))
            .transpose()?;
        let of = 1 + hellos.len() as u32;
        let mut all = All {
            channel,
            own,
            agent,
            followers: hellos
                .into_iter()
                .map(|(rank, hello)| Follower {
                    rank,
                    hello,
                    offset: Offset::NONE,
                })
                .collect(),
            lead: Lead::default(),
            asked: Instant::now(),
            loads: 0,
            lost: None,
        };
        all.ask_clocks(QUESTIONS[0])?;
        Ok(Self {
            all: Arc::new(Mutex::new(all)),
            of,
        })
    }

    /// How many make load.
    pub fn count(&self) -> u32 {
        self.of
    }

    /// What the conductor does of a load.
    pub(crate) fn own_part(&self) -> Part {
        Part::new(0, self.of).unwrap_or(Part::WHOLE)
    }

    /// For the report: where they ran, and how far their clocks were apart.
    pub(crate) fn records(&self) -> Vec<RankRecord> {
        let record = |rank, hello: &Hello, offset: Offset| RankRecord {
            rank,
            host: hello.host.clone(),
            cpus: hello.cpus.clone(),
            clock_offset_ns: offset.ns,
            clock_error_ns: offset.error_ns,
        };
        let all = self.lock();
        let followers = all.followers.iter();
        std::iter::once(record(0, &all.own, Offset::NONE))
            .chain(followers.map(|follower| record(follower.rank, &follower.hello, follower.offset)))
            .collect()
    }

    /// What they lack for a run in which each has so many files open: private servers are reached from this machine alone.
    pub(crate) fn lacking(&self, files: u64, on_private_servers: bool) -> Vec<String> {
        let all = self.lock();
        let mut followers = all.followers.iter().filter(|_| on_private_servers);
        let elsewhere = followers.find(|other| !other.hello.is_beside(&all.own)).map(|other| {
            format!(
                "{} runs on another machine, and private servers are reached from this one alone; name a server by its URL",
                other.hello.name(other.rank)
            )
        });
        let lacks = |follower: &Follower| follower.hello.lacks_files(follower.rank, files);
        let own = all.own.lacks_files(0, files);
        let of_followers = all.followers.iter().filter_map(lacks);
        elsewhere.into_iter().chain(own).chain(of_followers).collect()
    }

    /// Ends all followers: what one that hangs has locked would keep the conductor from cleaning up.
    pub(crate) fn dismiss(&self) {
        let mut all = self.lock();
        all.lost.get_or_insert_with(|| "the run is over".to_owned());
        if all.channel.writer.send(0, &()).is_err() {
            return;
        }
        let deadline = Instant::now() + ENDING;
        // Whatever else is still on its way says nothing any more.
        while let Ok(Some(arrival)) = all.channel.receive::<serde_json::Value>(Some(deadline)) {
            if matches!(arrival, Arrival::Message { from: 0, .. }) {
                return;
            }
        }
    }

    /// Asks the clocks of other machines again, if the answers are old.
    pub(super) fn ask_clocks_again(&self) -> Result<()> {
        let mut all = self.lock();
        all.still_there().map_err(RunError::Rank)?;
        let is_alone = all
            .followers
            .iter()
            .all(|follower| follower.hello.is_beside(&all.own));
        if is_alone || all.asked.elapsed() < FRESH {
            return Ok(());
        }
        all.ask_clocks(QUESTIONS[1]).map_err(RunError::Rank)
    }

    /// Tells every follower something.
    pub(super) fn tell(&self, request: impl Fn(Told) -> Request) -> Result<()> {
        self.lock().tell(request).map_err(RunError::Rank)
    }

    /// What every follower answers to what it was told last, with its name and its clock, in their order.
    pub(super) fn answers(&self) -> Result<Vec<Answered>> {
        self.lock().answers(|| false).map_err(RunError::Rank)
    }

    /// The same of what may take long: [`RunError::Stopped`] soon after this thread is to stop.
    pub(super) fn answers_unless_stopped(&self) -> Result<Vec<Answered>> {
        let answers = self.lock().answers(stop::is_requested);
        answers.map_err(|why| match stop::is_requested() {
            true => RunError::Stopped,
            false => RunError::Rank(why),
        })
    }

    /// [`Ranks::tell`] and [`Ranks::answers`].
    pub(super) fn ask(&self, request: impl Fn(Told) -> Request) -> Result<Vec<Answered>> {
        let mut all = self.lock();
        let answers = all.tell(request).and_then(|()| all.answers(|| false));
        answers.map_err(RunError::Rank)
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, All> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whom something is told.
#[derive(Debug, Clone, Copy)]
pub(super) struct Told {
    /// The number of its part of the load, of how many; the conductor has the first.
    pub(super) part: (u32, u32),
    pub(super) offset: Offset,
}

pub(super) struct Answered {
    pub(super) rank: u32,
    pub(super) name: String,
    pub(super) offset: Offset,
    pub(super) answer: Answer,
}

impl All {
    fn tell(&mut self, request: impl Fn(Told) -> Request) -> Result<(), String> {
        self.still_there()?;
        let of = 1 + self.followers.len() as u32;
        for (part, follower) in (1..).zip(&self.followers) {
            let told = Told {
                part: (part, of),
                offset: follower.offset,
            };
            self.channel
                .writer
                .send(follower.rank, &request(told))
                .map_err(|error| {
                    let why = format!("what carries messages between load generators is gone: {error}");
                    self.lost.insert(why).clone()
                })?;
        }
        Ok(())
    }

    /// A follower says now and then that it lives: whoever is silent hangs, however long the others work. Nobody is waited for once it
    /// `is_over`.
    fn answers(&mut self, is_over: impl Fn() -> bool) -> Result<Vec<Answered>, String> {
        self.still_there()?;
        let mut heard = vec![Instant::now(); self.followers.len()];
        let mut answers: Vec<Option<Answer>> = self.followers.iter().map(|_| None).collect();
        let waiting = |answers: &[Option<Answer>], heard: &[Instant]| {
            let open = (0..answers.len()).filter(|at| answers[*at].is_none());
            open.min_by_key(|at| heard[*at])
        };
        while let Some(silent) = waiting(&answers, &heard) {
            let deadline = heard[silent] + SILENCE;
            let answer = self.next(deadline.min(Instant::now() + stop::LOOK));
            let place_of = |rank: u32| self.followers.iter().position(|follower| follower.rank == rank);
            let why = match answer {
                Ok(Some((from, Answer::Refused(why)))) => {
                    format!("{}: {}", self.name_of(from), harmless(&why))
                }
                Ok(Some((from, Answer::Alive))) => {
                    if let Some(place) = place_of(from) {
                        heard[place] = Instant::now();
                    }
                    continue;
                }
                // To a question that nobody asks any more.
                Ok(Some((_, Answer::Agent { .. }))) => continue,
                Ok(Some((from, message))) => match place_of(from).map(|place| &mut answers[place]) {
                    Some(answer @ None) => {
                        *answer = Some(message);
                        continue;
                    }
                    _ => format!("rank {from} answers what it was not asked"),
                },
                Ok(None) if is_over() => "the run is over".to_owned(),
                Ok(None) if Instant::now() < deadline => continue,
                Ok(None) => format!("{} does not answer", self.name_of(self.followers[silent].rank)),
                Err(why) => why,
            };
            return Err(self.lost.insert(why).clone());
        }
        let answered = |(follower, answer): (&Follower, Option<Answer>)| {
            Some(Answered {
                rank: follower.rank,
                name: follower.hello.name(follower.rank),
                offset: follower.offset,
                answer: answer?,
            })
        };
        Ok(self.followers.iter().zip(answers).filter_map(answered).collect())
    }

    /// What is said next, and who says it; `None` if it is nothing by then.
    pub(super) fn next(&mut self, deadline: Instant) -> Result<Option<(u32, Answer)>, String> {
        match self.channel.receive(Some(deadline)) {
            Ok(Some(Arrival::Message { from, message })) => Ok(Some((from, message))),
            Ok(Some(Arrival::Lost { rank, why })) => {
                Err(format!("{} is gone: {}", self.name_of(rank), harmless(&why)))
            }
            Err(error) if error.kind() == ErrorKind::TimedOut => Ok(None),
            Err(error) if error.kind() == ErrorKind::InvalidData => {
                Err(format!("a load generator says what is no message: {error}"))
            }
            Ok(None) | Err(_) => Err("what carries messages between load generators is gone".to_owned()),
        }
    }

    pub(super) fn still_there(&self) -> Result<(), String> {
        self.lost.clone().map_or(Ok(()), Err)
    }

    pub(super) fn name_of(&self, rank: u32) -> String {
        let followers = self
            .followers
            .iter()
            .map(|follower| (follower.rank, &follower.hello));
        let agent = self.agent.iter().map(|agent| (agent.rank, &agent.hello));
        let found = followers.chain(agent).find(|(other, _)| *other == rank);
        found.map_or_else(|| format!("rank {rank}"), |(rank, hello)| hello.name(rank))
    }

    /// Asks each in turn, so that no answer waits behind another's. A slice is called as long before as the slowest answer took.
    fn ask_clocks(&mut self, questions: usize) -> Result<(), String> {
        let mut slowest = Duration::ZERO;
        self.asked = Instant::now();
        for index in 0..self.followers.len() {
            let rank = self.followers[index].rank;
            let mut answers = Vec::with_capacity(questions);
            for _ in 0..questions {
                let asked = now_ns();
                let sent = self.channel.writer.send(rank, &Request::Clock);
                sent.map_err(|error| format!("{} is gone: {error}", self.name_of(rank)))?;
                let deadline = Instant::now() + PROMPT;
                let theirs = loop {
                    match self.next(deadline)? {
                        Some((from, Answer::Clock(theirs))) if from == rank => break theirs,
                        // What was said while it answered the last question, or by the agent to one that nobody asks any more.
                        Some((_, Answer::Alive | Answer::Agent { .. })) => {}
                        _ => return Err(format!("{} does not say what its clock says", self.name_of(rank))),
                    }
                };
                answers.push((asked, now_ns(), theirs));
            }
            let took = answers.iter().map(|(asked, answered, _)| answered - asked).max();
            slowest = slowest.max(Duration::from_nanos(took.unwrap_or(0)));
            let follower = &mut self.followers[index];
            follower.offset = match follower.hello.is_beside(&self.own) {
                true => Offset::NONE,
                false => Offset::from_answers(&answers).unwrap_or(Offset::NONE),
            };
        }
        self.lead.took(slowest);
        Ok(())
    }
}

/// What all followers say of themselves, in the order of their numbers.
fn hellos(channel: &mut Channel) -> Result<Vec<(u32, Hello)>, String> {
    let deadline = Instant::now() + BEGINNING;
    let mut hellos: Vec<Option<Hello>> = (1..channel.of).map(|_| None).collect();
    while let Some(missing) = hellos.iter().position(Option::is_none) {
        match channel.receive::<Hello>(Some(deadline)) {
            Ok(Some(Arrival::Message { from, message })) => {
                let at = (from as usize).checked_sub(1);
                if let Some(hello) = at.and_then(|at| hellos.get_mut(at)) {
                    *hello = Some(Hello {
                        host: harmless(&message.host).chars().take(LONGEST_NAME).collect(),
                        cpus: harmless(&message.cpus).chars().take(LONGEST_NAME).collect(),
                        version: harmless(&message.version).chars().take(LONGEST_NAME).collect(),
                        openssl: harmless(&message.openssl).chars().take(LONGEST_NAME).collect(),
                        ..message
                    });
                }
            }
            Ok(Some(Arrival::Lost { rank, why })) => {
                return Err(format!("rank {rank} did not begin: {}", harmless(&why)));
            }
            Ok(None) => return Err("what carries messages between load generators is gone".into()),
            Err(error) if error.kind() == ErrorKind::TimedOut => {
                return Err(format!("rank {} did not begin within a minute", missing + 1));
            }
            Err(error) => return Err(format!("a load generator is another ciphertax: {error}")),
        }
    }
    Ok((1..).zip(hellos.into_iter().flatten()).collect())
}

//! The meter of a server on another machine.

use std::cell::RefCell;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

use ciphertax_base::SeenByServer;
use ciphertax_model::Profiling;
use ciphertax_observe::{self as observe, Meter, Usage};
use ciphertax_records::AgentRecord;

use super::link::{Reach, Way};
use super::names::Translation;
use super::protocol::{Answer, Found, LONGEST_NAME, Reading, Request, Server, VERSION, boot, kept};
use crate::meter::ServedBy;

/// So many characters of what an agent says are kept.
const LONGEST_WORDS: usize = 400;
/// How long an answer may take, besides what is waited for there.
const ANSWER: Duration = Duration::from_secs(15);

pub(super) const NOT_ASKED: &str = "it answers what it was not asked";
/// One that could not be started is not tried again before so much time has passed.
pub(super) const AGAIN_AFTER: Duration = Duration::from_secs(3);
/// For so long a server that nobody asks anything is looked at, to know what it uses then.
const LOOK_AT_QUIET: Duration = Duration::from_millis(500);
/// It is quiet when its clocks have stood still for this long; it is not waited for longer than for the second.
const QUIET: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(50));

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
    /// A session with it that is open while the agent looks for it.
    pub seen: SeenByServer,
    /// How it is to look into the server.
    pub profile: Profiling,
    /// In slices of up to this length.
    pub slice: Duration,
}

/// Reads what a server uses on another machine. A reading is asked for and placed in the middle of the way there and back; what
/// the server did before it was asked is in it, and what it does afterwards is not.
#[derive(Debug)]
pub struct AgentMeter {
    options: AgentOptions,
    /// What was found at first.
    found: Found,
    /// Why it does not look into it, or sees less than it is asked.
    refused: Option<String>,
    quiet_cpu_share: f64,
    pub(super) state: RefCell<State>,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) way: Option<Way>,
    /// Why there is none.
    lost: Option<String>,
    /// When it could not be started again.
    not_started: Option<Instant>,
    /// That the server's process has ended, until another is found.
    ended: Option<String>,
    /// Of all readings, in nanoseconds.
    round_trips: Vec<u64>,
    /// Of what the agent at the end of this way has seen.
    pub(super) translation: Translation,
}

/// A reading, and when it was made by the clock here.
#[derive(Debug)]
struct Placed {
    usage: Usage,
    is_quiet: bool,
    at: Instant,
}

impl AgentMeter {
    /// Starts an agent and has it find the server.
    ///
    /// # Errors
    /// Why it cannot be started or does not find it, and the remedy.
    pub fn open(options: AgentOptions) -> Result<Self, String> {
        let Begun { way, found, refused } = begin(&options, options.seen)?;
        let mut meter = Self {
            options,
            found,
            refused,
            quiet_cpu_share: 0.0,
            state: RefCell::new(State {
                way: Some(way),
                lost: None,
                not_started: None,
                ended: None,
                round_trips: Vec::new(),
                translation: Translation::default(),
            }),
        };
        let words = |error: observe::Error| error.to_string();
        let before = meter.placed(QUIET).map_err(words)?;
        thread::sleep(LOOK_AT_QUIET);
        let after = meter.placed((Duration::ZERO, Duration::ZERO)).map_err(words)?;
        let used = after.usage.since(&before.usage).cpu.unwrap_or_default();
        let time = after.at.saturating_duration_since(before.at);
        meter.quiet_cpu_share = used.total_ns as f64 / (time.as_nanos() as f64).max(1.0);
        Ok(meter)
    }

    /// True if it runs on the same machine as this program.
    pub fn is_here(&self) -> bool {
        !self.found.boot.is_empty() && self.found.boot == boot()
    }

    /// Why the agent cannot be asked now; `None` if it can, as far as is known.
    pub fn lost(&self) -> Option<String> {
        let state = self.state.borrow();
        state.lost.clone()
    }

    /// That the server's process has ended, and no other was found yet; `None` as far as it is known to live.
    pub fn ended(&self) -> Option<String> {
        self.state.borrow().ended.clone()
    }

    /// How exactly it has read so far.
    pub fn record(&self) -> AgentRecord {
        let mut round_trips = self.state.borrow().round_trips.clone();
        round_trips.sort_unstable();
        let microseconds = |ns: Option<&u64>| ns.map_or(0.0, |ns| *ns as f64 / 1_000.0);
        AgentRecord {
            address: self.options.reach.to_string(),
            version: VERSION.to_owned(),
            host: self.found.host.clone(),
            program: self.found.program.clone(),
            readings: round_trips.len() as u64,
            round_trip_us: microseconds(round_trips.get(round_trips.len() / 2)),
            round_trip_max_us: microseconds(round_trips.last()),
            quiet_cpu_share: self.quiet_cpu_share,
            error_share: None,
            not_looked_into: self.refused.clone(),
        }
    }

    /// Starts the agent again and has it find the same server.
    fn begin_anew(&self) -> Result<Way, String> {
        // The session of then is gone.
        let Begun { way, found, .. } = begin(&self.options, SeenByServer::default())?;
        match self.found.other_than(&found) {
            None => Ok(way),
            Some(why) => Err(format!(
                "the agent {} reads another server: {why}",
                self.options.reach
            )),
        }
    }

    /// Reads; starts the agent again if it was lost before.
    fn placed(&self, (quiet_for, at_most): (Duration, Duration)) -> observe::Result<Placed> {
        let mut state = self.state.borrow_mut();
        let unread = |why: String| Err(observe::Error::Unmetered(why));
        if let Some(why) = &state.lost {
            if state
                .not_started
                .is_some_and(|tried| tried.elapsed() < AGAIN_AFTER)
            {
                return unread(why.clone());
            }
            match self.begin_anew() {
                Ok(way) => {
                    state.way = Some(way);
                    state.translation = Translation::default();
                    (state.lost, state.ended) = (None, None);
                }
                Err(why) => {
                    state.not_started = Some(Instant::now());
                    state.lost = Some(why.clone());
                    return unread(why);
                }
            }
        }
        let request = Request::Read {
            quiet_ns: quiet_for.as_nanos() as u64,
            at_most_ns: at_most.as_nanos() as u64,
        };
        let asked = Instant::now();
        let answer = state.ask(&self.options.reach, &request, ANSWER + at_most);
        let took = asked.elapsed();
        let why = match answer {
            Ok(Answer::Read(reading)) => {
                let (placed, round_trip) = place(*reading, asked, took);
                state.round_trips.push(round_trip.as_nanos() as u64);
                return Ok(placed);
            }
            Ok(Answer::Ended(why)) => {
                // The next reading looks for the process that serves now.
                state.ended = Some(why.clone());
                why
            }
            Ok(Answer::Refused(why)) => why,
            Ok(_) => NOT_ASKED.to_owned(),
            Err(why) => return unread(why),
        };
        state.lose(why.clone());
        unread(why)
    }

    /// Asks, if there is an agent; `None` if it does not answer, which makes it a lost one.
    pub(super) fn ask(&self, request: &Request) -> Option<Answer> {
        let mut state = self.state.borrow_mut();
        state.ask(&self.options.reach, request, ANSWER).ok()
    }
}

impl State {
    /// # Errors
    /// Why there is no answer, which is the end of the way.
    fn ask(&mut self, reach: &Reach, request: &Request, patience: Duration) -> Result<Answer, String> {
        let way = self.way.as_mut().ok_or("there is no agent")?;
        way.ask(request, patience).map_err(|error| {
            let said = self.way.take().map(Way::end).unwrap_or_default();
            let said = match said.as_str() {
                "" => error.to_string(),
                said => said.to_owned(),
            };
            let why = format!("the agent {reach} is gone: {said}");
            self.lose(why.clone());
            why
        })
    }

    pub(super) fn lose(&mut self, why: String) {
        self.way = None;
        self.lost = Some(why);
    }
}

impl Meter for AgentMeter {
    fn read(&self) -> observe::Result<Usage> {
        self.placed((Duration::ZERO, Duration::ZERO))
            .map(|placed| placed.usage)
    }

    fn settle(&self, quiet_for: Duration, at_most: Duration) -> observe::Result<bool> {
        self.placed((quiet_for, at_most)).map(|placed| placed.is_quiet)
    }

    /// Quiet is waited for there.
    fn read_when_quiet(&self, quiet_for: Duration, at_most: Duration) -> observe::Result<Usage> {
        self.placed((quiet_for, at_most)).map(|placed| placed.usage)
    }
}

/// When a reading was made: in the middle of the way there and back, which the agent's own time is no part of.
fn place(reading: Reading, asked: Instant, took: Duration) -> (Placed, Duration) {
    let read_after = Duration::from_nanos(reading.read_after_ns);
    let own = read_after.saturating_add(Duration::from_nanos(reading.answered_after_ns));
    let round_trip = took.saturating_sub(own);
    // Never later than now, whatever an agent says.
    let placed = Placed {
        at: asked + (round_trip / 2 + read_after.min(took)).min(took),
        usage: reading.usage,
        is_quiet: reading.is_quiet,
    };
    (placed, round_trip)
}

/// An agent that has found its server.
struct Begun {
    way: Way,
    found: Found,
    /// Why it does not look into it, or sees less than it is asked.
    refused: Option<String>,
}

/// Starts an agent, has it find the server, and get ready to look into it.
fn begin(options: &AgentOptions, seen: SeenByServer) -> Result<Begun, String> {
    let mut way = Way::start(&options.reach)?;
    let request = Request::Find(Server {
        host: options.host.clone(),
        port: options.port,
        served_by: options.served_by,
        seen,
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

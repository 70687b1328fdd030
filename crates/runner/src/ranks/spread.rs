//! The load of a cell that all load generators make together.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use ciphertax_engine::{Engine, Failure};
use ciphertax_model::Pace;
use ciphertax_records::VoidReason;

use super::clock::ns_of;
use super::conduct::{Answered, Ranks};
use super::merge::{Share, merged};
use super::protocol::{Answer, CalledSlice, Request, Start};
use crate::error::RunError;
use crate::load::{Load, Slice};

/// The load of a cell, of which this process makes a part and calls the others.
pub(crate) struct SpreadLoad {
    own: Engine,
    ranks: Ranks,
    number: u32,
    workers: u32,
    pace: Pace,
    /// The arms whose connections were all open when their last slice ended.
    open: BTreeSet<usize>,
}

impl SpreadLoad {
    /// Has every follower start its part beside `own`.
    ///
    /// # Errors
    /// Who cannot.
    pub(crate) fn start(own: Engine, ranks: &Ranks, pace: Pace, start: Start) -> Result<Self, RunError> {
        let number = ranks.next_load();
        let start = Box::new(start);
        let answers = ranks.ask(|told| Request::Start {
            load: number,
            part: told.part,
            start: start.clone(),
        })?;
        let mut workers = own.workers();
        for Answered { name, answer, .. } in answers {
            match answer {
                Answer::Started { workers: more } => workers += more,
                _ => return Err(nonsense(&name)),
            }
        }
        Ok(Self {
            own,
            ranks: ranks.clone(),
            number,
            workers,
            pace,
            open: BTreeSet::new(),
        })
    }
}

impl Load for SpreadLoad {
    fn workers(&self) -> u32 {
        self.workers
    }

    fn prepare(&mut self, arm: usize) -> Result<Result<(), Failure>, RunError> {
        let load = self.number;
        self.ranks.ask_clocks_again()?;
        if self.own.is_prepared(arm) && self.open.contains(&arm) {
            return Ok(Ok(()));
        }
        self.ranks.tell(|_| Request::Prepare { load, arm })?;
        let mut prepared = self.own.prepare(arm)?;
        for Answered { name, answer, .. } in self.ranks.answers()? {
            match answer {
                Answer::Prepared(None) => {}
                Answer::Prepared(Some(failed)) => prepared = prepared.and(Err(failed.of(&name))),
                _ => return Err(nonsense(&name)),
            }
        }
        if prepared.is_ok() {
            self.open.insert(arm);
        }
        Ok(prepared)
    }

    fn slice(&mut self, arm: usize, duration: Duration, seed: u64) -> Result<Slice, RunError> {
        let lead = self.ranks.lead();
        let start = Instant::now() + lead;
        let start_ns = ns_of(start);
        self.ranks.tell(|told| {
            Request::Slice(CalledSlice {
                load: self.number,
                arm,
                start_ns: told.offset.there(start_ns),
                duration_ns: duration.as_nanos() as u64,
                seed,
            })
        })?;
        let own = self.own.slice_from(start, seed, arm, duration)?;
        let answers = match self.ranks.answers() {
            Ok(answers) => answers,
            Err(RunError::Rank(detail)) => {
                return Ok(Slice {
                    yielded: own,
                    void: Some(VoidReason::RankLost { detail }),
                });
            }
            Err(error) => return Err(error),
        };
        let mut shares = Vec::with_capacity(answers.len());
        let mut heard_before_ns = i64::MAX;
        for Answered {
            rank,
            name,
            offset,
            answer,
        } in answers
        {
            match answer {
                Answer::Yielded(yielded) => {
                    heard_before_ns = heard_before_ns.min(yielded.heard_before_ns);
                    shares.push(Share::of_follower((rank, name), *yielded, offset));
                }
                _ => return Err(nonsense(&name)),
            }
        }
        self.ranks.heard(lead, heard_before_ns);
        let slice = merged(own, shares, duration, self.pace)?;
        if !slice.yielded.is_whole() {
            self.open.remove(&arm);
        }
        Ok(slice)
    }
}

fn nonsense(name: &str) -> RunError {
    RunError::Rank(format!("{name} answers what it was not asked"))
}

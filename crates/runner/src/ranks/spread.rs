//! A load that all load generators make together: spread, loaded, merged.
//!
//! What one of them could not write the conductor finds missing, and writes it. Counts and histograms are added, and
//! nothing is averaged.

use std::collections::BTreeSet;
use std::panic::resume_unwind;
use std::thread;
use std::time::{Duration, Instant};

use ciphertax_engine::{Engine, Failure, Part, SliceYield};
use ciphertax_model::Pace;
use ciphertax_reactor::{Reactor, stop};
use ciphertax_records::{RankShare, VoidReason, Yield};
use ciphertax_stats::histogram;
use ciphertax_workload::dataset::Contents;

use super::clock::{instant_of, ns_of};
use super::conduct::{Answered, Ranks};
use super::protocol::{Answer, CalledSlice, Loading, Request, Start, Yielded, named};
use crate::database::Database;
use crate::error::{Result, RunError};
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
    pub(crate) fn start(own: Engine, ranks: &Ranks, pace: Pace, start: Start) -> Result<Self> {
        let number = {
            let mut all = ranks.lock();
            all.loads += 1;
            all.loads
        };
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

    fn prepare(&mut self, arm: usize) -> Result<Result<(), Failure>> {
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
                Answer::Prepared(Some(failed)) => prepared = prepared.and(Err(named(failed, &name))),
                _ => return Err(nonsense(&name)),
            }
        }
        if prepared.is_ok() {
            self.open.insert(arm);
        }
        Ok(prepared)
    }

    fn slice(&mut self, arm: usize, duration: Duration, seed: u64) -> Result<Slice> {
        let lead = self.ranks.lock().lead.now();
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
        let mut shares = vec![(0, Yielded::here(own, i64::MAX))];
        for answered in answers {
            let Answer::Yielded(mut yielded) = answered.answer else {
                return Err(nonsense(&answered.name));
            };
            yielded.began_ns = answered.offset.here(yielded.began_ns);
            let failure = yielded.first_failure.take();
            yielded.first_failure = failure.map(|failure| named(failure, &answered.name));
            shares.push((answered.rank, *yielded));
        }
        let heard_before_ns = shares.iter().map(|(_, share)| share.heard_before_ns).min();
        self.ranks
            .lock()
            .lead
            .heard(lead, heard_before_ns.unwrap_or(i64::MAX));
        let slice = merged(shares, duration, self.pace)?;
        if !slice.yielded.is_whole() {
            self.open.remove(&arm);
        }
        Ok(slice)
    }
}

fn nonsense(name: &str) -> RunError {
    RunError::Rank(format!("{name} answers what it was not asked"))
}

/// Has all load generators write their part of the rows of tables that are there. `progress` hears how many all have written, as far as
/// they are as fast as this one.
pub(crate) fn load_together<D: Database>(
    ranks: &Ranks,
    access: &D::Access,
    contents: &Contents,
    loading: Loading,
    progress: &mut dyn FnMut(u64),
) -> Result<()> {
    let loading = Box::new(loading);
    ranks.tell(|told| Request::Load {
        part: told.part,
        loading: loading.clone(),
    })?;
    let all = u64::from(ranks.count());
    let stop = stop::current_flag();
    thread::scope(|scope| {
        // The others say every second that they live, which nobody may leave unheard for as long as this one works.
        let answers = scope.spawn(|| match &stop {
            Some(stop) => stop::with_flag(stop, || ranks.answers_unless_stopped()),
            None => ranks.answers_unless_stopped(),
        });
        let written = load_part::<D>(access, contents, ranks.own_part(), &mut |rows| {
            progress(rows * all)
        });
        let answered = answers.join().unwrap_or_else(|panic| resume_unwind(panic));
        match written {
            Err(RunError::Stopped) => Err(RunError::Stopped),
            // What is wrong with the server the conductor says when it makes the rest.
            _ => answered.map(drop),
        }
    })
}

/// Writes a part of the rows of tables that are there.
pub(super) fn load_part<D: Database>(
    access: &D::Access,
    contents: &Contents,
    part: Part,
    progress: &mut dyn FnMut(u64),
) -> Result<()> {
    let reactor = Reactor::new().map_err(|error| RunError::Rank(error.to_string()))?;
    D::load_part(&reactor, access, contents, part, progress)
}

/// So much of a slice its load generators may begin or end apart.
const MOST_APART: f64 = 0.02;

/// The slice of all. It is void if they began further apart than a fiftieth of its length, or, where
/// they all work for the same time, ended further apart than that and a long operation.
fn merged(shares: Vec<(u32, Yielded)>, duration: Duration, pace: Pace) -> Result<Slice> {
    let (ranks, shares): (Vec<u32>, Vec<Yielded>) = shares.into_iter().unzip();
    let begins: Vec<u64> = shares.iter().map(|share| share.began_ns).collect();
    let yields: Vec<Yield> = shares.iter().map(|share| share.recorded.clone()).collect();
    let unreadable = |error| RunError::Rank(format!("a load generator says what is no histogram: {error}"));
    let mut recorded = Yield::merged(&yields, &begins).map_err(unreadable)?;
    let first = begins.iter().copied().min().unwrap_or(0);
    recorded.ranks = ranks
        .into_iter()
        .zip(&shares)
        .map(|(rank, share)| RankShare {
            rank,
            operations: share.recorded.operation_count(),
            client_cpu: share.recorded.client_cpu,
            client_bound: share.recorded.client_bound,
            began_after_ns: share.began_ns - first + share.late_ns,
            ended_after_ns: share.ended_ns() - first,
            client_peak_memory_bytes: share.recorded.client_peak_memory_bytes,
        })
        .collect();
    // What failed, hung or was cut short says more than that it ended at another time.
    let is_whole = |share: &Yielded| share.failures == 0 && share.unfinished == 0 && !share.interrupted;
    let void = apart(&recorded, duration, pace).filter(|_| shares.iter().all(is_whole));
    let gravest = |failure: &&Failure| matches!(failure, Failure::FactsDiffer(_));
    let failures = || shares.iter().filter_map(|share| share.first_failure.as_ref());
    Ok(Slice {
        yielded: SliceYield {
            began: instant_of(first),
            late: Duration::ZERO,
            kept: Vec::new(),
            failures: shares.iter().map(|share| share.failures).sum(),
            first_failure: failures().find(gravest).or_else(|| failures().next()).cloned(),
            unfinished: shares.iter().map(|share| share.unfinished).sum(),
            interrupted: shares.iter().any(|share| share.interrupted),
            recorded,
        },
        void,
    })
}

/// That they did not work together.
fn apart(recorded: &Yield, duration: Duration, pace: Pace) -> Option<VoidReason> {
    let most_ns = (duration.as_nanos() as f64 * MOST_APART) as u64;
    let spread = |of: fn(&RankShare) -> u64| {
        let latest = recorded.ranks.iter().max_by_key(|share| of(share))?;
        let earliest = recorded.ranks.iter().map(of).min()?;
        Some((of(latest) - earliest, latest.rank))
    };
    let said = |what: &str, (apart_ns, rank): (u64, u32)| VoidReason::RanksApart {
        detail: format!(
            "{what} {:.1} ms apart, rank {rank} the last, of {:.1} ms that are allowed",
            apart_ns as f64 / 1e6,
            most_ns as f64 / 1e6
        ),
    };
    if let Some(begun) = spread(|share| share.began_after_ns).filter(|(apart, _)| *apart > most_ns) {
        return Some(said("they began", begun));
    }
    if pace != Pace::Closed {
        // A batch ends when it is done, and a schedule with its last operation.
        return None;
    }
    let longest = long_operation_ns(recorded);
    let ended = spread(|share| share.ended_after_ns)?;
    (ended.0 > most_ns.saturating_add(longest)).then(|| said("they ended", ended))
}

/// What all but one of a thousand operations take no longer than: of those that are in flight at the end few take longer, and one that
/// waits for a load generator which stands still is not among them.
fn long_operation_ns(recorded: &Yield) -> u64 {
    let long = |text| histogram::decode(text).map_or(0, |histogram| histogram.value_at_quantile(0.999));
    let kinds = recorded.operations.iter();
    kinds.map(|kind| long(&kind.latency)).max().unwrap_or(0)
}

//! What an arm's operations and the CPUs do, with how sure that is.

use std::collections::{BTreeMap, BTreeSet};

use ciphertax_model::{Link, Placement};
use ciphertax_records::Head;
use ciphertax_records::why::ProfiledSide;
use ciphertax_stats::{FEWEST_BLOCKS, MeanEstimate};

use crate::why::categories::UNCLASSIFIED;
use crate::why::counted::{Counted, Profiles};
use crate::why::states::{Block, InState, State, per_operation};
use ciphertax_estimate::EstimateError;
use ciphertax_estimate::slices::{CellSlices, Slice};

/// A fraction over blocks.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Fraction {
    pub(super) value: f64,
    /// Lower bound of its 95 % interval.
    pub(super) low: f64,
}

/// Of one arm in one cell.
pub(super) struct Usage {
    /// Of the load threads, of the CPUs that they may use; `None` where that is not known.
    pub(super) client: Option<Fraction>,
    /// Of the CPUs that the server may use, whoever uses them; `None` for a server elsewhere.
    pub(super) cpus: Option<Fraction>,
    /// Of these, what other programs and the kernel's own threads use; `None` where that cannot be told.
    pub(super) others: Option<Fraction>,
    /// How many those are.
    pub(super) cpu_count: u32,
    /// The time of an operation, in microseconds.
    pub(super) round_trip_us: f64,
    /// Of the round trip, what is spent on a CPU or waiting for one.
    pub(super) running: Fraction,
    /// Of the round trip, each state.
    states: Vec<(State, Fraction)>,
    /// Each with what is waited for.
    details: Vec<(InState, Fraction)>,
    /// Of the server's samples, each category, the largest first.
    pub(super) categories: Vec<(&'static str, Fraction)>,
    /// The lock that is spun for most.
    pub(super) spins_for: Option<String>,
    pub(super) link: Option<Link>,
}

impl Fraction {
    /// Upper bound of its interval, which is as far from the value as the lower.
    pub(super) fn high(&self) -> f64 {
        2.0 * self.value - self.low
    }

    /// Of parts of as large wholes.
    fn of(series: &[f64]) -> Result<Option<Self>, EstimateError> {
        Self::of_wholes(series.iter().map(|part| (*part, 1.0)))
    }

    /// Of the part that each block has of its whole, and how large that is: the part of all wholes together.
    fn of_wholes(blocks: impl Iterator<Item = (f64, f64)>) -> Result<Option<Self>, EstimateError> {
        let blocks: Vec<(f64, f64)> = blocks.collect();
        if blocks.len() < FEWEST_BLOCKS as usize {
            return Ok(None);
        }
        let all: f64 = blocks.iter().map(|(_, whole)| whole).sum();
        let value = blocks.iter().map(|(part, whole)| part * whole).sum::<f64>() / all;
        let mean = all / blocks.len() as f64;
        let pulls = blocks
            .iter()
            .map(|(part, whole)| value + whole / mean * (part - value));
        let estimate = MeanEstimate::of(&pulls.collect::<Vec<f64>>())?;
        Ok(Some(Self {
            value,
            low: estimate.low,
        }))
    }
}

impl Usage {
    /// `None` where too few blocks were looked into.
    pub(super) fn of(
        (index, cell, arm): (usize, &CellSlices<'_>, usize),
        blocks: &BTreeMap<u32, Block>,
        profiles: &Profiles,
        head: &Head,
    ) -> Result<Option<Self>, EstimateError> {
        if blocks.len() < FEWEST_BLOCKS as usize {
            return Ok(None);
        }
        let round_trip = |block: &Block| block.states.values().sum::<f64>().max(f64::MIN_POSITIVE);
        let share = |of: &dyn Fn(&InState) -> bool| -> Result<Fraction, EstimateError> {
            let shares = blocks.values().map(|block| {
                let those = block.states.iter().filter(|(state, _)| of(state));
                let those = those.map(|(_, us)| us).sum::<f64>();
                let all = round_trip(block);
                (those / all, all * block.operations)
            });
            Ok(Fraction::of_wholes(shares)?.unwrap_or_default())
        };
        let all: BTreeSet<&InState> = blocks.values().flat_map(|block| block.states.keys()).collect();
        let kinds: BTreeSet<State> = all.iter().map(|(state, _)| *state).collect();
        let by_state = kinds
            .iter()
            .map(|state| Ok((*state, share(&|(other, _)| other == state)?)));
        let by_detail = all
            .iter()
            .map(|state| Ok(((*state).clone(), share(&|other| other == *state)?)));
        let mut usage = Self {
            client: None,
            cpus: None,
            others: None,
            cpu_count: cpus_of_server(head),
            round_trip_us: per_operation(blocks.values(), round_trip),
            running: share(&|(state, _)| matches!(state, State::OnCpu | State::Runnable))?,
            states: by_state.collect::<Result<_, EstimateError>>()?,
            details: by_detail.collect::<Result<_, EstimateError>>()?,
            categories: Vec::new(),
            spins_for: None,
            link: head.study.link(cell.cell),
        };
        usage.read_cpus(cell, arm, head)?;
        usage.read_profiles(index, cell, arm, profiles)?;
        Ok(Some(usage))
    }

    /// Slices that were not looked into tell how busy CPUs are.
    fn read_cpus(&mut self, cell: &CellSlices<'_>, arm: usize, head: &Head) -> Result<(), EstimateError> {
        let slices = || {
            let of_arm = cell.blocks.values().filter_map(|block| block[arm].as_ref());
            of_arm.filter(|slice| slice.look.is_none() && slice.duration_ns > 0.0)
        };
        let client: Vec<f64> = slices()
            .filter(|slice| slice.workers > 0)
            .map(|slice| slice.client_cpu.total_ns as f64 / slice.duration_ns / f64::from(slice.workers))
            .collect();
        self.client = Fraction::of(&client)?;
        let is_here = head.servers.iter().all(|server| server.same_host);
        if is_here {
            let is_alone = head.study.placement == Placement::Free;
            let cpus: Vec<f64> = slices()
                .map(|slice| busy(slice, self.cpu_count, is_alone))
                .collect();
            self.cpus = Fraction::of(&cpus)?;
            let others = slices().map(|slice| {
                let known = busy(slice, self.cpu_count, false);
                slice
                    .idle_ns
                    .map(|_| (busy(slice, self.cpu_count, true) - known).max(0.0))
            });
            if let Some(others) = others
                .collect::<Option<Vec<f64>>>()
                .filter(|_| is_alone && !head.study.differs_at_rest())
            {
                self.others = Fraction::of(&others)?;
            }
        }
        Ok(())
    }

    fn read_profiles(
        &mut self,
        index: usize,
        cell: &CellSlices<'_>,
        arm: usize,
        profiles: &Profiles,
    ) -> Result<(), EstimateError> {
        let blocks = cell.blocks.keys();
        let counted: Vec<_> = blocks
            .filter_map(|block| profiles.slices.get(&(index, *block, arm, ProfiledSide::Server)))
            .collect();
        let categories: BTreeSet<&'static str> = counted
            .iter()
            .flat_map(|counted| counted.by_category.keys().copied())
            .collect();
        for category in categories
            .into_iter()
            .filter(|category| *category != UNCLASSIFIED)
        {
            let share = |counted: &&Counted| {
                let count = counted.by_category.get(category).copied().unwrap_or(0);
                let samples = counted.samples as f64;
                (count as f64 / samples, samples)
            };
            let share = Fraction::of_wholes(counted.iter().map(share))?;
            self.categories.extend(share.map(|share| (category, share)));
        }
        self.categories
            .sort_by(|(_, one), (_, other)| other.value.total_cmp(&one.value));
        let mut locks: BTreeMap<&str, u64> = BTreeMap::new();
        for (lock, count) in counted.iter().flat_map(|counted| &counted.spinning) {
            *locks.entry(lock).or_default() += count;
        }
        let most = locks.into_iter().max_by_key(|(_, count)| *count);
        self.spins_for = most
            .map(|(lock, _)| lock.to_owned())
            .filter(|lock| !lock.is_empty());
        Ok(())
    }

    /// What part of the round trip a state takes.
    pub(super) fn share(&self, state: State) -> Fraction {
        let mut states = self.states.iter();
        states
            .find(|(other, _)| *other == state)
            .map_or(Fraction::default(), |(_, share)| *share)
    }

    /// What is waited for in a state, the most first.
    pub(super) fn details(&self, state: State) -> Vec<(&str, Fraction)> {
        let details = self.details.iter().filter(|((other, _), _)| *other == state);
        let named = details.filter_map(|((_, detail), share)| Some((detail.as_deref()?, *share)));
        let mut named: Vec<(&str, Fraction)> = named.collect();
        named.sort_by(|(_, one), (_, other)| other.value.total_cmp(&one.value));
        named
    }

    /// The lock that takes most of the round trip.
    pub(super) fn lock(&self) -> Option<(&InState, Fraction)> {
        let locks = self.details.iter().filter(|((state, _), _)| state.is_lock());
        let most = locks.max_by(|(_, one), (_, other)| one.value.total_cmp(&other.value));
        most.map(|(state, share)| (state, *share))
    }

    /// The states, that which takes most first.
    pub(super) fn largest(&self) -> Vec<(State, Fraction)> {
        let mut states = self.states.clone();
        states.sort_by(|(_, one), (_, other)| other.value.total_cmp(&one.value));
        states
    }
}

/// How many CPUs the server may use.
fn cpus_of_server(head: &Head) -> u32 {
    match head.study.placement {
        Placement::Together => 1,
        Placement::Free => head.host.cpus.max(1),
    }
}

/// The part of the CPUs that was used: by anybody where they are all of the machine's and it says so, else by whom the run knows.
fn busy(slice: &Slice, cpus: u32, are_all: bool) -> f64 {
    let time = slice.duration_ns * f64::from(cpus);
    let used = match slice.idle_ns.filter(|_| are_all) {
        Some(idle_ns) => time - idle_ns as f64,
        None => {
            let server = slice.server_cpu.map_or(0, |cpu| cpu.total_ns);
            server as f64 + slice.client_cpu.total_ns as f64 + slice.beside_cpu_ns as f64
        }
    };
    (used / time).clamp(0.0, 1.0)
}

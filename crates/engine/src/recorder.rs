//! What one load thread counts during a slice: its operations, and how it kept the schedule of an open loop.

use std::collections::BTreeMap;
use std::time::Duration;

use ciphertax_base::{AuthenticationFacts, ConnectTrace, Phase};
use ciphertax_records::{Handshakes, KeptOperation, OpenLoopSample, OperationSample, PhaseSample};
use ciphertax_stats::histogram;
use hdrhistogram::Histogram;

use crate::workload::{Failure, Operation};

/// Counts operations; one a load thread, merged when the slice has ended. Recording allocates nothing, except for the
/// first connect and for failures.
pub struct Recorder {
    kinds: Vec<KindCount>,
    /// The names of the workload's own counts.
    counts: &'static [&'static str],
    /// All operations that succeeded.
    pub(crate) sum: Operation,
    phases: Vec<Option<PhaseCount>>,
    logins: Vec<(AuthenticationFacts, u64)>,
    pub(crate) handshakes: Option<Handshakes>,
    pub(crate) failures: u64,
    pub(crate) first_failure: Option<Failure>,
    /// The phases of the connect that the operation which ends now has made.
    last_connect: Option<ConnectTrace>,
    /// Every single operation, where they are kept.
    kept: Option<Vec<KeptOperation>>,
}

struct KindCount {
    name: &'static str,
    count: u64,
    latency_sum_ns: u64,
    latency: Histogram<u64>,
}

struct PhaseCount {
    sample: PhaseSample,
    wall: Histogram<u64>,
}

impl Recorder {
    /// Counts operations of these kinds, with the workload's own `counts`, and keeps every single one where `keep` says so.
    pub(crate) fn new(kinds: &[&'static str], counts: &'static [&'static str], keep: bool) -> Self {
        let kind = |name: &&'static str| KindCount {
            name,
            count: 0,
            latency_sum_ns: 0,
            latency: histogram::empty(),
        };
        Self {
            kinds: kinds.iter().map(kind).collect(),
            counts,
            sum: Operation::default(),
            phases: Phase::ALL.iter().map(|_| None).collect(),
            logins: Vec::new(),
            handshakes: None,
            failures: 0,
            first_failure: None,
            last_connect: None,
            kept: keep.then(Vec::new),
        }
    }

    pub(crate) fn record(&mut self, operation: Operation, latency: Duration) {
        let nanos = latency.as_nanos() as u64;
        let kind = &mut self.kinds[operation.kind];
        kind.count += 1;
        kind.latency_sum_ns += nanos;
        kind.latency.saturating_record(nanos);
        if let Some(kept) = &mut self.kept {
            kept.push(KeptOperation {
                kind: kind.name,
                latency,
                connect: self.last_connect.take(),
            });
        }
        self.sum += operation;
    }

    pub(crate) fn fail(&mut self, failure: Failure) {
        self.failures += 1;
        // A session that is not what it should be outweighs everything else that went wrong.
        let outweighs = matches!(failure, Failure::FactsDiffer(_));
        if self.first_failure.is_none() || outweighs {
            self.first_failure = Some(failure);
        }
    }

    /// Notes a connect, at the end of the operation that made it: its phases, and how the login went.
    pub fn connected(&mut self, trace: &ConnectTrace, authentication: &AuthenticationFacts) {
        if self.kept.is_some() {
            self.last_connect = Some(*trace);
        }
        for (phase, trace) in trace.phases() {
            let count = self.phases[phase.index()].get_or_insert_with(|| PhaseCount::new(phase));
            let sample = &mut count.sample;
            sample.count += 1;
            sample.wall_sum_ns += trace.wall_ns;
            if let Some(cpu_ns) = trace.client_cpu_ns {
                *sample.client_cpu_sum_ns.get_or_insert(0) += cpu_ns;
            }
            sample.bytes_sent += trace.bytes_sent;
            sample.bytes_received += trace.bytes_received;
            sample.flights += u64::from(trace.flights);
            count.wall.saturating_record(trace.wall_ns);
        }
        match self.logins.iter_mut().find(|(known, _)| known == authentication) {
            Some((_, count)) => *count += 1,
            None => self.logins.push((authentication.clone(), 1)),
        }
    }

    /// Notes what a server still sent while it closed a connection, over which goodbye was said before.
    pub fn closed(&mut self, bytes_received: u64) {
        if bytes_received > 0 {
            let close = Phase::Close;
            let count = self.phases[close.index()].get_or_insert_with(|| PhaseCount::new(close));
            count.sample.bytes_received += bytes_received;
            self.sum.bytes_received += bytes_received;
        }
    }

    /// Notes a TLS handshake: whether it offered to take up an earlier session, and whether the server agreed.
    pub fn shook_hands(&mut self, offered: bool, resumed: bool) {
        *self.handshakes.get_or_insert_default() += Handshakes {
            count: 1,
            offered: offered.into(),
            resumed: resumed.into(),
        };
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.kinds.iter_mut().zip(&other.kinds) {
            mine.count += theirs.count;
            mine.latency_sum_ns += theirs.latency_sum_ns;
            add(&mut mine.latency, &theirs.latency);
        }
        self.sum += other.sum;
        for (phase, theirs) in Phase::ALL.into_iter().zip(&other.phases) {
            let Some(theirs) = theirs else { continue };
            self.phases[phase.index()]
                .get_or_insert_with(|| PhaseCount::new(phase))
                .merge(theirs);
        }
        if let Some(theirs) = other.handshakes {
            *self.handshakes.get_or_insert_default() += theirs;
        }
        for (facts, count) in &other.logins {
            match self.logins.iter_mut().find(|(known, _)| known == facts) {
                Some((_, mine)) => *mine += count,
                None => self.logins.push((facts.clone(), *count)),
            }
        }
        if let (Some(mine), Some(theirs)) = (&mut self.kept, &other.kept) {
            mine.extend_from_slice(theirs);
        }
        self.failures += other.failures;
        if self.first_failure.is_none() || matches!(other.first_failure, Some(Failure::FactsDiffer(_))) {
            self.first_failure = other.first_failure.clone().or(self.first_failure.take());
        }
    }

    /// Operations by kind; failures are counted with the first kind, since a failed operation has none.
    pub(crate) fn operations(&self) -> Vec<OperationSample> {
        let sample = |(index, kind): (usize, &KindCount)| OperationSample {
            kind: kind.name.to_owned(),
            count: kind.count,
            errors: if index == 0 { self.failures } else { 0 },
            latency_sum_ns: kind.latency_sum_ns,
            latency: histogram::encode(&kind.latency),
        };
        self.kinds.iter().enumerate().map(sample).collect()
    }

    /// The workload's own counts by their names, without those of which there are none.
    pub(crate) fn counts(&self) -> BTreeMap<String, u64> {
        let counts = self.counts.iter().zip(self.sum.counts);
        let counted = counts.filter(|(_, count)| *count > 0);
        counted.map(|(name, count)| ((*name).to_owned(), count)).collect()
    }

    pub(crate) fn phases(&self) -> Vec<PhaseSample> {
        let sample = |phase: &PhaseCount| PhaseSample {
            wall: histogram::encode(&phase.wall),
            ..phase.sample.clone()
        };
        self.phases.iter().flatten().map(sample).collect()
    }

    /// Every single operation; none where they are not kept.
    pub(crate) fn take_kept(&mut self) -> Vec<KeptOperation> {
        self.kept.take().unwrap_or_default()
    }

    pub(crate) fn logins(&self) -> BTreeMap<AuthenticationFacts, u64> {
        self.logins.iter().cloned().collect()
    }
}

impl PhaseCount {
    fn new(phase: Phase) -> Self {
        let sample = PhaseSample {
            phase,
            count: 0,
            wall_sum_ns: 0,
            client_cpu_sum_ns: None,
            bytes_sent: 0,
            bytes_received: 0,
            flights: 0,
            wall: Default::default(),
        };
        Self {
            sample,
            wall: histogram::empty(),
        }
    }

    fn merge(&mut self, other: &Self) {
        let (mine, theirs) = (&mut self.sample, &other.sample);
        mine.count += theirs.count;
        mine.wall_sum_ns += theirs.wall_sum_ns;
        if let Some(cpu_ns) = theirs.client_cpu_sum_ns {
            *mine.client_cpu_sum_ns.get_or_insert(0) += cpu_ns;
        }
        mine.bytes_sent += theirs.bytes_sent;
        mine.bytes_received += theirs.bytes_received;
        mine.flights += theirs.flights;
        add(&mut self.wall, &other.wall);
    }
}

fn add(mine: &mut Histogram<u64>, theirs: &Histogram<u64>) {
    mine.add(theirs)
        .expect("all histograms of the engine have the same bounds");
}

/// An operation that the load generator itself begins later than this is late. Some turns of the scheduler: what a
/// thread that shares its CPU must expect.
pub const LATE: Duration = Duration::from_millis(10);

/// Counts response times; one a load thread, merged when the slice has ended. Counting allocates nothing.
pub(crate) struct Responses {
    begun: u64,
    late: u64,
    delay_sum_ns: u64,
    sum_ns: u64,
    histogram: Histogram<u64>,
}

impl Responses {
    pub(crate) fn new() -> Self {
        Self {
            begun: 0,
            late: 0,
            delay_sum_ns: 0,
            sum_ns: 0,
            histogram: histogram::empty(),
        }
    }

    /// An operation began. So much of the time since it should have is the load generator's own fault; the rest it
    /// waited for the server's answers.
    pub(crate) fn began(&mut self, delay: Duration) {
        self.begun += 1;
        self.late += u64::from(delay > LATE);
        self.delay_sum_ns += delay.as_nanos() as u64;
    }

    /// An operation ended, so long after it should have begun.
    pub(crate) fn ended(&mut self, response: Duration) {
        let nanos = response.as_nanos() as u64;
        self.sum_ns += nanos;
        self.histogram.saturating_record(nanos);
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.begun += other.begun;
        self.late += other.late;
        self.delay_sum_ns += other.delay_sum_ns;
        self.sum_ns += other.sum_ns;
        self.histogram
            .add(&other.histogram)
            .expect("all histograms of the engine have the same bounds");
    }

    /// `planned` is the number of operations that all threads together were to begin.
    pub(crate) fn sample(&self, planned: u64) -> OpenLoopSample {
        OpenLoopSample {
            planned,
            not_begun: planned.saturating_sub(self.begun),
            late: self.late,
            delay_sum_ns: self.delay_sum_ns,
            response_sum_ns: self.sum_ns,
            response: histogram::encode(&self.histogram),
        }
    }
}

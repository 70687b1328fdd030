//! One yield of several load generators: everything is added, and nothing averaged.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use ciphertax_stats::HistogramText;
use ciphertax_stats::histogram::{self, HistogramError};

use crate::sample::{OpenLoopSample, OperationSample, PhaseSample, Yield};

impl Yield {
    /// What all load generators of one slice yielded together. Percentiles of the merged histograms are those of one histogram of all
    /// operations. The slice lasted from `began` of the first to the end of the last: `begins_ns` says when each began, in nanoseconds
    /// by one clock. One of them that was the bottleneck makes the whole client-bound.
    ///
    /// # Errors
    /// When a histogram cannot be read.
    pub fn merged(yields: &[Self], begins_ns: &[u64]) -> Result<Self, HistogramError> {
        let Some((first, others)) = yields.split_first() else {
            return Ok(Self::default());
        };
        let mut merged = first.clone();
        for of_one in others {
            merged.add(of_one)?;
        }
        let first = begins_ns.iter().copied().min().unwrap_or(0);
        let ends = begins_ns.iter().zip(yields);
        let last = ends.map(|(begin, of_one)| begin.saturating_add(of_one.duration_ns));
        merged.duration_ns = last.max().unwrap_or(0).saturating_sub(first);
        Ok(merged)
    }

    fn add(&mut self, more: &Self) -> Result<(), HistogramError> {
        for kind in &more.operations {
            match self.operations.iter_mut().find(|own| own.kind == kind.kind) {
                Some(own) => own.add(kind)?,
                None => self.operations.push(kind.clone()),
            }
        }
        for phase in &more.phases {
            match self.phases.iter_mut().find(|own| own.phase == phase.phase) {
                Some(own) => own.add(phase)?,
                None => self.phases.push(phase.clone()),
            }
        }
        match (&mut self.open_loop, &more.open_loop) {
            (Some(own), Some(more)) => own.add(more)?,
            (own @ None, more) => own.clone_from(more),
            (Some(_), None) => {}
        }
        self.client_cpu += more.client_cpu;
        self.bytes_sent += more.bytes_sent;
        self.bytes_received += more.bytes_received;
        self.client_context_switches += more.client_context_switches;
        add_if_known(&mut self.client_run_queue_wait_ns, more.client_run_queue_wait_ns);
        add_if_known(&mut self.client_page_faults, more.client_page_faults);
        add_if_known(&mut self.client_hardware, more.client_hardware);
        add_if_known(&mut self.client_peak_memory_bytes, more.client_peak_memory_bytes);
        add_known(&mut self.handshakes, more.handshakes);
        self.workers += more.workers;
        add_counts(&mut self.logins, &more.logins);
        self.queries += more.queries;
        self.restarts += more.restarts;
        add_counts(&mut self.counts, &more.counts);
        self.client_bound |= more.client_bound;
        Ok(())
    }
}

impl OperationSample {
    fn add(&mut self, more: &Self) -> Result<(), HistogramError> {
        self.count += more.count;
        self.errors += more.errors;
        self.latency_sum_ns += more.latency_sum_ns;
        add_histogram(&mut self.latency, &more.latency)
    }
}

impl PhaseSample {
    fn add(&mut self, more: &Self) -> Result<(), HistogramError> {
        self.count += more.count;
        self.wall_sum_ns += more.wall_sum_ns;
        add_if_known(&mut self.client_cpu_sum_ns, more.client_cpu_sum_ns);
        self.bytes_sent += more.bytes_sent;
        self.bytes_received += more.bytes_received;
        self.flights += more.flights;
        add_histogram(&mut self.wall, &more.wall)
    }
}

impl OpenLoopSample {
    fn add(&mut self, more: &Self) -> Result<(), HistogramError> {
        self.planned += more.planned;
        self.not_begun += more.not_begun;
        self.late += more.late;
        self.delay_sum_ns += more.delay_sum_ns;
        self.response_sum_ns += more.response_sum_ns;
        add_histogram(&mut self.response, &more.response)
    }
}

fn add_histogram(sum: &mut HistogramText, more: &HistogramText) -> Result<(), HistogramError> {
    let mut both = histogram::decode(sum)?;
    both.add(histogram::decode(more)?)
        .map_err(|error| HistogramError::Format(format!("{error:?}")))?;
    *sum = histogram::encode(&both);
    Ok(())
}

/// What one does not know, nobody knows of all.
fn add_if_known<T: AddAssign + Copy>(sum: &mut Option<T>, more: Option<T>) {
    match (sum.as_mut(), more) {
        (Some(sum), Some(more)) => *sum += more,
        _ => *sum = None,
    }
}

/// What only some have had is the sum of what these have had.
fn add_known<T: AddAssign + Copy>(sum: &mut Option<T>, more: Option<T>) {
    match (sum.as_mut(), more) {
        (Some(sum), Some(more)) => *sum += more,
        (None, more) => *sum = more,
        (Some(_), None) => {}
    }
}

fn add_counts<K: Ord + Clone>(sum: &mut BTreeMap<K, u64>, more: &BTreeMap<K, u64>) {
    for (key, count) in more {
        *sum.entry(key.clone()).or_default() += count;
    }
}

#[cfg(test)]
mod tests {
    use ciphertax_stats::histogram::{empty, encode};

    use super::*;

    /// Latencies in nanoseconds of so many operations, which differ from load generator to load generator.
    fn latencies(rank: u64) -> Vec<u64> {
        (1..2_000)
            .map(|number| 40_000 + rank * 1_000_000 + number * number * (rank + 3))
            .collect()
    }

    fn of(latencies: &[u64]) -> Yield {
        let mut histogram = empty();
        latencies
            .iter()
            .for_each(|latency| histogram.saturating_record(*latency));
        let sum = latencies.iter().sum();
        Yield {
            duration_ns: 1_000_000,
            operations: vec![OperationSample {
                kind: "point_select".into(),
                count: latencies.len() as u64,
                errors: 1,
                latency_sum_ns: sum,
                latency: encode(&histogram),
            }],
            open_loop: Some(OpenLoopSample {
                planned: latencies.len() as u64,
                not_begun: 0,
                late: 2,
                delay_sum_ns: 7,
                response_sum_ns: sum,
                response: encode(&histogram),
            }),
            counts: [("stale_reads".to_owned(), 3)].into(),
            workers: 1,
            ..Yield::default()
        }
    }

    #[test]
    fn merged_histograms_are_the_one_of_all_operations() {
        let all: Vec<u64> = (0..5).flat_map(latencies).collect();
        let yields: Vec<Yield> = (0..5).map(|rank| of(&latencies(rank))).collect();
        let merged = Yield::merged(&yields, &[10, 0, 30, 20, 40]).unwrap();
        let alone = of(&all);
        let percentiles = |text: &HistogramText| {
            let histogram = histogram::decode(text).unwrap();
            [0.5, 0.9, 0.95, 0.99, 0.999, 1.0].map(|quantile| histogram.value_at_quantile(quantile))
        };
        let (one, other) = (&merged.operations[0], &alone.operations[0]);
        assert_eq!(one.latency, other.latency);
        assert_eq!(percentiles(&one.latency), percentiles(&other.latency));
        let found = (one.count, one.latency_sum_ns);
        assert_eq!(found, (other.count, other.latency_sum_ns));
        assert_eq!(one.errors, 5);
        let response = |sum: &Yield| sum.open_loop.as_ref().unwrap().response.clone();
        assert_eq!(response(&merged), response(&alone));
        assert_eq!(merged.counts_of(["stale_reads", "rolled_back"]), [15, 0]);
        // From the first that began to the last that ended.
        assert_eq!((merged.duration_ns, merged.workers), (1_000_040, 5));
    }

    #[test]
    fn what_is_no_histogram_is_refused() {
        let mut broken = of(&[1_000]);
        broken.operations[0].latency = HistogramText("no".into());
        assert!(Yield::merged(&[of(&[1_000]), broken], &[0, 0]).is_err());
    }
}

//! When a packet that enters a line leaves it.

use std::time::{Duration, Instant};

use super::jitter::Jitter;
use super::settings::Settings;

/// Bytes that at least fit into the queue before a limited bandwidth: a hundred full packets.
const SMALLEST_QUEUE: f64 = 150_000.0;

/// One direction of a line: a queue that feeds a line of limited bandwidth, then the way itself.
///
/// The queue holds one product of bandwidth and round-trip time, the rule by which routers' buffers were long
/// made (Villamizar and Song, *High Performance TCP in ANSNET*, 1994), but at least a hundred full packets.
/// What comes when it is full does not fit any more. Bandwidth counts the bytes of IP packets, headers included.
#[derive(Debug)]
pub(super) struct DelayLine {
    settings: Settings,
    jitter: Jitter,
    /// When everything in the queue will have been sent.
    queue_empty: Instant,
    /// When the last packet that entered leaves: none leaves before it.
    last_leaves: Instant,
}

impl DelayLine {
    pub(super) fn new(settings: Settings, now: Instant) -> Self {
        Self::with_seed(settings, now, rand::random())
    }

    fn with_seed(settings: Settings, now: Instant, seed: u64) -> Self {
        Self {
            settings,
            jitter: Jitter::new(settings.sigma, seed, now),
            queue_empty: now,
            last_leaves: now,
        }
    }

    /// Changes the line for packets that enter from now on. They leave after those that are on their way.
    pub(super) fn set(&mut self, settings: Settings, now: Instant) {
        *self = Self {
            last_leaves: self.last_leaves,
            ..Self::new(settings, now)
        };
    }

    /// Whether a packet of `bytes` fits into the queue.
    pub(super) fn has_room(&self, bytes: usize, now: Instant) -> bool {
        let Some(rate) = self.settings.rate else {
            return true;
        };
        let queued = self.queue_empty.saturating_duration_since(now).as_secs_f64() * rate;
        let round_trip = 2.0 * self.settings.one_way.as_secs_f64();
        queued + bytes as f64 <= SMALLEST_QUEUE.max(rate * round_trip)
    }

    /// Lets a packet of `bytes` enter and says when it leaves.
    pub(super) fn enter(&mut self, bytes: usize, now: Instant) -> Instant {
        let sent = match self.settings.rate {
            None => now,
            Some(rate) => {
                let sending = Duration::from_secs_f64(bytes as f64 / rate);
                self.queue_empty = self.queue_empty.max(now) + sending;
                self.queue_empty
            }
        };
        let delay = self.settings.one_way.as_secs_f64() + self.jitter.at(sent);
        let leaves = sent + Duration::from_secs_f64(delay.max(0.0));
        self.last_leaves = self.last_leaves.max(leaves);
        self.last_leaves
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn line(one_way: Duration, sigma: f64, rate: Option<f64>) -> (DelayLine, Instant) {
        let start = Instant::now();
        let settings = Settings { one_way, sigma, rate };
        (DelayLine::with_seed(settings, start, 7), start)
    }

    #[test]
    fn without_jitter_or_limit_every_packet_takes_the_same_time() {
        let (mut line, start) = line(20 * MS, 0.0, None);
        for at in [start, start, start + MS] {
            assert_eq!(line.enter(1500, at), at + 20 * MS);
        }
    }

    #[test]
    fn jitter_spreads_the_delays_and_keeps_the_order() {
        let (mut line, start) = line(20 * MS, 0.002, None);
        let mut delays = Vec::new();
        let mut last = start;
        for step in 0..100_000 {
            let now = start + step * MS / 10;
            let leaves = line.enter(100, now);
            assert!(leaves >= last);
            last = leaves;
            delays.push((leaves - now).as_secs_f64());
        }
        let mean = delays.iter().sum::<f64>() / delays.len() as f64;
        let sigma =
            (delays.iter().map(|delay| (delay - mean).powi(2)).sum::<f64>() / delays.len() as f64).sqrt();
        assert!((mean / 0.020 - 1.0).abs() < 0.01, "{mean}");
        assert!((sigma / 0.002 - 1.0).abs() < 0.05, "{sigma}");
    }

    #[test]
    fn bandwidth_spaces_packets_and_a_full_queue_refuses_them() {
        // A megabyte a second and 40 ms: the product is 40 kB, so the queue holds 150 kB, 150 ms.
        let (mut line, start) = line(20 * MS, 0.0, Some(1e6));
        let mut accepted: u32 = 0;
        while line.has_room(1000, start) {
            accepted += 1;
            assert_eq!(line.enter(1000, start), start + accepted * MS + 20 * MS);
        }
        assert_eq!(accepted, 150);
        assert!(line.has_room(1000, start + MS));
        // Once empty, it does not make up for idle time.
        let later = start + 1000 * MS;
        assert_eq!(line.enter(1000, later), later + 21 * MS);
        assert_eq!(line.enter(1000, later), later + 22 * MS);
    }

    #[test]
    fn a_long_fast_line_has_a_queue_of_its_product() {
        let (mut line, start) = line(50 * MS, 0.0, Some(1e7));
        let mut bytes = 0;
        while line.has_room(1000, start) {
            line.enter(1000, start);
            bytes += 1000;
        }
        assert_eq!(bytes, 1_000_000);
    }

    #[test]
    fn a_shorter_line_does_not_let_packets_overtake_those_on_their_way() {
        let (mut line, start) = line(100 * MS, 0.0, None);
        let before = line.enter(100, start);
        let shorter = Settings {
            one_way: MS,
            ..line.settings
        };
        line.set(shorter, start);
        assert_eq!(line.enter(100, start + MS), before);
        let later = before + MS;
        assert_eq!(line.enter(100, later), later + MS);
    }
}

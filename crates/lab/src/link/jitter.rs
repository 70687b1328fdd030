//! A delay that varies like a real line's: normally distributed, and not faster than packets can follow in order.

use std::f64::consts::{FRAC_PI_2, TAU};
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// Length of a period in standard deviations. Within a period the delay changes by at most π/2 · r standard deviations,
/// where r is Rayleigh distributed; packets would overtake each other only where it falls faster than time passes, that
/// is for r > 12/π, once in three thousand periods.
const PERIOD_SIGMAS: f64 = 6.0;

/// A random function of time whose value at every instant is normally distributed around 0.
///
/// Drawing a new delay for every packet and then keeping the order makes each packet wait for the slowest before it:
/// with many packets per standard deviation all delays become large and alike. So a value is drawn once a period
/// and the delay moves from one to the next: x(t) = cos θ · xᵢ + sin θ · xᵢ₊₁ with θ from 0 to π/2, which has the same
/// normal distribution at every t because cos² θ + sin² θ = 1.
#[derive(Debug)]
pub(super) struct Jitter {
    /// Standard deviation in seconds.
    sigma: f64,
    random: StdRng,
    period_began: Instant,
    from: f64,
    to: f64,
}

impl Jitter {
    /// Jitter of `sigma` seconds standard deviation.
    pub(super) fn new(sigma: f64, seed: u64, now: Instant) -> Self {
        let mut random = StdRng::seed_from_u64(seed);
        Self {
            sigma,
            from: normal(&mut random),
            to: normal(&mut random),
            random,
            period_began: now,
        }
    }

    /// What is added to the delay at `now`, in seconds. Time must not go back by more than a period.
    pub(super) fn at(&mut self, now: Instant) -> f64 {
        if self.sigma == 0.0 {
            return 0.0;
        }
        let period = PERIOD_SIGMAS * self.sigma;
        let mut periods = now.saturating_duration_since(self.period_began).as_secs_f64() / period;
        if periods >= 2.0 {
            self.period_began = now;
            self.from = normal(&mut self.random);
            self.to = normal(&mut self.random);
            periods = 0.0;
        } else if periods >= 1.0 {
            self.period_began += Duration::from_secs_f64(period);
            self.from = self.to;
            self.to = normal(&mut self.random);
            periods -= 1.0;
        }
        let (sin, cos) = (periods * FRAC_PI_2).sin_cos();
        self.sigma * (cos * self.from + sin * self.to)
    }
}

/// A standard normal deviate, by the method of Box and Muller (1958).
fn normal(random: &mut StdRng) -> f64 {
    let radius = (-2.0 * (1.0 - random.random::<f64>()).ln()).sqrt();
    radius * (TAU * random.random::<f64>()).cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIGMA: f64 = 0.002;

    /// Values at 200 000 instants that lie `apart`.
    fn values(apart: Duration) -> Vec<f64> {
        let start = Instant::now();
        let mut jitter = Jitter::new(SIGMA, 7, start);
        (0..200_000).map(|step| jitter.at(start + apart * step)).collect()
    }

    #[test]
    fn the_delay_is_normally_distributed_however_many_packets_there_are() {
        for apart in [
            Duration::from_micros(500),
            Duration::from_millis(9),
            Duration::from_millis(100),
        ] {
            let values = values(apart);
            let count = values.len() as f64;
            let mean = values.iter().sum::<f64>() / count;
            let sigma = (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt();
            let beyond = values.iter().filter(|value| value.abs() > 1.96 * SIGMA).count() as f64 / count;
            assert!(mean.abs() < 0.03 * SIGMA, "{apart:?}: mean {mean}");
            assert!((sigma / SIGMA - 1.0).abs() < 0.03, "{apart:?}: sigma {sigma}");
            assert!((0.04..0.06).contains(&beyond), "{apart:?}: {beyond} in the tails");
        }
    }

    #[test]
    fn packets_hardly_ever_catch_up_with_each_other() {
        let apart = Duration::from_micros(20);
        let values = values(apart);
        let caught_up = values
            .windows(2)
            .filter(|pair| pair[0] - pair[1] > apart.as_secs_f64())
            .count();
        assert!(caught_up < values.len() / 1000, "{caught_up}");
    }
}

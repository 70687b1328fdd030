//! How unevenly non-uniform random numbers fall on the customers of a district (clause 2.1.6).

/// The `A` of customers' numbers, and how many there are.
const A: u32 = 1023;
const CUSTOMERS: u32 = 3000;

/// Sums of powers of the shares of all customers, under `NURand(1023, 1, 3000)`. The constant `C` gives the shares to other
/// customers, but changes none.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moments {
    pub(super) second: f64,
    pub(super) third: f64,
}

impl Moments {
    /// Counted over all pairs of numbers that the definition draws from.
    pub(super) fn of_nurand() -> Self {
        let mut pairs = vec![0_u32; CUSTOMERS as usize];
        for low in 0..=A {
            for high in 1..=CUSTOMERS {
                pairs[((low | high) % CUSTOMERS) as usize] += 1;
            }
        }
        let all = f64::from(A + 1) * f64::from(CUSTOMERS);
        let moment = |power| {
            pairs
                .iter()
                .map(|pairs| (f64::from(*pairs) / all).powi(power))
                .sum()
        };
        Self {
            second: moment(2),
            third: moment(3),
        }
    }

    /// The expected number of ordered pairs of draws that fell on the same customer, and its standard deviation. `draws` are
    /// those of the districts: Σ n(n−1) and Σ n(n−1)(n−2). It is that of a U-statistic: pairs without a draw in common are
    /// independent of each other.
    pub(super) fn pairs(self, pairs: f64, triples: f64) -> (f64, f64) {
        let of_pairs = 2.0 * pairs * (self.second - self.second.powi(2));
        let of_triples = 4.0 * triples * (self.third - self.second.powi(2));
        (pairs * self.second, (of_pairs + of_triples).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::*;

    /// Pairs among draws of one district, in units of standard deviations from what is expected.
    fn deviation(draws: u32, mut draw: impl FnMut() -> u32) -> f64 {
        let mut counts = vec![0.0; CUSTOMERS as usize];
        (0..draws).for_each(|_| counts[(draw() % CUSTOMERS) as usize] += 1.0);
        let found: f64 = counts.iter().map(|count| count * (count - 1.0)).sum();
        let n = f64::from(draws);
        let (expected, deviation) = Moments::of_nurand().pairs(n * (n - 1.0), n * (n - 1.0) * (n - 2.0));
        (found - expected) / deviation
    }

    #[test]
    fn draws_of_the_definition_are_as_uneven_as_expected_and_others_are_not() {
        let mut random = Pcg64Mcg::seed_from_u64(1);
        let deviations: Vec<f64> = (0..200)
            .map(|_| {
                deviation(1000, || {
                    (random.random_range(0..=A) | random.random_range(1..=CUSTOMERS)) + 77
                })
            })
            .collect();
        let mean = deviations.iter().sum::<f64>() / 200.0;
        let variance = deviations.iter().map(|found| found.powi(2)).sum::<f64>() / 200.0;
        let is_normal = mean.abs() < 0.35 && (0.6..1.6).contains(&variance);
        assert!(is_normal, "{mean} {variance}");
        assert!(deviation(1000, || random.random_range(0..CUSTOMERS)) < -6.0);
        // With a constant that is drawn anew each time.
        let anew = |random: &mut Pcg64Mcg| {
            (random.random_range(0..=A) | random.random_range(1..=CUSTOMERS)) + random.random_range(0..=A)
        };
        assert!(deviation(1000, || anew(&mut random)) < -6.0);
    }
}

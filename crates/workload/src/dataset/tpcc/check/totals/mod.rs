//! Conditions about all rows together: as many as the run counted, and spread as the specification wants draws to be.

mod bounds;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use self::bounds::{DEVIATIONS, FEW, binomial, lies};
use super::condition::Outcome;
use super::counted::{Counted, REMOTE_LINES, REMOTE_PAYMENTS, ROLLED_BACK, When};
use super::examination::Examined;
use super::population::Population;
use super::skew::Moments;

/// Orders that a delivery transaction delivers at most: one in each district.
const BY_ONE_DELIVERY: u64 = 10;

/// Numbers about all rows, by their names; or why they are not known.
#[derive(Debug, Default)]
pub(super) struct Measured(HashMap<&'static str, Result<f64, String>>);

impl Measured {
    pub(super) fn set(&mut self, name: &'static str, value: f64) {
        self.0.insert(name, Ok(value));
    }

    pub(super) fn miss(&mut self, name: &'static str, because: String) {
        self.0.insert(name, Err(because));
    }

    fn get<const N: usize>(&self, names: [&str; N]) -> Result<[f64; N], String> {
        let mut found = [0.0; N];
        for (value, name) in found.iter_mut().zip(names) {
            *value = match self.0.get(name) {
                Some(known) => known.clone()?,
                None => return Err(format!("{name} was not counted")),
            };
        }
        Ok(found)
    }
}

/// What came of it, where it could be asked: what is wrong, or of how many it holds.
type Answer = Result<Result<f64, String>, String>;

pub(super) fn examine(population: &Population, when: When, measured: &Measured) -> Vec<Examined> {
    let totals = Totals {
        population,
        measured,
        counted: match when {
            When::AfterLoad => Some(Counted::default()),
            When::AfterRun(counted) => counted,
        },
    };
    vec![
        examined(
            "1.2.1",
            "tables that do not grow have the rows that they were loaded with",
            totals.rows(),
        ),
        examined(
            "2.4.2.2",
            "there are as many orders as were loaded and since committed",
            totals.orders(),
        ),
        examined(
            "2.5.2.2",
            "there are as many payments as were loaded and since committed",
            totals.payments(),
        ),
        examined(
            "2.7.4.2",
            "customers have had as many orders delivered as deliveries found",
            totals.deliveries(),
        ),
        examined(
            "2.4.1.4",
            "1 % of new-orders are rolled back",
            totals.rolled_back(),
        ),
        examined(
            "2.4.1.5",
            "1 % of the run's lines come from another warehouse, where there is one",
            totals.remote_lines(),
        ),
        examined(
            "2.5.1.2",
            "15 % of the run's payments are by customers of another warehouse, where there is one",
            totals.remote_payments(),
        ),
        examined(
            "2.1.6",
            "the run's orders fall on customers as unevenly as NURand(1023, 1, 3000) does",
            totals.skew(),
        ),
    ]
}

struct Totals<'a> {
    population: &'a Population,
    measured: &'a Measured,
    counted: Option<Counted>,
}

impl Totals<'_> {
    fn counted(&self) -> Result<Counted, String> {
        let unknown = || "nobody counted all that was done since the load".to_owned();
        self.counted.ok_or_else(unknown)
    }

    fn rows(&self) -> Answer {
        let mut sum = 0.0;
        for (table, expected) in [
            ("warehouse", self.population.warehouses.into()),
            ("district", self.population.all_districts()),
            ("customer", self.population.all_customers()),
        ] {
            let [found] = self.measured.get([table])?;
            if found != expected as f64 {
                return Ok(Err(format!("{table} has {found} rows, expected {expected}")));
            }
            sum += found;
        }
        Ok(Ok(sum))
    }

    fn orders(&self) -> Answer {
        let counted = self.counted()?;
        let [orders] = self.measured.get(["orders"])?;
        let expected = self.population.all_orders() + counted.new_orders;
        Ok(lies(orders, expected, counted.undecided))
    }

    fn payments(&self) -> Answer {
        let counted = self.counted()?;
        let [payments] = self.measured.get(["payments"])?;
        let expected = self.population.all_customers() + counted.payments;
        Ok(lies(payments, expected, counted.undecided))
    }

    fn deliveries(&self) -> Answer {
        let counted = self.counted()?;
        let [delivered] = self.measured.get(["delivered_since"])?;
        let undecided = counted.undecided * BY_ONE_DELIVERY;
        Ok(lies(delivered, counted.deliveries, undecided))
    }

    fn rolled_back(&self) -> Answer {
        let counted = self.counted()?;
        let all = counted.new_orders + counted.rolled_back;
        let rolled_back = counted.rolled_back as f64;
        Ok(binomial(rolled_back, all as f64, ROLLED_BACK, counted.repeats))
    }

    fn remote_lines(&self) -> Answer {
        let counted = self.counted()?;
        let [lines, remote] = self.measured.get(["run_lines", "remote_lines"])?;
        Ok(binomial(remote, lines, self.share(REMOTE_LINES), counted.repeats))
    }

    fn remote_payments(&self) -> Answer {
        let counted = self.counted()?;
        let [payments, remote] = self.measured.get(["payments", "remote_payments"])?;
        let since = payments - self.population.all_customers() as f64;
        Ok(binomial(
            remote,
            since,
            self.share(REMOTE_PAYMENTS),
            counted.repeats,
        ))
    }

    /// Of what comes from another warehouse; nothing does where there is no other.
    fn share(&self, share: f64) -> f64 {
        match self.population.warehouses {
            ..=1 => 0.0,
            _ => share,
        }
    }

    /// The number of orders, if pairs of them by the same customer are as frequent as they should be.
    fn skew(&self) -> Answer {
        let k = f64::from(self.counted()?.repeats);
        let names = ["run_orders", "pairs", "triples", "customer_pairs"];
        let [orders, pairs, triples, of_customers] = self.measured.get(names)?;
        // What was drawn once shows k times: n = km.
        let once = |pairs: f64| (pairs + orders) / (k * k) - orders / k;
        let cubes = triples + 3.0 * pairs + orders;
        let triples = cubes / k.powi(3) - 3.0 * (pairs + orders) / (k * k) + 2.0 * orders / k;
        let (expected, deviation) = Moments::of_nurand().pairs(once(pairs).max(0.0), triples.max(0.0));
        let found = once(of_customers);
        let bound = DEVIATIONS * deviation + 2.0 * FEW;
        Ok(match (found - expected).abs() <= bound {
            true => Ok(orders),
            false => Err(format!(
                "of {orders} orders {found:.0} pairs are by the same customer, expected {expected:.0} ± {bound:.0}"
            )),
        })
    }
}

fn examined(clause: &'static str, condition: &'static str, answer: Answer) -> Examined {
    let verdict = match answer {
        Err(because) => Ok(Outcome::NotAsked { because }),
        Ok(Ok(of)) => Ok(Outcome::Holds { of: of as u64 }),
        Ok(Err(wrong)) => Err(vec![wrong]),
    };
    Examined {
        clause,
        condition,
        in_study: false,
        verdict,
    }
}

//! Conditions about all rows together: as many as the run counted, and spread as the specification wants draws to be.

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use ciphertax_model::Tpcc;

use super::Examined;
use super::condition::{Counted, Outcome, REMOTE_LINES, REMOTE_PAYMENTS, ROLLED_BACK, When};

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

/// How many rows tables are loaded with (clause 4.3.3.1).
#[derive(Debug, Clone, Copy)]
pub(super) struct Population {
    pub(super) warehouses: u32,
    /// Of a warehouse.
    pub(super) districts: u32,
    /// Of a district.
    pub(super) customers: u32,
    /// Of a district.
    pub(super) orders: u32,
    /// Of these.
    pub(super) delivered: u32,
    /// Of all warehouses together, and in stock of each.
    pub(super) items: u32,
}

impl Population {
    pub(super) fn of(tables: &Tpcc) -> Self {
        Self {
            warehouses: tables.warehouses,
            districts: Tpcc::DISTRICTS,
            customers: Tpcc::CUSTOMERS,
            orders: Tpcc::ORDERS,
            delivered: Tpcc::FIRST_UNDELIVERED - 1,
            items: Tpcc::ITEMS,
        }
    }

    /// Of all warehouses.
    pub(super) fn all_districts(&self) -> u64 {
        u64::from(self.warehouses) * u64::from(self.districts)
    }

    /// Of all districts; each has one row of history.
    pub(super) fn all_customers(&self) -> u64 {
        self.all_districts() * u64::from(self.customers)
    }

    /// Of all districts.
    pub(super) fn all_orders(&self) -> u64 {
        self.all_districts() * u64::from(self.orders)
    }
}

/// The `A` of customers' numbers, and how many there are.
const A_OF_CUSTOMERS: u32 = 1023;
const CUSTOMERS_OF_DISTRICT: u32 = 3000;

/// Sums of powers of the shares of all customers, under `NURand(1023, 1, 3000)`. The constant `C` gives the shares to other
/// customers, but changes none.
///
/// They say how unevenly non-uniform random numbers fall on the customers of a district (clause 2.1.6).
#[derive(Debug, Clone, Copy)]
pub(super) struct Moments {
    pub(super) second: f64,
    pub(super) third: f64,
}

impl Moments {
    /// Counted over all pairs of numbers that the definition draws from.
    pub(super) fn of_nurand() -> Self {
        let mut pairs = vec![0_u32; CUSTOMERS_OF_DISTRICT as usize];
        for low in 0..=A_OF_CUSTOMERS {
            for high in 1..=CUSTOMERS_OF_DISTRICT {
                pairs[((low | high) % CUSTOMERS_OF_DISTRICT) as usize] += 1;
            }
        }
        let all = f64::from(A_OF_CUSTOMERS + 1) * f64::from(CUSTOMERS_OF_DISTRICT);
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

/// How many standard deviations from what is expected are too many: once in a thousand million checks by chance.
const DEVIATIONS: f64 = 6.0;
/// What a count may be off besides, where so little is expected that it is no normal variable.
const FEW: f64 = 3.0;
/// A number, if it is as expected or more by at most this many.
fn lies(found: f64, expected: u64, more: u64) -> Result<f64, String> {
    let (least, most) = (expected as f64, (expected + more) as f64);
    match (least..=most).contains(&found) {
        true => Ok(found),
        false if more == 0 => Err(format!("{found} in the tables, {expected} counted")),
        false => Err(format!(
            "{found} in the tables, {expected} counted and {more} undecided"
        )),
    }
}

/// The number of draws, if as many of them came out as their share says, each counted so often.
fn binomial(found: f64, draws: f64, share: f64, repeats: u32) -> Result<f64, String> {
    let expected = draws * share;
    let bound = match share > 0.0 {
        true => {
            let repeats = f64::from(repeats);
            DEVIATIONS * (repeats * expected * (1.0 - share)).sqrt() + FEW * repeats
        }
        false => 0.0,
    };
    match (found - expected).abs() <= bound {
        true => Ok(draws),
        false => Err(format!("{found} of {draws}, expected {expected:.0} ± {bound:.0}")),
    }
}

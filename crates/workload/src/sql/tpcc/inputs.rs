//! Inputs of the terminals: which transaction, and what it works on (clauses 2.4.1, 2.5.1, 2.6.1, 2.7.1, 2.8.1 and 5.2.4).

use ciphertax_model::{Tpcc, TpccWeights};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::deck::{Deck, Kind};
use crate::dataset::tpcc::{Constants, LastName};

/// The fewest and the most lines of an order.
const LINES: std::ops::RangeInclusive<usize> = 5..=15;
pub(super) const MOST_LINES: usize = *LINES.end();
/// A number that no item has.
const UNUSED_ITEM: u32 = Tpcc::ITEMS + 1;

/// Where a terminal stands; neither changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) warehouse: u32,
    /// The district whose stock it asks for.
    pub(super) district: u32,
}

impl Place {
    /// The place of the terminal with this number, from 0: first one in each warehouse, then another in each.
    pub(super) fn of(terminal: u32, warehouses: u32) -> Self {
        Self {
            warehouse: 1 + terminal % warehouses,
            district: 1 + terminal / warehouses % Tpcc::DISTRICTS,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Input {
    NewOrder(NewOrder),
    Payment(Payment),
    OrderStatus(OrderStatus),
    Delivery(Delivery),
    StockLevel(StockLevel),
}

impl Input {
    pub(super) fn kind(&self) -> Kind {
        match self {
            Self::NewOrder(_) => Kind::NewOrder,
            Self::Payment(_) => Kind::Payment,
            Self::OrderStatus(_) => Kind::OrderStatus,
            Self::Delivery(_) => Kind::Delivery,
            Self::StockLevel(_) => Kind::StockLevel,
        }
    }

    pub(super) fn is_rolled_back(&self) -> bool {
        matches!(self, Self::NewOrder(order) if order.is_rolled_back())
    }
}

/// An order (clause 2.4.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NewOrder {
    pub(super) warehouse: u32,
    pub(super) district: u32,
    pub(super) customer: u32,
    lines: [Line; MOST_LINES],
    count: usize,
}

/// A line of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Line {
    /// The warehouse that supplies it.
    pub(super) supplier: u32,
    pub(super) item: u32,
    pub(super) quantity: u32,
}

impl NewOrder {
    /// Its lines by supplier and item, so that all orders lock stock in the same order.
    pub(super) fn lines(&self) -> &[Line] {
        &self.lines[..self.count]
    }

    /// Those whose items there are: all, or all but the last.
    pub(super) fn known_lines(&self) -> &[Line] {
        match self.lines() {
            [known @ .., last] if last.item == UNUSED_ITEM => known,
            all => all,
        }
    }

    /// True if it ends with an item that nobody has, and so is rolled back.
    pub(super) fn is_rolled_back(&self) -> bool {
        self.known_lines().len() < self.count
    }

    /// True if all lines come from the customer's own warehouse.
    pub(super) fn is_local(&self) -> bool {
        self.lines().iter().all(|line| line.supplier == self.warehouse)
    }
}

/// A payment (clause 2.5.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Payment {
    pub(super) warehouse: u32,
    pub(super) district: u32,
    /// Where the customer lives.
    pub(super) home: (u32, u32),
    pub(super) customer: Customer,
    /// Hundredths.
    pub(super) amount: i64,
}

/// A question for a customer's last order (clause 2.6.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OrderStatus {
    pub(super) warehouse: u32,
    pub(super) district: u32,
    pub(super) customer: Customer,
}

/// A delivery of the oldest order of each district (clause 2.7.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Delivery {
    pub(super) warehouse: u32,
    pub(super) carrier: u32,
}

/// A question for items that run out (clause 2.8.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StockLevel {
    pub(super) warehouse: u32,
    pub(super) district: u32,
    pub(super) threshold: u32,
}

/// By what a customer is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Customer {
    Number(u32),
    LastName(LastName),
}

/// Draws the inputs of one terminal.
pub(super) struct Inputs {
    warehouses: u32,
    place: Place,
    constants: Constants,
    mix: Mix,
    random: Pcg64Mcg,
}

/// By what the next transaction is chosen.
enum Mix {
    Cards(Deck),
    Weights(TpccWeights),
}

impl Inputs {
    /// Those of the terminal at `place`.
    pub(super) fn new(tables: &Tpcc, place: Place, constants: Constants, seed: u64) -> Self {
        Self {
            warehouses: tables.warehouses,
            place,
            constants,
            mix: match tables.weights {
                None => Mix::Cards(Deck::new()),
                Some(weights) => Mix::Weights(weights),
            },
            random: Pcg64Mcg::seed_from_u64(seed),
        }
    }

    /// Begins another list of inputs, which is the same for the same seed.
    pub(super) fn begin(&mut self, seed: u64) {
        self.random = Pcg64Mcg::seed_from_u64(seed);
        if let Mix::Cards(deck) = &mut self.mix {
            *deck = Deck::new();
        }
    }

    pub(super) fn draw(&mut self) -> Input {
        let kind = match &mut self.mix {
            Mix::Cards(deck) => deck.draw(&mut self.random),
            Mix::Weights(weights) => Kind::weighted(weights, &mut self.random),
        };
        match kind {
            Kind::NewOrder => Input::NewOrder(self.new_order()),
            Kind::Payment => Input::Payment(self.payment()),
            Kind::OrderStatus => Input::OrderStatus(OrderStatus {
                warehouse: self.place.warehouse,
                district: self.district(),
                customer: self.customer(),
            }),
            Kind::Delivery => Input::Delivery(Delivery {
                warehouse: self.place.warehouse,
                carrier: self.random.random_range(1..=10),
            }),
            Kind::StockLevel => Input::StockLevel(StockLevel {
                warehouse: self.place.warehouse,
                district: self.place.district,
                threshold: self.random.random_range(10..=20),
            }),
        }
    }

    pub(super) fn new_order(&mut self) -> NewOrder {
        let warehouse = self.place.warehouse;
        let district = self.district();
        let customer = self.constants.customer(&mut self.random);
        let count = self.random.random_range(LINES);
        let is_rolled_back = self.random.random_range(1..=100) == 1;
        let mut lines = [Line::default(); MOST_LINES];
        for line in &mut lines[..count] {
            *line = Line {
                item: self.constants.item(&mut self.random),
                supplier: match self.random.random_range(1..=100) {
                    1 => self.another_warehouse(),
                    _ => warehouse,
                },
                quantity: self.random.random_range(1..=10),
            };
        }
        let known = match is_rolled_back {
            true => count - 1,
            false => count,
        };
        if let Some(last) = lines[..count].get_mut(known) {
            last.item = UNUSED_ITEM;
        }
        lines[..known].sort_unstable();
        NewOrder {
            warehouse,
            district,
            customer,
            lines,
            count,
        }
    }

    pub(super) fn payment(&mut self) -> Payment {
        let warehouse = self.place.warehouse;
        let district = self.district();
        let home = match self.random.random_range(1..=100) {
            1..=85 => (warehouse, district),
            _ => (self.another_warehouse(), self.district()),
        };
        Payment {
            warehouse,
            district,
            home,
            customer: self.customer(),
            amount: self.random.random_range(100..=500_000),
        }
    }

    fn district(&mut self) -> u32 {
        self.random.random_range(1..=Tpcc::DISTRICTS)
    }

    fn customer(&mut self) -> Customer {
        match self.random.random_range(1..=100) {
            1..=60 => Customer::LastName(self.constants.last_name(&mut self.random)),
            _ => Customer::Number(self.constants.customer(&mut self.random)),
        }
    }

    /// Each of the others as often; the terminal's own where there is no other.
    fn another_warehouse(&mut self) -> u32 {
        let own = self.place.warehouse;
        if self.warehouses == 1 {
            return own;
        }
        let drawn = self.random.random_range(1..self.warehouses);
        if drawn < own { drawn } else { drawn + 1 }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const DRAWS: u32 = 100_000;

    fn inputs(tables: &Tpcc, terminal: u32) -> Inputs {
        let constants = Constants {
            c_last: 100,
            c_id: 500,
            ol_i_id: 4000,
        };
        Inputs::new(tables, Place::of(terminal, tables.warehouses), constants, 7)
    }

    fn of(warehouses: u32) -> Tpcc {
        Tpcc {
            warehouses,
            ..Tpcc::default()
        }
    }

    /// Asserts that a share of so many draws is what it must be, within five standard deviations.
    fn assert_share(what: &str, share: f64, hits: u64, draws: u64) {
        let draws = draws as f64;
        let deviation = (share * (1.0 - share) / draws).sqrt();
        let seen = hits as f64 / draws;
        let is_near = (seen - share).abs() < 5.0 * deviation;
        assert!(is_near, "{what}: {seen} instead of {share}");
    }

    #[test]
    fn terminals_are_spread_over_warehouses_and_then_over_districts() {
        let places = |terminals| (0..terminals).map(|terminal| Place::of(terminal, 2));
        let seen: Vec<(u32, u32)> = places(5).map(|place| (place.warehouse, place.district)).collect();
        assert_eq!(seen, [(1, 1), (2, 1), (1, 2), (2, 2), (1, 3)]);
        let all: std::collections::BTreeSet<(u32, u32)> = places(20)
            .map(|place| (place.warehouse, place.district))
            .collect();
        assert_eq!(all.len(), 20);
    }

    #[test]
    fn new_orders_are_as_the_specification_draws_them() {
        let mut inputs = inputs(&of(3), 1);
        let mut lines_of = BTreeMap::new();
        let [mut rolled_back, mut remote, mut lines] = [0; 3];
        let mut items = vec![0_u32; Tpcc::ITEMS as usize + 2];
        let mut customers = vec![0_u32; Tpcc::CUSTOMERS as usize + 1];
        let mut quantities = [0_u64; 11];
        for _ in 0..DRAWS {
            let order = inputs.new_order();
            assert_eq!(order.warehouse, 2);
            *lines_of.entry(order.lines().len()).or_insert(0) += 1;
            rolled_back += u64::from(order.is_rolled_back());
            let known = order.known_lines();
            assert!(known.is_sorted());
            assert!(order.lines().len() - known.len() <= 1);
            customers[order.customer as usize] += 1;
            for line in order.lines() {
                lines += 1;
                remote += u64::from(line.supplier != 2);
                assert!((1..=3).contains(&line.supplier));
                quantities[line.quantity as usize] += 1;
                items[line.item as usize] += 1;
            }
            let is_local = order.is_local();
            assert_eq!(is_local, order.lines().iter().all(|line| line.supplier == 2));
        }
        assert_share("rolled back", 0.01, rolled_back, DRAWS.into());
        assert_share("remote lines", 0.01, remote, lines);
        let counts = lines_of.keys().copied().collect::<Vec<_>>();
        assert_eq!(counts, Vec::from_iter(LINES));
        for (count, orders) in lines_of {
            assert_share(&format!("{count} lines"), 1.0 / 11.0, orders, DRAWS.into());
        }
        for hits in &quantities[1..] {
            assert_share("quantity", 0.1, *hits, lines);
        }
        // NURand(8191, 1, 100000): the most popular tenth of the items gets most of the lines; a uniform draw would give it a tenth.
        let found = (items[0], u64::from(items[UNUSED_ITEM as usize]));
        assert_eq!(found, (0, rolled_back));
        let top = top_tenth(&mut items[1..=Tpcc::ITEMS as usize]);
        assert!(top > 0.35, "{top}");
        let top = top_tenth(&mut customers[1..]);
        assert!(top > 0.35, "{top}");
    }

    /// The share of all draws that falls to the tenth that is drawn most.
    fn top_tenth(counts: &mut [u32]) -> f64 {
        counts.sort_unstable();
        let sum = |counts: &[u32]| counts.iter().map(|count| f64::from(*count)).sum::<f64>();
        sum(&counts[counts.len() * 9 / 10..]) / sum(counts)
    }

    #[test]
    fn payments_are_as_the_specification_draws_them() {
        let mut inputs = inputs(&of(3), 0);
        let [mut remote, mut by_name] = [0; 2];
        let mut homes = [0_u64; 4];
        let mut amounts = (i64::MAX, 0);
        for _ in 0..DRAWS {
            let payment = inputs.payment();
            let is_remote = payment.home.0 != payment.warehouse;
            assert!(is_remote || payment.home.1 == payment.district);
            remote += u64::from(is_remote);
            homes[payment.home.0 as usize] += 1;
            by_name += u64::from(matches!(payment.customer, Customer::LastName(_)));
            amounts = (amounts.0.min(payment.amount), amounts.1.max(payment.amount));
        }
        assert_share("remote", 0.15, remote, DRAWS.into());
        assert_share("at one of two others", 0.075, homes[2], DRAWS.into());
        assert_share("by last name", 0.6, by_name, DRAWS.into());
        let are_bounds = (100..200).contains(&amounts.0) && (499_900..=500_000).contains(&amounts.1);
        assert!(are_bounds, "{amounts:?}");
    }

    #[test]
    fn nothing_is_remote_where_there_is_one_warehouse() {
        let mut inputs = inputs(&of(1), 3);
        for _ in 0..10_000 {
            assert!(inputs.new_order().is_local());
            assert_eq!(inputs.payment().home.0, 1);
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_list_and_another_gives_another() {
        let mut inputs = inputs(&of(2), 1);
        let list = |inputs: &mut Inputs, seed| {
            inputs.begin(seed);
            (0..50).map(|_| inputs.draw()).collect::<Vec<_>>()
        };
        let first = list(&mut inputs, 1);
        assert_ne!(list(&mut inputs, 2), first);
        assert_eq!(list(&mut inputs, 1), first);
    }

    #[test]
    fn a_terminal_keeps_its_warehouse_and_the_district_whose_stock_it_asks_for() {
        let mut inputs = inputs(&of(2), 3);
        for _ in 0..10_000 {
            match inputs.draw() {
                Input::NewOrder(order) => assert_eq!(order.warehouse, 2),
                Input::Payment(payment) => assert_eq!(payment.warehouse, 2),
                Input::OrderStatus(asked) => assert_eq!(asked.warehouse, 2),
                Input::Delivery(delivery) => {
                    assert_eq!(delivery.warehouse, 2);
                    assert!((1..=10).contains(&delivery.carrier));
                }
                Input::StockLevel(level) => {
                    assert_eq!((level.warehouse, level.district), (2, 2));
                    assert!((10..=20).contains(&level.threshold));
                }
            }
        }
    }
}

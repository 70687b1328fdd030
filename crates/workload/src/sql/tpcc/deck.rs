//! The choice of the next transaction: cards of a deck, or weights (clauses 5.2.3 and 5.2.4).

use std::time::Duration;

use ciphertax_model::TpccWeights;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;

/// The five transactions, in the order of the workload's kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    NewOrder,
    Payment,
    OrderStatus,
    Delivery,
    StockLevel,
}

impl Kind {
    const ALL: [Self; 5] = [
        Self::NewOrder,
        Self::Payment,
        Self::OrderStatus,
        Self::Delivery,
        Self::StockLevel,
    ];

    /// What it is called in records.
    pub(super) fn name(self) -> &'static str {
        ciphertax_model::Workload::Tpcc.descriptor().kinds[self as usize]
    }

    /// One of them, each as often as its weight says.
    pub(super) fn weighted(weights: &TpccWeights, random: &mut Pcg64Mcg) -> Self {
        let mut left = random.random_range(0.0..100.0);
        let shares = weights.shares();
        for (kind, share) in Self::ALL.into_iter().zip(shares) {
            if left < share {
                return kind;
            }
            left -= share;
        }
        // What rounding has left over goes to the last that has a share.
        let last = Self::ALL
            .into_iter()
            .zip(shares)
            .rev()
            .find(|(_, share)| *share > 0.0);
        last.map_or(Self::NewOrder, |(kind, _)| kind)
    }

    /// How long its inputs take to be keyed in (clause 5.2.5.2).
    pub(super) fn keying_time(self) -> Duration {
        Duration::from_secs(match self {
            Self::NewOrder => 18,
            Self::Payment => 3,
            Self::OrderStatus | Self::Delivery | Self::StockLevel => 2,
        })
    }

    /// How long its answer is thought about: negative-exponential, and ten times the mean at most (clause 5.2.5.4).
    pub(super) fn think_time(self, random: &mut Pcg64Mcg) -> Duration {
        let mean: f64 = match self {
            Self::NewOrder | Self::Payment => 12.0,
            Self::OrderStatus => 10.0,
            Self::Delivery | Self::StockLevel => 5.0,
        };
        let uniform = 1.0 - random.random_range(0.0..1.0_f64);
        Duration::from_secs_f64((-uniform.ln()).min(10.0) * mean)
    }
}

const CARDS: usize = 23;

/// A deck of cards, shuffled whenever all were drawn.
pub(super) struct Deck {
    cards: [Kind; CARDS],
    drawn: usize,
}

impl Deck {
    /// A deck that is shuffled before the first card is drawn.
    pub(super) fn new() -> Self {
        let mut cards = [Kind::NewOrder; CARDS];
        cards[10..20].fill(Kind::Payment);
        cards[20..].copy_from_slice(&[Kind::OrderStatus, Kind::Delivery, Kind::StockLevel]);
        Self { cards, drawn: CARDS }
    }

    pub(super) fn draw(&mut self, random: &mut Pcg64Mcg) -> Kind {
        if self.drawn == CARDS {
            for last in (1..CARDS).rev() {
                self.cards.swap(last, random.random_range(0..=last));
            }
            self.drawn = 0;
        }
        self.drawn += 1;
        self.cards[self.drawn - 1]
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    fn counts(kinds: impl Iterator<Item = Kind>) -> [u32; 5] {
        let mut counts = [0; 5];
        kinds.for_each(|kind| counts[kind as usize] += 1);
        counts
    }

    #[test]
    fn every_deck_has_the_same_cards_in_another_order() {
        let mut random = Pcg64Mcg::seed_from_u64(1);
        let mut deck = Deck::new();
        let mut seen = Vec::new();
        for _ in 0..100_000 / CARDS {
            let cards: Vec<Kind> = (0..CARDS).map(|_| deck.draw(&mut random)).collect();
            assert_eq!(counts(cards.iter().copied()), [10, 10, 1, 1, 1]);
            seen.push(cards);
        }
        assert_ne!(seen[0], seen[1]);
        // Every place is a stock-level as often as every other.
        let place = |cards: &Vec<Kind>| cards.iter().position(|kind| *kind == Kind::StockLevel).unwrap();
        let mut places = [0; CARDS];
        seen.iter().map(place).for_each(|place| places[place] += 1);
        let mean = seen.len() / CARDS;
        assert!(
            places
                .iter()
                .all(|count| (mean * 2 / 3..mean * 4 / 3).contains(count)),
            "{places:?}"
        );
    }

    #[test]
    fn weights_are_kept() {
        let mut random = Pcg64Mcg::seed_from_u64(2);
        let weights = TpccWeights {
            new_order: 45.0,
            payment: 43.0,
            order_status: 4.0,
            delivery: 4.0,
            stock_level: 4.0,
        };
        const DRAWS: u32 = 100_000;
        let counts = counts((0..DRAWS).map(|_| Kind::weighted(&weights, &mut random)));
        for (count, share) in counts.into_iter().zip([0.45, 0.43, 0.04, 0.04, 0.04]) {
            let seen = f64::from(count) / f64::from(DRAWS);
            assert!((seen - share).abs() < 0.008, "{counts:?}");
        }
        let only = TpccWeights {
            new_order: 0.0,
            payment: 0.0,
            order_status: 0.0,
            delivery: 100.0,
            stock_level: 0.0,
        };
        for _ in 0..1000 {
            assert_eq!(Kind::weighted(&only, &mut random), Kind::Delivery);
        }
    }

    #[test]
    fn think_times_are_negative_exponential_and_cut_at_ten_times_their_mean() {
        let mut random = Pcg64Mcg::seed_from_u64(3);
        let times: Vec<f64> = (0..100_000)
            .map(|_| Kind::Payment.think_time(&mut random).as_secs_f64())
            .collect();
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        assert!((11.8..12.2).contains(&mean), "{mean}");
        assert!(times.iter().all(|time| (0.0..=120.0).contains(time)));
        let beyond = times.iter().filter(|time| **time > 12.0).count();
        assert!((36_000..37_600).contains(&beyond), "{beyond}");
    }
}

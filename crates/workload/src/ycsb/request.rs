//! Which record an operation asks for, as YCSB picks it.
//!
//! Definitions: YCSB 0.17, `ScrambledZipfianGenerator`, `SkewedLatestGenerator`, `UniformLongGenerator`, and
//! `CoreWorkload.nextKeynum`, all in `site.ycsb`.

use ciphertax_model::{RequestDistribution, YcsbMix};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;

use super::key_space::KeySpace;
use super::keys::fnv_hash;
use super::zipfian::Zipfian;

/// Ranks that are scattered over the records (`ITEM_COUNT`).
const SCATTERED: u64 = 10_000_000_000;
/// The sum of all their weights (`ZETAN`).
const SCATTERED_ZETA: f64 = 26.469_028_201_783_02;
/// By how much more inserts YCSB expects than the share of the operations says ("fudge factor").
const INSERTS_EXPECTED: f64 = 2.0;

/// Picks indices of records, of which those that were loaded are the first.
#[derive(Debug, Clone, Copy)]
pub(super) struct Requests(Law);

#[derive(Debug, Clone, Copy)]
enum Law {
    /// Records that were loaded.
    Uniform { loaded: u64 },
    /// Ranks, scattered by their hash over so many records, among them some that are yet to be inserted.
    Zipfian { ranks: Zipfian, over: u64 },
    /// Distances from the newest record. `loaded` is for the table as it was loaded.
    Latest { loaded: Zipfian, now: Zipfian },
}

impl Requests {
    /// Picks as the mix says from the records of a table. Takes time in proportion to them; a copy takes none.
    ///
    /// YCSB scatters popular records over those that are there and those that it expects to be inserted, by the number
    /// of operations. There is no such number here; it is taken to be that of the records, as in all of YCSB's core
    /// workloads.
    pub(super) fn new(mix: &YcsbMix, keys: &KeySpace) -> Self {
        let loaded = keys.loaded();
        Self(match mix.distribution {
            RequestDistribution::Uniform => Law::Uniform { loaded },
            RequestDistribution::Zipfian => {
                let expected = (loaded as f64 * mix.insert * INSERTS_EXPECTED) as u64;
                Law::Zipfian {
                    // YCSB counts the ends of both ranges in.
                    ranks: Zipfian::with_zeta(SCATTERED + 1, SCATTERED_ZETA),
                    over: loaded + expected + 1,
                }
            }
            RequestDistribution::Latest => {
                let zipfian = Zipfian::new(loaded.saturating_sub(1).max(1));
                Law::Latest {
                    loaded: zipfian,
                    now: zipfian,
                }
            }
        })
    }

    /// The index of a record that is there. `known` records are; there are never fewer than were loaded.
    pub(super) fn pick(&mut self, known: u64, random: &mut Pcg64Mcg) -> u64 {
        match &mut self.0 {
            Law::Uniform { loaded } => random.random_range(0..*loaded),
            Law::Zipfian { ranks, over } => loop {
                let number = fnv_hash(ranks.pick(random)) % *over;
                if number < known {
                    return number;
                }
            },
            Law::Latest { loaded, now } => {
                let newest = known.saturating_sub(1);
                if newest < now.count() {
                    // The inserted records were deleted.
                    *now = *loaded;
                }
                now.grow(newest);
                newest.saturating_sub(now.pick(random))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use ciphertax_model::YcsbTable;
    use rand::SeedableRng;

    use super::*;

    const PICKS: u32 = 200_000;

    #[test]
    fn the_published_sum_is_that_of_the_weights() {
        // The first million terms; the rest by the Euler-Maclaurin formula, which is exact to 1e-12 here.
        let first = 1e6_f64;
        let sum: f64 = (1..1_000_000).map(|rank| f64::from(rank).powf(-0.99)).sum();
        let last = SCATTERED as f64;
        let integral = (last.powf(0.01) - first.powf(0.01)) / 0.01;
        let ends = (first.powf(-0.99) + last.powf(-0.99)) / 2.0;
        let zeta = sum + integral + ends;
        assert!((zeta - SCATTERED_ZETA).abs() < 1e-6, "{zeta}");
    }

    #[test]
    fn zipfian_picks_are_scattered_and_the_most_popular_have_their_shares() {
        let counts = counts(RequestDistribution::Zipfian, 0.0, 1000, 1000);
        // Of the ranks 1 and 2, with what else falls on the same records; by their definition, and not by the code
        // above.
        for (rank, numerator) in [(0_u64, 1.0), (1, 0.5_f64.powf(0.99))] {
            let least = numerator / 26.469_028_201_783_02;
            let record = fnv_hash(rank) % 1001;
            let share = f64::from(counts[&record]) / f64::from(PICKS);
            let is_near = (least - 0.002..least + 0.006).contains(&share);
            assert!(is_near, "rank {rank}: {share}");
        }
        let most = counts.iter().max_by_key(|(_, count)| **count).unwrap().0;
        assert_eq!(*most, fnv_hash(0) % 1001);
        assert!(counts.len() > 990, "all records are picked: {}", counts.len());
    }

    #[test]
    fn zipfian_picks_do_not_move_when_records_are_inserted() {
        let before = counts(RequestDistribution::Zipfian, 0.05, 1000, 1000);
        let after = counts(RequestDistribution::Zipfian, 0.05, 1000, 1100);
        let most = |counts: &HashMap<u64, u32>| {
            let mut records: Vec<_> = counts.iter().filter(|(number, _)| **number < 1000).collect();
            records.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
            *records[0].0
        };
        assert_eq!(most(&before), most(&after));
        assert!(before.keys().all(|number| *number < 1000));
        assert!(after.keys().any(|number| *number >= 1000) && after.keys().all(|number| *number < 1100));
    }

    #[test]
    fn latest_picks_the_newest_most_often_and_follows_the_inserts() {
        for known in [1000, 1500] {
            let counts = counts(RequestDistribution::Latest, 0.05, 1000, known);
            let weights: f64 = (1..known).map(|rank| (rank as f64).powf(-0.99)).sum();
            let share = |number: u64| f64::from(counts[&number]) / f64::from(PICKS);
            let holds = (share(known - 1) - 1.0 / weights).abs() < 0.005;
            assert!(holds, "{}", share(known - 1));
            assert!((share(known - 2) - 0.5_f64.powf(0.99) / weights).abs() < 0.005);
            assert!(counts.keys().all(|number| *number < known));
        }
    }

    #[test]
    fn latest_forgets_inserts_that_were_deleted() {
        let (mut requests, mut random) = requests(RequestDistribution::Latest, 0.05, 1000);
        for known in [1000, 2000, 1000, 1001] {
            for _ in 0..10_000 {
                assert!(requests.pick(known, &mut random) < known);
            }
        }
    }

    #[test]
    fn uniform_picks_each_loaded_record_as_often() {
        let counts = counts(RequestDistribution::Uniform, 0.05, 100, 200);
        assert_eq!(counts.len(), 100);
        for count in counts.values() {
            let share = f64::from(*count) / f64::from(PICKS);
            assert!((share - 0.01).abs() < 0.002, "{share}");
        }
    }

    #[test]
    fn a_table_of_one_record_is_asked_for_that() {
        for distribution in [
            RequestDistribution::Uniform,
            RequestDistribution::Zipfian,
            RequestDistribution::Latest,
        ] {
            assert_eq!(
                counts(distribution, 0.0, 1, 1)
                    .keys()
                    .copied()
                    .collect::<Vec<_>>(),
                [0]
            );
        }
    }

    fn counts(distribution: RequestDistribution, insert: f64, loaded: u32, known: u64) -> HashMap<u64, u32> {
        let (mut requests, mut random) = requests(distribution, insert, loaded);
        let mut counts = HashMap::new();
        for _ in 0..PICKS {
            *counts.entry(requests.pick(known, &mut random)).or_default() += 1;
        }
        counts
    }

    fn requests(distribution: RequestDistribution, insert: f64, record_count: u32) -> (Requests, Pcg64Mcg) {
        let keys = KeySpace::new(&YcsbTable {
            record_count,
            ..YcsbTable::default()
        });
        let mix = YcsbMix {
            insert,
            distribution,
            ..YcsbMix::default()
        };
        (Requests::new(&mix, &keys), Pcg64Mcg::seed_from_u64(1))
    }
}

//! The Yahoo! Cloud Serving Benchmark over anything that holds records by key.
//!
//! Definitions: B. F. Cooper et al., "Benchmarking cloud serving systems with YCSB", SoCC 2010, and `CoreWorkload` of
//! release 0.17.

pub(crate) mod fields;
pub(crate) mod key_space;
pub(crate) mod key_value;
mod keys;
mod load;
pub(crate) mod records;
mod request;
mod zipfian;

use std::rc::Rc;
use std::sync::Arc;

use ciphertax_engine::{Context, Engine, EngineError, Operation, Result, Slot, Workload};
use ciphertax_model::{YcsbMix, YcsbTable};
use ciphertax_reactor::Reactor;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::driver::Job;

pub use fields::FieldEncryption;
pub use key_space::KeySpace;
pub use key_value::{KeyValue, Records, Table, Work};
pub use keys::Key;
pub use load::YcsbLoad;
use records::is_there;
use request::Requests;

/// The most records of a scan, of which every number from 1 is as frequent: what YCSB's core workload E sets
/// (`maxscanlength`).
const LONGEST_SCAN: u32 = 100;

/// Starts the load threads of a mix. `stores` are the tables, by arm.
pub(crate) fn start<S: KeyValue>(
    job: &Job<'_>,
    stores: impl Iterator<Item = S>,
) -> Result<Option<Engine>, EngineError> {
    let Some(mix) = job.cell.ycsb_mix() else {
        return Ok(None);
    };
    let each = stores.zip(&job.keys);
    job.start(each.map(|(store, keys)| Ycsb::new(store, &job.study.ycsb, mix, Arc::clone(keys))))
}

/// A mix of operations on single records. Each kind of operation is recorded by itself.
///
/// A record that is read and then updated is one operation with two queries. A read or scan that does not find a record
/// which was inserted, on a member of a replica set that has not got it yet, is no failure, and counted as a stale
/// read. What was inserted is deleted again before every slice, outside the measured time, so that all slices find the
/// same records.
pub struct Ycsb<S> {
    store: S,
    mix: YcsbMix,
    field_count: u16,
    keys: Arc<KeySpace>,
    requests: Requests,
}

impl<S: KeyValue> Ycsb<S> {
    /// Asks `store`, which holds `table`, whose numbers are `keys`. Takes time in proportion to the records.
    pub fn new(store: S, table: &YcsbTable, mix: YcsbMix, keys: Arc<KeySpace>) -> Self {
        Self {
            store,
            mix,
            field_count: table.field_count,
            requests: Requests::new(&mix, &keys),
            keys,
        }
    }
}

/// An open connection with what it picks by.
pub struct Client<C> {
    connection: C,
    requests: Requests,
    random: Pcg64Mcg,
    /// Of the values that updates write: it begins elsewhere each time, so that no run writes what one before it has
    /// written, which a server may notice and skip.
    values: Pcg64Mcg,
}

impl<S: KeyValue> Workload for Ycsb<S> {
    type Connection = Client<S::Records>;

    const KINDS: &'static [&'static str] = ciphertax_model::Workload::Ycsb.descriptor().kinds;
    const COUNTS: &'static [&'static str] = ciphertax_model::Workload::Ycsb.descriptor().counts;

    const CHECKS: bool = true;

    async fn open(&self, reactor: &Rc<Reactor>, slot: Slot) -> Result<Self::Connection> {
        Ok(Client {
            connection: self.store.open(reactor, slot).await?,
            requests: self.requests,
            random: Pcg64Mcg::seed_from_u64(slot.seed),
            values: Pcg64Mcg::seed_from_u64(rand::random()),
        })
    }

    async fn check(&self, reactor: &Rc<Reactor>) -> Result<()> {
        let inserted = self.keys.inserted();
        if inserted.is_empty() {
            return Ok(());
        }
        let mut loader = self.store.open_loader(reactor, Table::Usertable).await?;
        loader.delete_many(inserted).await?;
        loader.close().await?;
        self.keys.trimmed();
        Ok(())
    }

    async fn operate(&self, client: &mut Self::Connection, _: &Context) -> Result<Operation> {
        let before = client.connection.work();
        let kind = Kind::pick(&self.mix, &mut client.random);
        let Ran { queries, is_stale } = self.run(kind, client).await?;
        let operation = client.connection.work().operation_since(before, queries);
        let [encrypted, decrypted, named, ..] = operation.counts;
        Ok(Operation {
            kind: kind as usize,
            counts: [encrypted, decrypted, named, is_stale.into(), 0],
            ..operation
        })
    }
}

impl<S: KeyValue> Ycsb<S> {
    async fn run(&self, kind: Kind, client: &mut Client<S::Records>) -> Result<Ran> {
        let Client {
            connection,
            requests,
            random,
            values,
        } = client;
        if kind == Kind::Insert {
            let index = self.keys.take();
            connection.insert(&Key::of(self.keys.number(index))).await?;
            self.keys.acknowledge(index);
            return Ok(Ran::ONE_QUERY);
        }
        let index = requests.pick(self.keys.known(), random);
        let key = Key::of(self.keys.number(index));
        let is_found = match kind {
            Kind::Scan => {
                let count = random.random_range(1..=LONGEST_SCAN);
                connection.scan(&key, count).await?
            }
            Kind::Update => true,
            _ => connection.read(&key).await?,
        };
        // Every member had all loaded records before anything was measured.
        let may_be_missing = connection.lags() && index >= self.keys.loaded();
        is_there(&key, is_found || may_be_missing)?;
        if matches!(kind, Kind::Update | Kind::ReadModifyWrite) {
            let field = random.random_range(0..self.field_count);
            connection.update(&key, field, values).await?;
        }
        Ok(Ran {
            queries: if kind == Kind::ReadModifyWrite { 2 } else { 1 },
            is_stale: !is_found,
        })
    }
}

struct Ran {
    queries: u64,
    /// True if it did not find a record that was inserted, since the member that was read from did not have it yet.
    is_stale: bool,
}

impl Ran {
    const ONE_QUERY: Self = Self {
        queries: 1,
        is_stale: false,
    };
}

/// The kinds of operations, in the order of [`Ycsb`]'s `KINDS` and of [`YcsbMix::shares`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Read,
    Update,
    Insert,
    Scan,
    ReadModifyWrite,
}

impl Kind {
    const ALL: [Self; 5] = [
        Self::Read,
        Self::Update,
        Self::Insert,
        Self::Scan,
        Self::ReadModifyWrite,
    ];

    fn pick(mix: &YcsbMix, random: &mut Pcg64Mcg) -> Self {
        let mut left: f64 = random.random();
        let mut last = Self::Read;
        for (kind, share) in Self::ALL.into_iter().zip(mix.shares()) {
            if share <= 0.0 {
                continue;
            }
            if left < share {
                return kind;
            }
            left -= share;
            last = kind;
        }
        // The shares add up to 1 but for rounding.
        last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_the_shares_of_the_mix() {
        let mix = YcsbMix {
            read: 0.1,
            update: 0.2,
            insert: 0.3,
            read_modify_write: 0.4,
            ..YcsbMix::default()
        };
        const PICKS: u32 = 100_000;
        let mut random = Pcg64Mcg::seed_from_u64(1);
        let mut counts = [0_u32; 5];
        for _ in 0..PICKS {
            counts[Kind::pick(&mix, &mut random) as usize] += 1;
        }
        for (count, share) in counts.into_iter().zip(mix.shares()) {
            let found = f64::from(count) / f64::from(PICKS);
            assert!((found - share).abs() < 0.006, "{found}, expected {share}");
        }
        assert_eq!(counts[Kind::Scan as usize], 0);
    }
}

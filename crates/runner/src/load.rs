//! The load of a cell: which workload it runs on every arm.

use std::sync::Arc;

use ciphertax_engine::Engine;
use ciphertax_model::{Cell, Study, Workload, YcsbMix, YcsbTable};
use ciphertax_workload::mongodb::{MongodbAccess, MongodbConnect, MongodbErrand};
use ciphertax_workload::ycsb::{KeySpace, KeyValue, MongodbTable, MysqlTable, Ycsb, YcsbLoad};
use ciphertax_workload::{
    Access as MySqlAccess, BulkInsert, BulkRead, Connect, Errand, Insert, Oltp, PointSelect, Random,
    Scenario, SelectRandom, Tables,
};

use crate::error::RunError;

/// What every workload's load threads are started with.
pub(crate) struct Start<'a> {
    pub(crate) study: &'a Study,
    pub(crate) cell: &'a Cell,
    /// Which records there are, by arm.
    pub(crate) keys: Vec<Arc<KeySpace>>,
    pub(crate) cpu: Option<usize>,
    pub(crate) seed: u64,
}

impl Start<'_> {
    pub(crate) fn over_mysql(&self, accesses: &[MySqlAccess]) -> Result<Engine, RunError> {
        let tables = Tables::of(self.study);
        let oltp = |scenario| {
            self.engine(accesses, |access| Oltp {
                access,
                tables,
                scenario,
            })
        };
        let select = |of| self.engine(accesses, |access| SelectRandom { access, tables, of });
        let connect = |errand| self.engine(accesses, |access| Connect { access, errand });
        let table = self.study.ycsb;
        let store = |access| MysqlTable { access, table };
        match self.cell.workload {
            Workload::OltpPointSelect => self.engine(accesses, |access| PointSelect { access, tables }),
            Workload::OltpInsert => self.engine(accesses, |access| Insert { access, tables }),
            Workload::OltpDelete => oltp(Scenario::Delete),
            Workload::OltpReadOnly => oltp(Scenario::ReadOnly),
            Workload::OltpReadWrite => oltp(Scenario::ReadWrite),
            Workload::OltpUpdateIndex => oltp(Scenario::UpdateIndex),
            Workload::OltpUpdateNonIndex => oltp(Scenario::UpdateNonIndex),
            Workload::OltpWriteOnly => oltp(Scenario::WriteOnly),
            Workload::SelectRandomPoints => select(Random::Points),
            Workload::SelectRandomRanges => select(Random::Ranges),
            Workload::BulkInsert => self.engine(accesses, BulkInsert::new),
            Workload::Connect => connect(Errand::Select(tables)),
            Workload::ConnectInsertCount => connect(Errand::InsertCount),
            Workload::ConnectOnly => connect(Errand::Nothing),
            Workload::BulkRead => self.engine(accesses, |access| BulkRead { access }),
            Workload::YcsbLoad => self.ycsb_load(accesses, store),
            _ => self.ycsb(accesses, store),
        }
    }

    pub(crate) fn over_mongodb(&self, accesses: &[MongodbAccess]) -> Result<Engine, RunError> {
        let connect = |errand| self.engine(accesses, |access| MongodbConnect { access, errand });
        let table = self.study.ycsb;
        let writes = self.cell.ycsb_mix().is_some_and(|mix| mix.writes());
        let store = |access| MongodbTable {
            access,
            table,
            writes,
        };
        match self.cell.workload {
            Workload::Connect => connect(MongodbErrand::Select(table)),
            Workload::ConnectOnly => connect(MongodbErrand::Nothing),
            Workload::YcsbLoad => self.ycsb_load(accesses, store),
            _ => self.ycsb(accesses, store),
        }
    }

    fn ycsb<A: Clone, S: KeyValue>(
        &self,
        accesses: &[A],
        store: impl Fn(A) -> S,
    ) -> Result<Engine, RunError> {
        let mix: YcsbMix = self.cell.ycsb_mix().ok_or_else(|| not_on_mongodb(self.cell))?;
        let table: YcsbTable = self.study.ycsb;
        let each = accesses.iter().cloned().zip(&self.keys);
        self.start(each.map(|(access, keys)| Ycsb::new(store(access), &table, mix, Arc::clone(keys))))
    }

    fn ycsb_load<A: Clone, S: KeyValue>(
        &self,
        accesses: &[A],
        store: impl Fn(A) -> S,
    ) -> Result<Engine, RunError> {
        self.engine(accesses, |access| YcsbLoad::new(store(access), &self.study.ycsb))
    }

    fn engine<A: Clone, W: ciphertax_engine::Workload>(
        &self,
        accesses: &[A],
        workload: impl Fn(A) -> W,
    ) -> Result<Engine, RunError> {
        self.start(accesses.iter().cloned().map(workload))
    }

    fn start<W: ciphertax_engine::Workload>(
        &self,
        arms: impl Iterator<Item = W>,
    ) -> Result<Engine, RunError> {
        Ok(Engine::start_on(
            self.cpu,
            arms.collect(),
            &self.cell.load,
            self.seed,
        )?)
    }
}

fn not_on_mongodb(cell: &Cell) -> RunError {
    RunError::Impossible(vec![no_such_workload(cell)])
}

/// What to say of a cell whose workload MongoDB does not have.
pub(crate) fn no_such_workload(cell: &Cell) -> String {
    format!(
        "cell {}: {} is not available on MongoDB; take one of ycsb_a to ycsb_f, ycsb, ycsb_load, connect, connect_only and command",
        cell.name,
        cell.workload.name()
    )
}

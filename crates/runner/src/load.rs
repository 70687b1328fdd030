//! The load of a cell: which workload it runs on every arm.

use std::sync::Arc;

use ciphertax_engine::Engine;
use ciphertax_model::{Arm, Cell, Study, Workload, YcsbMix, YcsbTable};
use ciphertax_workload::mongodb::{MongodbAccess, MongodbConnect, MongodbErrand};
use ciphertax_workload::ycsb::{KeySpace, KeyValue, MongodbTable, MysqlTable, Ycsb, YcsbLoad};
use ciphertax_workload::{
    Access as MySqlAccess, BulkInsert, BulkRead, Connect, Errand, Insert, Oltp, PointSelect, Random,
    Scenario, SelectRandom, Tables,
};

use crate::access::Access;
use crate::error::RunError;
use crate::generator::Generator;
use crate::mysql::command::CommandLoad;
use crate::site::OpenSite;

/// Makes a cell's load ready for its arms: starts the load threads, or writes what a program will read.
pub(crate) fn start(
    study: &Study,
    cell: &Cell,
    arms: &[Arm],
    site: &mut OpenSite,
    seed: u64,
) -> Result<Generator, RunError> {
    if let Some(command) = &cell.command {
        let access = |arm: &Arm| match site.host_mut(&arm.name).as_mysql() {
            Some(host) => host.server.for_programs(arm),
            None => Err(not_on_mongodb(cell)),
        };
        let accesses = arms.iter().map(access).collect::<Result<Vec<_>, _>>()?;
        let load = CommandLoad::prepare(command, arms, accesses, site.cpu())?;
        return Ok(Generator::Command(load));
    }
    let start = Start {
        study,
        cell,
        keys: arms.iter().map(|arm| site.keys(&arm.name)).collect(),
        cpu: site.cpu(),
        seed,
    };
    let mut over_mysql = Vec::new();
    let mut over_mongodb = Vec::new();
    for access in arms.iter().filter_map(|arm| site.access(&arm.name)) {
        let connections = cell.load.connections as usize;
        match access.clone() {
            Access::MySql(access) => over_mysql.push(MySqlAccess {
                connections,
                ..access
            }),
            Access::MongoDb(access) => over_mongodb.push(MongodbAccess {
                connections,
                read_preference: study.read_preference(cell),
                ..access
            }),
        }
    }
    let mut engine = match over_mongodb.is_empty() {
        true => start.over_mysql(&over_mysql),
        false => start.over_mongodb(&over_mongodb),
    }?;
    engine.keep_operations(cell.keep_operations);
    Ok(Generator::Engine(engine))
}

/// What every workload's load threads are started with.
struct Start<'a> {
    study: &'a Study,
    cell: &'a Cell,
    /// Which records there are, by arm.
    keys: Vec<Arc<KeySpace>>,
    cpu: Option<usize>,
    seed: u64,
}

impl Start<'_> {
    fn over_mysql(&self, accesses: &[MySqlAccess]) -> Result<Engine, RunError> {
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

    fn over_mongodb(&self, accesses: &[MongodbAccess]) -> Result<Engine, RunError> {
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
        "cell {}: {} is not to be had on MongoDB; take one of ycsb_a to ycsb_f, ycsb, ycsb_load, connect and connect_only",
        cell.name,
        cell.workload.name()
    )
}

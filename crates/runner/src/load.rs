//! The load threads of a cell: which workload they run on every arm.

use ciphertax_engine::Engine;
use ciphertax_model::{Cell, Study, Workload};
use ciphertax_workload::{
    Access, BulkInsert, BulkRead, Connect, Errand, Insert, Oltp, PointSelect, Random, Scenario, SelectRandom,
    Tables,
};

use crate::error::RunError;

/// Starts the load threads of a cell, one arm for each access.
pub(crate) fn start_engine(
    study: &Study,
    cell: &Cell,
    accesses: &[Access],
    cpu: Option<usize>,
    seed: u64,
) -> Result<Engine, RunError> {
    let tables = Tables::of(study);
    let start = Start {
        accesses,
        cell,
        cpu,
        seed,
    };
    let oltp = |scenario| {
        start.engine(|access| Oltp {
            access,
            tables,
            scenario,
        })
    };
    let select = |of| start.engine(|access| SelectRandom { access, tables, of });
    let connect = |errand| start.engine(|access| Connect { access, errand });
    match cell.workload {
        Workload::OltpPointSelect => start.engine(|access| PointSelect { access, tables }),
        Workload::OltpInsert => start.engine(|access| Insert { access, tables }),
        Workload::OltpDelete => oltp(Scenario::Delete),
        Workload::OltpReadOnly => oltp(Scenario::ReadOnly),
        Workload::OltpReadWrite => oltp(Scenario::ReadWrite),
        Workload::OltpUpdateIndex => oltp(Scenario::UpdateIndex),
        Workload::OltpUpdateNonIndex => oltp(Scenario::UpdateNonIndex),
        Workload::OltpWriteOnly => oltp(Scenario::WriteOnly),
        Workload::SelectRandomPoints => select(Random::Points),
        Workload::SelectRandomRanges => select(Random::Ranges),
        Workload::BulkInsert => start.engine(BulkInsert::new),
        Workload::Connect => connect(Errand::Select(tables)),
        Workload::ConnectInsertCount => connect(Errand::InsertCount),
        Workload::ConnectOnly => connect(Errand::Nothing),
        Workload::BulkRead => start.engine(|access| BulkRead { access }),
    }
}

/// What every workload's load threads are started with.
struct Start<'a> {
    accesses: &'a [Access],
    cell: &'a Cell,
    cpu: Option<usize>,
    seed: u64,
}

impl Start<'_> {
    fn engine<W: ciphertax_engine::Workload>(
        &self,
        workload: impl Fn(Access) -> W,
    ) -> Result<Engine, RunError> {
        let arms = self.accesses.iter().cloned().map(workload).collect();
        Ok(Engine::start_on(self.cpu, arms, &self.cell.load, self.seed)?)
    }
}

//! The load of a cell: which workload it runs on every arm.

use ciphertax_engine::Engine;
use ciphertax_model::{Arm, Cell, Study, Workload};
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
        let baseline = &study.baseline().name;
        return match site.host_mut(baseline).as_mysql() {
            Some(host) => Ok(Generator::Command(CommandLoad::prepare(
                command,
                arms,
                &host.server,
            )?)),
            None => unreachable!("programs on other servers are refused"),
        };
    }
    let access = |arm: &Arm| match site.access(&arm.name)? {
        Access::MySql(access) => Some(MySqlAccess {
            connections: cell.load.connections as usize,
            ..access.clone()
        }),
    };
    let accesses: Vec<MySqlAccess> = arms.iter().filter_map(access).collect();
    let tables = Tables::of(study);
    let start = Start {
        accesses: &accesses,
        cell,
        cpu: site.cpu(),
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
    let engine = match cell.workload {
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
        Workload::YcsbA
        | Workload::YcsbB
        | Workload::YcsbC
        | Workload::YcsbD
        | Workload::YcsbE
        | Workload::YcsbF
        | Workload::Ycsb
        | Workload::YcsbLoad => todo!(),
        Workload::Command => unreachable!("a validated cell of this workload has its command"),
    };
    let mut engine = engine?;
    engine.keep_operations(cell.keep_operations);
    Ok(Generator::Engine(engine))
}

/// What every workload's load threads are started with.
struct Start<'a> {
    accesses: &'a [MySqlAccess],
    cell: &'a Cell,
    cpu: Option<usize>,
    seed: u64,
}

impl Start<'_> {
    fn engine<W: ciphertax_engine::Workload>(
        &self,
        workload: impl Fn(MySqlAccess) -> W,
    ) -> Result<Engine, RunError> {
        let arms = self.accesses.iter().cloned().map(workload).collect();
        Ok(Engine::start_on(self.cpu, arms, &self.cell.load, self.seed)?)
    }
}

//! The load of a cell: which workload it runs on every arm.

use ciphertax_model::{Arm, Cell, Study, Workload};
use ciphertax_workload::mongodb::MongodbAccess;
use ciphertax_workload::{Driver, Job};

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
            None => Err(RunError::Impossible(vec![not_spoken::<MongodbAccess>(cell)])),
        };
        let accesses = arms.iter().map(access).collect::<Result<Vec<_>, _>>()?;
        let load = CommandLoad::prepare(command, arms, accesses, site.cpu())?;
        return Ok(Generator::Command(load));
    }
    let job = Job {
        study,
        cell,
        keys: arms.iter().map(|arm| site.keys(&arm.name)).collect(),
        cpu: site.cpu(),
        seed,
    };
    let mut over_mysql = Vec::new();
    let mut over_mongodb = Vec::new();
    for access in arms.iter().filter_map(|arm| site.access(&arm.name)) {
        match access.clone() {
            Access::MySql(access) => over_mysql.push(access),
            Access::MongoDb(access) => over_mongodb.push(access),
        }
    }
    match over_mongodb.is_empty() {
        true => engine(&job, over_mysql),
        false => engine(&job, over_mongodb),
    }
}

/// The engine's load over one kind of client.
fn engine<D: Driver>(job: &Job<'_>, clients: Vec<D>) -> Result<Generator, RunError> {
    let clients = clients.into_iter();
    let clients = clients.map(|client| client.of_cell(job.study, job.cell));
    match D::start(job, clients.collect())? {
        Some(engine) => Ok(Generator::Engine(engine)),
        None => Err(RunError::Impossible(vec![not_spoken::<D>(job.cell)])),
    }
}

/// What to say of a cell whose workload is in a vocabulary that this client does not speak; `None` if it speaks it.
pub(crate) fn no_such_workload<D: Driver>(cell: &Cell) -> Option<String> {
    let is_spoken = D::VOCABULARIES.contains(&cell.workload.descriptor().vocabulary);
    (!is_spoken).then(|| not_spoken::<D>(cell))
}

fn not_spoken<D: Driver>(cell: &Cell) -> String {
    let is_spoken = |workload: &Workload| D::VOCABULARIES.contains(&workload.descriptor().vocabulary);
    let available: Vec<&str> = Workload::ALL
        .into_iter()
        .filter(is_spoken)
        .map(Workload::name)
        .collect();
    format!(
        "cell {}: {} is not available on {}; take one of {}",
        cell.name,
        cell.workload.name(),
        D::NAME,
        available.join(", ")
    )
}

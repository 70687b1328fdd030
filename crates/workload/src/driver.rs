//! Which vocabularies a database's client speaks, and how a cell's load is started over it.

use ciphertax_engine::{Engine, EngineError};
use ciphertax_model::workload::Vocabulary;
use ciphertax_model::{Cell, Study};

use crate::client::Client;
use crate::job::Job;
use crate::task::Task;

/// The client of one kind of database, with the vocabularies that it speaks.
pub trait Driver: Client {
    /// What a short connection asks if it asks one row or record by its key.
    type Lookup: Task<Self>;

    /// What the database is called.
    const NAME: &'static str;

    /// What it speaks.
    const VOCABULARIES: &'static [Vocabulary];

    /// One row or record of the study's data set.
    fn lookup(study: &Study) -> Self::Lookup;

    /// The same with what a cell says of its connections.
    #[must_use]
    fn of_cell(self, study: &Study, cell: &Cell) -> Self;

    /// Starts the load threads of a cell for arms that are reached so; `None` for a workload in a vocabulary that is
    /// not spoken.
    ///
    /// # Errors
    /// When threads cannot be started.
    fn start(job: &Job<'_>, clients: Vec<Self>) -> Result<Option<Engine>, EngineError>;
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use ciphertax_model::{ReadPreference, Secret, Transport, Workload};
    use ciphertax_wire::{Expectation, mongodb, mysql, postgresql, sqlite};

    use super::*;
    use crate::arm_columns::ArmColumns;
    use crate::mongodb::MongodbAccess;
    use crate::mysql::MysqlAccess;
    use crate::postgresql::PostgresqlAccess;
    use crate::sqlite::SqliteAccess;
    use crate::ycsb::KeySpace;

    #[test]
    fn every_workload_in_a_vocabulary_that_a_database_speaks_can_be_started_on_it_and_no_other() {
        // No connection is opened before the engine is told to.
        let mysql = MysqlAccess {
            options: mysql::ConnectOptions::new("127.0.0.1", 1, "nobody", Secret::new("")),
            expectation: Expectation::new(Transport::Plain),
            connections: 1,
            forget_passwords: None,
            columns: None,
            key_exchange: None,
        };
        let mongodb = MongodbAccess {
            options: mongodb::ConnectOptions::new("127.0.0.1", 1, mongodb::Login::None),
            seeds: Vec::new(),
            routes: Vec::new(),
            expectation: Expectation::new(Transport::Plain),
            connections: 1,
            read_preference: ReadPreference::Primary,
        };
        let postgresql = PostgresqlAccess {
            options: postgresql::ConnectOptions::new("127.0.0.1", 1, "nobody", Secret::new("")),
            expectation: Expectation::new(Transport::Plain),
            connections: 1,
            is_pooled: false,
            columns: None,
        };
        let sqlite = SqliteAccess {
            options: sqlite::ConnectOptions::new(Path::new("/nowhere"), None, 1),
            expectation: Expectation::new(Transport::Plain),
        };
        for workload in Workload::ALL
            .into_iter()
            .filter(|workload| !workload.is_program())
        {
            assert_started_if_spoken(&mysql, workload);
            assert_started_if_spoken(&mongodb, workload);
            assert_started_if_spoken(&postgresql, workload);
            assert_started_if_spoken(&sqlite, workload);
        }
    }

    fn assert_started_if_spoken<D: Driver>(client: &D, workload: Workload) {
        let name = workload.name();
        let mix = match workload {
            Workload::Ycsb => "mix = { read = 1.0 }\n",
            _ => "",
        };
        let text = format!(
            "name = \"mine\"\nquestion = \"?\"\ntime_s = 1\n[[arm]]\nname = \"plain\"\ntransport = \"plain\"\n\
             [[arm]]\nname = \"tls\"\ntransport = \"tls1.3\"\n[[cell]]\nname = \"only\"\nworkload = \"{name}\"\n{mix}\
             load = {{ connections = 1 }}\n"
        );
        let study = Study::from_toml(&text).unwrap();
        let cell = &study.cells[0];
        let job = Job {
            study: &study,
            cell,
            part: ciphertax_engine::Part::WHOLE,
            keys: vec![Arc::new(KeySpace::new(&study.ycsb))],
            columns: vec![ArmColumns::default()],
            cpu: None,
            seed: 1,
        };
        let started = D::start(&job, vec![client.clone().of_cell(&study, cell)]).unwrap();
        let is_spoken = D::VOCABULARIES.contains(&workload.descriptor().vocabulary);
        assert_eq!(started.is_some(), is_spoken, "{name} on {}", D::NAME);
    }
}

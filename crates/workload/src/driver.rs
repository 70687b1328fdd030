//! Which vocabularies a database's client speaks, and what the load threads of a cell are started with.

use std::rc::Rc;
use std::sync::Arc;

use ciphertax_columns::MasterKey;
use ciphertax_columns::encdb::Derivation;
use ciphertax_engine::{Engine, EngineError, Failure, Part, Result, Workload};
use ciphertax_model::workload::Vocabulary;
use ciphertax_model::{Cell, ColumnEncryption, Study};
use ciphertax_reactor::Reactor;
use ciphertax_wire::{Expectation, Session, WireError};

use crate::ycsb::key_space::KeySpace;

/// A cell whose load threads are to be started.
pub struct Job<'a> {
    /// The study.
    pub study: &'a Study,
    /// Its cell.
    pub cell: &'a Cell,
    /// What this process does of the load, which several may share.
    pub part: Part,
    /// Which records YCSB's table has, by arm.
    pub keys: Vec<Arc<KeySpace>>,
    /// Which tables each arm asks, and what its client encrypts in them.
    pub columns: Vec<ArmColumns>,
    /// The only CPU of the load threads; `None` to leave them to the kernel.
    pub cpu: Option<usize>,
    /// Of all that is picked at random.
    pub seed: u64,
}

impl Job<'_> {
    pub(crate) fn start<W: Workload>(
        &self,
        arms: impl IntoIterator<Item = W>,
    ) -> Result<Option<Engine>, EngineError> {
        let arms = arms.into_iter().collect();
        let mut engine = Engine::start_part(self.part, self.cpu, arms, &self.cell.load, self.seed)?;
        engine.keep_operations(self.cell.keep_operations);
        Ok(Some(engine))
    }
}

/// How an arm reaches its server, what every session must then be, and the vocabularies that the database's client speaks.
pub trait Access: Clone + Send + Sync + 'static {
    /// What it opens.
    type Session: Session;

    /// What the database is called.
    const NAME: &'static str;

    /// What its client speaks.
    const VOCABULARIES: &'static [Vocabulary];

    /// How to connect.
    fn options(&self) -> &<Self::Session as Session>::Options;

    /// What every session must be.
    fn expectation(&self) -> &Expectation;

    /// How the connection in this slot reaches its server: where there are several, each slot may have another.
    async fn route(&self, _reactor: &Rc<Reactor>, _slot: u32) -> Result<<Self::Session as Session>::Options> {
        Ok(self.options().clone())
    }

    /// Opens the session of this slot and checks it by the client's and by the server's word.
    async fn open(&self, reactor: &Rc<Reactor>, slot: u32) -> Result<Self::Session>;

    /// How the data keys of EncDB's cells are derived that its sessions receive.
    fn derivation(&self) -> Derivation {
        Derivation::default()
    }

    /// Makes the server ready for a slice of new connections, outside the measured time.
    async fn before_connects(&self, _reactor: &Rc<Reactor>) -> Result<()> {
        Ok(())
    }

    /// Starts the load threads of a cell for arms that are reached so; `None` for a workload in a vocabulary that is
    /// not spoken.
    ///
    /// # Errors
    /// When threads cannot be started.
    fn start(job: &Job<'_>, arms: Vec<Self>) -> Result<Option<Engine>, EngineError>;
}

/// What an error of a connection is to the engine.
pub(crate) fn failure(error: WireError) -> Failure {
    match error {
        WireError::OtherServer { .. } => Failure::FactsDiffer(error.to_string()),
        _ if error.is_disconnect() => Failure::Disconnected(error.to_string()),
        _ => Failure::Error(error.to_string()),
    }
}

/// Which tables an arm asks, and what its client encrypts and decrypts in them.
#[derive(Debug, Clone, Default)]
pub struct ArmColumns {
    /// Its number among the measured arms of the study, by which its tables are known where each has its own.
    pub set: u32,
    /// What is encrypted, and with what; `None` for nothing.
    pub encryption: Option<(ColumnEncryption, MasterKey)>,
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use ciphertax_base::Secret;
    use ciphertax_model::{ReadPreference, Transport, Workload};
    use ciphertax_wire::{Expectation, mongodb, mysql, postgresql, sqlite};

    use super::*;
    use crate::driver::ArmColumns;
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
            is_pooled: false,
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

    fn assert_started_if_spoken<A: Access>(access: &A, workload: Workload) {
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
        let started = A::start(&job, vec![access.clone()]).unwrap();
        let is_spoken = A::VOCABULARIES.contains(&workload.descriptor().vocabulary);
        assert_eq!(started.is_some(), is_spoken, "{name} on {}", A::NAME);
    }
}
